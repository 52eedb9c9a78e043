# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing with antialiasing: weights of all elements that a place of a smaller result covers, as a product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....dialects.core.infos import is_float
from ..prelude import Tensor, cast, const, info_of, relax, wide_float
from ..shapes import sizes
from .image_resizing import Along, Real, Settings, coordinates, far_weight, near_weight, real

_MOST_WEIGHTS = 2**24


def smoothed(data: Tensor, alongs: Sequence[Along], settings: Settings) -> Tensor:
    """As `resized` with weights of all elements that a place of a smaller result covers."""
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
        product = relax["matmul"](relax["permute_dims"](result, axes=order), table)
        result = relax["permute_dims"](product, axes=[order.index(axis) for axis in axes])
    return cast(result if is_float(info.dtype) else relax["round"](result), info.dtype)


def _is_open(along: Along, settings: Settings) -> bool:
    """Whether weights are for the run to make: something of them is not known before, or they are too many to keep."""
    if not all(isinstance(each, int) for each in (along.size, along.count)):
        return True
    if any(isinstance(each, Real) for each in (along.scale, along.start, along.end)):
        return True
    return along.count * max(along.size, 2 * _radius(along, settings) + 1) > _MOST_WEIGHTS


def _radius(along: Along, settings: Settings) -> int:
    """How many elements count on each side of a place; all of `along` are numbers."""
    return math.ceil((1 if settings.mode == "linear" else 2) / _narrowing(along))


def _narrowing(along: Along) -> float:
    scale = along.count / along.size if along.scale is None else along.scale
    return min(float(scale), 1.0)


def _table(along: Along, settings: Settings) -> Any:
    """The weight of each element (rows) for each place of the result (columns); all of `along` are numbers."""
    import numpy

    narrow, radius = _narrowing(along), _radius(along, settings)
    columns = numpy.arange(along.count, dtype="float64")
    x = coordinates(columns, along, settings.coordinates)
    taps = numpy.floor(x)[:, None] + numpy.arange(-radius, radius + 1)
    distance = numpy.abs(taps - x[:, None]) * narrow
    weights = _kernel(distance, settings)
    if settings.excludes_outside:
        weights = numpy.where((taps >= 0) & (taps < along.size), weights, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    table = numpy.zeros((along.size, along.count))
    rows = numpy.clip(taps, 0, along.size - 1).astype(int)
    numpy.add.at(table, (rows, numpy.broadcast_to(columns.astype(int)[:, None], rows.shape)), weights)
    return table


def _kernel(distance: Any, settings: Settings) -> Any:
    import numpy

    if settings.mode == "linear":
        return numpy.clip(1.0 - distance, 0.0, 1.0)
    near, far = (weight(distance, settings.cubic) for weight in (near_weight, far_weight))
    return numpy.where(distance <= 1, near, numpy.where(distance < 2, far, 0.0))


def _run_time_table(along: Along, settings: Settings, dtype: str) -> Tensor:
    """As `_table`: weights of elements that go on beyond both ends, each added to that of the one it stands for."""
    narrow = relax["minimum"](_scale(along), const(1.0, "f32"))
    support = const(1.0 if settings.mode == "linear" else 2.0, "f32")
    reach = relax["ceil"](relax["divide"](support, narrow))
    beyond = sizes.times(relax["reshape"](relax["astype"](reach, dtype="i64"), (1,)), 2)
    taps = relax["subtract"](sizes.count_up(sizes.plus(along.size, sizes.times(beyond, 2))), beyond)
    x = relax["expand_dims"](_limited(_coordinates(along, settings), along, reach), axis=[1])
    last = sizes.as_tensor([sizes.minus(along.size, 1)])
    own = relax["maximum"](relax["minimum"](taps, last), const(0, "i64"))
    distance = relax["subtract"](relax["astype"](taps, dtype="f32"), x)
    weights = _run_time_kernel(Real(relax["multiply"](relax["abs"](distance), narrow)), settings)
    if settings.excludes_outside:
        weights = relax["where"](relax["equal"](own, taps), weights, const(0.0, "f32"))
    weights = relax["divide"](weights, relax["sum"](weights, axis=[1], keepdims=True))
    start = sizes.full([along.count, along.size], const(0.0, "f32"))
    places = relax["broadcast_to"](relax["expand_dims"](own, axis=[0]), relax["shape_of"](weights))
    table = relax["scatter_elements"](start, places, weights, axis=1, reduction="add")
    return relax["permute_dims"](cast(table, dtype), axes=[1, 0])


def _coordinates(along: Along, settings: Settings) -> Any:
    places = relax["astype"](sizes.count_up(along.count), dtype="f32")
    return coordinates(Real(places), along, settings.coordinates).tensor


def _limited(x: Tensor, along: Along, reach: Any) -> Tensor:
    """Further outside all elements that count are the last one there is."""
    last = relax["astype"](sizes.as_tensor([sizes.minus(along.size, 1)]), dtype="f32")
    return relax["maximum"](relax["minimum"](x, relax["add"](last, reach)), relax["negative"](reach))


def _scale(along: Along) -> Any:
    scale = real(along.count) / real(along.size) if along.scale is None else real(along.scale)
    return scale.tensor if isinstance(scale, Real) else const([scale], "f32")


def _run_time_kernel(distance: Real, settings: Settings) -> Tensor:
    zero = const(0.0, "f32")
    if settings.mode == "linear":
        return relax["maximum"]((1.0 - distance).tensor, zero)
    near, far = (weight(distance, settings.cubic) for weight in (near_weight, far_weight))
    is_near, is_far = (relax["less_equal"](distance.tensor, const(limit, "f32")) for limit in (1.0, 2.0))
    return relax["where"](is_near, near.tensor, relax["where"](is_far, far.tensor, zero))
