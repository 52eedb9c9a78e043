# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indexing maps whose divisions and remainders the ranges of the loops decide."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...emit.generic import GenericOp
from .affine_sizes import DIVISIONS, is_divided, loop_indices, simplified


def has_divisions(op: GenericOp) -> bool:
    """Check whether an index of an operand has a division or a remainder."""
    text = str(op.operation.attributes["indexing_maps"])
    return any(word in text for word in DIVISIONS)


def simplify_maps(operation: Operation) -> None:
    """Replace the indices of an operation by equal ones with fewer divisions."""
    op = GenericOp(operation)
    indices = loop_indices(op.known_sizes)
    results = [
        [simplified(each, indices) if is_divided(each) else each for each in map_.results] for map_ in op.maps
    ]
    maps = [ir.AffineMap.get(map_.n_dims, 0, each) for map_, each in zip(op.maps, results, strict=True)]
    operation.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])
