# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with panels of few bits: codes are unpacked in registers, between the load and the accumulators.

A word of a column holds codes of adjacent steps. Unpacking leaves the codes in place: a mask yields the codes times
powers of two, which are exact as floats. x is divided by these powers beforehand. A vector of codes therefore takes
three operations: and, conversion to float, multiply-add. The sum of a block is scaled once.

Few rows are multiplied this way. For many rows, the kernel first unpacks a panel, as many steps as fit into the cache,
and reuses the numbers for all rows.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...bindings.ir import Attribute, Value
from ...bindings.mlir import ir
from ...dialects import relax
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, product
from ...dialects.relax import const
from ...dialects.relax.nbits import WORD
from ...emit import linalg, loops, vectors
from ...emit.arithmetic import result_of
from ...emit.numbers import Number, Size, as_index, constant, minimum, number
from ...emit.vectors import multiply_add
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize

#: Up to this number of rows, unpacking a panel first does not pay off.
_FEW_ROWS = 32
#: Prefetch distance in bytes, at least the bandwidth times the latency of memory, and the bytes of a cache line.
_AHEAD, _LINE = 16384, 64
#: Steps of a reduction that are unpacked at once.
_STEPS = 128
#: Independent accumulators, so that no addition waits for the previous one.
_CHAINS = 8
#: Bytes that a core reads per nanosecond, at most. The least work to share among threads, and the least grain, in
#: nanoseconds.
_BYTES, _LEAST_WORK, _LEAST_GRAIN = 12, 20_000, 5_000


@register_legalize("relax.matmul_nbits_panels", target="llvm")
def matmul_nbits_panels(call: LegalizeCall) -> Legalized:
    held = by_name(call.op, call.operands)
    x, scale, zero_point, bias = (held[name] for name in ("x", "scale", "zero_point", "bias"))
    *leading, depth = call.shape(x)
    sizes = [size for size in (*call.shape(scale), depth) if isinstance(size, int)]
    if len(sizes) < 4:
        return call.decline("a size of the matrix is not known")
    panels, blocks, width, known = sizes
    count = product(leading)
    matrix = _PackedMatrix(
        call.op.bits, call.op.block_size, call.op.columns, blocks, panels, width, call.op.lanes, call.op.rows
    )
    rows, sums = _prepared(call, x, matrix, count, known)
    inputs = [each for each in (rows, sums, held["codes"], scale, zero_point, bias) if each is not None]

    def body(*parameters: Value) -> None:
        *given, out = parameters
        kernel = _NbitsKernel(matrix, given, out, zero_point is not None, bias is not None)
        kernel.write(alike=call.target.option("numerics") == "same")

    (result,) = call.loops(body, inputs, [TensorInfo((count, call.op.columns), "f32")])
    shaped = relax.reshape(result, relax.shape_expr(dims=(*leading, call.op.columns)))
    wanted = call.result_dtype()
    return shaped if wanted == "f32" else relax.astype(shaped, dtype=wanted)


class _PackedMatrix(NamedTuple):
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
    def codes(self) -> int:
        """Return the codes in a word."""
        return 8 * WORD // self.bits

    @property
    def words(self) -> int:
        """Return the words in a block."""
        return self.block // self.codes

    @property
    def vectors(self) -> int:
        return self.width // self.lanes

    @property
    def few_rows(self) -> tuple[int, ...]:
        """Return the row counts of a tile while codes are unpacked, which takes registers as well."""
        return (4, 2, 1) if self.rows > 4 else (2, 1)


def _prepared(call: LegalizeCall, x: Value, matrix: _PackedMatrix, count: Dim, depth: int) -> tuple[Value, Value]:
    """Return the rows of x as f32, divided by the factors of their codes in a word, and the sum of each block."""
    import numpy

    ops = relax.dialect.ops
    if call.dtype(x) != "f32":
        x = ops["astype"](x, dtype="f32")
    x = ops["reshape"](x, ops["shape_expr"](dims=(count, depth)))
    whole = matrix.blocks * matrix.block
    if whole != depth:
        x = ops["nn.pad"](x, pad_width=[0, 0, 0, whole - depth])
    sums = ops["sum"](ops["reshape"](x, ops["shape_expr"](dims=(count, matrix.blocks, matrix.block))), axis=[2])
    words = ops["reshape"](x, ops["shape_expr"](dims=(count, whole // matrix.codes, matrix.codes)))
    factors = numpy.array([1 / _factor(matrix, place) for place in range(matrix.codes)], "float32")
    scaled = ops["multiply"](words, const(factors))
    return ops["reshape"](scaled, ops["shape_expr"](dims=(count, whole))), sums


def _factor(matrix: _PackedMatrix, place: int) -> float:
    """Return the factor of a code at a place in its word. The last code is shifted to the front instead."""
    return float(2 ** (matrix.bits * place)) if place < matrix.codes - 1 else 1.0


class _NbitsKernel:
    """Loops of one product, on memrefs."""

    def __init__(
        self, matrix: _PackedMatrix, inputs: Sequence[Value], out: Value, has_zero_point: bool, has_bias: bool
    ):
        self.matrix = matrix
        self.x, self.sums, self.codes, self.scale, *others = inputs
        self.zero_point = others.pop(0) if has_zero_point else None
        self.bias = others.pop(0) if has_bias else None
        self.out = out
        self._type = vectors.vector_of(matrix.lanes, ir.F32Type.get())

    def write(self, *, alike: bool) -> None:
        """Write the loops. If the bits must be alike for any number of rows, few rows take the way of many ones."""
        count = loops.size(self.x, 0)
        if alike:
            self._many(count)
            return
        loops.when(count <= _FEW_ROWS, lambda: self._few(count), lambda: self._many(count))

    # ---- few rows ----

    def _few(self, count: Number) -> None:
        def panel(place: Number) -> None:
            self._tiles(count, self.matrix.few_rows, lambda row, rows: self._few_tile(place, row, rows))

        loops.for_range(0, self.matrix.panels, panel, grain=self._grain(1))

    def _few_tile(self, panel: Number, row: Number, rows: int) -> None:
        """Compute the sums of a panel's columns for some rows."""
        matrix = self.matrix
        points = [(each, column) for each in range(rows) for column in range(matrix.vectors)]

        def block(place: Number, *totals: Value) -> list[Number]:
            parts = self._block_sums(panel, place, row, points)
            scales, offsets = self._scales(panel, place), self._offsets(panel, place)
            sums = [self._spread(loops.load(self.sums, row + each, place)) for each in range(rows)]
            return [
                multiply_add(part - offsets[column] * sums[each], scales[column], number(total))
                for (each, column), part, total in zip(points, parts, totals, strict=True)
            ]

        first = [self._first(panel, column) for _, column in points]
        totals = loops.for_range(0, matrix.blocks, block, *first)
        for (each, column), total in zip(points, totals, strict=True):
            self._store(total, row + each, panel, column)

    def _block_sums(self, panel: Number, block: Number, row: Number, points: Sequence[tuple[int, int]]) -> list[Number]:
        """Return the sums of codes times x in a block, by rows and columns."""
        matrix, rows = self.matrix, points[-1][0] + 1
        chains = max(_CHAINS // len(points), 1)

        def word(inside: Number, *sums: Value) -> list[Number]:
            at = block * matrix.words + inside
            words = [self._words(panel, at, column) for column in range(matrix.vectors)]
            self._prefetch(panel, at)
            made = list(map(number, sums))
            for code in range(matrix.codes):
                factors = [
                    self._spread(loops.load(self.x, row + each, at * matrix.codes + code)) for each in range(rows)
                ]
                unpacked = [self._unpacked(each, code) for each in words]
                for place, (each, column) in enumerate(points):
                    slot = place * chains + code % chains
                    made[slot] = multiply_add(unpacked[column], factors[each], made[slot])
            return made

        zeros = [constant(0.0, self._type)] * (len(points) * chains)
        sums = list(map(number, loops.for_range(0, matrix.words, word, *zeros)))
        return [functools.reduce(operator.add, sums[at : at + chains]) for at in range(0, len(sums), chains)]

    # ---- many rows ----

    def _many(self, count: Number) -> None:
        matrix = self.matrix
        blocks = max(_STEPS // matrix.block, 1)

        def panel(place: Number) -> None:
            def use(numbers: Value) -> None:
                def part(first: Number) -> None:
                    known = minimum(blocks, matrix.blocks - first)
                    loops.for_range(0, known, lambda each: self._unpack(place, first, each, numbers))
                    tiles = [matrix.rows, max(matrix.rows // 2, 1), 1]
                    start, steps = first * matrix.block, known * matrix.block
                    self._tiles(count, tiles, lambda row, rows: self._tile(place, row, rows, numbers, start, steps))

                loops.for_range(0, matrix.blocks, part, step=blocks)

            loops.scratch([blocks * matrix.block, matrix.width], ir.F32Type.get(), use)

        loops.for_range(0, matrix.panels, panel, grain=self._grain(_FEW_ROWS))

    def _unpack(self, panel: Number, first: Number, place: Number, numbers: Value) -> None:
        """Store the numbers of a block, times the divisors of x."""
        matrix, block = self.matrix, first + place
        scales, offsets = self._scales(panel, block), self._offsets(panel, block)

        def word(inside: Number) -> None:
            at = place * matrix.words + inside
            for column in range(matrix.vectors):
                words = self._words(panel, block * matrix.words + inside, column)
                for code in range(matrix.codes):
                    exact = self._unpacked(words, code) - offsets[column] * _factor(matrix, code)
                    self._put(exact * scales[column], numbers, at * matrix.codes + code, column * matrix.lanes)

        loops.for_range(0, matrix.words, word)

    def _tile(self, panel: Number, row: Number, rows: int, numbers: Value, start: Number, steps: Number) -> None:
        """Add the products of some steps to the results of some rows."""
        matrix = self.matrix
        points = [(each, column) for each in range(rows) for column in range(matrix.vectors)]

        def step(place: Number, *sums: Value) -> list[Number]:
            factors = [self._spread(loops.load(self.x, row + each, start + place)) for each in range(rows)]
            columns = [self._get(numbers, place, column * matrix.lanes) for column in range(matrix.vectors)]
            return [
                multiply_add(columns[column], factors[each], number(total))
                for (each, column), total in zip(points, sums, strict=True)
            ]

        def begin() -> list[Number]:
            return [self._first(panel, column) for _, column in points]

        def resume() -> list[Value]:
            return [self._load(row + each, panel, column) for each, column in points]

        first = loops.when(start == 0, begin, resume, [self._type] * len(points))
        sums = loops.for_range(0, steps, step, *first)
        for (each, column), total in zip(points, sums, strict=True):
            self._store(total, row + each, panel, column)

    # ---- both ----

    def _tiles(self, count: Number, sizes: Sequence[int], tile: Callable[[Number, int], None]) -> None:
        """Call `tile(row, rows)` for all rows, in decreasing order of tile sizes."""
        start: Size = 0
        for rows in dict.fromkeys(sizes):
            stop = start + (count - start) // rows * rows
            loops.for_range(start, stop, lambda row, rows=rows: tile(row, rows), step=rows)
            start = stop

    def _grain(self, rows: int) -> int | None:
        """Return the panels per task of a thread, or None if sharing does not pay off."""
        matrix = self.matrix
        nanoseconds = rows * matrix.width * matrix.blocks * matrix.block * matrix.bits / 8 / _BYTES
        if matrix.panels < 2 or nanoseconds * matrix.panels < _LEAST_WORK:
            return None
        return min(max(round(_LEAST_GRAIN / nanoseconds), 1), matrix.panels)

    def _words(self, panel: Number, word: Number, column: int) -> Number:
        nbytes = ir.VectorType.get([WORD * self.matrix.lanes], ir.IntegerType.get_signless(8))
        place = [panel, word, as_index(column * WORD * self.matrix.lanes)]
        loaded = result_of("vector.load", [self.codes, *place], nbytes)
        words = ir.VectorType.get([self.matrix.lanes], ir.IntegerType.get_signless(32))
        return number(result_of("vector.bitcast", [loaded], words)).of("ui32")

    def _prefetch(self, panel: Number, word: Number) -> None:
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
        for line in range(0, nbytes, 64):
            ir.Operation.create(
                "memref.prefetch", operands=[self.codes, as_index(0), at, as_index(line)], attributes=attributes
            )

    def _unpacked(self, words: Number, code: int) -> Number:
        """Return the codes at a place in words, times their factor."""
        matrix = self.matrix
        if code < matrix.codes - 1:
            found = words & ((2**matrix.bits - 1) << matrix.bits * code)
        else:
            found = words >> matrix.bits * code
        return number(result_of("arith.sitofp", [found], self._type))

    def _scales(self, panel: Number, block: Number) -> list[Number]:
        return [self._real(self.scale, [panel, block], column) for column in range(self.matrix.vectors)]

    def _offsets(self, panel: Number, block: Number) -> list[Number]:
        matrix = self.matrix
        if self.zero_point is None:
            return [constant(float(2 ** (matrix.bits - 1)), self._type)] * matrix.vectors
        return [self._real(self.zero_point, [panel, block], column) for column in range(matrix.vectors)]

    def _first(self, panel: Number, column: int) -> Number:
        return constant(0.0, self._type) if self.bias is None else self._real(self.bias, [panel], column)

    def _real(self, memref: Value, place: Sequence[Value], column: int) -> Number:
        """Return a vector of a panel's numbers as f32. Integers are unsigned."""
        element = memref.type.element_type
        type_ = ir.VectorType.get([self.matrix.lanes], element)
        loaded = result_of("vector.load", [memref, *place, as_index(column * self.matrix.lanes)], type_)
        if element == self._type.element_type:
            return number(loaded)
        return number(loaded).of("ui8" if isinstance(element, ir.IntegerType) else str(element)).to("f32")

    def _spread(self, scalar: Number) -> Number:
        return vectors.in_each_lane(scalar, self.matrix.lanes)

    def _get(self, memref: Value, row: Number, column: int) -> Number:
        return vectors.load(self._type, memref, row, column)

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
