# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of 16-bit numbers by groups of four warps, with wgmma (sm_90a only).

A group processes 64 queries of a head. Scores are products from shared memory, where queries, keys and values are
stored in swizzled lines of 128 bytes. The weights computed from the scores are the left factor of the totals, in
registers in the layout of warps.

A group requests a block's scores together with the totals of the block before. The latter product runs while the group
computes the powers of these scores. The values of the block and the keys of the next two blocks are copied meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....emit import loops
from ....emit.arithmetic import element
from ....emit.numbers import Number, Size, as_index, constant, minimum, number
from ....emit.vectors import from_elements, lane_of
from ...default.attention_blocks import Blocks
from ...gpu.attention.operands import Operands
from ...gpu.emit.memory_access import wait_for_block
from ...gpu.emit.threads import block_memory
from ..planned.instructions import bytes_of, row_of, stacked, wait_for_copies, word_of
from ..planned.warp_group_instructions import LINE_BYTES, LINES, Factor, descriptor, rows_apart, show_to_groups
from ..planned.warp_group_requests import NUMBERS_OF_COLUMNS, SumRequest, ask_for, wait_for
from .warps import COLUMNS, COPIED, DEPTH, MatrixRectangle, MatrixTile, Rows, SoftmaxState, padded

_WARPS, _THREADS, _ROWS = 4, 128, 64
#: Blocks of keys and of values in shared memory.
_KEYS, _VALUES = 3, 2
#: With fewer queries, tiles of warps have fewer unused rows.
_LEAST = 33
#: Sizes of a head. Smaller heads leave registers for more keys at a time.
_MIDDLE, _LARGE = 64, 128


class GroupTile(MatrixTile):
    """Tile of a block with one or two groups of warps."""

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
    """Loop-carried values of the blocks of keys.

    They are the maximum and the sum of both rows, a lane's totals in the instructions' layout, and the words of the
    weights for the block's values.
    """

    most: Sequence[Number]
    sums: Sequence[Number]
    totals: Sequence[Value]
    words: Sequence[Value]

    def values(self) -> list[Value]:
        return [*(each.value for each in (*self.most, *self.sums)), *self.totals, *self.words]


class GroupRectangle(MatrixRectangle):
    """Code of a thread. It has the same rows and columns of scores as in the kernel by warps."""

    def __init__(self, tile: MatrixTile, operands: Operands):
        super().__init__(tile, operands)
        self.of_queries = self._lines(1, tile.queries, tile.size)

    def _memories(self) -> list[Value]:
        tile = self.tile
        return [self._lines(_KEYS, tile.keys, tile.size), self._lines(_VALUES, tile.keys, tile.width)]

    def write(self, start: Size, column: Size) -> None:
        first = self._begin(start)
        types = [element("f32")] * (4 + self._totals)

        def met() -> list[Value]:
            return self._read(start, as_index(first))

        def nothing() -> list[Value]:
            none, zero = constant(-math.inf, "f32").value, constant(0, "f32").value
            return [none, none, *[zero] * (2 + self._totals)]

        is_seen = isinstance(self.last, int) and isinstance(first, int) and first < self.last
        found = met() if is_seen else loops.when(as_index(first) < as_index(self.last), met, nothing, types)
        state = SoftmaxState.of(found)
        self._put(state._replace(totals=_tiles(state.totals)))

    def _read(self, start: Size, first: Number) -> list[Value]:
        """Return the maxima, the sums and the totals."""
        self.first, keys, zero = first, self.tile.keys, constant(0, "f32")
        self._start_queries(as_index(start))
        self._bring_keys(first)
        self._bring_keys(first + keys)
        self._wait_for_stages()
        (scores,) = ask_for(self._scores_of(first))
        self._bring_values(first)
        adjusted = self._adjusted(_tiles(wait_for(scores, 0)), first)
        most, sums, _, powers = self._powers(adjusted, [constant(-math.inf, "f32")] * 2, [zero] * 2)
        self._bring_keys(first + 2 * keys)

        def some_keys(key: Number, *values: Value) -> list[Value]:
            before = self._carry(values)
            self._wait_for_stages()
            scores, totals = ask_for(self._scores_of(key), self._totals_of(before, key - keys))
            self._bring_values(key)
            adjusted = self._adjusted(_tiles(wait_for(scores, 1)), key)
            most, sums, factors, powers = self._powers(adjusted, before.most, before.sums)
            # This branch is between the powers and the wait for totals. Within straight code, NVIDIA's assembler moves
            # waits to the front, and nothing would be computed meanwhile.
            self._bring_keys(key + 2 * keys)
            # Powers become words in the registers of the previous words only after the wait, so they are operands of
            # the wait.
            flat = [column.value for tiles in powers for columns in tiles for column in columns]
            waited = wait_for([*totals, *flat], 0, before.words)
            totals, powers = waited[: len(totals)], _nest_rows(waited[len(totals) :])
            scaled = [
                (number(total) * number(lane_of(factors[_row(place)], 0))).value for place, total in enumerate(totals)
            ]
            return _Carried(most, sums, scaled, self._words(powers)).values()

        begun = _Carried(most, sums, [zero.value] * self._totals, self._words(powers)).values()
        last = self._carry(loops.for_range(first + keys, self.last, some_keys, *begun, step=keys))
        self._wait_for_stages()
        (totals,) = ask_for(self._totals_of(last, as_index(self.last) - 1))
        return [*(each.value for each in (*last.most, *last.sums)), *wait_for(totals, 0, last.words)]

    def _carry(self, values: Sequence[Value]) -> _Carried:
        of_rows, rest = list(map(number, values[:4])), values[4:]
        return _Carried(of_rows[:2], of_rows[2:], rest[: self._totals], rest[self._totals :])

    @property
    def _totals(self) -> int:
        """Number of totals of a lane."""
        return self.tile.width // COLUMNS * NUMBERS_OF_COLUMNS

    def _words(self, powers: Rows) -> list[Value]:
        """Pack the weights of the values into words, one register each."""
        return [word for weight in self._weights(powers) for word in _words(weight)]

    # ---- products ----

    def _scores_of(self, key: Number) -> SumRequest:
        """Request the scores of the block that contains a key."""
        tile, rows = self.tile, Factor(str(self.element), COPIED * bytes_of(self.element), is_turned=False)
        group = self.thread // _THREADS * _ROWS
        queries = descriptor(self.of_queries, as_index(0), group, rows)
        keys = descriptor(self.of_keys, self._stage(self.of_keys, key), as_index(0), rows)
        steps = []
        for step in range(padded(tile.size) // DEPTH):
            line, inside = divmod(step, _elements(self.element) // DEPTH)
            far = rows.advance(inside, DEPTH)
            steps.append((far + line * rows_apart(tile.queries), far + line * rows_apart(tile.keys)))
        return SumRequest(rows.type, tile.keys, queries, keys, False, steps)

    def _totals_of(self, before: _Carried, key: Number) -> SumRequest:
        """Request the totals with the values of the block that contains a key."""
        tile = self.tile
        factor = Factor(str(self.element), tile.keys * LINE_BYTES, is_turned=True)
        values = descriptor(self.of_values, self._stage(self.of_values, key), as_index(0), factor)
        steps = [(0, factor.advance(step, DEPTH)) for step in range(tile.keys // DEPTH)]
        return SumRequest(factor.type, tile.width, before.words, values, True, steps, before.totals)

    # ---- memory ----

    def _lines(self, stages: int, rows: int, size: int) -> Value:
        """Allocate shared memory for `rows` rows. Rows longer than a line continue in further lines below."""
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

    def _bring_keys(self, key: Number) -> None:
        self._copy_keys(key, self._stage(self.of_keys, key))

    def _bring_values(self, key: Number) -> None:
        self._copy(self.given.value, self.of_values, self.tile.width, key, self._stage(self.of_values, key))

    def _wait_for_stages(self) -> None:
        """Wait for the next keys and values, while the keys after them are being copied.

        After the wait, the previous block's memory is free.
        """
        wait_for_copies(1)
        show_to_groups()
        wait_for_block()

    def _stage(self, memory: Value, key: Number) -> Number:
        """Return the stage of the block that contains a key."""
        return (key - self.first) // self.tile.keys % memory.type.shape[0]


def _elements(type_: ir.Type) -> int:
    """Return the number of elements in a line."""
    return LINE_BYTES // bytes_of(type_)


def _row(place: int) -> int:
    """Return the row of a lane's number: each eight columns contribute two numbers per row."""
    return place % NUMBERS_OF_COLUMNS // 2


def _nest_rows(flat: Sequence[Value]) -> Rows:
    pairs = [[number(value) for value in flat[place : place + 2]] for place in range(0, len(flat), 2)]
    return [pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]]


def _tiles(numbers: Sequence[Value]) -> list[Value]:
    """Group a lane's numbers by tiles of eight columns, rows and columns."""
    pairs = [from_elements(numbers[place : place + 2]) for place in range(0, len(numbers), 2)]
    return [stacked(pairs[place : place + 2]) for place in range(0, len(pairs), 2)]


def _words(rows: Value) -> list[Value]:
    """Return pairs of 16-bit numbers as words."""
    return list(map(word_of, [row_of(rows, row) for row in range(rows.type.shape[0])]))
