# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling of images at the positions of a grid, and the grids that affine matrices make."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from ...bindings.ir import OpView, Value
from ...dialects.core.infos import bit_width
from ...dialects.relax.infer.layouts import Layout, blocked_dimensions, layouts_of
from ...emit import linalg, loops
from ...emit.interpolation import (
    Tap,
    cubic_weights,
    inside,
    is_empty,
    limited,
    linear_weights,
    require_elements,
    weighted,
)
from ...emit.numbers import Number, as_index, intrinsic, select
from ...emit.tensors import slice_of
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.layouts import in_plain_layout, require_blocks
from ...passes.legalize.rules import register_legalize

#: The coefficient of cubic interpolation, PyTorch's.
_ALPHA = -0.75


class _Sampling(NamedTuple):
    """How grid_sample samples."""

    method: str
    padding: str
    align_corners: bool
    #: What is computed in.
    wide: str

    def coordinate(self, position: Number, size: Number) -> Number:
        """Where in the image a position of the grid is; -1 and 1 are its ends."""
        if self.align_corners:
            return (position + 1.0) * (size - 1.0) * 0.5
        return (position + 1.0) * size * 0.5 - 0.5

    def moved_inside(self, x: Number, size: Number) -> Number:
        """What the padding says of a coordinate outside. Without padding it only stays near, so that it fits."""
        last = size - 1.0
        if self.padding == "border":
            return limited(x, 0.0, last)
        if self.padding == "reflection":
            return limited(self._reflected(x, size), 0.0, last)
        return limited(x, -4.0, last + 4.0)

    def _reflected(self, x: Number, size: Number) -> Number:
        """Mirrored at the ends of the image as often as it takes."""
        start, span = (0.0, size - 1.0) if self.align_corners else (-0.5, size)
        distance = _magnitude(x - start)
        times = intrinsic("floor", distance / span)
        rest = distance - times * span
        is_odd = times - intrinsic("floor", times * 0.5) * 2.0 == 1.0
        mirrored = select(is_odd, span - rest, rest) + start
        return select(span == 0.0, 0.0, mirrored)

    def taps(self, position: Number, size: Number) -> list[Tap]:
        """The elements along a dimension; their indices may be outside."""
        x = self.coordinate(position, size)
        if self.method == "nearest":
            return [Tap(intrinsic("roundeven", self.moved_inside(x, size)).to("index"))]
        if self.method == "bilinear":
            x = self.moved_inside(x, size)
            base = intrinsic("floor", x)
            first = base.to("index")
            weights = linear_weights(x - base)
            return [Tap(first + step, weight) for step, weight in enumerate(weights)]
        # The elements around are moved each, not the place between them.
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
def grid_sample(op: OpView, operands: list[Value], builder: RuleBuilder) -> Any:
    layout = layouts_of(builder.call)["data"]
    if blocked_dimensions(layout) - {"C"}:
        return in_plain_layout(op, operands[0], builder, layout, layout)
    spatial = [_axis(layout, letter) for letter in layout.dimensions[2:]]
    if is_empty(builder.info(operands[0]), spatial, builder.result_infos[0]):
        return builder.decline("the image is empty: there is nothing to sample")
    dtype, grid_dtype = (builder.dtype(operand) for operand in operands)
    wide = "f64" if max(map(bit_width, (dtype, grid_dtype))) > 32 else "f32"
    sampling = _Sampling(op.method, op.padding_mode, op.align_corners, wide)

    def sampled(data: Value, grid: Value, output: Value) -> Value:
        return _sampled(data, grid, output, layout, sampling, (dtype, grid_dtype))

    return builder.prim(sampled)


def _axis(layout: Layout, letter: str) -> int:
    """A dimension's axis; that of its blocks where it has some."""
    return next(i for i, axis in enumerate(layout.axes) if axis.dimension == letter and axis.block is None)


def _sampled(
    data: Value, grid: Value, output: Value, layout: Layout, sampling: _Sampling, dtypes: tuple[str, str]
) -> Value:
    dtype, grid_dtype = dtypes
    spatial = layout.dimensions[2:]
    batch, axes = _axis(layout, "N"), [_axis(layout, letter) for letter in spatial]
    sizes, grid_sizes, rank = linalg.sizes(data), linalg.sizes(grid), linalg.rank_of(output)
    require_blocks(data, layout)
    loops.require_same(sizes[batch], grid_sizes[0], "batches of data and grid")
    loops.require_same(grid_sizes[1], len(spatial), "coordinates of the grid")
    require_elements([sizes[axis] for axis in axes], linalg.sizes(output))
    known = [as_index(sizes[axis]) for axis in axes]
    # The grid's first coordinate belongs to the last dimension.
    parts = [
        slice_of(grid, [0, coordinate, *[0] * len(axes)], [grid_sizes[0], 1, *grid_sizes[2:]])
        for coordinate in reversed(range(len(axes)))
    ]

    def sample(*scalars: Number) -> Number:
        places = [linalg.index(axis) for axis in range(rank)]
        positions = [each.of(grid_dtype).to(sampling.wide) for each in scalars]
        pairs = zip(positions, known, strict=True)
        taps = [sampling.taps(position, size.to(sampling.wide)) for position, size in pairs]

        def read(indices: Sequence[Number]) -> Number:
            at, is_inside = list(places), []
            for axis, index, size in zip(axes, indices, known, strict=True):
                at[axis], is_there = inside(index, size)
                is_inside.append(is_there)
            value = linalg.extract(data, at).of(dtype).to(sampling.wide)
            return select(reduce(operator.and_, is_inside), value, 0.0)

        return weighted(taps, read).to(dtype)

    return linalg.parallel(parts, output, sample, [[batch, None, *axes]] * len(parts))


@register_legalize("relax.image.affine_grid")
def affine_grid(op: OpView, operands: list[Value], builder: RuleBuilder) -> Any:
    dtype, align_corners = builder.dtype(operands[0]), op.align_corners
    wide = "f64" if bit_width(dtype) > 32 else "f32"

    def gridded(data: Value, output: Value) -> Value:
        batch, rows, columns = linalg.sizes(data)
        _, _, *sizes = linalg.sizes(output)
        count = len(sizes)
        loops.require_same(rows, count, "rows of the matrices")
        loops.require_same(columns, count + 1, "columns of the matrices")
        # The first column belongs to the last dimension; the column behind them is the translation.
        parts = [slice_of(data, [0, 0, column], [batch, count, 1]) for column in (*reversed(range(count)), count)]

        def position(axis: int) -> Number:
            return _position(linalg.index(axis + 2).to(wide), as_index(sizes[axis]).to(wide), align_corners)

        def made(*scalars: Number) -> Number:
            *factors, total = [each.of(dtype).to(wide) for each in scalars]
            for axis, factor in enumerate(factors):
                total = total + factor * position(axis)
            return total.to(dtype)

        return linalg.parallel(parts, output, made, [[0, 1, None]] * len(parts))

    return builder.prim(gridded, operands[:1])


def _position(place: Number, size: Number, align_corners: bool) -> Number:
    """From -1 to 1; a single place is in the middle."""
    if not align_corners:
        return (place * 2.0 + 1.0 - size) / size
    last = size - 1.0
    return (place * 2.0 - last) / select(last == 0.0, 1.0, last)
