# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing of images, in integers or floats."""

from __future__ import annotations

from typing import NamedTuple

from relax_mlir.dialects.core.infos import is_float

from ..prelude import Outputs, Tensor, TosaNode, along_axis, cast, const, register_tosa, relax, sizes


class ResizedAxis(NamedTuple):
    """One dimension: index p of the result reads the data at (p * step + offset) / unit."""

    axis: int
    unit: int
    step: int
    offset: int
    border: int


class Taps(NamedTuple):
    """Both neighbors of each index of the result, and the distance from the first in units."""

    first: Tensor
    second: Tensor
    rest: Tensor


@register_tosa("tosa.resize")
def resize(node: TosaNode) -> Outputs:
    scale, offset, border = (node.known_shape(index) for index in (1, 2, 3))
    tensor = node.tensor(0)
    is_nearest = node.attr("mode") == "NEAREST_NEIGHBOR"
    wide = node.dtype if not is_float(node.dtype) or node.dtype == "f64" else "f32"
    tensor = tensor if is_nearest else cast(tensor, wide)
    for place in (0, 1):
        along = ResizedAxis(place + 1, scale[2 * place], scale[2 * place + 1], offset[place], border[place])
        taps = _taps(node.sizes_of_operand(0)[along.axis], along)
        tensor = _nearest(tensor, taps, along) if is_nearest else _blend(tensor, taps, along, wide)
    return cast(tensor, node.dtype)


def _taps(size: sizes.Size, along: ResizedAxis) -> Taps:
    reach = sizes.plus(sizes.times(sizes.minus(size, 1), along.unit), along.border - along.offset)
    count = sizes.plus(sizes.divided(reach, along.step), 1)
    numbers = relax.multiply(sizes.count_up(count), const(along.step, "i64"))
    numbers = relax.add(numbers, const(along.offset, "i64"))
    unit = const(along.unit, "i64")
    place = relax.floor_divide(numbers, unit)
    rest = relax.subtract(numbers, relax.multiply(place, unit))
    last = sizes.as_tensor([sizes.minus(size, 1)])
    first = relax.maximum(place, const(0, "i64"))
    return Taps(first, relax.minimum(relax.add(place, const(1, "i64")), last), rest)


def _nearest(x: Tensor, taps: Taps, along: ResizedAxis) -> Tensor:
    """Return the nearest neighbors. Ties go to the second neighbor."""
    is_second = relax.greater_equal(relax.multiply(taps.rest, const(2, "i64")), const(along.unit, "i64"))
    return relax.take(x, relax.where(is_second, taps.second, taps.first), axis=along.axis)


def _blend(x: Tensor, taps: Taps, along: ResizedAxis, dtype: str) -> Tensor:
    """Interpolate between both neighbors. Integers grow by the factor `unit`."""
    share = cast(taps.rest, dtype)
    if is_float(dtype):
        share = relax.divide(share, const(along.unit, dtype))
    share = along_axis(share, along.axis, 4)
    whole = const(1 if is_float(dtype) else along.unit, dtype)
    first, second = (relax.take(x, each, axis=along.axis) for each in (taps.first, taps.second))
    return relax.add(relax.multiply(first, relax.subtract(whole, share)), relax.multiply(second, share))
