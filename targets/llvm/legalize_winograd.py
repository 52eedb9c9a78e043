# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Winograd's convolutions: so many tiles at a time are transformed, multiplied point by point, and transformed back.

A block of tiles stays in a core's cache from one step to the next. For each point of a tile there is a product of the
tiles' channels with a matrix; those of one panel of columns are transformed back before the next panel's turn.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...bindings.ir import OpView, Value
from ...bindings.mlir import ir
from ...dialects.relax.winograd import TAPS
from ...emit import loops
from ...emit.arithmetic import result_of
from ...emit.numbers import Number, Size, as_index, constant, maximum, minimum, number, select
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import register_legalize
from .winograd import transform_back, transform_data

#: So many blocks of tiles are shared by threads as they are; of fewer, the steps are.
_MANY_BLOCKS = 8
#: Steps of a reduction that are written one after the other.
_STEPS = 4


@register_legalize("relax.nn.conv2d_winograd", target="llvm")
def conv2d_winograd(op: OpView, operands: list[Value], builder: RuleBuilder) -> Any:
    held = by_name(op, operands)
    data, weight, bias, residual = (held[name] for name in ("data", "weight", "bias", "residual"))
    panels, points, channels, columns = builder.shape(weight)
    lanes = builder.shape(data)[-1]
    sizes = [size for size in (panels, points, channels, columns, lanes) if isinstance(size, int)]
    if len(sizes) < 5:
        return builder.decline("a size of the kernel is not known")
    filters = _Filters(math.isqrt(sizes[1]), *sizes, op.rows, op.tiles)  # type: ignore[arg-type]
    inputs = [each for each in (data, weight, bias, residual) if each is not None]

    def body(*parameters: Value) -> None:
        *given, out = parameters
        names = [name for name in ("data", "weight", "bias", "residual") if held[name] is not None]
        _Kernel(filters, tuple(op.padding[:2]), op.relu, dict(zip(names, given, strict=True)), out).write()

    return builder.loops(body, inputs)


class _Filters(NamedTuple):
    #: Of a transformed tile.
    side: int
    panels: int
    points: int
    channels: int
    columns: int
    lanes: int
    rows: int
    tiles: int

    @property
    def step(self) -> int:
        """From one tile to the next: results along a side."""
        return self.side - TAPS + 1

    @property
    def blocks(self) -> int:
        return self.channels // self.lanes

    @property
    def vectors(self) -> int:
        return self.columns // self.lanes


class _Tile(NamedTuple):
    """A picture, and where a tile's first row and column are."""

    picture: Size
    row: Any
    column: Any


class _Kernel:
    """The loops of one convolution, on memrefs."""

    def __init__(
        self, filters: _Filters, before: tuple[int, ...], relu: bool, tensors: dict[str, Value], out: Value
    ):
        self.filters, self.before, self.relu = filters, before, relu
        self.data, self.weight = tensors["data"], tensors["weight"]
        self.bias, self.residual, self.out = tensors.get("bias"), tensors.get("residual"), out
        self._type = ir.VectorType.get([filters.lanes], ir.F32Type.get())
        self.size = loops.sizes(self.data)[2:4]
        _, _, *self.places, _ = loops.sizes(out)
        self.counts = [_ceil_divided(size, filters.step) for size in self.places]

    def write(self) -> None:
        filters = self.filters
        total = _product([loops.size(self.out, 0), *self.counts])
        blocks = _ceil_divided(total, filters.tiles)
        is_many = isinstance(blocks, int) and blocks >= _MANY_BLOCKS
        own = 1 if is_many else None
        shared = None if is_many else 1

        def block(place: Number) -> None:
            first = place * filters.tiles
            known = isinstance(total, int) and total % filters.tiles == 0
            count = filters.tiles if known else minimum(filters.tiles, total - first)

            def with_tiles(tiles: Value) -> None:
                def read(tile: Number) -> None:
                    self._read(self._tile(first + tile), tiles, tile)

                loops.for_range(0, count, read, grain=shared and max(filters.tiles // 8, 1))

                def panel(panel: Number) -> None:
                    sizes = [filters.points, filters.tiles, filters.columns]
                    loops.scratch(sizes, ir.F32Type.get(), lambda sums: self._panel(panel, first, count, tiles, sums))

                loops.for_range(0, filters.panels, panel, grain=shared)

            sizes = [filters.points, filters.blocks, filters.tiles, filters.lanes]
            loops.scratch(sizes, ir.F32Type.get(), with_tiles)

        loops.for_range(0, blocks, block, grain=own)

    def _tile(self, place: Number) -> _Tile:
        rows, columns = self.counts
        step = self.filters.step
        picture = place // _product([rows, columns])
        inside = place % _product([rows, columns])
        return _Tile(picture, inside // columns * step, inside % columns * step)

    # ---- tiles of the data ----

    def _read(self, tile: _Tile, tiles: Value, place: Number) -> None:
        """Transforms a tile, all of its channels."""
        side = self.filters.side
        row, column = tile.row - self.before[0], tile.column - self.before[1]
        height, width = self.size
        is_inside = (row >= 0) & (column >= 0) & (row + side <= height) & (column + side <= width)

        def whole(block: Number, i: int, j: int) -> Number:
            return self._get(self.data, tile.picture, block, row + i, column + j, 0)

        def border() -> Callable[[Number, int, int], Number]:
            rows = [_within(row + i, height) for i in range(side)]
            columns = [_within(column + j, width) for j in range(side)]

            def part(block: Number, i: int, j: int) -> Number:
                (y, is_row), (x, is_column) = rows[i], columns[j]
                return select(is_row & is_column, self._get(self.data, tile.picture, block, y, x, 0), self._zero())

            return part

        def transform(get: Callable[[Number, int, int], Number]) -> None:
            def block(block: Number) -> None:
                columns = [transform_data([get(block, i, j) for i in range(side)]) for j in range(side)]
                for i in range(side):
                    for j, value in enumerate(transform_data([each[i] for each in columns])):
                        self._put(value, tiles, i * side + j, block, place, 0)

            loops.for_range(0, self.filters.blocks, block)

        loops.when(is_inside, lambda: transform(whole), lambda: transform(border()))

    # ---- products ----

    def _panel(self, panel: Number, first: Number, count: Size, tiles: Value, sums: Value) -> None:
        filters = self.filters

        def point(point: Number) -> None:
            start: Any = 0
            for rows in _steps(filters.rows, count):
                stop = start + (count - start) // rows * rows
                if not isinstance(stop, int) or start < stop:
                    loops.for_range(start, stop, functools.partial(self._products, panel, point, rows, tiles, sums), step=rows)
                start = stop

        loops.for_range(0, filters.points, point)
        loops.for_range(0, count, lambda tile: self._write(panel, self._tile(first + tile), sums, tile))

    def _products(self, panel: Number, point: Number, rows: int, tiles: Value, sums: Value, start: Number) -> None:
        filters = self.filters
        points = [(row, column) for row in range(rows) for column in range(filters.vectors)]

        def block(block: Number, *totals: Value) -> list[Any]:
            def steps(lane: Number, *totals: Value) -> list[Any]:
                made = list(totals)
                for each in range(_STEPS):
                    at = block * filters.lanes + lane + each
                    columns = [self._get(self.weight, panel, point, at, v * filters.lanes) for v in range(filters.vectors)]
                    factors = [self._spread(loops.load(tiles, point, block, start + row, lane + each)) for row in range(rows)]
                    made = [_multiply_add(columns[v], factors[row], number(total)) for (row, v), total in zip(points, made, strict=True)]
                return made

            return loops.for_range(0, filters.lanes, steps, *totals, step=_STEPS)

        totals = loops.for_range(0, filters.blocks, block, *[self._zero()] * len(points))
        for (row, column), total in zip(points, totals, strict=True):
            self._put(total, sums, point, start + row, column * filters.lanes)

    # ---- results ----

    def _write(self, panel: Number, tile: _Tile, sums: Value, place: Number) -> None:
        side, step, filters = self.filters.side, self.filters.step, self.filters
        rows, columns = self.places
        is_known = isinstance(rows, int) and isinstance(columns, int)
        is_whole = is_known and rows % step == 0 and columns % step == 0

        def results(put: Callable[[Number, int, int, Number], None]) -> None:
            for v in range(filters.vectors):
                halves = []
                for j in range(side):
                    halves.append(transform_back([self._get(sums, i * side + j, place, v * filters.lanes) for i in range(side)]))
                block = panel * filters.vectors + v
                bias = None if self.bias is None else self._get(self.bias, panel, v * filters.lanes)
                for i in range(step):
                    for j, value in enumerate(transform_back([half[i] for half in halves])):
                        put(block, i, j, value if bias is None else value + bias)

        def put(block: Number, i: int, j: int, value: Number) -> None:
            at = [tile.picture, block, tile.row + i, tile.column + j, 0]
            if self.residual is not None:
                value = value + self._get(self.residual, *at)
            if self.relu:
                value = maximum(value, 0.0)
            self._put(value, self.out, *at)

        def put_inside(block: Number, i: int, j: int, value: Number) -> None:
            inside = (tile.row + i < rows) & (tile.column + j < columns)
            loops.when(inside, lambda: put(block, i, j, value))

        if is_whole:
            results(put)
        else:
            inside = (tile.row + step <= rows) & (tile.column + step <= columns)
            loops.when(inside, lambda: results(put), lambda: results(put_inside))

    # ---- vectors ----

    def _get(self, memref: Value, *at: Size) -> Number:
        return number(result_of("vector.load", [memref, *map(as_index, at)], self._type))

    def _put(self, value: Value, memref: Value, *at: Size) -> None:
        ir.Operation.create("vector.store", operands=[value, memref, *map(as_index, at)])

    def _spread(self, scalar: Number) -> Number:
        return number(result_of("vector.broadcast", [scalar], self._type))

    def _zero(self) -> Number:
        return constant(0.0, self._type)


def _within(place: Number, size: Size) -> tuple[Number, Number]:
    """A place that there is, and whether it is the one that was meant."""
    return maximum(minimum(place, size - 1), 0), (place >= 0) & (place < size)


def _steps(most: int, count: Size) -> list[int]:
    """How many tiles are multiplied at once: as many as there are registers for, then what is left."""
    found = [most, most // 2, most // 4, 1]
    return [each for each in dict.fromkeys(found) if each > 0]


def _ceil_divided(size: Size, by: int) -> Size:
    return -(-size // by) if isinstance(size, int) else (size + (by - 1)) // by


def _product(sizes: Sequence[Size]) -> Size:
    return functools.reduce(lambda x, y: x * y, sizes)


def _multiply_add(x: Number, y: Value, z: Number) -> Number:
    fast = ir.Attribute.parse("#arith.fastmath<contract>")
    multiplied = result_of("arith.mulf", [x, y], x.type, fastmath=fast)
    return number(result_of("arith.addf", [multiplied, z], x.type, fastmath=fast))
