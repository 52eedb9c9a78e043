# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with panels of few bits: codes are unpacked in registers, between the load and the accumulators.

A word of a column holds codes of adjacent steps. Unpacking leaves the codes in their half of the word: a mask yields
the codes times powers of two, which are exact as floats. The scale is divided by these powers once for a block. A
vector of codes therefore takes four operations: and, conversion to float, one multiply-add that yields the weights, and
one that adds the product with an element of x.

Few rows are multiplied this way. For many rows, the kernel first unpacks a panel, as many steps as fit into the cache,
and reuses the weights for all rows. Both ways compute the same weights, and add the products in the order of steps: the
bits of a row do not depend on the number of rows, lanes or threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...bindings.ir import Attribute, Value
from ...bindings.mlir import ir
from ...dialects import relax
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, product
from ...dialects.relax.nbits import WORD, unit
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
#: Bytes that a core reads per nanosecond, at most. The least work to share among threads, and the least grain, in
#: nanoseconds.
_BYTES, _LEAST_WORK, _LEAST_GRAIN = 12, 20_000, 5_000


@register_legalize("relax.matmul_nbits_panels", target="llvm")
def matmul_nbits_panels(call: LegalizeCall) -> Legalized:
    held = by_name(call.op, call.operands)
    x, scale = held.pop("x"), held["scale"]
    *leading, depth = call.shape(x)
    sizes = [size for size in (*call.shape(scale), depth) if isinstance(size, int)]
    if len(sizes) < 4:
        return call.decline("a size of the matrix is not known")
    panels, blocks, width, known = sizes
    count = product(leading)
    matrix = _PackedMatrix(
        call.op.bits, call.op.block_size, call.op.columns, blocks, panels, width, call.op.lanes, call.op.rows
    )
    given = {name: value for name, value in held.items() if value is not None}
    dtypes = {name: call.dtype(value) for name, value in given.items()}

    def body(rows: Value, *parameters: Value) -> None:
        *numbers, out = parameters
        _NbitsKernel(matrix, rows, dict(zip(given, numbers, strict=True)), dtypes, out).write()

    inputs = [_prepared(call, x, matrix, count, known), *given.values()]
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
        """Return the codes in half of a word. Larger numbers would need more scales, smaller ones more shifts."""
        return 4 * WORD // self.field

    @property
    def vectors(self) -> int:
        return self.width // self.lanes

    @property
    def few_rows(self) -> tuple[int, ...]:
        """Return the row counts of a tile while codes are unpacked, which takes registers as well."""
        return (4, 2, 1) if self.rows > 4 else (2, 1)


def _prepared(call: LegalizeCall, x: Value, matrix: _PackedMatrix, count: Dim, depth: int) -> Value:
    """Return the rows of x as f32, with zeros for the missing part of the last block."""
    ops = relax.dialect.ops
    if call.dtype(x) != "f32":
        x = ops["astype"](x, dtype="f32")
    x = ops["reshape"](x, ops["shape_expr"](dims=(count, depth)))
    whole = matrix.blocks * matrix.block
    return x if whole == depth else ops["nn.pad"](x, pad_width=[0, 0, 0, whole - depth])


class _BlockNumbers(NamedTuple):
    """Numbers of a block of each column, as vectors by columns."""

    #: Scales, divided by the powers of two of a code's place in half of a word, by places and columns.
    scales: list[list[Number]]
    offsets: list[Number]


class _NbitsKernel:
    """Loops of one product, on memrefs."""

    def __init__(
        self, matrix: _PackedMatrix, x: Value, operands: Mapping[str, Value], dtypes: Mapping[str, str], out: Value
    ):
        self.matrix, self.x, self.operands, self.dtypes, self.out = matrix, x, operands, dtypes, out
        self.codes = operands["codes"]
        self._type = vectors.vector_of(matrix.lanes, ir.F32Type.get())

    def write(self) -> None:
        count = loops.size(self.x, 0)
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
            numbers = self._block_numbers(panel, place)

            def unit(inside: Number, *sums: Value) -> list[Number]:
                self._prefetch(panel, place * matrix.words + inside * (matrix.words // matrix.units))
                weights = self._weights(panel, place, inside, numbers)
                made = list(map(number, sums))
                for code in range(matrix.unit):
                    step = place * matrix.block + inside * matrix.unit + code
                    factors = [self._spread(loops.load(self.x, row + each, step)) for each in range(rows)]
                    made = [
                        multiply_add(weights[column](code), factors[each], total)
                        for (each, column), total in zip(points, made, strict=True)
                    ]
                return made

            return list(map(number, loops.for_range(0, matrix.units, unit, *totals)))

        first = [self._first(panel, column) for _, column in points]
        totals = loops.for_range(0, matrix.blocks, block, *first)
        for (each, column), total in zip(points, totals, strict=True):
            self._store(total, row + each, panel, column)

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

    def _unpack(self, panel: Number, first: Number, place: Number, memory: Value) -> None:
        """Store the weights of a block."""
        matrix, block = self.matrix, first + place
        numbers = self._block_numbers(panel, block)

        def unit(inside: Number) -> None:
            weights = self._weights(panel, block, inside, numbers)
            for column in range(matrix.vectors):
                for code in range(matrix.unit):
                    step = place * matrix.block + inside * matrix.unit + code
                    self._put(weights[column](code), memory, step, column * matrix.lanes)

        loops.for_range(0, matrix.units, unit)

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

    def _weights(
        self, panel: Number, block: Number, inside: Number, numbers: _BlockNumbers
    ) -> list[Callable[[int], Number]]:
        """Return functions from a code's place in a unit to the weights, by columns."""
        return [self._weights_of(panel, block, inside, numbers, column) for column in range(self.matrix.vectors)]

    def _weights_of(
        self, panel: Number, block: Number, inside: Number, numbers: _BlockNumbers, column: int
    ) -> Callable[[int], Number]:
        codes, fields = self._unit(panel, block, inside, column), self.matrix.fields

        @functools.cache
        def weight(code: int) -> Number:
            floats = number(result_of("arith.sitofp", [codes(code)], self._type))
            return multiply_add(floats, numbers.scales[code % fields][column], numbers.offsets[column])

        return weight

    def _unit(self, panel: Number, block: Number, inside: Number, column: int) -> Callable[[int], Number]:
        """Return a function from a code's place in a unit to the codes, each at the place in its half of a word."""
        matrix = self.matrix
        first, field, fields = block * matrix.words, matrix.field, matrix.fields
        if matrix.bits < 6 or matrix.bits == 8:
            words = self._words(panel, first + inside, column)
            halves = words, words >> 16
            return lambda code: halves[code // fields] & ((1 << field) - 1 << field * (code % fields))
        words = [self._words(panel, first + inside * 2 + each, column) for each in range(2)]
        halves = words[0], words[0] >> 16, words[1], words[1] >> 16
        high = self._words(panel, first + 2 * matrix.units + inside, column)

        def codes(code: int) -> Number:
            place = field * (code % fields)
            distance = place + field - 2 * code
            moved = high << distance if distance > 0 else high >> -distance
            return halves[code // fields] & (15 << place) | moved & (3 << place + field)

        return codes

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
        for line in range(0, nbytes * matrix.words // matrix.units, _LINE):
            ir.Operation.create(
                "memref.prefetch", operands=[self.codes, as_index(0), at, as_index(line)], attributes=attributes
            )

    def _block_numbers(self, panel: Number, block: Number) -> _BlockNumbers:
        matrix = self.matrix
        scales = self._of_blocks("scale", panel, block)
        if "offset" in self.operands:
            offsets = self._of_blocks("offset", panel, block)
        elif "zero_point" in self.operands:
            zeros = self._of_blocks("zero_point", panel, block)
            offsets = [zero * scale * -1.0 for zero, scale in zip(zeros, scales, strict=True)]
        else:
            offsets = [scale * -float(2 ** (matrix.bits - 1)) for scale in scales]
        places = [0.5 ** (matrix.field * place) for place in range(matrix.fields)]
        return _BlockNumbers([[scale * power for scale in scales] for power in places], offsets)

    def _of_blocks(self, name: str, panel: Number, block: Number) -> list[Number]:
        """Return the numbers of a block by columns, times the factors that several blocks share."""
        columns = range(self.matrix.vectors)
        numbers = [self._real(name, [panel, block], column) for column in columns]
        outer = f"outer_{name}"
        if outer not in self.operands:
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
