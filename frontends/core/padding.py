# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding of tensors, or cropping at their borders. The widths may be dynamic sizes."""

from __future__ import annotations

from collections.abc import Mapping

from ...dialects import relax
from . import sizes
from .sizes import Size
from .tensors import along_axis, const
from .values import Tensor, Value


def padded(
    value: Value, pairs: Mapping[int, tuple[Size, Size]], mode: str, fill: int | float | Tensor
) -> Tensor | Value:
    """Pad with the widths before and after along each axis. Negative widths crop.

    `mode` is the mode of nn.pad, `fill` a number or a 0-D tensor.
    """
    are_numbers = all(isinstance(width, int) for pair in pairs.values() for width in pair)
    if are_numbers and (mode != "constant" or isinstance(fill, (int, float))):
        flat = [width for axis in range(value.rank or 0) for width in pairs.get(axis, (0, 0))]
        return relax.dialect.ops["nn.pad"](
            value.ssa, pad_width=flat, pad_mode=mode, pad_value=fill if mode == "constant" else 0
        )
    filling = const(fill, value.dtype) if isinstance(fill, (int, float)) else fill
    result = value
    for axis, (before, after) in pairs.items():
        if not (before == 0 and after == 0):
            result = Value(ssa=_pad_along(result, axis, before, after, mode, filling))
    return result


def _pad_along(value: Value, axis: int, before: Size, after: Size, mode: str, fill: Tensor) -> Tensor:
    """Pad along an axis by gathering each element of the result from its source. The widths are sizes."""
    own = sizes.sizes_of(value)
    count = sizes.larger(sizes.plus(sizes.plus(own[axis], before), after), 0)
    places = relax.subtract(sizes.count_up(count), sizes.as_tensor([before]))
    size = sizes.as_tensor([own[axis]])
    taken = relax.take(value.ssa, _source(places, size, mode), axis=axis)
    if mode == "constant":
        is_inside = relax.logical_and(relax.greater_equal(places, const(0, "i64")), relax.less(places, size))
        taken = relax.where(along_axis(is_inside, axis, len(own)), taken, fill)
    return sizes.stated(taken, [*own[:axis], count, *own[axis + 1 :]])


def _source(places: Tensor, size: Tensor, mode: str) -> Tensor:
    """Map padded indices, which may be out of bounds, to source indices."""
    zero, one = const(0, "i64"), const(1, "i64")
    last = relax.subtract(size, one)
    if mode == "circular":
        return relax.floor_mod(places, size)
    if mode == "reflect":
        period = relax.maximum(relax.multiply(last, const(2, "i64")), one)
        place = relax.floor_mod(places, period)
        return relax.minimum(place, relax.subtract(period, place))
    return relax.minimum(relax.maximum(places, zero), last)
