# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic of resized images: the nearest elements, or bilinear sums with weights in fixed point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.infos import bit_width
from relax_mlir.dialects.core.verifier import call_of
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.infer.layouts import layouts_of

from .layer_emission import LayerEmission, sizes_of

if TYPE_CHECKING:
    from numpy import ndarray

_COORDINATES = ("half_pixel", "align_corners", "asymmetric")


def emit_resize(to: LayerEmission, core: Operation) -> Value:
    """Resize raw integers, and round once. Scales that differ are part of the same rounding."""
    data = to.single(core.operands[0], "data")
    call = call_of(core.opview.definition, core)
    if call.method == "nearest_neighbor":
        return to.moved(core, data)
    mode = call.coordinate_transformation_mode
    if call.method != "linear" or mode not in _COORDINATES:
        raise to.fail(f"method {call.method} with {mode} has no integer form, expected linear with {_COORDINATES}")
    layout, result = layouts_of(call)["data"], sizes_of(core.results[0])
    spatial = [place for place, axis in enumerate(layout.axes) if axis.dimension in layout.dimensions[2:]]
    bits = to.how.resize_bits
    if not all(isinstance(each[axis], int) for axis in spatial for each in (data.sizes, result)):
        raise to.fail("the sizes of the images are open; state them, or drop out=")
    is_same = to.is_scaled(data)
    total = bits * len(spatial)
    to.check_width(data.most << total, f"a sum of {bit_width(data.dtype)}-bit numbers with {total} fractional bits")
    # TFLite rounds the raw integers: ties away from zero are not ties away from the zero point.
    sums = to.less(data._replace(zero=data.zero * 0) if is_same else data)
    for axis in spatial:
        sums = _interpolate(sums, axis, *_taps(data.sizes[axis], result[axis], mode, bits), bits)
    if is_same:
        return to.shifted(sums, total, 0, to.dtype)
    return to.requantize(sums, data.scale / to.scale / 2.0**total, to.zero, to.dtype)


def _interpolate(numbers: Value, axis: int, lower: ndarray, upper: ndarray, weights: ndarray, bits: int) -> Value:
    """Return lower * (1 - weight) + upper * weight along an axis, with `bits` more fractional bits."""
    spread = weights.reshape([-1 if place == axis else 1 for place in range(len(sizes_of(numbers)))])
    first, second = (relax.take(numbers, const(array.astype("int32")), axis=axis) for array in (lower, upper))
    parts = ((first, 2**bits - spread), (second, spread))
    left, right = (relax.multiply(each, const(weight.astype("int32"))) for each, weight in parts)
    return relax.add(left, right)


def _taps(size: int, count: int, mode: str, bits: int) -> tuple[ndarray, ndarray, ndarray]:
    """Return the indices of both neighbors of each position, and the weight of the upper one in fixed point."""
    import numpy

    one = 2**bits
    if mode == "align_corners" and count > 1:
        step = (one * (size - 1) + (count - 1) // 2) // (count - 1)
    else:
        step = (one * size + count // 2) // count
    places = numpy.arange(count) * step
    if mode == "half_pixel":
        places = places + step // 2 - one // 2
    lower = numpy.maximum(places // one, 0)
    # The quotient of a negative place is rounded to zero, and its weight is negative.
    upper = numpy.minimum(-(-places // one), size - 1)
    return lower, numpy.maximum(upper, 0), places - lower * one
