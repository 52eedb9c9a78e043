# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Division of a module among the ranks of a mesh: `rx.shard`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy
import relax_mlir as rx
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import body_of, function_type_of, last_of
from relax_mlir.dialects.core.ir_attributes import RESULT_NAMES
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.passes.graph.params.signature import changing_copy, graph_function
from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest

from .factors import shape_of
from .mesh import Mesh, Sharding, parse, sharding_of_spec
from .relax_localize import MESH, SHARDING, annotate_values, localize
from .shardy import planner_of

#: For each dimension an axis of the mesh, several axes, or None.
Spec: TypeAlias = "Sequence[str | Sequence[str] | None]"
#: Function of a sharded module that returns the plan, as JSON in bytes. Saved programs keep it.
PLAN = "relax_sharding_plan"


def shard(
    module: rx.Module,
    mesh: Mapping[str, int] | None = None,
    specs: Mapping[str, Spec] | None = None,
    *,
    function: str = "main",
    sums: str = "same",
    planner: str | Sequence[str] = "rule",
    explain: bool = False,
) -> rx.Module:
    """Return the module of one rank, for `rx.compile` and `rx.launch`.

    `mesh` has a number of ranks by axis, `specs` the axes that divide the dimensions of arguments and results, by name.
    By default the imported program has them. The shardings of all other values follow. With sums="same"
    results have the bits of one process: no rank has a part of a float's sum. sums="split" adds partial sums, in the
    order of the ranks. `planner` is "rule", or "shardy", which needs jaxlib; of several, the first that does not fail.
    `explain` prints each collective, with its reason.
    """
    if sums not in ("same", "split"):
        raise OptionError(f"rx.shard: sums must be 'same' or 'split', got {sums!r}")
    plan_shardings = planner_of(planner)
    copy = module.copy()
    main = graph_function(copy.operation, function, "rx.shard")
    grid = _mesh_of(main) if mesh is None else Mesh.from_sizes(mesh)
    shapes = {
        "arguments": [shape_of(value) for value in body_of(main).arguments],
        "results": [shape_of(value) for value in last_of(body_of(main)).operands],
    }
    with changing_copy(main, "rx.shard") as changed:
        _annotate(changed, grid, specs or {})
        explanation = localize(changed, grid, keeps_sums=sums == "same", planner=plan_shardings)
        plan = {"mesh": dict(grid.axes), "function": function, **_plan(changed, shapes)}
    if explain:
        print(explanation)
    with copy.function(PLAN, {}) as f:
        f.returns(rx.relax.const(numpy.frombuffer(json.dumps(plan).encode(), "uint8").copy()))
    return copy


def _mesh_of(function: Operation) -> Mesh:
    if MESH not in function.attributes:
        raise OptionError(f"rx.shard: @{_name(function)} has no mesh of its own: pass mesh={{'dp': 2}} and specs")
    return Mesh.parse(function.attributes[MESH].value)


def _annotate(function: Operation, mesh: Mesh, specs: Mapping[str, Spec]) -> None:
    """Write the specs to the attributes of arguments and results."""
    arguments, results = argument_names(function), _result_names(function)
    shardings: dict[str, Sharding] = {}
    for name, spec in specs.items():
        if name not in arguments and name not in results:
            known = [*arguments, *results]
            raise OptionError(
                f"specs: @{_name(function)} has no value '{name}'{suggest(name, known)}; it has: {', '.join(known)}"
            )
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


def _name(function: Operation) -> str:
    return str(function.attributes["sym_name"].value)


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
