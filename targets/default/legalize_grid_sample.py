# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling of images at the positions of a grid, and the grids of affine matrices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple, TypeVar

from ...bindings.affine import identity
from ...bindings.ir import Value
from ...dialects.core.infos import bit_width
from ...dialects.relax.infer.layouts import Layout, blocked_dimensions, layouts_of
from ...emit import linalg, loops
from ...emit.arithmetic import element
from ...emit.interpolation import Tap, cubic_weights, is_empty, limited, linear_weights, require_image, weighted
from ...emit.numbers import Number, Size, as_index, intrinsic, maximum, select
from ...emit.tensors import merge, slice_of, split
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.layouts import in_plain_layout, require_blocks
from ...passes.legalize.rules import Legalized, register_legalize

_Item = TypeVar("_Item")
#: Elements that a method reads along a dimension.
_TAPS = {"nearest": 1, "bilinear": 2, "bicubic": 4}
#: Coefficient of cubic interpolation, as in PyTorch.
_ALPHA = -0.75


class _Sampling(NamedTuple):
    """Attributes of grid_sample."""

    method: str
    padding: str
    align_corners: bool
    #: Dtype of the computation.
    wide: str

    def coordinate(self, position: Number, size: Number) -> Number:
        """Map a grid position to an image coordinate; -1 and 1 are the ends of the image."""
        if self.align_corners:
            return (position + 1.0) * (size - 1.0) * 0.5
        return (position + 1.0) * size * 0.5 - 0.5

    def moved_inside(self, x: Number, size: Number) -> Number:
        """Apply the padding mode to a coordinate.

        Without padding it is only limited, so that it fits into an integer.
        """
        last = size - 1.0
        if self.padding == "border":
            return limited(x, 0.0, last)
        if self.padding == "reflection":
            return limited(self._reflected(x, size), 0.0, last)
        return limited(x, -4.0, last + 4.0)

    def _reflected(self, x: Number, size: Number) -> Number:
        """Mirror a coordinate at the ends of the image until it is inside."""
        start, span = (0.0, size - 1.0) if self.align_corners else (-0.5, size)
        distance = _magnitude(x - start)
        times = intrinsic("floor", distance / span)
        rest = distance - times * span
        is_odd = times - intrinsic("floor", times * 0.5) * 2.0 == 1.0
        mirrored = select(is_odd, span - rest, rest) + start
        return select(span == 0.0, 0.0, mirrored)

    def taps(self, position: Number, size: Number) -> list[Tap]:
        """Return the elements along a dimension. Their indices may be out of range."""
        x = self.coordinate(position, size)
        if self.method == "nearest":
            return [Tap(intrinsic("roundeven", self.moved_inside(x, size)).to("index"))]
        if self.method == "bilinear":
            x = self.moved_inside(x, size)
            base = intrinsic("floor", x)
            first = base.to("index")
            weights = linear_weights(x - base)
            return [Tap(first + step, weight) for step, weight in enumerate(weights)]
        # Padding applies to each of the surrounding elements, not to the position between them.
        x = x if self.padding == "reflection" else limited(x, -4.0, size + 3.0)
        base = intrinsic("floor", x)
        weights = cubic_weights(x - base, _ALPHA)
        return [
            Tap(self.moved_inside(base + float(step), size).to("index"), weight)
            for step, weight in enumerate(weights, -1)
        ]


def _magnitude(x: Number) -> Number:
    return select(x < 0.0, -x, x)


@register_legalize("relax.image.grid_sample")
def grid_sample(call: LegalizeCall) -> Legalized:
    layout = layouts_of(call.inferred)["data"]
    spatial = [_axis(layout, letter) for letter in layout.dimensions[2:]]
    # Places in the image are linear indices.
    are_neighbours = spatial == list(range(spatial[0], spatial[0] + len(spatial)))
    if not are_neighbours or blocked_dimensions(layout) - {"C"}:
        return in_plain_layout(call, call.operands[0], layout, layout)
    if is_empty(call.info(call.operands[0]), spatial, call.result_infos[0]):
        return call.decline("the image is empty: there is nothing to sample")
    dtype, grid_dtype = (call.dtype(operand) for operand in call.operands)
    wide = "f64" if max(map(bit_width, (dtype, grid_dtype))) > 32 else "f32"
    sampling = _Sampling(call.op.method, call.op.padding_mode, call.op.align_corners, wide)

    def sampled(data: Value, grid: Value, output: Value) -> Value:
        return _sample_grid(data, grid, output, layout, sampling, (dtype, grid_dtype))

    return call.prim(sampled)


def _axis(layout: Layout, letter: str) -> int:
    """Return a dimension's axis; for a blocked dimension the axis of its blocks."""
    return next(i for i, axis in enumerate(layout.axes) if axis.dimension == letter and axis.block is None)


def _sample_grid(
    data: Value, grid: Value, output: Value, layout: Layout, sampling: _Sampling, dtypes: tuple[str, str]
) -> Value:
    dtype, grid_dtype = dtypes
    spatial = layout.dimensions[2:]
    batch, axes = _axis(layout, "N"), [_axis(layout, letter) for letter in spatial]
    sizes, grid_sizes, rank = linalg.sizes(data), linalg.sizes(grid), linalg.rank_of(output)
    require_blocks(data, layout)
    loops.require_same(sizes[batch], grid_sizes[0], "batches of data and grid")
    loops.require_same(grid_sizes[1], len(spatial), "coordinates of the grid")
    require_image([sizes[axis] for axis in axes], linalg.sizes(output))
    known, out_sizes = [as_index(sizes[axis]) for axis in axes], [linalg.size(output, axis) for axis in axes]
    places = _places(grid, [sizes[batch], *out_sizes], known, sampling, grid_dtype)
    # A place in the image is a linear index, and so is one in the result.
    first, count = axes[0], len(axes)
    dims = [batch if batch < first else batch + 1 - count, first]
    image, whole = merge(data, first, count), merge(output, first, count)

    def sample(*scalars: Number) -> Number:
        at = [linalg.index(axis) for axis in range(rank - count + 1)]

        def read(parts: Sequence[Number]) -> Number:
            is_inside = reduce(operator.and_, (part >= 0 for part in parts))
            at[first] = reduce(operator.add, (maximum(part, 0) for part in parts)).to("index")
            return select(is_inside, linalg.extract(image, at).of(dtype).to(sampling.wide), 0.0)

        return weighted(places.taps(scalars), read).to(dtype)

    tables = [merge(table, 1, count) for table in places.tables]
    return split(linalg.parallel(tables, whole, sample, [dims] * len(tables)), first, out_sizes)


class _GridPlaces(NamedTuple):
    """Tables of the elements to read for each position of the grid, shared by all channels."""

    #: Over batch and positions, for each dimension and tap: the offset from the image's start, -1 if outside, and the
    #: weight if there is one.
    tables: list[Value]
    #: Taps per dimension, and tables per tap.
    per_dimension: int
    per_tap: int

    def taps(self, scalars: Sequence[Number]) -> list[list[Tap]]:
        """Return the taps of each dimension, from one element of each table."""
        taps = [Tap(*items) for items in _chunk(self.per_tap, scalars)]
        return _chunk(self.per_dimension, taps)


def _chunk(count: int, items: Sequence[_Item]) -> list[list[_Item]]:
    return [list(items[start : start + count]) for start in range(0, len(items), count)]


def _places(
    grid: Value, sizes: Sequence[Size], known: Sequence[Number], sampling: _Sampling, grid_dtype: str
) -> _GridPlaces:
    """Build the tables. `sizes` are their sizes, `known` the image's."""
    rank, count, taps = len(sizes), len(known), _TAPS[sampling.method]
    # The grid's first coordinate belongs to the last dimension.
    parts = [
        slice_of(grid, [0, coordinate, *[0] * count], [sizes[0], 1, *sizes[1:]])
        for coordinate in reversed(range(count))
    ]
    strides = [reduce(operator.mul, known[axis + 1 :], as_index(1)) for axis in range(count)]
    dtypes = ("i64",) if taps == 1 else ("i64", sampling.wide)
    tables = [linalg.empty(sizes, element(dtype)) for _ in range(count * taps) for dtype in dtypes]

    def placed(*scalars: Number) -> list[Number]:
        found: list[Number] = []
        for scalar, size, stride in zip(scalars, known, strides, strict=False):
            for place, weight in sampling.taps(scalar.of(grid_dtype).to(sampling.wide), size.to(sampling.wide)):
                is_inside = (place >= 0) & (place < size)
                found.append(select(is_inside, place * stride, -1).to("i64"))
                found += [] if weight is None else [weight]
        return found

    maps = [*[linalg.select_dims(rank, [0, None, *range(1, rank)])] * count, *[identity(rank)] * len(tables)]
    return _GridPlaces(linalg.generic(parts, tables, maps, [linalg.PARALLEL] * rank, placed), taps, len(dtypes))


@register_legalize("relax.image.affine_grid")
def affine_grid(call: LegalizeCall) -> Legalized:
    dtype, align_corners = call.dtype(call.operands[0]), call.op.align_corners
    wide = "f64" if bit_width(dtype) > 32 else "f32"

    def gridded(data: Value, output: Value) -> Value:
        batch, rows, columns = linalg.sizes(data)
        _, _, *sizes = linalg.sizes(output)
        count = len(sizes)
        loops.require_same(rows, count, "rows of the matrices")
        loops.require_same(columns, count + 1, "columns of the matrices")
        # The first column belongs to the last dimension. The last column is the translation.
        parts = [slice_of(data, [0, 0, column], [batch, count, 1]) for column in (*reversed(range(count)), count)]

        def position(axis: int) -> Number:
            return _position(linalg.index(axis + 2).to(wide), as_index(sizes[axis]).to(wide), align_corners)

        def made(*scalars: Number) -> Number:
            *factors, total = [scalar.of(dtype).to(wide) for scalar in scalars]
            for axis, factor in enumerate(factors):
                total = total + factor * position(axis)
            return total.to(dtype)

        return linalg.parallel(parts, output, made, [[0, 1, None]] * len(parts))

    return call.prim(gridded, call.operands[:1])


def _position(place: Number, size: Number, align_corners: bool) -> Number:
    """Return the position from -1 to 1. A single place is in the middle."""
    if not align_corners:
        return (place * 2.0 + 1.0 - size) / size
    last = size - 1.0
    return (place * 2.0 - last) / select(last == 0.0, 1.0, last)
