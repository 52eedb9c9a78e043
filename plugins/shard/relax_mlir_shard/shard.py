# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Division of a module among the ranks of a mesh: `rx.shard`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy
import relax_mlir as rx
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, function_type_of, functions_in, last_of, symbol_name
from relax_mlir.dialects.core.ir_attributes import RESULT_NAMES
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.dialects.relax.function_attributes import argument_names, function_attributes
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.pipeline import Pipeline
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.passes.graph.params.signature import changing_copy, graph_function, state_type
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest

from .explanation import Explanation
from .factors import shape_of
from .mesh import Mesh, Sharding, parse, sharding_of_spec
from .network import Network
from .planner import Planner
from .relax_localize import MESH, SHARDING, annotate_values, explain_operations, localize
from .shardy import planner_of

#: For each dimension an axis of the mesh, several axes, or None.
Spec: TypeAlias = "Sequence[str | Sequence[str] | None]"
#: Passes that one process runs first: they decide the products that only a sum reads.
_SIMPLIFY = ("relax-canonicalize", "cse", "relax-dead-code-elimination")
#: Function of a sharded module that returns the plan, as JSON in bytes. Saved programs keep it.
PLAN = "relax_sharding_plan"
#: Attribute of a function that is the program of one rank.
_IS_DIVIDED = "ccl.is_divided"


@types_checked
def shard(
    module: rx.Module,
    mesh: Mapping[str, int] | None = None,
    specs: Mapping[str, Spec] | None = None,
    *,
    function: str = "main",
    sums: str = "same",
    planner: str | Sequence[str] = "rule",
    explain: bool = False,
    network: str | None = None,
) -> rx.Module:
    """Return the module of one rank, for `rx.compile` and `rx.launch`.

    `mesh` has a number of ranks by axis, `specs` the axes that divide the dimensions of arguments and results, by name.
    By default the imported program has them. The shardings of all other values follow. With sums="same"
    results have the bits of one process: no rank has a part of a float's sum. sums="split" adds partial sums, in the
    order of the ranks. `planner` is "rule", or "shardy", which needs jaxlib; of several, the first that does not fail.
    `explain` prints each collective, with its reason, and its time on a `network`: a file of
    `relax-run --measure-network`. The active journal records the same.
    """
    if not isinstance(module, rx.Module):
        raise OptionError(f"rx.shard takes an rx.Module, got {type(module).__name__}")
    _check_sums(sums, "rx.shard")
    if not isinstance(specs or {}, Mapping):
        raise OptionError(f"rx.shard: specs has the axes of each argument by name, got {specs!r}")
    copy = module.copy()
    division = _Division(
        "rx.shard", function, None if mesh is None else Mesh.from_sizes(mesh), specs or {}, sums, planner, network
    )
    explanation = division.divide(copy.operation)
    if explain:
        print(explanation)
    return copy


@register_pass
@dataclass(frozen=True)
class Localize(Pass):
    """Turn a function into the program of one rank of a mesh, by the shardings of its arguments and results."""

    name: ClassVar[str] = "relax-localize"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("ccl",)

    #: Axes and sizes: mesh=dp=2,tp=4. Default: that of the function.
    mesh: str = ""
    #: Function to divide.
    function: str = "main"
    #: `same`: results have the bits of one process, since no float's sum is divided. `split`: partial sums.
    sums: str = "same"
    #: Axes by argument or result: specs=w1:_,tp,x:dp,_, or a JSON file.
    specs: tuple[str, ...] = ()
    #: File of `relax-run --measure-network`.
    network: str = ""

    def __post_init__(self) -> None:
        _check_sums(self.sums, f"pass '{self.name}'")

    def run(self, op: Operation) -> None:
        mesh = Mesh.parse(self.mesh) if self.mesh else None
        division = _Division(
            f"pass '{self.name}'", self.function, mesh, _specs_of(self.specs), self.sums, "rule", self.network or None
        )
        division.divide(op)


class _Division(NamedTuple):
    """Division of a module's function: the options of `shard`, and the caller's name for errors."""

    what: str
    function: str
    mesh: Mesh | None
    specs: Mapping[str, Spec]
    sums: str
    planner: str | Sequence[str]
    network: str | None

    def divide(self, module: Operation) -> Explanation:
        """Turn the function into the program of one rank, and add its plan. Leave a rank's program as it is."""
        is_divided = PLAN in map(symbol_name, functions_in(module))
        if self.sums == "same" and not is_divided:
            Pipeline(_SIMPLIFY).run(module, all_or_nothing=False)
        planner = planner_of(self.planner)
        network = None if self.network is None else Network.read(self.network)
        main = graph_function(module, self.function, self.what)
        if _IS_DIVIDED in main.attributes and not is_divided:
            raise OptionError(
                f"{self.what}: @{self.function} is the program of one rank, and its plan @{PLAN} was removed: divide "
                "the original module"
            )
        mesh = self._mesh_of(main) if self.mesh is None else self.mesh
        explanation = Explanation(mesh, network)
        if is_divided:
            if self.mesh is not None or self.specs:
                raise OptionError(f"{self.what}: the module is the program of one rank already")
            explain_operations(main, explanation)
        else:
            self._divide(module, main, explanation, planner)
        explanation.record()
        return explanation

    def _divide(self, module: Operation, main: Operation, explanation: Explanation, planner: Planner) -> None:
        body = body_of(main)
        shapes = {
            "arguments": list(map(shape_of, body.arguments)),
            "results": list(map(shape_of, last_of(body).operands)),
        }
        with changing_copy(main, self.what) as changed:
            _annotate(changed, explanation.mesh, self.specs)
            localize(changed, explanation, keeps_sums=self.sums == "same", planner=planner)
            changed.attributes[_IS_DIVIDED] = ir.UnitAttr.get(changed.context)
            plan = {"mesh": dict(explanation.mesh.axes), "function": self.function, **_plan(changed, shapes)}
        _add_plan(module, plan)

    def _mesh_of(self, function: Operation) -> Mesh:
        if MESH not in function.attributes:
            name = symbol_name(function)
            raise OptionError(f"{self.what}: @{name} has no mesh of its own: pass mesh=, such as dp=2,tp=4, and specs")
        return Mesh.parse(function.attributes[MESH].value)


def _check_sums(sums: str, what: str) -> None:
    if sums not in ("same", "split"):
        raise OptionError(f"{what}: sums must be 'same' or 'split', got {sums!r}")


def _specs_of(texts: Sequence[str]) -> dict[str, Spec]:
    """Return the specs of texts such as `w1:_,tp`, of which commas may separate several, and of JSON files."""
    specs: dict[str, Any] = {}
    name = ""
    for text in map(str.strip, filter(None, ",".join(texts).split(","))):
        start, colon, axis = text.rpartition(":")
        if not colon and text.endswith(".json"):
            _add_specs(specs, _read_specs(text))
            name = ""
            continue
        if colon:
            name = start
            _add_specs(specs, {name: []})
        if not name:
            raise OptionError(f"specs: write an axis or _ for each dimension, as in w1:_,tp, got '{text}'")
        if axis:
            specs[name].append(None if axis == "_" else axis.split("+"))
    return specs


def _add_specs(specs: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, spec in more.items():
        if name in specs:
            raise OptionError(f"specs: '{name}' occurs twice")
        specs[name] = spec


def _read_specs(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            specs = json.load(file)
    except OSError as error:
        raise OptionError(f"specs: cannot read '{path}': {error.strerror}") from None
    except ValueError as error:
        raise OptionError(f"specs: '{path}' is no JSON: {error}") from None
    if not isinstance(specs, dict):
        raise OptionError(f'specs: \'{path}\' must have a spec by name, as in {{"w1": [null, "tp"]}}')
    return specs


def _add_plan(module: Operation, plan: Mapping[str, Any]) -> None:
    """Add the function that returns the plan."""
    with module.context, ir.Location.unknown(), ir.InsertionPoint(body_of(module)):
        function = ir.Operation.create("func.func", attributes=function_attributes(PLAN, [], []), regions=1)
        with ir.InsertionPoint(function.regions[0].blocks.append()):
            value = rx.relax.const(numpy.frombuffer(json.dumps(plan).encode(), "uint8").copy())
            ir.Operation.create("func.return", operands=[value])
        state_type(function)


def _annotate(function: Operation, mesh: Mesh, specs: Mapping[str, Spec]) -> None:
    """Write the specs to the attributes of arguments and results."""
    arguments, results = argument_names(function), _result_names(function)
    shardings: dict[str, Sharding] = {}
    for name, spec in specs.items():
        if name not in arguments and name not in results:
            known = [*arguments, *results]
            hint = f"{suggest(str(name), known)}; it has: {', '.join(known)}"
            raise OptionError(f"specs: @{symbol_name(function)} has no value '{name}'{hint}")
        shardings[name] = sharding_of_spec(spec, f"specs['{name}']")
        mesh.check(shardings[name], f"specs['{name}']")
    returned = last_of(body_of(function)).operands
    for attribute, names, values in (
        ("arg_attrs", arguments, body_of(function).arguments),
        ("res_attrs", results, returned),
    ):
        for name, value in zip(names, values, strict=True):
            if name in shardings:
                _check_rank(name, shardings[name], len(shape_of(value)))
        annotate_values(function, attribute, [shardings.get(name) for name in names])


def _check_rank(name: str, sharding: Sharding, rank: int) -> None:
    if len(sharding) != rank:
        raise OptionError(f"specs['{name}'] has {len(sharding)} dimensions, and the tensor has {rank}")


def _result_names(function: Operation) -> list[str]:
    count = len(function_type_of(function).results)
    if RESULT_NAMES in function.attributes:
        return [name.value for name in function.attributes[RESULT_NAMES]]
    return ["result"] if count == 1 else [f"result{index}" for index in range(count)]


def _plan(function: Operation, shapes: Mapping[str, Sequence[Sequence[Dim]]]) -> dict[str, Any]:
    """Return the shardings and whole sizes of arguments and results. A size is None if only its parts are known."""
    plan: dict[str, Any] = {"names": argument_names(function)}
    for name, attribute in (("arguments", "arg_attrs"), ("results", "res_attrs")):
        plan[name] = [
            {
                "sharding": parse(attributes[SHARDING].value),
                "sizes": [size if isinstance(size, int) else None for size in shape],
            }
            for attributes, shape in zip(function.attributes[attribute], shapes[name], strict=True)
        ]
    return plan
