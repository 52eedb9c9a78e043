# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Division of a model's module among the ranks of a mesh: columns of weights, and heads of pages."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, operations_of, users_of
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.dialects.relax.known_constants import CONSTANTS, elements_of
from relax_mlir.passes.graph.params.signature import add_arguments, changing_copy, graph_function, remove_arguments

from .description import LOGITS
from .page_layout import PageLayout

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir_shard.mesh import Mesh, Sharding

#: Axis of the mesh that divides weights and heads, and axis that divides the tokens of a call.
AXIS, _TOKENS = "tp", "dp"
#: Arguments with an element for each token.
PER_TOKEN = ("tokens", "positions", "sequences", "slots")
_WHAT = "rx.llm.load"


def import_shard(name: str) -> Any:
    """Return a module of the package relax_mlir_shard, which only models of several ranks need."""
    try:
        return import_module(f"relax_mlir_shard.{name}")
    except ModuleNotFoundError as error:
        if error.name != "relax_mlir_shard":
            raise
        raise rx.OptionError("mesh= needs the plug-in relax_mlir_shard: install relax-mlir with it") from None


@dataclass(frozen=True)
class DividedModule:
    """Module of one rank, without its weights, and the whole weights with their shardings."""

    module: rx.Module
    mesh: Mesh
    weights: Mapping[str, tuple[ndarray, Sharding]]
    #: Layout of the pages of a rank.
    layout: PageLayout

    def tokens_of_rank(self, rank: int) -> tuple[int, int]:
        """Return the part of a call's tokens that a rank has, and the number of parts."""
        axes = [name for name, _ in self.mesh.axes if name == _TOKENS]
        return self.mesh.part(rank, axes), self.mesh.count(axes)

    def of_rank(self, rank: int) -> rx.Module:
        """Return the module of a rank, with the rank's parts of the weights as constants."""
        import numpy

        part_of_rank = import_shard("launch").part_of_rank
        module = self.module.copy()
        with changing_copy(graph_function(module.operation, LOGITS, _WHAT), _WHAT) as function:
            body, places = body_of(function), []
            with ir.InsertionPoint.at_block_begin(body):
                for place, name in enumerate(argument_names(function)):
                    if name in self.weights:
                        array, sharding = self.weights[name]
                        part = numpy.ascontiguousarray(part_of_rank(array, sharding, self.mesh, rank))
                        part.flags.writeable = False  # constants do not copy such arrays
                        body.arguments[place].replace_all_uses_with(relax.const(part))
                        places.append(place)
            remove_arguments(function, places)
        return module


def divide_module(module: rx.Module, layout: PageLayout, sizes: Mapping[str, int]) -> DividedModule:
    """Divide the function `main` among the ranks of a mesh.

    Each rank has columns of the matrices, so that a sum stays in one rank, and one process has the same bits. A rank
    has heads of the pages if the ranks divide their number; otherwise each rank has all heads.
    """
    mesh, sharding = import_shard("mesh"), import_shard("relax_localize").SHARDING
    sizes = {AXIS: 1, **sizes}
    ranks, specs = sizes[AXIS], dict[str, tuple[str | None, ...]](result0=(None, None))
    if _TOKENS in sizes:
        specs |= dict.fromkeys(PER_TOKEN, (_TOKENS,))
    divides_heads = layout.heads % ranks == 0
    if not divides_heads:
        text = f"mesh=: {ranks} ranks do not divide {layout.heads} heads of keys, so each has all pages"
        warnings.warn(text, stacklevel=2)
    if divides_heads:
        specs |= {name: (None, None, AXIS, None)[: len(shape) + 1] for name, (shape, _) in layout.arrays().items()}
    arrays: dict[str, ndarray] = {}
    with changing_copy(graph_function(module.operation, LOGITS, _WHAT), _WHAT) as function:
        for constant, array, uses, spec in list(_weights_of(function, ranks)):
            name = f"weight{len(arrays)}"
            (argument,) = add_arguments(function, [name], [constant.type])
            arrays[name], specs[name] = array, spec
            for user, index in uses:
                user.operands[index] = argument
    sharded = rx.shard(module, sizes, specs)
    function = graph_function(sharded.operation, LOGITS, _WHAT)
    shardings = [mesh.parse(attributes[sharding].value) for attributes in function.attributes["arg_attrs"]]
    named = dict(zip(argument_names(function), shardings, strict=True))
    own = replace(layout, heads=layout.heads // ranks) if divides_heads else layout
    return DividedModule(
        sharded,
        mesh.Mesh.from_sizes(sizes),
        {name: (array, named[name]) for name, array in arrays.items()},
        own,
    )


def _weights_of(
    function: Operation, ranks: int
) -> Iterator[tuple[Value, ndarray, list[tuple[Operation, int]], tuple[str | None, ...]]]:
    """Yield constants that ranks divide, with uses and a spec. A matrix with two kinds of uses is two weights."""
    body = body_of(function)
    tokens = body.arguments[argument_names(function).index("tokens")]
    for operation in operations_of(body):
        array = elements_of(operation.results[0]) if operation.name in CONSTANTS else None
        if array is None:
            continue
        constant = operation.results[0]
        uses: dict[tuple[str | None, ...], list[tuple[Operation, int]]] = {}
        for use in constant.uses:
            spec = _spec(use.owner.operation, use.operand_number, constant.type.shape, tokens, ranks)
            uses.setdefault(spec, []).append((use.owner.operation, use.operand_number))
        for spec, own in uses.items():
            if any(spec):
                yield constant, array, own, spec


def _spec(user: Operation, index: int, shape: Sequence[int], tokens: Value, ranks: int) -> tuple[str | None, ...]:
    """Return the division of a constant that an operation reads."""
    spec: list[str | None] = [None] * len(shape)
    users = users_of(user.results[0]) if user.name == "relax.bitcast" else [user]
    names = {operation.name for operation in users}
    if names == {"relax.matmul"} and (user.name == "relax.bitcast" or index == 1) and len(shape) == 2:
        axis, fits = 1, shape[1] > ranks
    elif names == {"relax.matmul_nbits"} and index > 0:
        axis, fits = 0, shape[0] > ranks
    elif names == {"relax.take"} and len(shape) > 1 and users[0].operands[1] == tokens:
        axis, fits = 1, shape[1] % ranks == 0
    else:
        return tuple(spec)
    if fits and ranks > 1:
        spec[axis] = AXIS
    return tuple(spec)
