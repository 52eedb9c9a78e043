# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows that slide over dimensions of a tensor, as affine maps; what is outside of the tensor is padding."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

from ..bindings.ir import Value
from ..bindings.mlir import DYNAMIC
from ..dialects.core.facts import Window
from . import linalg
from .loops import when
from .numbers import Number, Size, constant, maximum, minimum
from .tensors import put_slice, slice_of


def span(window: Window, positions: Size) -> Size:
    """How many elements one tap goes over, from the first of these positions to the last."""
    return maximum(positions * window.stride + (1 - window.stride), 0)


def fitted(window: Window, size: int, positions: int) -> Window:
    """With no more padding behind a dimension than the positions reach; negative where the size is dynamic."""
    if DYNAMIC in (size, positions):
        return window
    reached = max(positions - 1, 0) * window.stride + (window.taps - 1) * window.gap + 1
    return window._replace(after=max(reached - size - window.before, 0))


class Meeting(NamedTuple):
    """The positions at which one tap of a window is inside of the data."""

    first: Size
    #: How many there are.
    length: Size
    #: Where in the data the tap is at the first of them.
    place: Size


def meeting(window: Window, tap: Size, size: Size, positions: Size) -> Meeting:
    """Where a tap meets the data in a dimension of `size` elements; the taps of the window do not count."""
    origin = tap * window.gap - window.before
    first, end = (
        minimum((maximum(distance, 0) + (window.stride - 1)) // window.stride, positions)
        for distance in (0 - origin, size - origin)
    )
    place = origin + first * window.stride
    # Where they do not meet, the unused part of the data is at its end.
    return Meeting(first, end - first, minimum(maximum(place, 0), size))


def padded(
    tensor: Value, value: Value | float, before: Sequence[int], after: Sequence[int], *, at_once: bool = False
) -> Value:
    """The tensor with a border of one value around it; the tensor itself where the border is nowhere.

    `at_once`: by one operation, whose points each look whether they are in the border; otherwise by one for each part.
    """
    if not any(before) and not any(after):
        return tensor
    around = [size + (low + high) for size, low, high in zip(linalg.sizes(tensor), before, after, strict=True)]
    if at_once:
        return surrounded(tensor, value, before, after, linalg.empty(around, tensor.type.element_type))
    return in_room(tensor, value, before, after, around)


def surrounded(
    tensor: Value, value: Value | float, before: Sequence[int], after: Sequence[int], output: Value
) -> Value:
    """The output, each element read so far behind the tensor's own place, the value where there is none."""
    around = constant(value, output.type.element_type) if not isinstance(value, Value) else value
    moved = [axis for axis in range(linalg.rank_of(tensor)) if before[axis] or after[axis]]
    if not moved:
        return linalg.copy(tensor, output)
    sizes = {axis: linalg.size(tensor, axis) for axis in moved}

    def read() -> Number:
        at = [linalg.index(axis) for axis in range(linalg.rank_of(tensor))]
        for axis in moved:
            at[axis] = at[axis] - before[axis]
        # Without sign, for which numbers below 0 are large.
        is_inside = reduce(operator.and_, [at[axis].unsigned("<", size) for axis, size in sizes.items()])
        return when(is_inside, lambda: linalg.extract(tensor, at), lambda: around, [around.type])[0]

    return linalg.parallel([], output, read)


def in_room(
    tensor: Value, value: Value | float, before: Sequence[Size], after: Sequence[Size], around: Sequence[Size]
) -> Value:
    """The tensor in a room of the sizes `around`, one value before and after it."""
    sizes = linalg.sizes(tensor)
    whole = linalg.empty(around, tensor.type.element_type)
    # Only the border is filled: to write all of it twice would take as long as to copy the tensor.
    for border in borders(sizes, before, after, around):
        whole = _filled(value, whole, border.offsets, border.sizes)
    return put_slice(linalg.copy(tensor, slice_of(whole, before, sizes)), whole, before, sizes=sizes)


class Border(NamedTuple):
    """A part of what is around a tensor: on one side of it along an axis, in all of its room along those behind."""

    axis: int
    offsets: list[Size]
    sizes: list[Size]


def borders(
    sizes: Sequence[Size], before: Sequence[Size], after: Sequence[Size], around: Sequence[Size]
) -> Iterator[Border]:
    """What surrounds a tensor of these sizes in a room of the sizes `around`, in parts that do not overlap."""
    for axis, (low, size, high) in enumerate(zip(before, sizes, after, strict=True)):
        for start, width in ((0, low), (low + size, high)):
            if not isinstance(width, int) or width > 0:
                offsets = [*before[:axis], start, *[0] * (len(sizes) - axis - 1)]
                yield Border(axis, offsets, [*sizes[:axis], width, *around[axis + 1 :]])


def _filled(value: Value | float, tensor: Value, offsets: Sequence[Size], sizes: Sequence[Size]) -> Value:
    return put_slice(linalg.fill(value, slice_of(tensor, offsets, sizes)), tensor, offsets, sizes=sizes)
