# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators on regions and boxes of images, as compositions of operators that have rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from relax_mlir.bindings.ir import Value
from relax_mlir.bindings.navigation import outermost
from relax_mlir.dialects.core.codec import encode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.substitute import symbols_in
from relax_mlir.dialects.core.symbols import Dim, dim_mul, product, sym
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.decompose.tensor_formulas import Tensor, apply, cast, limited, relax, scalar_of, size_of
from relax_mlir.passes.graph.gradient_rules import register_gradient
from relax_mlir.support.names import fresh_name

from ..canonical_layouts import plain_layouts, turned
from ..gradient_call import Gradient, GradientCall
from ..requirements import known_shape
from ..reverse import gradients_at


class _Regions:
    """Common data of roi_align and roi_pool: images [batch, height, width, channels] and regions in them."""

    def __init__(self, call: GradientCall):
        self.call = call
        self.layout = plain_layouts(call)["data"].text
        sizes = dict(zip(self.layout, known_shape(call, call.data, "its data"), strict=True))
        self.batch, self.channels = sizes["N"], sizes["C"]
        self.height, self.width = sizes["H"], sizes["W"]
        self.count = known_shape(call, call.rois, "its regions")[0]
        self.wide = dtype_of(call.rois)
        self.rows, self.columns = call.pooled_size[0], call.pooled_size[-1]

    def images(self, rois: Value) -> Value:
        """Return the number of each region's image."""
        return relax.astype(relax.take(rois, const(0, "i64"), axis=1), dtype="i64")

    def edges(self, rois: Value, axis: int) -> list[Tensor]:
        """Return the begin and end of each region along x (0) or y (1), in elements of the data."""
        scale = self.call.spatial_scale
        return [Tensor(relax.take(rois, const(place + axis, "i64"), axis=1)) * scale for place in (1, 3)]


def _column(x: Tensor, after: int = 1) -> Tensor:
    return apply("expand_dims", x, axis=list(range(1, 1 + after)))


# ---- roi_align ----


class _Samples(NamedTuple):
    """Sampling positions of regions along a dimension."""

    #: Number of samples in each bin, and a mask of the valid ones, [regions, samples], or None if all are valid.
    in_bin: Dim
    are_own: Value | None
    #: [regions, bins * samples]
    positions: Tensor


# Without sample_ratio the number of samples is a symbol, with a new name for each call.
@register_gradient("relax.vision.roi_align")
def roi_align(call: GradientCall) -> Sequence[Gradient]:
    regions = _Regions(call)

    def forward(data: Value, rois: Value) -> Value:
        plain = turned(data, regions.layout, "NHWC")
        places = product((regions.batch, regions.height, regions.width))
        flat = relax.reshape(plain, relax.shape_expr(dims=(places, regions.channels)))
        vertical = _place_samples(regions, rois, 1, regions.rows)
        horizontal = _place_samples(regions, rois, 0, regions.columns)
        read = _interpolate(regions, flat, regions.images(rois), vertical.positions, horizontal.positions)
        apart = (regions.count, regions.rows, vertical.in_bin, regions.columns, horizontal.in_bin, regions.channels)
        pooled = _pool_samples(relax.reshape(read, relax.shape_expr(dims=apart)), vertical, horizontal, call.mode)
        return turned(pooled, "NHWC", regions.layout)

    return gradients_at(call.operands, forward, call.gradient)


def _pool_samples(read: Value, vertical: _Samples, horizontal: _Samples, mode: str) -> Value:
    """Reduce [regions, rows, samples down, columns, samples across, channels] over the samples, or give 0 without."""
    if vertical.are_own is None or horizontal.are_own is None:
        return relax.dialect.ops["mean" if mode == "avg" else "max"](read, axis=[2, 4])
    down = relax.expand_dims(vertical.are_own, axis=[1, 3, 4, 5])
    across = relax.expand_dims(horizontal.are_own, axis=[1, 2, 3, 5])
    are_own, dtype = relax.logical_and(down, across), dtype_of(read)
    counts = relax.sum(relax.astype(are_own, dtype=dtype), axis=[2, 4])
    if mode == "avg":
        total = relax.sum(relax.where(are_own, read, const(0, dtype)), axis=[2, 4])
        return relax.divide(total, relax.maximum(counts, const(1, dtype)))
    most = relax.max(relax.where(are_own, read, const(-math.inf, dtype)), axis=[2, 4])
    return relax.where(relax.greater(counts, const(0, dtype)), most, const(0, dtype))


def _place_samples(regions: _Regions, rois: Value, axis: int, bins: int) -> _Samples:
    import numpy

    call, dtype = regions.call, regions.wide
    start, end = regions.edges(rois, axis)
    whole = end - start if call.aligned else Tensor(relax.maximum((end - start).value, const(1, dtype)))
    if call.sample_ratio > 0:
        count = bins * call.sample_ratio
        parts = const((numpy.arange(count) + 0.5) / count, dtype)
        return _Samples(call.sample_ratio, None, _column(start) + _column(whole) * Tensor(parts))
    length = whole / float(bins)
    # Regions of infinite extent have no samples.
    own = limited(apply("ceil", (length - length).equals(0.0).where(length, 0.0)), 0.0, math.inf)
    numbers, most = _up_to_most(call, own)
    within = (numbers + 0.5) / _column(limited(own, 1.0, math.inf))
    places = Tensor(relax.expand_dims(const(numpy.arange(bins), dtype), axis=[1]))
    parts = places + Tensor(relax.expand_dims(within.value, axis=[1]))
    positions = _column(start, 2) + _column(length, 2) * parts
    flat = relax.shape_expr(dims=(regions.count, dim_mul(bins, most)))
    return _Samples(most, (numbers < _column(own)).value, Tensor(relax.reshape(positions.value, flat)))


def _up_to_most(call: GradientCall, counts: Tensor) -> tuple[Tensor, Dim]:
    """Return the numbers below the largest count, which is at least 1, and a symbol for how many there are."""
    largest = relax.max(relax.astype(limited(counts, 1.0, math.inf).value, dtype="i64"))
    size = sym(fresh_name("samples", symbols_in(outermost(call.operation))))
    # Without regions the maximum is the least number, so it is raised to 1.
    numbers = relax.arange(0, scalar_of(relax.maximum(largest, const(1, "i64"))), 1, dtype="i64")
    named = relax.match_cast(numbers, ty=encode(TensorInfo((size,), "i64"), numbers.context))
    return Tensor(relax.astype(named, dtype=dtype_of(counts.value))), size


def _interpolate(regions: _Regions, flat: Value, images: Value, y: Tensor, x: Tensor) -> Value:
    """Interpolate the data: [regions, samples down, samples across, channels], with 0 outside."""
    low_y, high_y, part_y = _neighbours(y, regions.height)
    low_x, high_x, part_x = _neighbours(x, regions.width)
    first = relax.multiply(images, size_of(regions.height))

    def corner(row: Value, column: Value, share_y: Tensor, share_x: Tensor) -> Value:
        line = relax.multiply(relax.add(relax.expand_dims(first, axis=[1]), row), size_of(regions.width))
        places = relax.add(relax.expand_dims(line, axis=[2]), relax.expand_dims(column, axis=[1]))
        share = relax.multiply(relax.expand_dims(share_y.value, axis=[2]), relax.expand_dims(share_x.value, axis=[1]))
        read = relax.take(flat, places, axis=0)
        return relax.multiply(read, cast(relax.expand_dims(share, axis=[3]), dtype_of(flat)))

    corners = [
        corner(row, column, share_y, share_x)
        for row, share_y in ((low_y, 1 - part_y), (high_y, part_y))
        for column, share_x in ((low_x, 1 - part_x), (high_x, part_x))
    ]
    mixed = corners[0]
    for other in corners[1:]:
        mixed = relax.dialect.ops["maximum" if regions.call.mode == "max_share" else "add"](mixed, other)
    is_inside = relax.logical_and(
        relax.expand_dims(_is_within(y, regions.height), axis=[2]),
        relax.expand_dims(_is_within(x, regions.width), axis=[1]),
    )
    return relax.where(relax.expand_dims(is_inside, axis=[3]), mixed, relax.zeros_like(mixed))


def _is_within(position: Tensor, size: Dim) -> Value:
    dtype = dtype_of(position.value)
    low = relax.greater_equal(position.value, const(-1, dtype))
    return relax.logical_and(low, relax.less_equal(position.value, size_of(size, dtype)))


def _neighbours(position: Tensor, size: Dim) -> tuple[Value, Value, Tensor]:
    """Return the elements before and after a position, and the fraction between them. Outside, the border repeats."""
    inside = limited(position, 0.0, Tensor(size_of(size, dtype_of(position.value))) - 1.0)
    low = apply("floor", inside)
    place = relax.astype(low.value, dtype="i64")
    after = relax.minimum(relax.add(place, const(1, "i64")), (Tensor(size_of(size)) - 1).value)
    return place, after, inside - low


# ---- roi_pool ----


@register_gradient("relax.vision.roi_pool", by_types=True)
def roi_pool(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate roi_pool by the largest elements. Regions are rounded, so the result does not vary with them."""
    regions = _Regions(call)
    rows = _bins(regions, 1, regions.rows, regions.height)
    columns = _bins(regions, 0, regions.columns, regions.width)
    images = regions.images(call.rois)

    def forward(data: Value) -> Value:
        plain = relax.take(turned(data, regions.layout, "NCHW"), images, axis=0)
        none = const(-math.inf, dtype_of(data))
        # [regions, channels, height, columns, width], then [regions, channels, rows, columns, height].
        across = relax.where(relax.expand_dims(columns, axis=[1, 2]), relax.expand_dims(plain, axis=[3]), none)
        widest = relax.permute_dims(relax.max(across, axis=[4]), axes=[0, 1, 3, 2])
        down = relax.where(relax.expand_dims(rows, axis=[1, 3]), relax.expand_dims(widest, axis=[2]), none)
        found = relax.max(down, axis=[4])
        pooled = relax.where(relax.equal(found, none), const(0, dtype_of(data)), found)
        return turned(pooled, "NCHW", regions.layout)

    return [*gradients_at([call.data], forward, call.gradient), None]


def _bins(regions: _Regions, axis: int, count: int, size: Dim) -> Value:
    """Return a mask of the elements along a dimension that are in each bin: [regions, bins, elements]."""
    import numpy

    start, end = (apply("floor", edge + 0.5) for edge in regions.edges(regions.call.rois, axis))
    length = Tensor(relax.maximum((end - start + 1.0).value, const(1, regions.wide))) / float(count)
    number = Tensor(const(numpy.arange(count, dtype="float64"), regions.wide))
    first = apply("floor", number * _column(length)) + _column(start)
    last = apply("ceil", (number + 1.0) * _column(length)) + _column(start)
    elements = relax.arange(0, size, 1, dtype=regions.wide)
    is_behind = relax.greater_equal(elements, relax.expand_dims(first.value, axis=[2]))
    return relax.logical_and(is_behind, relax.less(elements, relax.expand_dims(last.value, axis=[2])))


# ---- multibox_transform_loc ----


@register_gradient("relax.vision.multibox_transform_loc", by_types=True)
def multibox_transform_loc(call: GradientCall) -> Sequence[Gradient]:
    classes, locations, anchors = call.operands
    by_operand: list[Gradient] = [None, None, None]
    if call.arrives_at(0):
        by_operand[1:] = gradients_at([locations, anchors], lambda *each: _boxes(call, *each), call.gradients[0])
    if call.arrives_at(1):
        by_operand[:1] = gradients_at([classes], lambda each: _scores(call, each), call.gradients[1])
    return by_operand


def _boxes(call: GradientCall, locations: Value, anchors: Value) -> Value:
    batch, count, _ = known_shape(call, call.results[0], "its boxes")
    apart = relax.reshape(locations, relax.shape_expr(dims=(batch, count, 4)))
    x, y, width, height = (_part(apart, place) * variance for place, variance in enumerate(call.variances))
    left, top, right, bottom = (_part(anchors, place) for place in range(4))
    x1, x2 = _extent(left, right, x, width)
    y1, y2 = _extent(top, bottom, y, height)
    boxes = relax.concat([each.value for each in (y1, x1, y2, x2)], axis=2)
    return relax.clip(boxes, 0.0, 1.0) if call.clip else boxes


def _part(x: Value, place: int) -> Tensor:
    return Tensor(relax.strided_slice(x, axes=[2], begin=[place], end=[place + 1]))


def _extent(low: Tensor, high: Tensor, shift: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    length = high - low
    center = shift * length + (low + high) * 0.5
    half = apply("exp", scale) * (0.5 * length)
    return center - half, center + half


def _scores(call: GradientCall, classes: Value) -> Value:
    scores = relax.nn.softmax(classes, axis=1) if call.apply_softmax else classes
    dtype = dtype_of(scores)
    kept = relax.where(relax.less(scores, const(call.threshold, dtype)), const(0, dtype), scores)
    if call.keep_background:
        return kept
    numbers = relax.arange(0, known_shape(call, classes)[1], 1, dtype="i64")
    is_background = relax.equal(relax.expand_dims(numbers, axis=[1]), const(0, "i64"))
    return relax.where(is_background, const(0, dtype), kept)
