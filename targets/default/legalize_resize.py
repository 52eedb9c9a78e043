# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing by tables.

The tables contain the elements that each place along a dimension is computed from. One loop combines them. Coordinates
are fractions of whole numbers, divided once in f64. They are exact where rounding selects the element.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import reduce
from typing import Any, NamedTuple

from ...bindings.affine import identity
from ...bindings.ir import OpView, Value
from ...bindings.mlir import ir
from ...dialects.core.infos import bit_width, is_float
from ...dialects.core.symbols import Size
from ...dialects.relax.infer.layouts import blocked_dimensions, layouts_of
from ...emit import linalg, tensors
from ...emit.arithmetic import element
from ...emit.conversions import to_float
from ...emit.interpolation import Tap, cubic_weights, inside, is_empty, limited, linear_weights, require_image, weighted
from ...emit.numbers import Number, as_index, constant, intrinsic, select
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.layouts import in_plain_layout, require_blocks
from ...passes.legalize.rules import Legalized, register_legalize

#: As in TVM: a coordinate this close to a whole number counts as that number.
_EPSILON = 1e-5


class _Table(NamedTuple):
    """Table of one dimension, as 1-D tensors: indices and weights of the taps, and a flag for places in the image."""

    indices: list[Any]
    weights: list[Any]
    is_inside: list[Any]

    @property
    def tensors(self) -> list[Value]:
        return [*self.indices, *self.weights, *self.is_inside]


@register_legalize(["relax.image.resize2d", "relax.image.resize3d"], by_types=True)
def resize(call: LegalizeCall) -> Legalized:
    layout = layouts_of(call.inferred)["data"]
    spatial = layout.dimensions[2:]
    if blocked_dimensions(layout) & set(spatial):
        return in_plain_layout(call, call.operands[0], layout, layout)
    axes = [next(i for i, axis in enumerate(layout.axes) if axis.dimension == letter) for letter in spatial]
    dtype, out_dtype = call.dtype(call.operands[0]), call.result_dtype()
    if is_empty(call.info(call.operands[0]), axes, call.result_infos[0]):
        return call.decline("the image is empty: there is nothing to resize")
    settings = _Settings(call.op, dtype, out_dtype, len(axes))
    shapes = call.shape(call.operands[0]), call.result_shape()
    times = {axis: count for axis in axes if (count := settings.times(*(shape[axis] for shape in shapes))) is not None}
    if len(times) == len(axes):
        return _repeat(call.operands[0], times, call)

    def resized(data: Value, output: Value) -> Value:
        require_blocks(data, layout)
        sizes = linalg.sizes(data)
        require_image([sizes[axis] for axis in axes], linalg.sizes(output))
        tables = [settings.table(data, output, axis, position) for position, axis in enumerate(axes)]
        if not settings.is_by_rows(axes, *shapes):
            return _combine(data, output, axes, tables, settings)
        rows = linalg.empty([*sizes[:-1], linalg.sizes(output)[-1]], element(settings.wide))
        rows = _combine(data, rows, axes[-1:], tables[-1:], settings.with_types(dtype, settings.wide))
        return _combine(rows, output, axes[:-1], tables[:-1], settings.with_types(settings.wide, out_dtype))

    return call.prim(resized, call.operands[:1])


class _Settings:
    """The operation's attributes, and their formulas for coordinates."""

    def __init__(self, op: OpView, dtype: str, out_dtype: str, count: int):
        self.dtype, self.out_dtype = dtype, out_dtype
        # f32 does not represent every 32-bit integer.
        is_wide = "f64" in (dtype, out_dtype) or (bit_width(dtype) >= 32 and not is_float(dtype))
        self.wide = "f64" if is_wide else "f32"
        self.mode, self.method, self.rounding = op.coordinate_transformation_mode, op.method, op.rounding_method
        self.alpha, self.excludes = op.cubic_alpha, op.cubic_exclude == 1
        self.is_cropped = self.mode == "tf_crop_and_resize"
        self.extrapolated = op.extrapolation_value
        roi = op.roi or (0.0,) * (2 * count)
        #: Start and end of the resized part of each dimension; 0 is the first element, 1 the last.
        self.regions = list(zip(roi[:count], roi[count:], strict=True))

    def with_types(self, dtype: str, out_dtype: str) -> _Settings:
        settings = copy(self)
        settings.dtype, settings.out_dtype = dtype, out_dtype
        return settings

    def is_by_rows(self, axes: Sequence[int], shape: Sequence[Any], result_shape: Sequence[Any]) -> bool:
        """Check whether to combine the elements of a row first, which vectors gather: sums have the same order."""
        if axes[-1] != len(shape) - 1 or self.method == "nearest_neighbor" or self.is_cropped:
            return False
        pairs = [(shape[axis], result_shape[axis]) for axis in axes[:-1]]
        return all(isinstance(size, int) and isinstance(count, int) and size <= 2 * count for size, count in pairs)

    def times(self, size: Size | None, count: Size | None) -> int | None:
        """Return how often each element along a dimension is repeated, or None if resizing is not a repetition."""
        if self.method != "nearest_neighbor" or not isinstance(size, int) or not isinstance(count, int):
            return None
        times = count // size if size and count and count % size == 0 else 0
        # Copies are within half an element around the original, or between it and the next one.
        are_around = self.mode.endswith("half_pixel") and self.rounding.startswith("round")
        are_behind = self.mode in ("asymmetric", "tf_half_pixel_for_nn") and self.rounding in ("", "floor")
        return times if 0 < times < 1 / _EPSILON and (are_around or are_behind) else None

    def table(self, data: Value, output: Value, axis: int, position: int) -> _Table:
        size, count = linalg.sizes(data)[axis], linalg.sizes(output)[axis]
        known = (as_index(size), as_index(count))
        taps = {"nearest_neighbor": 1, "linear": 2, "cubic": 4}[self.method]
        weights = taps if taps > 1 else 0
        types = [ir.IndexType.get()] * taps + [element(self.wide)] * weights
        types += [element("i1")] * self.is_cropped

        row = lambda *_: self._row(linalg.index(0), *known, self.regions[position])  # noqa: E731
        outputs = [linalg.empty([count], type_) for type_ in types]
        columns = linalg.generic([], outputs, [identity(1)] * len(types), [linalg.PARALLEL], row)
        return _Table(columns[:taps], columns[taps : taps + weights], columns[taps + weights :])

    def _row(self, place: Number, size: Number, count: Number, region: tuple[float, float]) -> list[Number]:
        x = self._coordinate(place.to("f64"), size.to("f64"), count.to("f64"), region)
        last = size.to("f64") - 1.0
        is_inside = [(x >= 0.0) & (x <= last)] if self.is_cropped else []
        if self.method == "nearest_neighbor":
            index, _ = inside(self._round(x).to("index"), size)
            return [index, *is_inside]
        # Places farther away than any element combine the same elements.
        x = limited(x, -4.0, last + 4.0)
        base = intrinsic("floor", x)
        fraction = to_float(x - base, self.wide)
        first = base.to("index")
        if self.method == "linear":
            places = [inside(first + step, size) for step in range(2)]
            return [*(index for index, _ in places), *linear_weights(fraction), *is_inside]
        places = [inside(first + step, size) for step in range(-1, 3)]
        weights = cubic_weights(fraction, self.alpha)
        if self.excludes:
            weights = [select(is_there, weight, 0.0) for weight, (_, is_there) in zip(weights, places, strict=True)]
            total = weights[0] + weights[1] + weights[2] + weights[3]
            weights = [weight / total for weight in weights]
        return [*(index for index, _ in places), *weights, *is_inside]

    def _coordinate(self, x: Number, size: Number, count: Number, region: tuple[float, float]) -> Number:
        """Return the image coordinate of a place of the result. All operands are whole numbers in f64."""
        if self.mode == "asymmetric":
            return x * size / count
        if self.mode == "tf_half_pixel_for_nn":
            return (x * 2.0 + 1.0) * size / (count * 2.0)
        single = count == 1.0
        if self.mode == "align_corners":
            return x * (size - 1.0) / select(single, 1.0, count - 1.0)
        if self.is_cropped:
            start, end = region
            step = x * (size - 1.0) * (end - start) / select(single, 1.0, count - 1.0)
            return select(single, (size - 1.0) * (0.5 * (start + end)), (size - 1.0) * start + step)
        middle = ((x * 2.0 + 1.0) * size - count) / (count * 2.0)
        return select(single, 0.0, middle) if self.mode == "pytorch_half_pixel" else middle

    def _round(self, x: Number) -> Number:
        rounding = self.rounding or ("round" if self.mode == "align_corners" else "floor")
        if rounding == "round":
            return intrinsic("roundeven", x)
        if rounding == "round_prefer_ceil":
            return intrinsic("floor", x + 0.5)
        if rounding == "round_prefer_floor":
            return intrinsic("ceil", x - 0.5)
        return intrinsic("floor", x + _EPSILON) if rounding == "floor" else intrinsic("ceil", x - _EPSILON)


def _repeat(data: Value, times: Mapping[int, int], call: LegalizeCall) -> list[Value]:
    """Repeat each element along the axes. The result is viewed with an additional dimension for each axis."""
    dtype, out_dtype = call.dtype(data), call.result_dtype()

    def repeated(data: Value, output: Value) -> Value:
        sizes = enumerate(linalg.sizes(data))
        parts = [[size, times[axis]] if times.get(axis, 1) > 1 else [size] for axis, size in sizes]
        counts = list(map(len, parts))
        places = [sum(counts[:axis]) for axis in range(len(counts))]
        apart = tensors.split_all(output, parts)
        copies = linalg.parallel([data], apart, lambda x: x.of(dtype).to(out_dtype), [places])
        return tensors.merge_all(copies, counts)

    return call.prim(repeated, [data])


def _combine(data: Value, output: Value, axes: Sequence[int], tables: Sequence[_Table], settings: _Settings) -> Value:
    """Compute each element of the output from the data's elements in the tables."""
    rank = linalg.rank_of(output)
    inputs = [tensor for table in tables for tensor in table.tensors]
    read_at = [[axis] for axis, table in zip(axes, tables, strict=True) for _ in table.tensors]

    def made(*scalars: Number) -> Number:
        given = iter(scalars)
        rows = [_Table(*([next(given) for _ in column] for column in table)) for table in tables]
        places = [linalg.index(axis) for axis in range(rank)]

        def read(indices: Sequence[Number]) -> Number:
            at = dict(zip(axes, indices, strict=True))
            return linalg.extract(data, [at.get(axis, place) for axis, place in enumerate(places)])

        value = _value(rows, read, settings)
        if not settings.is_cropped:
            return value
        is_inside = reduce(operator.and_, [flag for row in rows for flag in row.is_inside])
        return select(is_inside, value, constant(settings.extrapolated, "f64").to(settings.out_dtype))

    return linalg.parallel(inputs, output, made, read_at)


def _value(rows: Sequence[_Table], read: Callable[[Sequence[Number]], Number], settings: _Settings) -> Number:
    """Return an element of the result. An element that is only copied is not converted to the wide dtype."""
    dtype, wide, out_dtype = settings.dtype, settings.wide, settings.out_dtype
    if settings.method == "nearest_neighbor":
        return read([row.indices[0] for row in rows]).of(dtype).to(out_dtype)
    taps = [[Tap(*each) for each in zip(row.indices, row.weights, strict=True)] for row in rows]
    return weighted(taps, lambda indices: read(indices).of(dtype).to(wide)).to(out_dtype)
