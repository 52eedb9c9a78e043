# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling of regions to a fixed size. A region is (image, x1, y1, x2, y2)."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import NamedTuple

from ...bindings.ir import Value
from ...emit.arithmetic import element
from ...emit.boxes import load_wide
from ...emit.conversions import accumulator
from ...emit.linalg import product
from ...emit.loops import for_range, load, nest, require, require_same, scratch, size, sizes, store, when
from ...emit.numbers import Number, Size, as_index, constant, intrinsic, maximum, minimum, select
from ...emit.parallel import are_steps_apart, share_places, share_ranges
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

#: Nanoseconds per element of a result: about two by two samples, each with four shares.
_SAMPLING = 8

#: Ranges of a result: rows, columns and channels.
_Within = tuple[tuple[Size, Size], ...]


class _Layout(NamedTuple):
    """Positions of the dimensions of data and results: image or region, channel, row, column."""

    channel: int
    row: int
    column: int

    def at(self, first: Number, channel: Number, row: Number, column: Number) -> list[Number]:
        places = {0: first, self.channel: channel, self.row: row, self.column: column}
        return [places[axis] for axis in range(4)]


_LAYOUTS = {"NCHW": _Layout(1, 2, 3), "NHWC": _Layout(3, 1, 2)}


def _image(data: Value, rois: Value, region: Number) -> Number:
    """Return the image of a region, with a check."""
    given, images = load_wide(rois, region, 0), size(data, 0)
    place = given.to("i64")
    # Fractions are truncated, as in a conversion. NaN is in no image.
    is_there = (given > -1.0) & (place < images.to("i64"))
    require(is_there, "IndexError", "region {} is in image {}, but there are {}", region, place, images)
    return as_index(place)


def _check(data: Value, rois: Value, out: Value, layout: _Layout) -> None:
    require_same(sizes(rois)[0], sizes(out)[0], "numbers of regions and of results")
    require_same(sizes(rois)[1], 5, "values of a region")
    require_same(sizes(data)[layout.channel], sizes(out)[layout.channel], "channels of data and results")


def _limit_place(place: Number, size_: Number) -> Number:
    """Return an i64 as an index from 0 to the size."""
    return maximum(minimum(as_index(place), size_), 0)


def _share(regions: Size, bounds: tuple[Size, Size, Size], part: Callable[[Number, _Within], None]) -> None:
    """Run `part(region, within)` for each region with all its elements, or for each element if steps run apart."""
    if are_steps_apart():
        share_places([regions, *bounds], lambda region, *at: part(region, tuple((each, each + 1) for each in at)))
        return
    whole = tuple((0, bound) for bound in bounds)

    def several(start: Number, count: Size) -> None:
        for_range(start, start + count, lambda region: part(region, whole))

    share_ranges(regions, product([*bounds, _SAMPLING]), several)


# ---- interpolation ----


class _Bins(NamedTuple):
    """Division of a region in one direction: its start, a bin's length, and the samples per bin."""

    start: Number
    length: Number
    samples: Number

    def position(self, bin_: Number, sample: Number) -> Number:
        count, place, part = (number.to(self.start.dtype) for number in (self.samples, bin_, sample))
        return self.start + place * self.length + (part + 0.5) * self.length / count


@register_legalize("relax.vision.roi_align")
def roi_align(call: LegalizeCall) -> Legalized:
    """Average bilinear samples on a grid in each bin, or take their maximum; 0 for a bin without samples."""
    layout = _LAYOUTS[call.op.layout]
    is_mean = call.op.mode == "avg"
    mix = maximum if call.op.mode == "max_share" else operator.add

    def bins(rois: Value, region: Number, axis: int, count: int) -> _Bins:
        start, end = (load_wide(rois, region, place) * call.op.spatial_scale for place in (1 + axis, 3 + axis))
        whole = end - start if call.op.aligned else maximum(end - start, 1.0)
        length = whole / float(count)
        if call.op.sample_ratio > 0:
            return _Bins(start, length, as_index(call.op.sample_ratio))
        # Infinite regions have no sample inside of the image.
        samples = intrinsic("ceil", select(length - length == 0.0, length, 0.0)).to("i32")
        return _Bins(start, length, select(samples > 0, samples, 0).to("index"))

    def body(data: Value, rois: Value, out: Value) -> None:
        _check(data, rois, out, layout)
        channels, computed = size(data, layout.channel), accumulator(str(data.type.element_type))
        rows, columns = (out.type.shape[axis] for axis in (layout.row, layout.column))

        def of_region(sums: Value, region: Number, within: _Within) -> None:
            image, (first, last) = _image(data, rois, region), within[2]
            vertical, horizontal = bins(rois, region, 1, rows), bins(rois, region, 0, columns)
            samples = vertical.samples * horizontal.samples
            start = select(samples == 0, 0.0, constant(0 if is_mean else -math.inf, computed))

            def of_bin(row: Number, column: Number) -> None:
                for_range(first, last, lambda c: store(start, sums, c - first))

                def add(i: Number, j: Number) -> None:
                    y, x = vertical.position(row, i), horizontal.position(column, j)
                    _sample(data, layout, (image, within[2]), y, x, mix, lambda c, value: put(c - first, value))

                def put(place: Number, value: Number) -> None:
                    before = load(sums, place)
                    store(before + value if is_mean else maximum(before, value), sums, place)

                nest([vertical.samples, horizontal.samples], add)
                for_range(first, last, lambda c: finish(row, column, c))

            def finish(row: Number, column: Number, channel: Number) -> None:
                result = load(sums, channel - first)
                if is_mean:
                    result = result / maximum(samples, 1).to(result.dtype)
                store(result.to(str(out.type.element_type)), out, *layout.at(region, channel, row, column))

            nest(within[:2], of_bin)

        def part(region: Number, within: _Within) -> None:
            several = 1 if are_steps_apart() else channels
            scratch([several], element(computed), lambda sums: of_region(sums, region, within))

        _share(sizes(rois)[0], (rows, columns, channels), part)

    return call.loops(body)


def _sample(
    data: Value,
    layout: _Layout,
    of: tuple[Number, tuple[Size, Size]],
    y: Number,
    x: Number,
    mix: Callable[[Number, Number], Number],
    put: Callable[[Number, Number], None],
) -> None:
    """Interpolate the data for the channels `of` an image, and call `put(channel, value)`.

    The value is mixed from four shares, or 0 outside.
    """
    height, width = size(data, layout.row), size(data, layout.column)
    image, channels = of
    dtype = accumulator(str(data.type.element_type))

    # NaN is outside.
    is_inside = _is_within(y, height) & _is_within(x, width)
    for extent in (height, width):
        is_inside = is_inside & (extent > 0)

    def inside() -> None:
        low_y, high_y, part_y = _neighbours(y, height)
        low_x, high_x, part_x = _neighbours(x, width)
        corners = [
            (row, column, (weight_y * weight_x).to(dtype))
            for row, weight_y in ((low_y, 1.0 - part_y), (high_y, part_y))
            for column, weight_x in ((low_x, 1.0 - part_x), (high_x, part_x))
        ]

        def of_channel(channel: Number) -> None:
            shares = [
                load_wide(data, *layout.at(image, channel, row, column)) * weight for row, column, weight in corners
            ]
            put(channel, functools.reduce(mix, shares))

        for_range(*channels, of_channel)

    def outside() -> None:
        for_range(*channels, lambda channel: put(channel, constant(0, dtype)))

    when(is_inside, inside, outside)


def _is_within(position: Number, extent: Number) -> Number:
    return (position >= -1.0) & (position <= extent.to(position.dtype))


def _neighbours(position: Number, extent: Number) -> tuple[Number, Number, Number]:
    """Return the elements before and after a position, and the fraction between them. Positions outside are clamped."""
    last = extent - 1
    limited = minimum(maximum(position, 0.0), last.to(position.dtype))
    low = intrinsic("floor", limited)
    place = _limit_place(low.to("i64"), last)
    return place, minimum(place + 1, last), limited - low


# ---- maxima ----


@register_legalize("relax.vision.roi_pool")
def roi_pool(call: LegalizeCall) -> Legalized:
    """Return the maximum of each bin, or 0 for a bin outside. Coordinates are rounded, halves up."""
    layout = _LAYOUTS[call.op.layout]

    def corner(rois: Value, region: Number, place: int) -> Number:
        return intrinsic("floor", load_wide(rois, region, place) * call.op.spatial_scale + 0.5)

    def bounds(
        rois: Value, region: Number, axis: int, count: int, bin_: Number, extent: Number
    ) -> tuple[Number, Number]:
        """Return the begin and the end of a bin."""
        start, end = (corner(rois, region, place).to("i32").to("i64") for place in (1 + axis, 3 + axis))
        whole = maximum(end - start + 1, 1)
        length = whole.to(accumulator(str(rois.type.element_type))) / float(count)
        first = intrinsic("floor", bin_.to(length.dtype) * length)
        last = intrinsic("ceil", (bin_.to(length.dtype) + 1.0) * length)
        low, high = (_limit_place(each.to("i64") + start, extent) for each in (first, last))
        return low, high

    def body(data: Value, rois: Value, out: Value) -> None:
        _check(data, rois, out, layout)
        height, width = size(data, layout.row), size(data, layout.column)
        rows, columns = (out.type.shape[axis] for axis in (layout.row, layout.column))
        dtype = str(data.type.element_type)

        def of_region(region: Number, within: _Within) -> None:
            image = _image(data, rois, region)

            def of_bin(row: Number, column: Number) -> None:
                top, bottom = bounds(rois, region, 1, rows, row, height)
                left, right = bounds(rois, region, 0, columns, column, width)
                is_empty = (top >= bottom) | (left >= right)
                start = select(is_empty, 0.0, constant(-math.inf, accumulator(dtype)))

                def largest(channel: Number) -> None:
                    def larger(y: Number, x: Number, best: Number) -> Number:
                        return maximum(best, load_wide(data, *layout.at(image, channel, y, x)))

                    (found,) = nest([(top, bottom), (left, right)], larger, start)
                    store(found.to(dtype), out, *layout.at(region, channel, row, column))

                for_range(*within[2], largest)

            nest(within[:2], of_bin)

        _share(sizes(rois)[0], (rows, columns, size(data, layout.channel)), of_region)

    return call.loops(body)
