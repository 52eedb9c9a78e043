# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel of products with panels of few bits: codes are unpacked in registers, between load and accumulators.

A word of a column holds codes of adjacent steps. Unpacking leaves the codes in place: a mask yields the codes times
powers of two, which are exact as floats. x is divided by these powers beforehand. A vector of codes therefore takes
three operations: and, conversion to float, multiply-add. The sum of a block is scaled once, and the sum of the block's
x times the offset is added.

Few rows are multiplied this way. For many rows, the kernel first unpacks a panel, as many steps as fit into the cache,
and reuses the codes for all rows. Both ways add the same numbers in the same order: the bits of a row do not depend on
the number of rows, lanes or threads.

Rows that are rounded to 8 bits are in nbits_dots.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...bindings.ir import Attribute, Value
from ...bindings.mlir import ir
from ...dialects import relax
from ...dialects.core.symbols import Dim
from ...dialects.relax import const
from ...dialects.relax.nbits import WORD, unit
from ...emit import linalg, loops, vectors
from ...emit.arithmetic import result_of
from ...emit.numbers import Number, Size, as_index, constant, minimum, number
from ...emit.vectors import multiply_add
from ...passes.legalize.call import LegalizeCall

#: Up to this number of rows, unpacking a panel first does not pay off.
_FEW_ROWS = 8
#: Prefetch distance in bytes, at least the bandwidth times the latency of memory, and the bytes of a cache line.
_AHEAD, _LINE = 16384, 64
#: Elements of x, and rows, that are multiplied by all panels before the next rows.
_ELEMENTS, _MOST_ROWS = 1 << 17, 120
#: Steps of a reduction that are unpacked at once.
_STEPS = 128
#: Bytes that a core reads per nanosecond, at most. The least work to share among threads, and the least grain, in
#: nanoseconds.
_BYTES, _LEAST_WORK, _LEAST_GRAIN = 12, 20_000, 5_000
#: Rows of a tile that keep the multiply-adds busy beside the loads of a step.
_WIDE_ROWS = 4
#: Input of kernels with digits, beside the operands: the scales of the digits.
ROW_SCALE = "row_scale"


class PackedMatrix(NamedTuple):
    """Codes of a packed matrix and their layout."""

    bits: int
    block: int
    columns: int
    blocks: int
    panels: int
    width: int
    lanes: int
    #: Rows of x that fit into registers next to the columns of a panel.
    rows: int

    @property
    def unit(self) -> int:
        """Return the codes that fill whole words."""
        return unit(self.bits)

    @property
    def units(self) -> int:
        """Return the units of codes in a block."""
        return self.block // self.unit

    @property
    def words(self) -> int:
        """Return the words in a block."""
        return self.block * self.bits // (8 * WORD)

    @property
    def field(self) -> int:
        """Return the distance of adjacent codes in a word in bits. Of 6 bits, 4 are adjacent."""
        return 4 if self.bits == 6 else self.bits

    @property
    def fields(self) -> int:
        """Return the codes in a word."""
        return 8 * WORD // self.field

    def factor(self, code: int) -> float:
        """Return the factor of an unpacked code. The last code of a word is shifted to the front instead."""
        place = code % self.fields
        return float(2 ** (self.field * place)) if place < self.fields - 1 else 1.0

    @property
    def vectors(self) -> int:
        return self.width // self.lanes

    @property
    def few_rows(self) -> tuple[int, ...]:
        """Return the row counts of a tile while codes are unpacked, which takes registers as well."""
        return (4, 2, 1) if self.rows > 4 else (2, 1)


def prepared(call: LegalizeCall, x: Value, matrix: PackedMatrix, count: Dim, depth: int) -> tuple[Value, Value]:
    """Return the rows of x as f32, divided by the factors of their codes, and the sum of each block."""
    x = whole_blocks(call, x, matrix, count, depth)
    blocks = relax.reshape(x, relax.shape_expr(dims=(count, matrix.blocks, matrix.block)))
    return divided(x, matrix, count), relax.sum(blocks, axis=[2])


def whole_blocks(call: LegalizeCall, x: Value, matrix: PackedMatrix, count: Dim, depth: int) -> Value:
    """Return the rows of x as f32, with zeros for the missing part of the last block."""
    if call.dtype(x) != "f32":
        x = relax.astype(x, dtype="f32")
    x = relax.reshape(x, relax.shape_expr(dims=(count, depth)))
    missing = matrix.blocks * matrix.block - depth
    return relax.nn.pad(x, pad_width=[0, 0, 0, missing]) if missing else x


def divided(x: Value, matrix: PackedMatrix, count: Dim) -> Value:
    """Divide rows by the factors of their codes, which are powers of two."""
    import numpy

    whole = matrix.blocks * matrix.block
    units = relax.reshape(x, relax.shape_expr(dims=(count, whole // matrix.unit, matrix.unit)))
    factors = numpy.array([1 / matrix.factor(code) for code in range(matrix.unit)], "float32")
    return relax.reshape(relax.multiply(units, const(factors)), relax.shape_expr(dims=(count, whole)))


class PanelTile(NamedTuple):
    """Results of some rows and some vectors of columns of a panel."""

    panel: Number
    row: Number
    rows: int
    columns: range

    @property
    def points(self) -> list[tuple[int, int]]:
        """Return the results, as rows of the tile and vectors of the panel."""
        return [(row, column) for row in range(self.rows) for column in self.columns]


class NbitsKernel:
    """Loops of one product, on memrefs."""

    def __init__(
        self,
        matrix: PackedMatrix,
        x: Value,
        sums: Value,
        operands: Mapping[str, Value],
        dtypes: Mapping[str, str],
        out: Value,
    ):
        self.matrix, self.x, self.sums, self.out = matrix, x, sums, out
        self.operands, self.dtypes, self.codes = operands, dtypes, operands["codes"]
        self._type = vectors.vector_of(matrix.lanes, ir.F32Type.get())

    def write(self) -> None:
        count = loops.size(self.x, 0)
        loops.when(count <= _FEW_ROWS, lambda: self._few(count), lambda: self._many(count))

    # ---- few rows ----

    def _few(self, count: Number) -> None:
        def panel(place: Number) -> None:
            self._tiles(
                0,
                count,
                self.matrix.few_rows,
                lambda row, rows: self._few_tile(PanelTile(place, row, rows, range(self.matrix.vectors))),
            )

        loops.for_range(0, self.matrix.panels, panel, grain=self._grain(1))

    def _few_tile(self, tile: PanelTile) -> None:
        """Compute the sums of a panel's columns for some rows."""
        points = tile.points

        def block(place: Number, *totals: Value) -> list[Number]:
            parts, add = self.block_sums(tile, place), self._scaled(tile, place)
            return [add(*point, part, total) for point, part, total in zip(points, parts, totals, strict=True)]

        first = [self._first(tile.panel, column) for _, column in points]
        totals = loops.for_range(0, self.matrix.blocks, block, *first)
        for (row, column), total in zip(points, totals, strict=True):
            self._store(total, tile.row + row, tile.panel, column)

    def block_sums(self, tile: PanelTile, block: Number) -> list[Number]:
        """Return the sums of codes times x in a block."""
        matrix, panel = self.matrix, tile.panel

        def unit(inside: Number, *sums: Value) -> list[Number]:
            self.prefetch(panel, block * matrix.words + inside * (matrix.words // matrix.units))
            codes = [self._unit(panel, block, inside, column) for column in tile.columns]
            made = list(map(number, sums))
            for code in range(matrix.unit):
                step = block * matrix.block + inside * matrix.unit + code
                factors = [self._spread(loops.load(self.x, tile.row + row, step)) for row in range(tile.rows)]
                unpacked = [each(code) for each in codes]
                made = [
                    multiply_add(unpacked[column], factors[row], total)
                    for (row, column), total in zip(tile.points, made, strict=True)
                ]
            return made

        zeros = [constant(0.0, self._type)] * len(tile.points)
        return list(map(number, loops.for_range(0, matrix.units, unit, *zeros)))

    # ---- many rows ----

    def _many(self, count: Number) -> None:
        """Multiply some rows by all panels before the next rows, so that the rows stay in the cache."""
        matrix = self.matrix
        most = max(min(_ELEMENTS // (matrix.blocks * matrix.block), _MOST_ROWS), 48) // 12 * 12

        def rows(first: Number) -> None:
            stop = minimum(first + most, count)
            loops.for_range(
                0, matrix.panels, lambda panel: self._many_panel(panel, first, stop), grain=self._grain(_FEW_ROWS)
            )

        loops.for_range(0, count, rows, step=most)

    def _many_panel(self, panel: Number, start: Number, stop: Number) -> None:
        """Compute the results of some rows and a panel."""
        matrix, blocks = self.matrix, max(_STEPS // self.matrix.block, 1)
        bias = [self._first(panel, column) for column in range(matrix.vectors)]

        def begin(row: Number) -> None:
            for column, value in enumerate(bias):
                self._store(value, row, panel, column)

        def use(memory: Value) -> None:
            def part(first: Number) -> None:
                known = minimum(blocks, matrix.blocks - first)
                loops.for_range(0, known, lambda place: self.unpack(panel, first, place, memory))
                for columns, sizes in self._groups():

                    def tile(row: Number, rows: int, columns: range = columns) -> None:
                        self._tile(PanelTile(panel, row, rows, columns), memory, first, known)

                    self._tiles(start, stop, sizes, tile)

            loops.for_range(0, matrix.blocks, part, step=blocks)

        loops.for_range(start, stop, begin)
        self.with_memory(blocks, use)

    def _groups(self) -> list[tuple[range, tuple[int, ...]]]:
        """Return the columns of tiles, as vectors, and their rows. Half of the columns leave room for more rows."""
        vectors, rows = self.matrix.vectors, self.matrix.rows
        if rows >= _WIDE_ROWS or vectors % 2:
            half = max(rows // 2, 1)
            return [(range(vectors), (half, max(half // 2, 1), 1))]
        half = vectors // 2
        return [(range(first, first + half), (2 * rows, rows, 1)) for first in (0, half)]

    def unpack(self, panel: Number, first: Number, place: Number, memory: Value) -> None:
        """Store the codes of a block as floats, with their factors."""
        matrix = self.matrix

        def unit(inside: Number) -> None:
            for column in range(matrix.vectors):
                codes = self._unit(panel, first + place, inside, column)
                for code in range(matrix.unit):
                    step = place * matrix.block + inside * matrix.unit + code
                    self._put(codes(code), memory, step, column * matrix.lanes)

        loops.for_range(0, matrix.units, unit)

    def _tile(self, tile: PanelTile, memory: Value, first: Number, known: Number) -> None:
        """Add the products of some blocks to the results of some rows."""
        points = tile.points

        def block(place: Number, *totals: Value) -> list[Number]:
            parts = self.unpacked_sums(tile, memory, first, place)
            add = self._scaled(tile, first + place)
            return [add(*point, part, total) for point, part, total in zip(points, parts, totals, strict=True)]

        begin = [self._load(tile.row + row, tile.panel, column) for row, column in points]
        totals = loops.for_range(0, known, block, *begin)
        for (row, column), total in zip(points, totals, strict=True):
            self._store(total, tile.row + row, tile.panel, column)

    def with_memory(self, blocks: int, use: Callable[[Value], object]) -> None:
        """Call `use(memory)` with room for the codes of some blocks."""
        loops.scratch([blocks * self.matrix.block, self.matrix.width], ir.F32Type.get(), use)

    def unpacked_sums(self, tile: PanelTile, memory: Value, first: Number, place: Number) -> list[Number]:
        """Return the sums of codes times x in an unpacked block."""
        matrix = self.matrix

        def step(inside: Number, *sums: Value) -> list[Number]:
            at = place * matrix.block + inside
            loaded = [vectors.load(self._type, memory, at, column * matrix.lanes) for column in tile.columns]
            made, at = list(map(number, sums)), first * matrix.block + at
            for row in range(tile.rows):
                factor = self._spread(loops.load(self.x, tile.row + row, at))
                for column, codes in enumerate(loaded):
                    index = row * len(loaded) + column
                    made[index] = multiply_add(codes, factor, made[index])
            return made

        zeros = [constant(0.0, self._type)] * len(tile.points)
        return list(map(number, loops.for_range(0, matrix.block, step, *zeros)))

    # ---- both ----

    def _tiles(self, start: Size, end: Number, sizes: Sequence[int], tile: Callable[[Number, int], None]) -> None:
        """Call `tile(row, rows)` for all rows, in decreasing order of tile sizes."""
        for rows in dict.fromkeys(sizes):
            stop = start + (end - start) // rows * rows
            loops.for_range(start, stop, lambda row, rows=rows: tile(row, rows), step=rows)
            start = stop

    def _grain(self, rows: int) -> int | None:
        """Return the panels per task of a thread, or None if sharing does not pay off."""
        matrix = self.matrix
        nanoseconds = rows * matrix.width * matrix.blocks * matrix.block * matrix.bits / 8 / _BYTES
        if matrix.panels < 2 or nanoseconds * matrix.panels < _LEAST_WORK:
            return None
        return min(max(round(_LEAST_GRAIN / nanoseconds), 1), matrix.panels)

    def _scaled(self, tile: PanelTile, block: Number) -> Callable[[int, int, Number, Value], Number]:
        """Return a function that adds a block's sum to the total of a row and column.

        The sum is multiplied by the scale, and the sum of the block's x by the offset.
        """
        scales, offsets = self._scales(tile.panel, block)
        sums = [self._spread(loops.load(self.sums, tile.row + row, block)) for row in range(tile.rows)]
        if ROW_SCALE not in self.operands:
            return lambda row, column, part, total: multiply_add(
                part, scales[column], multiply_add(offsets[column], sums[row], total)
            )
        of_rows = self.operands[ROW_SCALE]
        own = [self._spread(loops.load(of_rows, tile.row + row, block)) for row in range(tile.rows)]
        return lambda row, column, part, total: multiply_add(
            part, scales[column] * own[row], multiply_add(offsets[column], sums[row], total)
        )

    def _unit(self, panel: Number, block: Number, inside: Number, column: int) -> Callable[[int], Number]:
        """Return a function from a code's place in a unit to the codes as floats, times their factor."""
        matrix = self.matrix
        first, field, fields = block * matrix.words, matrix.field, matrix.fields
        low = [
            self.load_words(panel, first + inside * (matrix.unit // fields) + index, column)
            for index in range(matrix.unit // fields)
        ]
        high = self.load_words(panel, first + 2 * matrix.units + inside, column) if matrix.bits == 6 else None

        def codes(code: int) -> Number:
            words, place = low[code // fields], field * (code % fields)
            shift = 0 if matrix.factor(code) > 1 else place
            found = words >> shift if shift else words & ((1 << field) - 1 << place)
            if high is not None:
                # The high bits of code i are at 2 * i. They move next to the low bits.
                to = place - shift + field
                moved = high << to - 2 * code if to > 2 * code else high >> 2 * code - to
                found = found | moved & (3 << to)
            return number(result_of("arith.sitofp", [found], self._type))

        return codes

    def load_words(self, panel: Number, word: Number, column: int) -> Number:
        nbytes = ir.VectorType.get([WORD * self.matrix.lanes], ir.IntegerType.get_signless(8))
        place = [panel, word, as_index(column * WORD * self.matrix.lanes)]
        loaded = result_of("vector.load", [self.codes, *place], nbytes)
        words = ir.VectorType.get([self.matrix.lanes], ir.IntegerType.get_signless(32))
        return number(result_of("vector.bitcast", [loaded], words)).of("ui32")

    def prefetch(self, panel: Number, word: Number) -> None:
        """Prefetch the words that the loop reads soon. The hardware prefetcher stops at page boundaries."""
        matrix = self.matrix
        nbytes = WORD * matrix.width
        total = matrix.panels * matrix.blocks * matrix.words
        at = minimum(panel * (matrix.blocks * matrix.words) + word + _AHEAD // nbytes, total - 1)
        attributes = {
            "isWrite": ir.BoolAttr.get(False),
            "isDataCache": ir.BoolAttr.get(True),
            "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 3),
        }
        for line in range(0, nbytes * matrix.words // matrix.units, _LINE):
            ir.Operation.create(
                "memref.prefetch", operands=[self.codes, as_index(0), at, as_index(line)], attributes=attributes
            )

    def _scales(self, panel: Number, block: Number) -> tuple[list[Number], list[Number]]:
        """Return the scales and offsets of a block, by columns."""
        scales = self._of_blocks("scale", panel, block)
        if "offset" in self.operands:
            return scales, self._of_blocks("offset", panel, block)
        if "zero_point" not in self.operands:
            return scales, [scale * -float(2 ** (self.matrix.bits - 1)) for scale in scales]
        zeros = self._of_blocks("zero_point", panel, block)
        return scales, [zero * scale * -1.0 for zero, scale in zip(zeros, scales, strict=True)]

    def _of_blocks(self, name: str, panel: Number, block: Number) -> list[Number]:
        """Return the numbers of a block by columns, times the factors that several blocks share."""
        columns = range(self.matrix.vectors)
        numbers = [self._real(name, [panel, block], column) for column in columns]
        if (outer := f"outer_{name}") not in self.operands:
            return numbers
        part = block // (self.matrix.blocks // self.operands[outer].type.shape[1])
        factors = [self._real(outer, [panel, part], column) for column in columns]
        return [each * factor for each, factor in zip(numbers, factors, strict=True)]

    def _first(self, panel: Number, column: int) -> Number:
        return self._real("bias", [panel], column) if "bias" in self.operands else constant(0.0, self._type)

    def _real(self, name: str, place: Sequence[Value], column: int) -> Number:
        """Return a vector of an operand's numbers as f32."""
        memref = self.operands[name]
        type_ = ir.VectorType.get([self.matrix.lanes], memref.type.element_type)
        loaded = number(result_of("vector.load", [memref, *place, as_index(column * self.matrix.lanes)], type_))
        return loaded.of(self.dtypes[name]).to("f32")

    def _spread(self, scalar: Number) -> Number:
        return vectors.in_each_lane(scalar, self.matrix.lanes)

    def _put(self, value: Number, memref: Value, row: Number, column: int) -> None:
        vectors.store(value, memref, row, column)

    # ---- results ----

    def _store(self, value: Value, row: Number, panel: Number, column: int) -> None:
        place, masks = self._place(row, panel, column)
        attributes = self._transfer(1, 1, 2, len(masks))
        ir.Operation.create("vector.transfer_write", operands=[value, self.out, *place, *masks], attributes=attributes)

    def _load(self, row: Number, panel: Number, column: int) -> Value:
        place, masks = self._place(row, panel, column)
        nothing = constant(0.0, self._type.element_type)
        attributes = self._transfer(1, 2, 1, len(masks))
        return result_of("vector.transfer_read", [self.out, *place, nothing, *masks], self._type, **attributes)

    def _place(self, row: Number, panel: Number, column: int) -> tuple[list[Value], list[Value]]:
        """Return the indices of a vector of results, and a mask if the vector may exceed the columns."""
        matrix = self.matrix
        first = panel * matrix.width + column * matrix.lanes
        if matrix.columns % matrix.width == 0:
            return [row, first], []
        flags = ir.VectorType.get([matrix.lanes], ir.IntegerType.get_signless(1))
        return [row, first], [result_of("vector.create_mask", [matrix.columns - first], flags)]

    def _transfer(self, *counts: int) -> dict[str, Attribute]:
        last = ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(1)])
        inside = ir.ArrayAttr.get([ir.BoolAttr.get(True)])
        return {"permutation_map": ir.AffineMapAttr.get(last), "in_bounds": inside, **linalg.segments(*counts)}
