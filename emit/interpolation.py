# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interpolation: sums of a tensor's elements around a position, weighted along each dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from ..dialects.core.infos import Info, TensorInfo
from . import loops
from .linalg import is_nothing
from .numbers import Number, Size, select


class Tap(NamedTuple):
    """Element along a dimension: its index and its weight, None for a single element."""

    place: Number
    weight: Number | None = None


def weighted(axes: Sequence[Sequence[Tap]], read: Callable[[Sequence[Number]], Number]) -> Number:
    """Return the weighted sum over the taps of all axes. `read(indices)` returns an element."""
    if not axes:
        return read([])
    total = None
    for place, weight in axes[0]:
        value = weighted(axes[1:], lambda rest, place=place: read([place, *rest]))  # type: ignore[misc]
        value = value if weight is None else value * weight
        total = value if total is None else total + value
    assert total is not None
    return total


def linear_weights(fraction: Number) -> list[Number]:
    return [1.0 - fraction, fraction]


def cubic_weights(fraction: Number, alpha: float) -> list[Number]:
    """Return the weights of the elements at -1, 0, 1 and 2, for a position at `fraction`."""

    def near(distance: Number) -> Number:
        return ((alpha + 2) * distance - (alpha + 3)) * distance * distance + 1.0

    def far(distance: Number) -> Number:
        return ((alpha * distance - 5 * alpha) * distance + 8 * alpha) * distance - 4 * alpha

    return [far(fraction + 1.0), near(fraction), near(1.0 - fraction), far(2.0 - fraction)]


def limited(x: Number, lowest: Number | float, highest: Number | float) -> Number:
    """Clamp a number to a range. NaN stays NaN."""
    x = select(x < lowest, lowest, x)
    return select(x > highest, highest, x)


def inside(index: Number, size: Number) -> tuple[Number, Number]:
    """Return an index that is in bounds if the dimension has elements, and True if the original index is."""
    return limited(index, 0, size - 1), (index >= 0) & (index < size)


def is_empty(info: Info, axes: Sequence[int], result: Info) -> bool:
    """Check whether the types prove that elements are read from an empty image."""
    assert isinstance(info, TensorInfo) and info.shape is not None
    assert isinstance(result, TensorInfo) and result.shape is not None
    return 0 not in result.shape and any(info.shape[axis] == 0 for axis in axes)


def require_image(sizes: Sequence[Size], out_sizes: Sequence[Size]) -> None:
    """Raise ValueError in the program if elements are read from an empty image."""
    if is_nothing(out_sizes):
        return
    wanted = [size != 0 for size in out_sizes if not isinstance(size, int)]
    for size in sizes:
        if not isinstance(size, int):
            is_missing = reduce(lambda left, right: left & right, wanted, size == 0)
            loops.require(~is_missing, "ValueError", "the image is empty: a size is {}", size)
