# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of numbers of 16 bits by groups of four warps: wgmma, of sm_90a alone.

A group has 64 queries of a head. Scores are products from shared memory, where queries, keys and values lie in turned
lines of 128 bytes; what has been computed of them is the left factor of the totals in registers, as warps have it.

Two blocks of keys and of values are in memory: a block's scores are asked for together with the totals of the block
before, which go on while the group computes powers of these scores; the next keys and values are on their way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....emit import loops
from ....emit.arithmetic import element, result_of
from ....emit.numbers import Number, Size, as_index, constant, minimum, number
from ....passes.schedule.vector_body import from_elements, lane_of
from ...default.attention_blocks import Blocks
from ...gpu.kernels.threads import block_memory
from ...gpu.nests.attention_operands import Operands
from ...gpu.nests.memory import wait_for_block
from .attention import COLUMNS, COPIED, DEPTH, MatrixRectangle, MatrixTile, Rows, State, padded, stacked
from .instructions import bytes_of, wait_for_copies
from .warp_group_instructions import LINE_BYTES, LINES, Factor, descriptor, rows_apart, show_to_groups
from .warp_group_requests import NUMBERS_OF_COLUMNS, Request, ask_for, wait_for

_WARPS, _THREADS, _ROWS = 4, 128, 64
#: Blocks of keys, and of values, in memory.
_STAGES = 2
#: With fewer queries, warps have fewer rows that nobody asked for.
_LEAST = 33
#: Of a head: those of so many elements meet more keys at a time, as a thread has registers left.
_MIDDLE, _LARGE = 64, 128


class GroupTile(MatrixTile):
    """What a block has: one group of warps or two."""

    @staticmethod
    def most() -> int:
        return 256

    @staticmethod
    def of(what: Blocks, queries: Size, size: Size, width: Size) -> MatrixTile:
        assert isinstance(size, int) and isinstance(width, int)
        if isinstance(queries, int) and queries < _LEAST and max(size, width) <= MatrixTile.most():
            return MatrixTile.of(what, queries, size, width)
        groups = 1 if isinstance(queries, int) and queries <= _ROWS else 2
        return GroupTile(groups * _WARPS, size, width)

    @property
    def keys(self) -> int:
        return 128 if _MIDDLE < max(self.size, self.width) <= _LARGE else 64

    def rectangle(self, operands: Operands) -> MatrixRectangle:
        return GroupRectangle(self, operands)


class _Carried(NamedTuple):
    """From a block of keys to the next one: of both rows the largest score and the sum; a lane's totals, as
    instructions have them, and the words of the factors that the block's values are still to be multiplied by."""

    most: Sequence[Number]
    sums: Sequence[Number]
    totals: Sequence[Value]
    words: Sequence[Value]

    def values(self) -> list[Value]:
        return [*(each.value for each in (*self.most, *self.sums)), *self.totals, *self.words]


class GroupRectangle(MatrixRectangle):
    """What a thread does: its rows and columns of scores are those that warps would give it."""

    def __init__(self, tile: MatrixTile, operands: Operands):
        super().__init__(tile, operands)
        self.of_queries = self._lines(1, tile.queries, tile.size)

    def write(self, start: Size, column: Size) -> None:
        first = self._begin(start)
        f32 = element("f32")
        types = [f32] * (4 + self.tile.width // COLUMNS * NUMBERS_OF_COLUMNS)

        def met() -> list[Value]:
            return self._met(start, as_index(first))

        def nothing() -> list[Value]:
            none, zero = constant(-math.inf, "f32").value, constant(0, "f32").value
            return [none, none, *[zero] * (len(types) - 2)]

        is_seen = isinstance(self.last, int) and isinstance(first, int) and first < self.last
        found = met() if is_seen else loops.when(as_index(first) < as_index(self.last), met, nothing, types)
        state = State.of(found)
        self._put(state._replace(totals=_tiles(state.totals)))

    def _met(self, start: Size, first: Number) -> list[Value]:
        """The largest scores, the sums and the totals."""
        tile, zero = self.tile, constant(0, "f32")
        self._start_queries(as_index(start))
        self._copy_keys(first)
        self._wait_for_stage()
        (scores,) = ask_for(self._scores_of(as_index(0)))
        self._copy_next(first, as_index(0))
        adjusted = self._adjusted(_tiles(wait_for(scores, 0)), first)
        most, sums, _, powers = self._powers(adjusted, [constant(-math.inf, "f32")] * 2, [zero] * 2)
        totals = [zero.value] * (tile.width // COLUMNS * NUMBERS_OF_COLUMNS)

        def some_keys(key: Number, *values: Value) -> list[Value]:
            before = self._carried(values)
            stage = self._stage(key - first)
            self._wait_for_stage()
            scores, totals = ask_for(self._scores_of(stage), self._totals_of(before, 1 - stage))
            self._copy_next(key, stage)
            adjusted = self._adjusted(_tiles(wait_for(scores, 1)), key)
            most, sums, factors, powers = self._powers(adjusted, before.most, before.sums)
            # Powers go through the wait: they are computed before, and become words behind it, as the assembler has
            # these where the words before were and would wait first else.
            flat = _flat(powers)
            waited = wait_for([*totals, *flat], 0, before.words)
            totals, powers = waited[: len(totals)], _nested(waited[len(totals) :])
            scaled = [(number(each) * lane_of(factors[_row(place)], 0)).value for place, each in enumerate(totals)]
            return _Carried(most, sums, scaled, self._words(powers)).values()

        begun = _Carried(most, sums, totals, self._words(powers)).values()
        last = self._carried(loops.for_range(first + tile.keys, self.last, some_keys, *begun, step=tile.keys))
        self._wait_for_stage()
        (totals,) = ask_for(self._totals_of(last, self._stage(as_index(self.last) - 1 - first)))
        totals = wait_for(totals, 0, last.words)
        return [*(each.value for each in (*last.most, *last.sums)), *totals]

    def _carried(self, values: Sequence[Value]) -> _Carried:
        numbers, rest = list(map(number, values[:4])), list(values[4:])
        totals = self.tile.width // COLUMNS * NUMBERS_OF_COLUMNS
        return _Carried(numbers[:2], numbers[2:], rest[:totals], rest[totals:])

    def _words(self, powers: Rows) -> list[Value]:
        """Of registers, of what values are multiplied by."""
        return [word for weight in self._weights(powers) for word in _words(weight)]

    # ---- products ----

    def _scores_of(self, stage: Number) -> Request:
        """Queries by the keys of a stage."""
        tile, rows = self.tile, Factor(str(self.element), COPIED * bytes_of(self.element), is_turned=False)
        group = self.thread // _THREADS * _ROWS
        queries = descriptor(self.of_queries, as_index(0), group, rows)
        keys = descriptor(self.of_keys, stage, as_index(0), rows)
        steps = []
        for step in range(padded(tile.size) // DEPTH):
            line, inside = divmod(step, _elements(self.element) // DEPTH)
            far = rows.advance(inside, DEPTH)
            steps.append((far + line * rows_apart(tile.queries), far + line * rows_apart(tile.keys)))
        return Request(rows.type, tile.keys, queries, keys, False, steps)

    def _totals_of(self, before: _Carried, stage: Number) -> Request:
        """With the values of a stage added."""
        tile = self.tile
        factor = Factor(str(self.element), tile.keys * LINE_BYTES, is_turned=True)
        values = descriptor(self.of_values, stage, as_index(0), factor)
        steps = [(0, factor.advance(step, DEPTH)) for step in range(tile.keys // DEPTH)]
        return Request(factor.type, tile.width, before.words, values, True, steps, before.totals)

    # ---- memory ----

    def _memory(self, rows: int, size: int) -> Value:
        return self._lines(_STAGES, rows, size)

    def _lines(self, stages: int, rows: int, size: int) -> Value:
        """Of so many rows, of which more than a line are one below the other."""
        across = _elements(self.element)
        return block_memory([stages, -(-size // across) * rows, across], self.element, LINES * LINE_BYTES)

    def _place(self, row: Number, column: Number, rows: int, stage: Size) -> list[Size]:
        across = _elements(self.element)
        return [stage, column // across * rows + row, column % across ^ row % LINES * COPIED]

    def _start_queries(self, start: Number) -> None:
        def at(row: Number, column: Number) -> list[Size]:
            inside = minimum(start + row, as_index(self.given.queries) - 1)
            return self.given.query.at(self.given.sequence, inside, self.given.head, column)

        self._start_rows(self.given.query.rows.tensor, at, self.of_queries, self.tile.queries, self.tile.size)

    def _copy_next(self, key: Number, stage: Number) -> None:
        """The values of a stage, and the keys of the next one, where there are more."""
        self._start(self.given.value, self.of_values, self.tile.width, key, stage)
        self._copy_keys(key + self.tile.keys, 1 - stage)

    def _wait_for_stage(self) -> None:
        """What is on its way is there, and where the block before lay nobody reads any more."""
        wait_for_copies(0)
        show_to_groups()
        wait_for_block()

    def _stage(self, keys: Number) -> Number:
        """Of a key so far from the first one."""
        return keys // self.tile.keys % _STAGES


def _elements(type_: ir.Type) -> int:
    """Of a line."""
    return LINE_BYTES // bytes_of(type_)


def _row(place: int) -> int:
    """Of a lane's numbers, two of each eight columns in both rows."""
    return place % NUMBERS_OF_COLUMNS // 2


def _flat(rows: Rows) -> list[Value]:
    return [each.value for tiles in rows for columns in tiles for each in columns]


def _nested(flat: Sequence[Value]) -> Rows:
    pairs = [[number(each) for each in flat[place : place + 2]] for place in range(0, len(flat), 2)]
    return [pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]]


def _tiles(numbers: Sequence[Value]) -> list[Value]:
    """A lane's numbers by eight columns, rows and columns."""
    pairs = [from_elements(numbers[place : place + 2]) for place in range(0, len(numbers), 2)]
    return [stacked(pairs[place : place + 2]) for place in range(0, len(pairs), 2)]


def _words(rows: Value) -> list[Value]:
    """Pairs of 16 bits as words."""
    count, _ = rows.type.shape
    word = ir.VectorType.get([1], ir.IntegerType.get_signless(32))
    pair = ir.VectorType.get([2], rows.type.element_type)
    pairs = [
        result_of("vector.extract", [rows], pair, static_position=ir.DenseI64ArrayAttr.get([row]))
        for row in range(count)
    ]
    return [lane_of(result_of("vector.bitcast", [each], word), 0) for each in pairs]
