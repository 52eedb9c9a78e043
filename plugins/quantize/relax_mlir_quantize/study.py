# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measurements of a quantized model: the error of each layer at each stage, and the error that each layer causes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Value
from relax_mlir.bindings.navigation import body_of, last_of
from relax_mlir.compilation.compiling import compile, stages
from relax_mlir.frontends.module import Module
from relax_mlir.passes.graph.partition.codegen import Codegen
from relax_mlir.runtime import to_numpy
from relax_mlir.support.errors import RelaxError

from .calibration import Observer, Samples, function_named, places_of
from .comparison import Noise, results_of, rounded_on_host, shadowed, switched
from .scales import Scale
from .variants import Variant, Variants

if TYPE_CHECKING:
    from numpy import ndarray

#: Stages of the computation, each compared with the one before: columns of the table.
STAGES = ("local", "fake", "integers", "device")
_INTEGERS = "integers"
#: Called with the number of runs so far and of all.
Progress = Callable[[int, int], object]


@dataclass
class Errors:
    """Errors of layers and of results, by stage."""

    layers: list[dict[str, Noise]]
    results: list[dict[str, Noise]]
    samples: int = 0
    #: Reasons why stages were not measured.
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass
class Point:
    """One variant of the model: its error, its size and its time."""

    label: str
    #: Layers of the recipe that stay real.
    real_layers: int
    bytes: int
    #: dB of the worst result.
    snr: float
    #: Seconds of a call, if measured.
    seconds: float | None = None
    #: Score of `evaluate`, if there is one.
    score: float | None = None
    is_chosen: bool = False


@dataclass
class Effect:
    """Effect of one layer on the results, in dB of the worst result."""

    node: str
    #: Place of the layer's last operation in the function.
    place: int
    #: Only this layer is quantized.
    alone: float
    #: All layers but this one are quantized.
    without: float


class Study:
    """A quantized variant, and the means to measure it and others."""

    def __init__(
        self, variants: Variants, variant: Variant, samples: Samples, target: str, codegen: type[Codegen] | None
    ):
        self.variants, self.variant = variants, variant
        self.target, self.codegen = target, codegen
        self._samples = samples
        self.points: list[Point] = []
        self._float: Observer | None = None

    def _some(self, most: int) -> list[list[ndarray]]:
        return list(islice(self._samples, most))

    def _places(self, module: Module, values: Sequence[Value]) -> list[tuple[int, int]]:
        return places_of(function_named(module, self.variants.function), values)

    # ---- stages ----

    def errors(self, most: int, progress: Progress | None = None) -> Errors:
        """Compare the stages on the first samples. Only the tensors of one sample exist at a time.

        The stage of integers computes what the recipe describes. A recipe without `out=` has the target's own integers.
        """
        variant, made = self.variant, Errors([], [])
        real = self._real_program()
        integers = self._program(rewrite=self.variants.requantize)
        programs = {"fake": self._program(drop_integers=True), _INTEGERS: integers}
        if self.codegen is None:
            made.skipped["device"] = f"{self.target} has no codegen, so its program is the stage of integers"
        else:
            try:
                programs["device"] = self._program(partition=self.codegen.name, strict_partition=True)
            except RelaxError as error:
                made.skipped["device"] = error.message
        made.layers = [{name: Noise() for name in ("local", *programs)} for _ in variant.layers]
        made.results = [{name: Noise() for name in programs} for _ in self._results(variant)]
        samples = self._some(most)
        for number, arguments in enumerate(samples):
            self._compare(made, real, programs, arguments)
            made.samples += 1
            if progress is not None:
                progress(number + 1, len(samples))
        return made

    def _results(self, variant: Variant) -> list[Value]:
        return results_of(variant.module, self.variants.function)

    def _real_program(self) -> Observer:
        module = shadowed(self.variants, self.variant)
        values = list(last_of(body_of(function_named(module, self.variants.function))).operands)
        return Observer(module, self.variants.function, self._places(module, values), self.target)

    def _program(self, *, drop_integers: bool = False, **options: Any) -> Observer:
        variant = self.variant
        values = [*self._results(variant), *(value for value, _ in variant.results)]
        if drop_integers:
            whole = stages(self.target)
            options["pipeline"] = whole.drop(_INTEGERS) if _INTEGERS in whole.names else whole
        places = self._places(variant.module, values)
        return Observer(variant.module, self.variants.function, places, self.target, **options)

    def _compare(
        self, made: Errors, real: Observer, programs: dict[str, Observer], arguments: Sequence[ndarray]
    ) -> None:
        count, layers = len(made.results), self.variant.layers
        found = real(arguments)
        before = found[: count + len(layers)]
        scales = [scale for _, scale in self.variant.results]
        rounded = found[count + len(layers) :]
        for row, layer, scale, expected, array in zip(
            made.layers, layers, scales, before[count:], rounded, strict=True
        ):
            row["local"].add(expected, rounded_on_host(layer, scale, array))
        del found, rounded
        for name, program in programs.items():
            tensors = program(arguments)
            after = [*tensors[:count], *map(_real, scales, tensors[count:])]
            for row, expected, array in zip([*made.results, *made.layers], before, after, strict=True):
                row[name].add(expected, array)
            before = after

    # ---- effects ----

    def effects(self, most: int, progress: Progress | None = None) -> list[Effect]:
        """Return the effect of each layer on the results, the worst layer first.

        One program computes all variants: an argument for each layer turns its rounding on. Operators that share or
        fix scales, such as pools, are not rounded by themselves.
        """
        import numpy

        layers = self.variant.layers
        program = compile(switched(self.variants, self.variant), self.target)[self.variants.function]
        size = len(layers)
        off = numpy.zeros(size, bool)
        masks = [mask for place in range(size) for mask in (_only(place, size), ~_only(place, size))]
        noises: list[list[Noise]] = [[] for _ in masks]
        samples, done = self._some(most), 0
        for arguments in samples:
            expected = _run(program, arguments, off)
            for row, mask in zip(noises, masks, strict=True):
                row.extend(Noise() for _ in range(len(expected) - len(row)))
                for noise, real, array in zip(row, expected, _run(program, arguments, mask), strict=True):
                    noise.add(real, array)
                done += 1
                if progress is not None:
                    progress(done, len(samples) * len(masks))
        worst = [min(noise.snr for noise in row) for row in noises]
        made = [Effect(layer.node, layer.place, worst[2 * at], worst[2 * at + 1]) for at, layer in enumerate(layers)]
        return sorted(made, key=lambda each: each.alone)

    # ---- whole variants ----

    def point(self, label: str, variant: Variant, most: int, *, timed: bool = False) -> Point:
        """Measure a variant as it is computed with integers: the error of its results, its size and its time."""
        name = self.variants.function
        if self._float is None:
            module = self.variants.module
            self._float = Observer(module, name, self._places(module, results_of(module, name)), self.target)
        places = self._places(variant.module, self._results(variant))
        program = Observer(variant.module, name, places, self.target, rewrite=self.variants.requantize)
        noises = [Noise() for _ in places]
        seconds: float | None = None
        for arguments in self._some(most):
            for noise, real, array in zip(noises, self._float(arguments), program(arguments), strict=True):
                noise.add(real, array)
            if timed:
                seconds = min(_seconds(program, arguments), seconds or float("inf"))
        worst = min((noise.snr for noise in noises), default=float("inf"))
        real_layers = len(self.variants.placement.layers) - len(variant.layers)
        return Point(label, real_layers, variant.bytes, worst, seconds)


def _real(scale: Scale | None, array: ndarray) -> ndarray:
    return array if scale is None else scale.dequantized(array)


def _only(place: int, size: int) -> ndarray:
    import numpy

    return numpy.arange(size) == place


def _run(program: Callable[..., Any], arguments: Sequence[ndarray], mask: ndarray) -> list[ndarray]:
    import numpy

    results = program(*arguments, *(numpy.array(each) for each in mask))
    return [to_numpy(result) for result in (results if isinstance(results, (list, tuple)) else [results])]


def _seconds(program: Observer, arguments: Sequence[ndarray]) -> float:
    start = time.perf_counter()
    program(arguments)
    return time.perf_counter() - start
