# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations with divided indices, and their indexing maps, simplified by the ranges of loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....bindings.affine import plain_dim
from ....bindings.ir import AffineMap, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import operations_of
from ....emit import linalg, tensors
from ....emit.generic import GenericOp
from ....emit.numbers import Size
from .affine_sizes import DIVISIONS, is_divided, loop_indices, simplified

#: Longest body that is searched for remainders.
_LONGEST_BODY = 400
#: Operations on which conditions on remainders depend.
_REMAINDERS = frozenset({"arith.remsi", "arith.remui"})


def is_candidate(op: GenericOp) -> bool:
    """Check whether the pass may change an operation for the sake of its own indices."""
    return has_divisions(op) or (len(op.reductions) > 0 and has_remainders(op))


def has_divisions(op: GenericOp) -> bool:
    """Check whether an index of an operand has a division or a remainder."""
    text = str(op.operation.attributes["indexing_maps"])
    return any(word in text for word in DIVISIONS)


def has_remainders(op: GenericOp) -> bool:
    """Check whether a body, unless it is very long, takes remainders of integers."""
    inner = operations_of(op.block)
    return len(inner) <= _LONGEST_BODY and any(operation.name in _REMAINDERS for operation in inner)


def simplify_maps(operation: Operation) -> None:
    """Replace the indices of inputs by equal ones with fewer divisions."""
    op = GenericOp(operation)
    indices, maps = loop_indices(op.known_sizes), list(op.maps)
    with ir.InsertionPoint(operation), operation.location:
        for number, map_ in enumerate(op.maps[: op.input_count]):
            if not any(map(is_divided, map_.results)):
                continue
            results = [simplified(result, indices) if is_divided(result) else result for result in map_.results]
            maps[number] = ir.AffineMap.get(map_.n_dims, 0, results)
            operation.operands[number] = fitted(op.operands[number], maps[number], op, range(len(op.kinds)), op.size)
    operation.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])


def fitted(value: Value, map_: AffineMap, op: GenericOp, loops: Sequence[int], size: Callable[[int], Size]) -> Value:
    """Return the part of a tensor that an operation's loops cover after its indices changed.

    An axis with a loop as index must be as long as the loop. The map's dimensions are these loops of the operation.
    """
    positions = [plain_dim(result) for result in map_.results]
    dims = [None if position is None else loops[position] for position in positions]
    shape = value.type.shape if dims else []
    axes = enumerate(zip(dims, shape, strict=True))
    whole = [dim is None or _is_along(value, axis, dim, op) or size(dim) == length for axis, (dim, length) in axes]
    if all(whole):
        return value
    given = zip(dims, linalg.sizes(value), whole, strict=True)
    sizes = [length if fits or dim is None else size(dim) for dim, length, fits in given]
    return tensors.slice_of(value, [0] * len(sizes), sizes)


def _is_along(value: Value, axis: int, dim: int, op: GenericOp) -> bool:
    """Check whether a dynamic axis is one of the axes along an operation's loop."""
    return op.known_size(dim) is None and (value, axis) in op.axes_along(dim)
