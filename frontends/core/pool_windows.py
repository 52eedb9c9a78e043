# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sliding windows over the spatial dimensions of images, and the positions of their maxima."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from ...dialects import relax
from ...dialects.core.infos import is_float
from ...dialects.core.symbols import at_most
from ...emit.axis_reduction import lowest
from . import sizes
from .sizes import Size
from .tensors import const, info_of
from .values import Tensor, Value


class Windows(NamedTuple):
    """Windows along each spatial dimension. Padding before and after may depend on dynamic sizes."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[Size, ...]
    after: tuple[Size, ...]

    @property
    def reaches(self) -> tuple[int, ...]:
        return tuple((taps - 1) * gap + 1 for taps, gap in zip(self.kernel, self.dilations, strict=True))

    @property
    def is_fixed(self) -> bool:
        """Check whether the padding is known, not a function of dimensions."""
        return all(isinstance(each, int) for each in (*self.before, *self.after))


def covering(windows: Windows) -> Windows:
    """Extend the padding for windows that 'ceil_mode' adds. No window may start behind the data."""
    if not windows.is_fixed:
        return windows  # With 'auto_pad', no window exceeds the data.
    after = [
        min(high + stride - 1, max(reach - 1, high))
        for high, stride, reach in zip(windows.after, windows.strides, windows.reaches, strict=True)
    ]
    return windows._replace(after=tuple(after))


def with_borders(data: Tensor, windows: Windows, value: float, dtype: str) -> Tensor:
    """Pad the data with a value. The widths may depend on sizes."""
    if windows.is_fixed:
        sides = [side for pair in zip(windows.before, windows.after, strict=True) for side in pair]
        return data if not any(sides) else relax.nn.pad(data, pad_width=[0, 0, 0, 0, *sides], pad_value=value)
    shape = sizes.sizes_of(Value(ssa=data))
    for axis, (before, after) in enumerate(zip(windows.before, windows.after, strict=True), 2):
        pieces = [
            sizes.full([*shape[:axis], width, *shape[axis + 1 :]], const(value, dtype)) if width != 0 else None
            for width in (before, after)
        ]
        pieces.insert(1, data)
        around = [piece for piece in pieces if piece is not None]
        data = relax.concat([*around], axis=axis) if len(around) > 1 else data
        shape[axis] = sizes.plus(sizes.plus(shape[axis], before), after)
    return data


def maxima_and_places(
    data: Tensor, places: Tensor, windows: Windows, counts: Sequence[Size], takes_nan: bool = False
) -> list[Tensor]:
    """Return the maxima of the windows, and the elements of `places`, as large as the data, at the same positions.

    There are `counts` windows. With `takes_nan`, NaN is larger than all numbers.
    """
    dtype, shape = info_of(data).dtype, sizes.sizes_of(Value(ssa=data))
    # Windows of 'ceil_mode' may extend beyond the end.
    after = map(_compute_excess, counts, windows.strides, windows.reaches, windows.before, shape[2:])
    wide = windows._replace(after=tuple(after))
    data = _as_far(with_borders(data, wide, lowest(dtype), dtype), windows, counts)
    places = _as_far(with_borders(places, wide, -1, "i64"), windows, counts)
    best, at = None, None
    for tap in itertools.product(*map(range, windows.kernel)):
        values, indices = (_read_tap(tensor, windows, tap) for tensor in (data, places))
        if best is None:
            best, at = values, indices
            continue
        # Padding is never the maximum, not even of elements that are as low.
        is_better = relax.greater(values, best)
        if takes_nan and is_float(dtype):
            is_better = relax.logical_or(is_better, relax.isnan(values))
        was_padding = relax.logical_and(
            relax.dialect.ops["less"](at, const(0, "i64")), relax.greater_equal(indices, const(0, "i64"))
        )
        is_better = relax.logical_or(is_better, was_padding)
        best, at = (
            relax.dialect.ops["where"](is_better, values, best),
            relax.dialect.ops["where"](is_better, indices, at),
        )
    return [_set_sizes(each, counts) for each in (best, at) if each is not None]


def _compute_excess(count: Size, stride: int, reach: int, before: Size, size: Size) -> Size:
    """Return the distance by which the last window along a dimension exceeds the end."""
    over = sizes.minus(sizes.minus(sizes.plus(sizes.times(sizes.minus(count, 1), stride), reach), size), before)
    return 0 if sizes.is_known(over) and at_most(over, 0) else sizes.larger(over, 0)


def _as_far(tensor: Tensor, windows: Windows, counts: Sequence[Size]) -> Tensor:
    """Crop the data at the end of the last window."""
    ends = {
        axis: sizes.plus(sizes.times(sizes.minus(count, 1), stride), reach)
        for axis, (count, stride, reach) in enumerate(zip(counts, windows.strides, windows.reaches, strict=True), 2)
    }
    own = sizes.sizes_of(Value(ssa=tensor))
    bounds = {axis: (0, end, 1) for axis, end in ends.items() if end != own[axis]}
    return sizes.sliced(Value(ssa=tensor), bounds, ends) if bounds else tensor


def _read_tap(tensor: Tensor, windows: Windows, tap: Sequence[int]) -> Tensor:
    """Return the elements of all windows at one tap. The end is cropped as far as the tap is from its window's end."""
    begin = [place * gap for place, gap in zip(tap, windows.dilations, strict=True)]
    end = [first + 1 - reach or sizes.OPEN for first, reach in zip(begin, windows.reaches, strict=True)]
    axes = range(2, 2 + len(begin))
    return relax.strided_slice(tensor, axes=axes, begin=begin, end=end, strides=windows.strides)


def _set_sizes(result: Tensor, counts: Sequence[Size]) -> Tensor:
    """Give the result's type the sizes of the windows, in their simplest form."""
    info = Value(ssa=result).info
    if info.shape is None or not sizes.is_known(*counts) or [*info.shape[2:]] == [*counts]:
        return result
    return relax.match_cast(result, ty=info.with_shape((*info.shape[:2], *counts)))
