# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Report of a quantization: layers with their types and errors, and why nodes stay real."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from relax_mlir.bindings.diagnostics import origins
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import body_of, made_by, operations_of
from relax_mlir.support.errors import OptionError
from relax_mlir.support.registry import table
from relax_mlir.support.suggest import suggest

from .comparison import Noise
from .picture import as_html, as_text
from .placement import Choices, Placement
from .scales import Scale
from .study import Effect, Errors, Point, Progress, Study
from .tensor_entries import node_of

#: Columns of the table by stage.
_TITLES = {"local": "float-fake", "fake": "accumulated", "integers": "fake-integers", "device": "integers-device"}
_FOLDED = "computed when the model is lowered: it is constant, or part of another node"


@dataclass
class Row:
    """One quantized layer."""

    node: str
    pattern: str
    types: dict[str, str]
    #: Scale of the result, if it has a single one.
    scale: float | None = None
    #: Signal-to-noise ratio in dB by stage, if measured.
    snr: dict[str, float] = field(default_factory=dict)
    #: Share of the numbers that differ from the stage before, by stage.
    differing: dict[str, float] = field(default_factory=dict)


@dataclass
class Report:
    """Quantized layers, their errors, and the reasons why other nodes stay real."""

    rows: list[Row] = field(default_factory=list)
    #: Reason by node, for nodes in floating point.
    kept: dict[str, str] = field(default_factory=dict)
    #: Operator by node, for nodes in floating point.
    operators: dict[str, str] = field(default_factory=dict)
    #: Signal-to-noise ratio of each result by stage, if measured.
    results: list[dict[str, float]] = field(default_factory=list)
    #: Reasons why stages are not measured.
    skipped: dict[str, str] = field(default_factory=dict)
    #: Samples of the measurement.
    samples: int = 0
    #: Effect of each layer on the results, if measured, the worst one first.
    effects: list[Effect] = field(default_factory=list)
    #: Doubts: few samples, entries of the recipe that match nothing, tensors that are 0.
    notes: list[str] = field(default_factory=list)
    #: Nodes that are quantized as parts of layers or with the scale of others, and nodes without an operation.
    _others: dict[str, str] = field(default_factory=dict, repr=False)
    _study: Study | None = field(default=None, repr=False)

    @classmethod
    def of(cls, placement: Placement, study: Study | None = None) -> Report:
        report = cls(_study=study)
        for layer in placement.layers:
            report.rows.append(
                Row(layer.node, layer.op.name, {name: str(type_) for name, type_ in layer.types.items()})
            )
        for operation, reason in placement.kept.items():
            for name in _names_of(operation):
                report.kept.setdefault(name, reason)
                report.operators.setdefault(name, operation.name)
        quantized = [operation for layer in placement.layers for operation in layer.match.operations]
        shared = [maker for value in placement.results if (maker := made_by(value)) is not None]
        for operation in (*quantized, *shared):
            for name in _names_of(operation):
                report._others.setdefault(name, "")
        return report

    def add_folded(self, function: Operation) -> None:
        """Note the nodes of the model that have no operation after the model was lowered."""
        for operation in operations_of(body_of(function)):
            for name in _names_of(operation):
                if name not in self.kept:
                    self._others.setdefault(name, _FOLDED)

    def rename(self, name_of: Callable[[str], str]) -> None:
        """Give nodes other names, such as those before an export. Of nodes with one name the first one counts."""
        for row in self.rows:
            row.node = name_of(row.node)
        for names in (self.kept, self.operators, self._others):
            renamed: dict[str, str] = {}
            for node, text in names.items():
                renamed.setdefault(name_of(node), text)
            names.clear()
            names.update(renamed)

    def add_scales(self, scales: Sequence[Scale | None]) -> None:
        """Note the scale of each layer's result, if it is quantized."""
        for row, scale in zip(self.rows, scales, strict=True):
            row.scale = None if scale is None else float(scale.scale)

    # ---- measurements ----

    def measure(self, samples: int = 8, *, progress: Progress | None = None) -> Report:
        """Measure the error of each layer and result at each stage, on the first samples of the calibration.

        Stages are: each layer by itself with rounded operands; the model with rounded numbers ("fake-quantized"); the
        model in integers, by the recipe's `out=` or else as the target computes it; the model on the codegen's device,
        if it runs here. Each is compared with the one before. The model is compiled once for each stage. Returns the
        report.
        """
        self._take(self._require_study().errors(_count(samples), progress))
        return self

    def _take(self, measured: Errors) -> None:
        for row, noises in zip(self.rows, measured.layers, strict=True):
            row.snr = {name: noise.snr for name, noise in noises.items()}
            row.differing = {name: _share(noise) for name, noise in noises.items() if name not in ("local", "fake")}
        self.results = [{name: noise.snr for name, noise in noises.items()} for noises in measured.results]
        self.samples, self.skipped = measured.samples, measured.skipped

    def sensitivity(self, samples: int = 2, *, progress: Progress | None = None) -> str:
        """Return the table of layers by their effect on the results, the worst first. Measures it at the first call.

        The first column is the worst result's signal-to-noise ratio if only this layer is quantized. The second is the
        ratio if all other layers are quantized.
        """
        if not self.effects:
            self.effects = self._require_study().effects(_count(samples), progress)
        rows = [("node", "alone", "without")]
        rows += [(effect.node, decibels(effect.alone), decibels(effect.without)) for effect in self.effects]
        return table(*rows) + "\n"

    def explore(self, points: int = 4, samples: int = 4, *, progress: Progress | None = None) -> list[Point]:
        """Measure error, size and time with the worst layers real, for several numbers of layers.

        Returns all points so far, which the picture shows. The model is compiled for each point.
        """
        study = self._require_study()
        if not self.effects:
            self.effects = study.effects(_count(samples))
        order = [effect.place for effect in self.effects]
        counts = sorted({round(at * (len(order) - 1) / max(_count(points) - 1, 1)) for at in range(points)})
        for number, count in enumerate(counts):
            real: Choices = {place: "stays real for the comparison" for place in order[:count]}
            choices = {**study.variant.choices, **real}
            variant = study.variants.settled(choices, study.codegen) if count else study.variant
            point = study.point(f"{count} real", variant, samples, timed=True)
            point.is_chosen = not count
            study.points = [each for each in study.points if not (each.is_chosen and point.is_chosen)]
            study.points.append(point)
            if progress is not None:
                progress(number + 1, len(counts))
        return study.points

    @property
    def points(self) -> list[Point]:
        """The variants that were measured: their error, size and time."""
        return [] if self._study is None else self._study.points

    def _require_study(self) -> Study:
        if self._study is None:
            raise OptionError("this report has no model to measure: it is not a result of rx.quantize")
        return self._study

    # ---- texts ----

    def table(self) -> str:
        """Return the table of layers for people, with errors in dB if they are measured."""
        names = [name for name in _TITLES if any(name in each for each in (*self.results, *(r.snr for r in self.rows)))]
        rows = [("node", "pattern", "types", "scale", *(_TITLES[name] for name in names))]
        for row in self.rows:
            types = ", ".join(f"{name}: {type_}" for name, type_ in row.types.items())
            scale = "" if row.scale is None else f"{row.scale:.4g}"
            rows.append((row.node, row.pattern, types, scale, *(decibels(row.snr.get(name)) for name in names)))
        for number, result in enumerate(self.results):
            rows.append((f"result {number}", "", "", "", *(decibels(result.get(name)) for name in names)))
        notes = [f"{_TITLES[name]} is not measured: {reason}" for name, reason in self.skipped.items()]
        return "\n".join([table(*rows), *notes]) + "\n"

    def why(self, node: str) -> str:
        """Return why a node stays in floating point, or "" if it is quantized. Raises OptionError for other names."""
        if node in self.kept:
            return self.kept[node]
        if any(row.node == node for row in self.rows):
            return ""
        if node in self._others:
            return self._others[node]
        known = [*self.kept, *(row.node for row in self.rows), *self._others]
        raise OptionError(f"no node is called '{node}'{suggest(node, known)}")

    def reasons(self) -> list[str]:
        """Return the nodes that stay real, with the reasons."""
        return [f"{node} ({self.operators[node]}): {reason}" for node, reason in self.kept.items()]

    def picture(self) -> str:
        """Return error against size of the measured variants as text."""
        return as_text(self.points)

    def html(self) -> str:
        """Return the report as one page with pictures. The page loads nothing."""
        tables = {"Layers": self.table(), "Nodes in floating point": "\n".join(self.reasons())}
        if self.effects:
            tables["Effect of each layer on the results, in dB"] = self.sensitivity()
        return as_html(tables, [(row.node, row.snr) for row in self.rows], self.points)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON. Infinite ratios, of equal tensors, are None."""
        kept = [{"node": node, "operator": self.operators[node], "why": why} for node, why in self.kept.items()]
        whole = {
            "layers": [asdict(row) for row in self.rows],
            "kept": kept,
            "notes": self.notes,
            "results": self.results,
            "skipped": self.skipped,
            "samples": self.samples,
            "sensitivity": [asdict(effect) for effect in self.effects],
            "points": [asdict(point) for point in self.points],
        }
        return {name: _finite(value) for name, value in whole.items()}

    def to_json(self) -> str:
        """Return the report as JSON, for tools."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"


def decibels(number: float | None) -> str:
    """Return a ratio for people. Equal tensors have no noise."""
    if number is None:
        return ""
    return "equal" if number == math.inf else f"{number:.1f}"


def _share(noise: Noise) -> float:
    return noise.differing / noise.count if noise.count else 0.0


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _count(given: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise OptionError(f"expected a number of at least 1, got {given!r}")
    return given


def _names_of(operation: Operation) -> list[str]:
    """Return the nodes that an operation computes. The last one gives its result."""
    return [origin.name for origin in origins(operation.location)] or [node_of(operation)]
