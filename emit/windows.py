# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sliding windows over dimensions of a tensor, as affine maps. Elements outside of the tensor are padding."""

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
    """Return the distance that one tap covers, in elements, from the first position to the last."""
    return maximum(positions * window.stride + (1 - window.stride), 0)


def fitted(window: Window, size: int, positions: int) -> Window:
    """Reduce the padding behind a dimension to the reach of the positions.

    The padding may become negative. Dynamic sizes keep the window unchanged.
    """
    if DYNAMIC in (size, positions):
        return window
    reached = max(positions - 1, 0) * window.stride + (window.taps - 1) * window.gap + 1
    return window._replace(after=max(reached - size - window.before, 0))


class Meeting(NamedTuple):
    """Positions at which one tap of a window is inside the data."""

    first: Size
    #: Number of positions.
    length: Size
    #: Index of the tap in the data at the first position.
    place: Size


def meeting(window: Window, tap: Size, size: Size, positions: Size) -> Meeting:
    """Return the positions at which a tap is inside a dimension of `size` elements.

    The number of taps does not matter.
    """
    origin = tap * window.gap - window.before
    first, end = (
        minimum((maximum(distance, 0) + (window.stride - 1)) // window.stride, positions)
        for distance in (0 - origin, size - origin)
    )
    place = origin + first * window.stride
    # If the tap never meets the data, the unused part of the data is at its end.
    return Meeting(first, end - first, minimum(maximum(place, 0), size))


def padded(
    tensor: Value, value: Value | float, before: Sequence[int], after: Sequence[int], *, at_once: bool = False
) -> Value:
    """Return the tensor with a border of one value, or the tensor itself without a border.

    `at_once` uses one operation, whose points test whether they are in the border. Otherwise each part has its own
    operation.
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
    """Return the output with elements read from the tensor at indices shifted by `before`.

    Indices out of bounds give the value.
    """
    around = constant(value, output.type.element_type) if not isinstance(value, Value) else value
    if not (moved := [axis for axis in range(linalg.rank_of(tensor)) if before[axis] or after[axis]]):
        return linalg.copy(tensor, output)
    sizes = {axis: linalg.size(tensor, axis) for axis in moved}

    def read() -> Number:
        at = [linalg.index(axis) for axis in range(linalg.rank_of(tensor))]
        for axis in moved:
            at[axis] = at[axis] - before[axis]
        # As unsigned, numbers below 0 are large.
        is_inside = reduce(operator.and_, [at[axis].unsigned("<", size) for axis, size in sizes.items()])
        return when(is_inside, lambda: linalg.extract(tensor, at), lambda: around, [around.type])[0]

    return linalg.parallel([], output, read)


def in_room(
    tensor: Value,
    value: Value | float,
    before: Sequence[Size],
    after: Sequence[Size],
    around: Sequence[Size],
    whole: Value | None = None,
) -> Value:
    """Return the tensor in a larger tensor of the sizes `around`, with one value before and after it.

    The result overwrites `whole`, if given.
    """
    sizes = linalg.sizes(tensor)
    whole = linalg.empty(around, tensor.type.element_type) if whole is None else whole
    # Only the border is filled: writing all elements twice would take as long as copying the tensor.
    for border in borders(sizes, before, after, around):
        whole = _fill_slice(value, whole, border.offsets, border.sizes)
    return put_slice(linalg.copy(tensor, slice_of(whole, before, sizes)), whole, before, sizes=sizes)


class Border(NamedTuple):
    """Part of the border of a tensor: one side along an axis, and the full extent along later axes."""

    axis: int
    offsets: list[Size]
    sizes: list[Size]


def borders(
    sizes: Sequence[Size], before: Sequence[Size], after: Sequence[Size], around: Sequence[Size]
) -> Iterator[Border]:
    """Yield the border of a tensor inside a tensor of the sizes `around`, in parts that do not overlap."""
    for axis, (low, size, high) in enumerate(zip(before, sizes, after, strict=True)):
        for start, width in ((0, low), (low + size, high)):
            if not isinstance(width, int) or width > 0:
                offsets = [*before[:axis], start, *[0] * (len(sizes) - axis - 1)]
                yield Border(axis, offsets, [*sizes[:axis], width, *around[axis + 1 :]])


def _fill_slice(value: Value | float, tensor: Value, offsets: Sequence[Size], sizes: Sequence[Size]) -> Value:
    return put_slice(linalg.fill(value, slice_of(tensor, offsets, sizes)), tensor, offsets, sizes=sizes)
