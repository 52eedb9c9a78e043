# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing along any axes: each output element combines input elements at coordinates from scales and sizes.

Coordinates are calculated in f32, as in other runtimes, so that ties round to the same element.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple, TypeVar

from ...bindings.ir import Value
from ...dialects import relax
from ...dialects.core.infos import is_float
from ...dialects.core.symbols import SymExpr
from .sizes import Size, as_shape, as_tensor, count_up, full, is_known, minus, plus, stated, times
from .tensors import along_axis, cast, const, info_of, wide_float
from .values import Array, Tensor

_MOST_WEIGHTS = 2**24


class Along(NamedTuple):
    """Resizing of one axis. If `scale` is None, it is count / size. `start` and `end` bound the region to crop."""

    axis: int
    size: Size
    count: Size
    scale: Any = None
    start: Any = 0.0
    end: Any = 1.0


class Settings(NamedTuple):
    """Interpolation mode, coordinate transformation, and treatment of elements outside."""

    mode: str  # One of nearest, linear and cubic.
    coordinates: str
    rounding: str
    cubic: float = -0.75
    excludes_outside: bool = False
    extrapolated: float = 0.0


def _operator(name: str, flipped: bool = False) -> Callable[[Real, Real | float], Real]:
    def apply(one: Real, other: Real | float) -> Real:
        right = other.tensor if isinstance(other, Real) else const(float(other), "f32")
        return Real(relax.dialect.ops[name](*((right, one.tensor) if flipped else (one.tensor, right))))

    return apply


class Real:
    """Tensor of f32 with Python's arithmetic operators."""

    def __init__(self, tensor: Value):
        self.tensor = tensor

    __add__ = __radd__ = _operator("add")
    __mul__ = __rmul__ = _operator("multiply")
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", flipped=True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", flipped=True)

    def floor(self) -> Real:
        return Real(relax.floor(self.tensor))

    def ceil(self) -> Real:
        return Real(relax.ceil(self.tensor))

    def as_size(self) -> Tensor:
        return relax.astype(self.tensor, dtype="i64")


#: Coordinates, as an array or as a tensor.
Places = TypeVar("Places", Array, Real)


def real(value: Size | Real | float) -> Any:
    """Return a number as a float, and any other size as a Real. Sizes are integers, expressions or integer tensors."""
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, Real):
        return value
    return Real(relax.astype(as_tensor([value]), dtype="f32"))


def scaled_size(size: Size, scale: Real | float) -> Size:
    """Return floor(size * scale), calculated in f32 as in other runtimes."""
    import numpy

    if isinstance(scale, float) and isinstance(size, int):
        return math.floor(numpy.float32(size) * numpy.float32(scale))
    if isinstance(scale, float) and is_known(size):
        if scale == int(scale):
            return size * int(scale)
        if scale and 1 / scale == int(1 / scale):
            return size // int(1 / scale)
    product = real(size) * (Real(const([scale], "f32")) if isinstance(scale, float) else scale)
    return product.floor().as_size()


def _tensor(value: Real | float) -> Tensor:
    return value.tensor if isinstance(value, Real) else const(value, "f32")


def coordinates(x: Places, along: Along, mode: str) -> Places:
    """Map output positions `x` to coordinates in the data."""
    size, count = real(along.size), real(along.count)
    scale = count / size if along.scale is None else real(along.scale)
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    if mode == "align_corners":
        length = count if along.scale is None else scale * size
        return _unless_single(count, lambda: x * ((size - 1.0) / (length - 1.0)), x * 0.0)
    if mode == "tf_crop_and_resize":
        start, end = real(along.start), real(along.end)
        middle = x * 0.0 + (start + end) * 0.5 * (size - 1.0)
        step = lambda: x * ((end - start) * (size - 1.0) / (count - 1.0)) + start * (size - 1.0)  # noqa: E731
        return _unless_single(count, step, middle)
    moved = (x + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return _unless_single(count, lambda: moved, x * 0.0)
    if mode == "half_pixel_symmetric":
        return moved + size * 0.5 * (1.0 - count / (scale * size))
    return moved


def _coordinates(along: Along, settings: Settings) -> Real:
    """Return the coordinates of all output positions in f32."""
    return coordinates(Real(relax.astype(count_up(along.count), dtype="f32")), along, settings.coordinates)


def _unless_single(count: Real | float, value: Callable[[], Any], otherwise: Any) -> Any:
    """Return `value()` if the result has several positions along the axis, else `otherwise`."""
    if not isinstance(count, Real):
        return otherwise if count == 1.0 else value()
    is_single = relax.equal(count.tensor, const(1.0, "f32"))
    return Real(relax.where(is_single, otherwise.tensor, value().tensor))


def resized(data: Tensor, alongs: Sequence[Along], settings: Settings) -> Tensor:
    """Resize the data along the axes, one after the other."""
    info = info_of(data)
    assert info.shape is not None
    if settings.mode == "nearest":
        result, wide = data, info.dtype
    else:
        wide = wide_float(info.dtype)
        result = cast(data, wide)
    rank = len(info.shape)
    masks = []
    for along in alongs:
        x = _coordinates(along, settings)
        result = _resample(result, x, along, settings, rank, wide)
        if settings.coordinates == "tf_crop_and_resize":
            masks.append(_is_inside(x, along, rank))
    fill = settings.extrapolated if is_float(wide) else int(settings.extrapolated)
    for mask in masks:
        result = relax.where(mask, result, const(fill, wide))
    sizes = list(info.shape)
    for along in alongs:
        sizes[along.axis] = along.count
    return stated(cast(result, info.dtype), sizes)


def _is_inside(x: Real, along: Along, rank: int) -> Tensor:
    last = _tensor(real(along.size) - 1.0)
    inside = relax.logical_and(relax.greater_equal(x.tensor, const(0.0, "f32")), relax.less_equal(x.tensor, last))
    return along_axis(inside, along.axis, rank)


def _resample(data: Tensor, x: Real, along: Along, settings: Settings, rank: int, dtype: str) -> Tensor:
    if settings.mode == "nearest":
        return _take(data, _round(x, along, settings.rounding), along)
    base = x.floor()
    fraction = x - base
    steps = range(2) if settings.mode == "linear" else range(-1, 3)
    places = [base + step for step in steps]
    weights = [1.0 - fraction, fraction] if settings.mode == "linear" else cubic_weights(fraction, settings.cubic)
    if settings.excludes_outside:
        weights = _exclude_outside(weights, places, along)

    def weighted(place: Real, weight: Real) -> Tensor:
        factor = cast(weight.tensor, dtype)
        return relax.multiply(_take(data, place, along), along_axis(factor, along.axis, rank))

    return reduce(relax.add, (weighted(*each) for each in zip(places, weights, strict=True)))


def cubic_weights(fraction: Real, a: float) -> list[Real]:
    """Return the cubic convolution kernel at the distances of the four neighbours."""
    near = [near_weight(distance, a) for distance in (fraction, 1.0 - fraction)]
    return [far_weight(fraction + 1.0, a), *near, far_weight(2.0 - fraction, a)]


def near_weight(t: Places, a: float) -> Places:
    """Return the cubic convolution kernel at distances up to 1, of arrays or Reals."""
    return ((a + 2) * t - (a + 3)) * t * t + 1.0


def far_weight(t: Places, a: float) -> Places:
    """Return the cubic convolution kernel at distances from 1 to 2. Beyond 2 the kernel is 0."""
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a


def _exclude_outside(weights: Sequence[Real], places: Sequence[Real], along: Along) -> list[Real]:
    kept = [
        Real(relax.where(_is_inside(place, along, along.axis + 1), weight.tensor, const(0.0, "f32")))
        for weight, place in zip(weights, places, strict=True)
    ]
    total = reduce(operator.add, kept)
    return [weight / total for weight in kept]


def _round(x: Real, along: Along, rounding: str) -> Real:
    if rounding == "floor":
        return x.floor()
    if rounding == "ceil":
        return x.ceil()
    if rounding == "round_prefer_ceil":
        return (x + 0.5).floor()
    if rounding == "round_prefer_floor":
        return (x - 0.5).ceil()
    # The first versions round down if the result is larger, and up if it is smaller.
    if not isinstance(scale := real(along.scale), Real):
        return x.ceil() if scale < 1.0 else x.floor()
    return Real(relax.where(relax.less(scale.tensor, const(1.0, "f32")), x.ceil().tensor, x.floor().tensor))


def _take(data: Tensor, place: Real, along: Along) -> Tensor:
    """Return the elements at a coordinate. Coordinates outside are clamped to the border."""
    last = _tensor(real(along.size) - 1.0)
    limited = relax.minimum(relax.maximum(place.tensor, const(0.0, "f32")), last)
    return relax.take(data, relax.astype(limited, dtype="i64"), axis=along.axis)


def as_image(data: Tensor, alongs: Sequence[Along], settings: Settings) -> Tensor | None:
    """Resize with relax.image.resize2d or resize3d, which take sizes.

    Return None if sizes do not express the scales.
    """
    shape = info_of(data).shape or ()
    rank = len(shape)
    last = {along.axis: along for along in alongs}
    fits = rank in (4, 5) and min(last) >= 2 and all(_is_exact(along) for along in alongs)
    if not fits or None in shape[2:]:
        return None
    rounding, shrinks = settings.rounding, [isinstance(along.scale, float) and along.scale < 1 for along in alongs]
    if rounding == "as_scaled":
        if any(shrinks) and not all(shrinks):
            return None
        rounding = "ceil" if any(shrinks) else "floor"
    axes = [last.get(axis, Along(axis, shape[axis], shape[axis])) for axis in range(2, rank)]
    coordinates = settings.coordinates
    return relax.dialect.ops[f"image.resize{rank - 2}d"](
        data,
        as_shape([along.count for along in axes]),
        roi=[float(along.start) for along in axes] + [float(along.end) for along in axes],
        method="nearest_neighbor" if settings.mode == "nearest" else settings.mode,
        coordinate_transformation_mode="half_pixel" if coordinates == "half_pixel_symmetric" else coordinates,
        rounding_method=rounding,
        cubic_alpha=settings.cubic,
        cubic_exclude=int(settings.excludes_outside),
        extrapolation_value=settings.extrapolated,
    )


def _is_exact(along: Along) -> bool:
    """Check whether both sizes are known and the scale is their ratio."""
    if not is_known(along.size, along.count) or isinstance(along.start, Real):
        return False
    if along.scale is None:
        return True
    if not isinstance(along.scale, float):
        return False
    if isinstance(along.size, SymExpr):
        return along.scale == int(along.scale)
    return math.isclose(along.size * along.scale, along.count, rel_tol=1e-6)


# ---- antialiasing: a product with the weights of all elements that a position of a smaller result covers ----


def smoothed(data: Tensor, alongs: Sequence[Along], settings: Settings) -> Tensor:
    """Resize like `resized`, with the weights of all elements that a position of a smaller result covers."""
    info = info_of(data)
    assert info.shape is not None
    wide = wide_float(info.dtype)
    result = cast(data, wide)
    axes = list(range(len(info.shape)))
    for along in alongs:
        order = [axis for axis in axes if axis != along.axis] + [along.axis]
        table = (
            _run_time_table(along, settings, wide)
            if _is_open(along, settings)
            else const(_table(along, settings), wide)
        )
        product = relax.matmul(relax.permute_dims(result, axes=order), table)
        result = relax.permute_dims(product, axes=[order.index(axis) for axis in axes])
    return cast(result if is_float(info.dtype) else relax.round(result), info.dtype)


def _is_open(along: Along, settings: Settings) -> bool:
    """Return True if the weights must be computed at run time: an input is dynamic, or the table would be too large."""
    if not all(isinstance(each, int) for each in (along.size, along.count)):
        return True
    if any(isinstance(each, Real) for each in (along.scale, along.start, along.end)):
        return True
    return along.count * max(along.size, 2 * _radius(along, settings) + 1) > _MOST_WEIGHTS


def _radius(along: Along, settings: Settings) -> int:
    """Return the number of elements that count on each side of a position. All fields of `along` are numbers."""
    return math.ceil((1 if settings.mode == "linear" else 2) / _narrowing(along))


def _narrowing(along: Along) -> float:
    scale = along.count / along.size if along.scale is None else along.scale
    return min(float(scale), 1.0)


def _table(along: Along, settings: Settings) -> Array:
    """Return the weight of each element (rows) for each output position (columns).

    All fields of `along` are numbers.
    """
    import numpy

    narrow, radius = _narrowing(along), _radius(along, settings)
    columns = numpy.arange(along.count, dtype="float64")
    x = coordinates(columns, along, settings.coordinates)
    taps = numpy.floor(x)[:, None] + numpy.arange(-radius, radius + 1)
    weights = _kernel(numpy.abs(taps - x[:, None]) * narrow, settings)
    if settings.excludes_outside:
        weights = numpy.where((taps >= 0) & (taps < along.size), weights, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    table = numpy.zeros((along.size, along.count))
    rows = numpy.clip(taps, 0, along.size - 1).astype(int)
    numpy.add.at(table, (rows, numpy.broadcast_to(columns.astype(int)[:, None], rows.shape)), weights)
    return table


def _kernel(distance: Array, settings: Settings) -> Array:
    import numpy

    if settings.mode == "linear":
        return numpy.clip(1.0 - distance, 0.0, 1.0)
    near, far = (weight(distance, settings.cubic) for weight in (near_weight, far_weight))
    return numpy.where(distance <= 1, near, numpy.where(distance < 2, far, 0.0))


def _run_time_table(along: Along, settings: Settings, dtype: str) -> Tensor:
    """Return the table of `_table`, computed at run time. Weights of taps outside are added to the border element's."""
    scale = real(along.count) / real(along.size) if along.scale is None else real(along.scale)
    narrow = relax.minimum(scale.tensor if isinstance(scale, Real) else const([scale], "f32"), const(1.0, "f32"))
    reach = relax.ceil(relax.divide(const(1.0 if settings.mode == "linear" else 2.0, "f32"), narrow))
    beyond = times(relax.reshape(relax.astype(reach, dtype="i64"), (1,)), 2)
    taps = relax.subtract(count_up(plus(along.size, times(beyond, 2))), beyond)
    x = relax.expand_dims(_clamp_coordinates(_coordinates(along, settings).tensor, along, reach), axis=[1])
    own = relax.maximum(relax.minimum(taps, as_tensor([minus(along.size, 1)])), const(0, "i64"))
    distance = relax.subtract(relax.astype(taps, dtype="f32"), x)
    weights = _run_time_kernel(Real(relax.multiply(relax.abs(distance), narrow)), settings)
    if settings.excludes_outside:
        weights = relax.where(relax.equal(own, taps), weights, const(0.0, "f32"))
    weights = relax.divide(weights, relax.sum(weights, axis=[1], keepdims=True))
    start = full([along.count, along.size], const(0.0, "f32"))
    places = relax.broadcast_to(relax.expand_dims(own, axis=[0]), relax.shape_of(weights))
    table = relax.scatter_elements(start, places, weights, axis=1, reduction="add")
    return relax.permute_dims(cast(table, dtype), axes=[1, 0])


def _clamp_coordinates(x: Tensor, along: Along, reach: Value) -> Tensor:
    """Clamp coordinates. Further outside, all taps fall on the border element."""
    last = relax.astype(as_tensor([minus(along.size, 1)]), dtype="f32")
    return relax.maximum(relax.minimum(x, relax.add(last, reach)), relax.negative(reach))


def _run_time_kernel(distance: Real, settings: Settings) -> Tensor:
    zero = const(0.0, "f32")
    if settings.mode == "linear":
        return relax.maximum((1.0 - distance).tensor, zero)
    near, far = (weight(distance, settings.cubic) for weight in (near_weight, far_weight))
    is_near, is_far = (relax.less_equal(distance.tensor, const(limit, "f32")) for limit in (1.0, 2.0))
    return relax.where(is_near, near.tensor, relax.where(is_far, far.tensor, zero))
