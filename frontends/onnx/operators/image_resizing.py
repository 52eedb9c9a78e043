# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing along any axes: each place of the result is made of elements at coordinates that scales and sizes give.

Calculates in f32 as runtimes do, so that halves that decide about an element fall to the same side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....dialects.core.infos import is_float
from ..prelude import Tensor, along_axis, cast, const, info_of, relax, wide_float
from ..shapes.sizes import Size, as_tensor, count_up, stated


class Along(NamedTuple):
    """What becomes of one axis. A scale that is None is count / size; start and end are of the region to crop."""

    axis: int
    size: Size
    count: Size
    scale: Any = None
    start: Any = 0.0
    end: Any = 1.0


class Settings(NamedTuple):
    """How elements are found and combined."""

    mode: str  # nearest, linear or cubic
    coordinates: str
    rounding: str
    cubic: float = -0.75
    excludes_outside: bool = False
    extrapolated: float = 0.0


class Real:
    """A tensor of f32 with Python's arithmetic."""

    def __init__(self, tensor: Any):
        self.tensor = tensor

    def _with(self, name: str, other: Any, flipped: bool = False) -> Real:
        right = other.tensor if isinstance(other, Real) else const(float(other), "f32")
        pair = (right, self.tensor) if flipped else (self.tensor, right)
        return Real(relax[name](*pair))

    def __add__(self, other: Any) -> Real:
        return self._with("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Real:
        return self._with("subtract", other)

    def __rsub__(self, other: Any) -> Real:
        return self._with("subtract", other, flipped=True)

    def __mul__(self, other: Any) -> Real:
        return self._with("multiply", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Real:
        return self._with("divide", other)

    def __rtruediv__(self, other: Any) -> Real:
        return self._with("divide", other, flipped=True)

    def floor(self) -> Real:
        return Real(relax["floor"](self.tensor))

    def ceil(self) -> Real:
        return Real(relax["ceil"](self.tensor))

    def as_size(self) -> Tensor:
        return relax["astype"](self.tensor, dtype="i64")


def real(value: Any) -> Any:
    """A number as a float; anything else as a Real. Sizes are integers, expressions or tensors of integers."""
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, Real):
        return value
    return Real(relax["astype"](as_tensor([value]), dtype="f32"))


def coordinates(x: Any, along: Along, mode: str) -> Any:
    """Where in the data the places `x` of the result are."""
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


def _unless_single(count: Any, value: Any, otherwise: Any) -> Any:
    """`value()` where the result has several places along the axis."""
    if not isinstance(count, Real):
        return otherwise if count == 1.0 else value()
    is_single = relax["equal"](count.tensor, const(1.0, "f32"))
    return Real(relax["where"](is_single, otherwise.tensor, value().tensor))


def resized(data: Tensor, alongs: Sequence[Along], settings: Settings) -> Tensor:
    """The data resized along the axes, one after the other."""
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
        x = coordinates(Real(relax["astype"](count_up(along.count), dtype="f32")), along, settings.coordinates)
        result = _resampled(result, x, along, settings, rank, wide)
        if settings.coordinates == "tf_crop_and_resize":
            masks.append(_is_inside(x, along, rank))
    for mask in masks:
        result = relax["where"](mask, result, const(_fitting(settings.extrapolated, wide), wide))
    sizes = list(info.shape)
    for along in alongs:
        sizes[along.axis] = along.count
    return stated(cast(result, info.dtype), sizes)


def _fitting(value: float, dtype: str) -> float | int:
    return value if is_float(dtype) else int(value)


def _is_inside(x: Real, along: Along, rank: int) -> Tensor:
    last = real(along.size) - 1.0
    last = last.tensor if isinstance(last, Real) else const(last, "f32")
    inside = relax["logical_and"](
        relax["greater_equal"](x.tensor, const(0.0, "f32")), relax["less_equal"](x.tensor, last)
    )
    return along_axis(inside, along.axis, rank)


def _resampled(data: Tensor, x: Real, along: Along, settings: Settings, rank: int, dtype: str) -> Any:
    if settings.mode == "nearest":
        return _taken(data, _rounded(x, along, settings.rounding), along)
    base = x.floor()
    fraction = x - base
    steps = range(2) if settings.mode == "linear" else range(-1, 3)
    places = [base + step for step in steps]
    weights = [1.0 - fraction, fraction] if settings.mode == "linear" else cubic_weights(fraction, settings.cubic)
    if settings.excludes_outside:
        weights = _without_outside(weights, places, along)
    total = None
    for place, weight in zip(places, weights, strict=True):
        factor = cast(weight.tensor, dtype)
        part = relax["multiply"](_taken(data, place, along), along_axis(factor, along.axis, rank))
        total = part if total is None else relax["add"](total, part)
    return total


def cubic_weights(fraction: Real, a: float) -> list[Real]:
    """The cubic convolution kernel at the distances of four neighbours."""
    near = [near_weight(distance, a) for distance in (fraction, 1.0 - fraction)]
    return [far_weight(fraction + 1.0, a), *near, far_weight(2.0 - fraction, a)]


def near_weight(t: Any, a: float) -> Any:
    """The cubic convolution kernel at distances up to 1, of arrays or Reals."""
    return ((a + 2) * t - (a + 3)) * t * t + 1.0


def far_weight(t: Any, a: float) -> Any:
    """The same from 1 to 2; behind that it is 0."""
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a


def _without_outside(weights: Sequence[Real], places: Sequence[Real], along: Along) -> list[Real]:
    kept = [
        Real(relax["where"](_is_inside(place, along, along.axis + 1), weight.tensor, const(0.0, "f32")))
        for weight, place in zip(weights, places, strict=True)
    ]
    total = kept[0]
    for weight in kept[1:]:
        total = total + weight
    return [weight / total for weight in kept]


def _rounded(x: Real, along: Along, rounding: str) -> Real:
    if rounding == "floor":
        return x.floor()
    if rounding == "ceil":
        return x.ceil()
    if rounding == "round_prefer_ceil":
        return (x + 0.5).floor()
    if rounding == "round_prefer_floor":
        return (x - 0.5).ceil()
    # The first versions: down where the result is larger, up where it is smaller.
    scale = real(along.scale)
    if not isinstance(scale, Real):
        return x.ceil() if scale < 1.0 else x.floor()
    shrinks = relax["less"](scale.tensor, const(1.0, "f32"))
    return Real(relax["where"](shrinks, x.ceil().tensor, x.floor().tensor))


def _taken(data: Tensor, place: Real, along: Along) -> Tensor:
    """The elements at a coordinate; what is outside is the last one there is."""
    last = real(along.size) - 1.0
    last = last.tensor if isinstance(last, Real) else const(last, "f32")
    limited = relax["minimum"](relax["maximum"](place.tensor, const(0.0, "f32")), last)
    return relax["take"](data, relax["astype"](limited, dtype="i64"), axis=along.axis)
