# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations with divided indices, and their indexing maps, simplified by the ranges of loops."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import operations_of
from ...emit.generic import GenericOp
from .affine_sizes import DIVISIONS, is_divided, loop_indices, simplified

#: Operations of a body that is looked at.
_LONGEST_BODY = 400
#: Operations that a condition on remainders is made of.
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
    return len(inner) <= _LONGEST_BODY and any(each.name in _REMAINDERS for each in inner)


def simplify_maps(operation: Operation) -> None:
    """Replace the indices of an operation by equal ones with fewer divisions."""
    op = GenericOp(operation)
    indices = loop_indices(op.known_sizes)
    results = [[simplified(each, indices) if is_divided(each) else each for each in map_.results] for map_ in op.maps]
    maps = [ir.AffineMap.get(map_.n_dims, 0, each) for map_, each in zip(op.maps, results, strict=True)]
    operation.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])
