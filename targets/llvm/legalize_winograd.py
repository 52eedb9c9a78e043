# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Winograd convolutions: blocks of tiles are transformed, multiplied point by point, and transformed back.

A block of tiles stays in the cache from one step to the next. Each point of a tile has a product of the tiles' channels
with a matrix of the kernel's. The results of a panel of columns are transformed back before the next panel starts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects.core.symbols import Dim, equal
from ...dialects.relax.winograd import TAPS
from ...emit import loops, vectors
from ...emit.numbers import Number, Size, ceil_divided, constant, maximum, minimum, number
from ...emit.parallel import FLOPS, share_steps
from ...emit.vectors import multiply_add
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize
from .winograd import transform_back, transform_data

#: From this number on, threads share the blocks of tiles; below it, threads share the steps of each block.
_MANY_BLOCKS = 8
#: Unrolled steps of a product.
_STEPS = 4


@register_legalize("relax.nn.conv2d_winograd", target="llvm", by_types=True)
def conv2d_winograd(call: LegalizeCall) -> Legalized:
    held = {name: value for name, value in by_name(call.op, call.operands).items() if value is not None}
    panels, points, channels, columns = call.shape(held["weight"])
    batch, _, height, width, lanes = call.result_shape()
    known = [panels, points, channels, columns, lanes]
    if not all(isinstance(size, int) for size in known):
        return call.decline("a size of the kernel is not known")
    kernel = _WinogradKernel._make([*known, call.op.rows, call.op.tiles])
    wanted = {
        "data": (batch, kernel.blocks, None, None, lanes),
        "bias": (kernel.panels, kernel.columns),
        "residual": (batch, kernel.panels * kernel.vectors, height, width, lanes),
    }
    for name, shape in wanted.items():
        if name in held and not _has_shape(call.shape(held[name]), shape):
            return call.decline(f"it is not known that the sizes of {name} are those that the kernel needs")

    def body(*parameters: Value) -> None:
        *given, out = parameters
        _Loops(kernel, call.op.padding[:2], call.op.relu, dict(zip(held, given, strict=True)), out).write()

    return call.loops(body, list(held.values()))


def _has_shape(shape: Sequence[Dim], dims: Sequence[Dim]) -> bool:
    """Return True if the shape is known to equal the wanted shape. None fits any size."""
    return all(want is None or equal(size, want) is True for size, want in zip(shape, dims, strict=True))


class _WinogradKernel(NamedTuple):
    """Sizes of a Winograd kernel, and of the tiles that it processes."""

    panels: int
    points: int
    channels: int
    columns: int
    lanes: int
    #: Tiles in registers.
    rows: int
    #: Tiles in the cache.
    tiles: int

    @property
    def side(self) -> int:
        """Return the side of a transformed tile."""
        return math.isqrt(self.points)

    @property
    def step(self) -> int:
        """Return the distance between tiles: the results along a side."""
        return self.side - TAPS + 1

    @property
    def blocks(self) -> int:
        return self.channels // self.lanes

    @property
    def vectors(self) -> int:
        return self.columns // self.lanes


class _Tile(NamedTuple):
    """Image of a tile, and the position of its first result."""

    picture: Number
    row: Number
    column: Number


#: Function that runs some steps, given their number, the floating-point operations per step, and the body.
_Share = Callable[[Size, Size, Callable[[Number], None]], object]


class _Loops:
    """Loops of one convolution, on memrefs."""

    def __init__(
        self, kernel: _WinogradKernel, before: Sequence[int], relu: bool, tensors: dict[str, Value], out: Value
    ):
        self.kernel, self.before, self.relu = kernel, before, relu
        self.data, self.weight, self.out = tensors["data"], tensors["weight"], out
        self.bias, self.residual = tensors.get("bias"), tensors.get("residual")
        self._type = vectors.vector_of(kernel.lanes, ir.F32Type.get())
        batch, _, *self.places, _ = loops.sizes(out)
        #: Tiles along the sides of an image.
        self.counts = [ceil_divided(size, kernel.step) for size in self.places]
        self.total = batch * self.counts[0] * self.counts[1]

    def write(self) -> None:
        kernel = self.kernel
        blocks = ceil_divided(self.total, kernel.tiles)
        if isinstance(blocks, int) and blocks >= _MANY_BLOCKS:
            work = kernel.tiles * (self._flops_of_tile() + kernel.panels * self._flops_of_products())

            def alone(block: Number) -> None:
                self._with_tiles(lambda tiles: self._block(block, _one_by_one, tiles))

            share_steps(blocks, work, alone)
            return

        def each(tiles: Value) -> None:
            loops.for_range(0, blocks, lambda block: self._block(block, share_steps, tiles))

        self._with_tiles(each)

    def _with_tiles(self, use: Callable[[Value], None]) -> None:
        """Allocate memory for the tiles of a block."""
        kernel = self.kernel
        loops.scratch([kernel.points, kernel.blocks, kernel.tiles, kernel.lanes], ir.F32Type.get(), use)

    def _flops_of_tile(self) -> int:
        """Return the floating-point operations that take as long as the transform of a tile."""
        return self.kernel.blocks * self.kernel.points * FLOPS

    def _flops_of_products(self) -> int:
        """Return the floating-point operations of a tile's products with a panel."""
        return 2 * self.kernel.points * self.kernel.channels * self.kernel.columns

    def _block(self, block: Number, share: _Share, tiles: Value) -> None:
        kernel = self.kernel
        first = block * kernel.tiles
        is_even = isinstance(self.total, int) and self.total % kernel.tiles == 0
        count = kernel.tiles if is_even else minimum(kernel.tiles, self.total - first)

        def read(place: Number) -> None:
            tile = self._tile(first + place)
            self._with_patch(lambda patch: self._read(tile, patch, tiles, place))

        def panel(panel: Number) -> None:
            def work(sums: Value) -> None:
                loops.for_range(0, kernel.points, lambda point: self._multiply(panel, point, count, tiles, sums))
                self._with_patch(lambda patch: self._write_tiles(panel, first, count, sums, patch))

            loops.scratch([kernel.points, kernel.tiles, kernel.columns], ir.F32Type.get(), work)

        share(count, count * self._flops_of_tile(), read)
        share(kernel.panels, count * self._flops_of_products(), panel)

    def _with_patch(self, use: Callable[[Value], None]) -> None:
        """Allocate memory for a tile of one vector of channels."""
        kernel = self.kernel
        loops.scratch([kernel.side, kernel.side, kernel.lanes], ir.F32Type.get(), use)

    def _tile(self, place: Number) -> _Tile:
        rows, columns = self.counts
        inside = place % (rows * columns)
        step = self.kernel.step
        return _Tile(place // (rows * columns), inside // columns * step, inside % columns * step)

    # ---- tiles of the data ----

    def _read(self, tile: _Tile, patch: Value, tiles: Value, place: Number) -> None:
        """Transform a tile, block by block of its channels: rows first, then columns."""
        side = self.kernel.side
        top, left = tile.row - self.before[0], tile.column - self.before[1]
        height, width = loops.sizes(self.data)[2:4]
        is_inside = (left >= 0) & (left + side <= width)

        def each(block: Number) -> None:
            def row(i: Number) -> None:
                y = top + i

                def get(j: int) -> Number:
                    return self._get(self.data, tile.picture, block, y, left + j, 0)

                def get_inside(j: int) -> Number:
                    x = left + j
                    return number(loops.when((x >= 0) & (x < width), lambda: get(j), self._zero, [self._type])[0])

                def put(values: Sequence[Number]) -> None:
                    for j, value in enumerate(values):
                        self._put(value, patch, i, j, 0)

                def transform() -> None:
                    loops.when(
                        is_inside,
                        lambda: put(transform_data([get(j) for j in range(side)])),
                        lambda: put(transform_data([get_inside(j) for j in range(side)])),
                    )

                loops.when((y >= 0) & (y < height), transform, lambda: put([self._zero()] * side))

            def column(j: Number) -> None:
                values = [self._get(patch, i, j, 0) for i in range(side)]
                for i, value in enumerate(transform_data(values)):
                    self._put(value, tiles, j + i * side, block, place, 0)

            loops.for_range(0, side, row)
            loops.for_range(0, side, column)

        loops.for_range(0, self.kernel.blocks, each)

    # ---- products ----

    def _multiply(self, panel: Number, point: Number, count: Size, tiles: Value, sums: Value) -> None:
        """Multiply all tiles at a point by a panel."""
        most = self.kernel.rows
        start: Size = 0
        for rows in sorted({most, most // 2, most // 4, 1} - {0}, reverse=True):
            if not isinstance(stop := start + (count - start) // rows * rows, int) or start < stop:
                multiply = functools.partial(self._multiply_some, panel, point, rows, tiles, sums)
                loops.for_range(start, stop, multiply, step=rows)
            start = stop

    def _multiply_some(self, panel: Number, point: Number, rows: int, tiles: Value, sums: Value, start: Number) -> None:
        kernel = self.kernel
        places = [(row, column * kernel.lanes) for row in range(rows) for column in range(kernel.vectors)]

        def step(block: Number, lane: Number, totals: Sequence[Value]) -> Sequence[Value]:
            at = block * kernel.lanes + lane
            first = [column for _, column in places[: kernel.vectors]]
            columns = {column: self._get(self.weight, panel, point, at, column) for column in first}
            numbers = [loops.load(tiles, point, block, start + row, lane) for row in range(rows)]
            factors = [vectors.in_each_lane(each, kernel.lanes) for each in numbers]
            pairs = zip(places, totals, strict=True)
            return [multiply_add(columns[column], factors[row], total) for (row, column), total in pairs]

        def some(block: Number, lane: Number, *totals: Value) -> Sequence[Value]:
            return functools.reduce(lambda made, ahead: step(block, lane + ahead, made), range(_STEPS), totals)

        def each(block: Number, *totals: Value) -> list[Value]:
            return loops.for_range(0, kernel.lanes, functools.partial(some, block), *totals, step=_STEPS)

        totals = loops.for_range(0, kernel.blocks, each, *[self._zero()] * len(places))
        for (row, column), total in zip(places, totals, strict=True):
            self._put(total, sums, point, start + row, column)

    # ---- results ----

    def _write_tiles(self, panel: Number, first: Number, count: Size, sums: Value, patch: Value) -> None:
        def vector(place: Number, column: Number) -> None:
            self._write(panel, self._tile(first + place), sums, patch, place, column)

        loops.nest([count, self.kernel.vectors], vector)

    def _write(self, panel: Number, tile: _Tile, sums: Value, patch: Value, place: Number, vector: Number) -> None:
        """Transform a vector of a tile's sums back, rows first, and store the results that are in bounds."""
        side, column = self.kernel.side, vector * self.kernel.lanes
        rows, columns = self.places

        def row(i: Number) -> None:
            values = [self._get(sums, i * side + j, place, column) for j in range(side)]
            for j, value in enumerate(transform_back(values)):
                self._put(value, patch, i, j, 0)

        def put(value: Number, *at: Number) -> None:
            if self.residual is not None:
                value = value + self._get(self.residual, *at, 0)
            self._put(maximum(value, 0.0) if self.relu else value, self.out, *at, 0)

        def results(j: Number) -> None:
            block = panel * self.kernel.vectors + vector
            for i, value in enumerate(transform_back([self._get(patch, i, j, 0) for i in range(side)])):
                if self.bias is not None:
                    value = value + self._get(self.bias, panel, column)
                at = (tile.picture, block, tile.row + i, tile.column + j)
                self._where(tile.row + i, rows, functools.partial(put, value, *at))

        loops.for_range(0, side, row)
        loops.for_range(0, self.kernel.step, lambda j: self._where(tile.column + j, columns, lambda: results(j)))

    def _where(self, place: Number, size: Size, body: Callable[[], None]) -> None:
        """Run a body for a position that may be out of bounds."""
        if isinstance(size, int) and size % self.kernel.step == 0:
            body()
        else:
            loops.when(place < size, body)

    # ---- vectors ----

    def _get(self, memref: Value, *at: Size) -> Number:
        return vectors.load(self._type, memref, *at)

    def _put(self, value: Value, memref: Value, *at: Size) -> None:
        vectors.store(value, memref, *at)

    def _zero(self) -> Number:
        return constant(0.0, self._type)


def _one_by_one(steps: Size, flops: Size, body: Callable[[Number], None]) -> None:
    """Run the steps like `share_steps`, on one thread."""
    loops.for_range(0, steps, body)
