# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collapse of dimensions that are contiguous in every operand, into one loop and one dimension."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..bindings.affine import identity
from ..bindings.ir import Attribute, Operation, Value
from ..bindings.mlir import DYNAMIC, i64_attribute, ir
from .arithmetic import result_of

#: Groups of loops or axes that are collapsed together.
Groups = Sequence[Sequence[int]]


class AxisStep(NamedTuple):
    """Index of an operand along an axis with more than one element."""

    axis: int
    #: Loop that covers the axis from end to end, or None for any other index.
    dim: int | None
    #: Loops that the index depends on.
    dims: frozenset[int]


#: Predicate (operand, outer, inner): True if there is no gap behind the operand's inner axis.
IsWhole = Callable[[int, int, int], bool]


def are_neighbours(walks: Sequence[Sequence[AxisStep]], left: int, right: int, is_whole: IsWhole) -> bool:
    """Check whether each operand that uses either loop has both, adjacent in this order.

    `walks` are the operands' steps in axis order.
    """
    for operand, walk in enumerate(walks):
        places = [place for place, step in enumerate(walk) if not step.dims.isdisjoint((left, right))]
        if not places:
            continue
        steps = walk[places[0] : places[-1] + 1]
        if [step.dim for step in steps] != [left, right] or not is_whole(operand, steps[0].axis, steps[1].axis):
            return False
    return True


def chains(
    dims: Sequence[int], walks: Sequence[Sequence[AxisStep]], follows: Callable[[int, int], bool]
) -> list[list[int]]:
    """Return the loops in chains, ordered by their first loops.

    `follows` is only called for loops that are adjacent in some operand.
    """
    behind = {(left.dim, right.dim) for walk in walks for left, right in itertools.pairwise(walk)}
    pairs = (pair for pair in itertools.permutations(dims, 2) if pair in behind)
    following = {left: right for left, right in pairs if follows(left, right)}
    found = [[start] for start in dims if start not in following.values()]
    for chain in found:
        while chain[-1] in following:
            chain.append(following[chain[-1]])
    return found


# ---- dimensions ----


def collapse(value: Value, groups: Groups) -> Value:
    """Return a tensor or memref with each group of dimensions collapsed into one."""
    if all(len(group) == 1 for group in groups):
        return value
    type_, shape = value.type, joined_shape(value.type.shape, groups)
    attributes = {"reassociation": reassociation(list(map(sorted, groups)))}
    if isinstance(type_, ir.RankedTensorType):
        joined = ir.RankedTensorType.get(shape, type_.element_type)
        return result_of("tensor.collapse_shape", [value], joined, **attributes)
    layout = None
    if type_.affine_map != identity(type_.rank):
        strides, offset = type_.get_strides_and_offset()
        layout = ir.StridedLayoutAttr.get(offset, [strides[max(group)] for group in groups])
    joined = ir.MemRefType.get(shape, type_.element_type, layout, type_.memory_space)
    return result_of("memref.collapse_shape", [value], joined, **attributes)


def joined_shape(shape: Sequence[int], groups: Groups) -> tuple[int, ...]:
    return tuple(joined_size([shape[axis] for axis in group]) for group in groups)


def joined_size(sizes: Sequence[int]) -> int:
    return DYNAMIC if DYNAMIC in sizes else math.prod(sizes)


def reassociation(groups: Groups) -> Attribute:
    """Return the reassociation attribute of collapse_shape and expand_shape."""
    return ir.ArrayAttr.get([ir.ArrayAttr.get([i64_attribute(dim) for dim in group]) for group in groups])


def groups_of(op: Operation) -> list[list[int]]:
    """Return the groups of such an operation."""
    return [[int(dim.value) for dim in group] for group in op.attributes["reassociation"]]
