# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of Fourier transforms of signals and of frames, and of mel filter weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....dialects.core.infos import is_float
from ...core import sizes
from ...core.control.scf_branches import Make, build_branches
from ...core.fourier import Transform, as_factor, transformed
from ...core.sizes import Size
from ...core.values import Array
from ..input_sizes import input_size, integers
from ..prelude import OnnxNode, Outputs, Tensor, Value, cast, const, register_onnx, relax


@register_onnx("", "DFT")
def dft(node: OnnxNode) -> Outputs:
    rank, parts = node.rank(0), (node.value(0).shape or (0,))[-1]
    if parts not in (1, 2) or rank < 2:
        raise node.fail("the last dimension must be the real part (size 1), or real and imaginary part (size 2)")

    def transform_of(size: Size) -> Transform:
        inverse, onesided = bool(node.int("inverse", 0)), bool(node.int("onesided", 0))
        whole = sizes.times(sizes.minus(size, 1), 2) if inverse and onesided else size
        return Transform(_size(node, 1, whole), parts, inverse, onesided)

    if node.version >= 20 and node.has(2) and node.numbers(2) is None:
        if all(isinstance(size, int) for size in node.value(0).shape or ()):
            node.tensor(0)  # A constant is created in front of the branches.
            return _transform_along_one(node, range(rank - 1), transform_of)
        return _transform_along_run_time_axis(node, node.value(0), integers(node, 2), transform_of)
    axis = node.axis_of(node.int("axis", 1) if node.version < 20 else _size(node, 2, -2), rank)
    if axis == rank - 1:
        raise node.fail(f"axis {axis} must be one of the {rank - 1} in front of the last one", "axis")
    return _transform_along(node, axis, transform_of)


def _transform_along_one(node: OnnxNode, axes: Sequence[int], transform_of: Callable[[Size], Transform]) -> Tensor:
    """Transform along a dynamic axis, one of these. The tables are constants because sizes are known."""
    if len(axes) == 1:
        return _transform_along(node, axes[0], transform_of)
    given = relax.reshape(integers(node, 2), ())
    is_first = relax.logical_or(
        *(relax.equal(given, const(place, "i64")) for place in (axes[0], axes[0] - node.rank(0)))
    )
    ways: list[Make] = [
        lambda _: [Value(ssa=_transform_along(node, axes[0], transform_of))],
        lambda _: [Value(ssa=_transform_along_one(node, axes[1:], transform_of))],
    ]
    return build_branches(node, Value(ssa=is_first), ways)[0].ssa


def _transform_along_run_time_axis(
    node: OnnxNode, data: Value, axis: Tensor, transform_of: Callable[[Size], Transform]
) -> Tensor:
    """Transform along an axis that is a tensor of one integer. `transform_of(size)` returns the transform.

    The data is reshaped to four dimensions: the product before the axis, the axis, the product behind it, and the
    parts.
    """
    rank = data.rank
    assert rank is not None
    own, places = sizes.as_tensor(sizes.sizes_of(data)), const(list(range(rank)), "i64")
    axis = relax.where(relax.less(axis, const(0, "i64")), relax.add(axis, const(rank, "i64")), axis)
    is_behind = relax.logical_and(relax.greater(places, axis), relax.less(places, const(rank - 1, "i64")))
    size = relax.take(own, axis, axis=0)
    before = _product_where(relax.less(places, axis), own)
    behind = _product_where(is_behind, own)
    transform = transform_of(size)
    apart = sizes.reshaped(data.ssa, [before, size, behind, transform.parts])
    moved = relax.permute_dims(apart, axes=[0, 2, 1, 3])
    made = relax.permute_dims(transformed(node, moved, size, transform), axes=[0, 2, 1, 3])
    shape = relax.where(relax.equal(places, axis), as_factor(transform.made), own)
    shape = relax.where(relax.equal(places, const(rank - 1, "i64")), const(transform.outputs, "i64"), shape)
    return relax.reshape(made, relax.tensor_to_shape(shape))


def _product_where(condition: Tensor, own: Tensor) -> Tensor:
    return relax.prod(relax.where(condition, own, const(1, "i64")), axis=[0], keepdims=True)


def _transform_along(node: OnnxNode, axis: int, transform_of: Callable[[Size], Transform]) -> Tensor:
    rank = node.rank(0)
    order = [*(index for index in range(rank - 1) if index != axis), axis, rank - 1]
    is_last = axis == rank - 2
    moved = node.tensor(0) if is_last else relax.permute_dims(node.tensor(0), axes=order)
    size = sizes.sizes_of(node.value(0))[axis]
    result = transformed(node, moved, size, transform_of(size))
    return result if is_last else relax.permute_dims(result, axes=[order.index(position) for position in range(rank)])


def _size(node: OnnxNode, index: int, default: Size) -> Size:
    """Return an input that is one size, or a default if it is absent."""
    return input_size(node, index) if node.has(index) else default


@register_onnx("", "STFT")
def stft(node: OnnxNode) -> Outputs:
    """Convert STFT: transforms of frames at regular steps, [batch, frames, frequencies, 2]."""
    shape = node.value(0).shape
    parts = shape[-1] if shape is not None and len(shape) == 3 else 1
    if shape is None or len(shape) not in (2, 3) or parts not in (1, 2):
        raise node.fail("the signal must be [batch, length], or [batch, length, parts] with 1 or 2 parts")
    if node.has(2) and node.rank(2) != 1:
        raise node.fail(f"the window must have one dimension, not {node.rank(2)}")
    batch, whole = sizes.sizes_of(node.value(0))[:2]
    window = sizes.sizes_of(node.value(2))[0] if node.has(2) else whole
    step, length = _size(node, 1, 1), _size(node, 3, window)
    rest = sizes.minus(whole, length)
    if any(isinstance(each, int) and each < least for each, least in ((step, 1), (length, 1), (rest, 0))):
        raise node.fail("step and length of frames must be positive and within the signal")
    frames = sizes.plus(sizes.divided(rest, step), 1)
    signal = sizes.reshaped(node.tensor(0), [batch, whole, parts])
    data = relax.take(signal, _places(node, frames, step, length), axis=1)
    if node.has(2):
        data = relax.multiply(data, relax.expand_dims(node.tensor(2), axis=[1]))
    onesided = bool(node.int("onesided", 1)) and parts == 1
    data = sizes.stated(data, [batch, frames, length, parts])
    return transformed(node, data, length, Transform(length, parts, False, onesided))


def _places(node: OnnxNode, frames: Size, step: Size, length: Size) -> Tensor:
    """Return the position of each element of each frame: [frames, length]."""
    if all(isinstance(size, int) for size in (frames, step, length)):
        import numpy

        node.take_table("the places of its frames", 2, frames, length)
        return const((numpy.arange(frames)[:, None] * step + numpy.arange(length)).astype("int64"))
    first = relax.multiply(sizes.count_up(frames), sizes.as_tensor([step]))
    return relax.add(relax.expand_dims(first, axis=[1]), sizes.count_up(length))


@register_onnx("", "MelWeightMatrix")
def mel_weight_matrix(node: OnnxNode) -> Outputs:
    """Convert MelWeightMatrix: triangles over the spectrum's bins with corners that are evenly spaced in mel."""
    import numpy

    held = [node.scalar(index) for index in range(5)]
    dtype = node.dtype("output_datatype", "f32")
    if not is_float(dtype):
        raise node.fail("the weights must be floats", "output_datatype")
    if any(each is None for each in held):
        return relax.astype(_run_time_triangles(node), dtype=dtype)
    bands, length, rate, low, high = held
    if not (math.isfinite(low + high) and min(low, high) > -700 and min(bands, length) >= 0 and rate > 0):
        raise node.fail(
            f"invalid bands: {bands} for a transform of length {length}, rate {rate}, from {low} to {high} Hz"
        )
    node.take_table("the weights", 2, int(length) // 2 + 1, int(bands) + 2)
    mel_low, mel_high = (2595 * math.log10(1 + float(hertz) / 700) for hertz in (low, high))
    corners = numpy.arange(int(bands) + 2) * ((mel_high - mel_low) / (int(bands) + 2)) + mel_low
    hertz = 700 * (10 ** (corners / 2595) - 1)
    bins = ((int(length) + 1) * hertz // int(rate)).astype(int)
    table = numpy.zeros((int(length) // 2 + 1, int(bands)))
    for band in range(int(bands)):
        _add_triangle(table[:, band], *bins[band : band + 3])
    return const(table, dtype) if dtype != "f32" else Value(array=table.astype("float32"))


def _add_triangle(column: Array, low: int, center: int, high: int) -> None:
    """Fill a column: linear from 0 at low to 1 at center, and back to 0 at high."""
    for place in range(low, min(center + 1, len(column))):
        column[place] = (place - low) / (center - low) if center > low else 1
    for place in range(center, min(high, len(column))):
        column[place] = (high - place) / (high - center)


def _run_time_triangles(node: OnnxNode) -> Tensor:
    """Return the triangles for dynamic inputs, from each bin's distance to the corners."""
    bands, length = (input_size(node, index) for index in (0, 1))
    rate, low, high = (relax.reshape(relax.astype(node.tensor(index), dtype="f64"), (1,)) for index in (2, 3, 4))
    low, high = _mel(low), _mel(high)
    places = sizes.plus(bands, 2)
    step = relax.divide(relax.subtract(high, low), cast(sizes.as_tensor([places]), "f64"))
    corners = relax.add(relax.multiply(sizes.count_up(places, "f64"), step), low)
    powers = relax.exp(relax.multiply(corners, const(math.log(10) / 2595, "f64")))
    hertz = relax.multiply(relax.subtract(powers, const(1.0, "f64")), const(700.0, "f64"))
    whole = cast(sizes.as_tensor([sizes.plus(length, 1)]), "f64")
    bins = Value(ssa=relax.floor(relax.divide(relax.multiply(whole, hertz), rate)))
    starts, centers, ends = (sizes.sliced(bins, {0: (first, sizes.plus(bands, first), 1)}) for first in range(3))
    place = relax.expand_dims(sizes.count_up(sizes.plus(sizes.divided(length, 2), 1), "f64"), axis=[1])
    rising = _ratio(relax.subtract(place, starts), relax.subtract(centers, starts))
    falling = _ratio(relax.subtract(ends, place), relax.subtract(ends, centers))
    is_rising = relax.logical_and(relax.greater_equal(place, starts), relax.less_equal(place, centers))
    is_falling = relax.logical_and(relax.greater_equal(place, centers), relax.less(place, ends))
    return relax.where(is_falling, falling, relax.where(is_rising, rising, const(0.0, "f64")))


def _mel(hertz: Tensor) -> Tensor:
    ratio = relax.add(relax.divide(hertz, const(700.0, "f64")), const(1.0, "f64"))
    return relax.multiply(relax.log(ratio), const(2595 / math.log(10), "f64"))


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    """Return part / whole, or 1 if the whole is 0."""
    is_nothing = relax.equal(whole, const(0.0, "f64"))
    return relax.where(is_nothing, const(1.0, "f64"), relax.divide(part, whole))
