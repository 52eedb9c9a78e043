# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collapsing: dimensions that are contiguous in every operand as one loop, and as one dimension."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..bindings.affine import identity
from ..bindings.ir import Attribute, Operation, Value
from ..bindings.mlir import DYNAMIC, i64_attribute, ir
from .arithmetic import result_of

#: Of loops or axes, those that become one together.
Groups = Sequence[Sequence[int]]


class AxisStep(NamedTuple):
    """How an operand's index moves along an axis of more than one element."""

    axis: int
    #: The loop that it is, from end to end; None where it is anything else.
    dim: int | None
    #: The loops that it depends on.
    dims: frozenset[int]


#: Whether there is no gap behind an operand's inner axis: operand, outer, inner.
IsWhole = Callable[[int, int, int], bool]


def are_neighbours(walks: Sequence[Sequence[AxisStep]], left: int, right: int, is_whole: IsWhole) -> bool:
    """Whether each operand that either loop walks through has both, one right behind the other; `walks` are the
    operands' steps in the order of their axes."""
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
    """The loops in groups, each in order, in the order of their first ones. Asked about are those of which some operand
    has one behind the other."""
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
    """A tensor, or memory, with the dimensions of each group as one."""
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
    """Which dimensions become one, or one becomes: of collapse_shape and expand_shape."""
    return ir.ArrayAttr.get([ir.ArrayAttr.get([i64_attribute(dim) for dim in group]) for group in groups])


def groups_of(op: Operation) -> list[list[int]]:
    """The same of such an operation."""
    return [[int(dim.value) for dim in group] for group in op.attributes["reassociation"]]
