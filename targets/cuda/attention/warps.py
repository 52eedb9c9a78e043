# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of 16-bit numbers by matrix units, from sm_80 on.

A warp has sixteen queries of a head in registers, in the layout of the instruction, with the scores of some keys and
the totals. Asynchronous copies bring keys and values to shared memory: values during the products with keys, the next
keys during the products with values. The weights computed from scores have the register layout of a factor of the next
product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....dialects.core.infos import Info, TensorInfo
from ....emit import loops
from ....emit.arithmetic import constant_value, element
from ....emit.numbers import Number, Size, as_index, constant, fma, intrinsic, maximum, minimum, number, select
from ....emit.vectors import from_elements, lane_of
from ...core.machine import Machine
from ...default.attention_blocks import Blocks, quotient, seen_keys, sees
from ...gpu.attention.flash_attention import based_on, of_threads
from ...gpu.attention.operands import Operands, RowPart
from ...gpu.emit.memory_access import load, store, wait_for_block
from ...gpu.emit.threads import block_memory, thread_id
from ...gpu.planned.index_arithmetic import is_multiple
from ..planned.instructions import add_products, halves, load_tiles, row_of, stacked, start_copy, wait_for_copies

_WARP = Machine.warp
#: Instruction shape: rows, columns and depth. A row's columns are in `_LANES` lanes, two in each.
ROWS, COLUMNS, DEPTH, _LANES = 16, 8, 16, 4
#: Warps per block if there are enough queries.
_WARPS = 8
#: Elements that are copied at once, and padding elements between rows in shared memory against bank conflicts.
COPIED = 8
_LOG2_E = math.log2(math.e)
#: Numbers of a lane, by rows, tiles of eight columns, and columns.
Rows = list[list[list[Number]]]


class MatrixTile(NamedTuple):
    """Tile of a block: numbers of warps, of a head's elements and of a result's elements."""

    warps: int
    size: int
    width: int

    @classmethod
    def reason_against(cls, query: Info, value: Info) -> str:
        """Return why these tiles cannot process the operands, or an empty string."""
        assert isinstance(query, TensorInfo) and isinstance(value, TensorInfo)
        if query.dtype not in ("f16", "bf16"):
            return f"matrix units are for f16 and bf16, not {query.dtype}"
        sizes, most = [None if info.shape is None else info.shape[-1] for info in (query, value)], cls.most()
        if not all(isinstance(size, int) and 0 < size <= most and size % COPIED == 0 for size in sizes):
            return f"matrix units are for heads of known sizes, multiples of {COPIED} up to {most}"
        return ""

    @staticmethod
    def most() -> int:
        """Return the most elements of a head. With more elements a thread does not have enough registers."""
        return 128

    @staticmethod
    def of(what: Blocks, queries: Size, size: Size, width: Size) -> MatrixTile:
        assert isinstance(size, int) and isinstance(width, int)
        warps = min(_WARPS, max(-(-queries // ROWS), 1)) if isinstance(queries, int) else _WARPS
        return MatrixTile(warps, size, width)

    @property
    def queries(self) -> int:
        return self.warps * ROWS

    @property
    def threads(self) -> int:
        return self.warps * _WARP

    @property
    def keys(self) -> int:
        """Keys that queries are multiplied by at a time."""
        return 64

    def rectangle(self, operands: Operands) -> MatrixRectangle:
        return MatrixRectangle(self, operands)


class SoftmaxState(NamedTuple):
    """Maximum and sum of both of a lane's rows, and its totals: two of each eight columns, in both rows."""

    most: Sequence[Number]
    sums: Sequence[Number]
    totals: Sequence[Value]

    @staticmethod
    def of(values: Sequence[Value]) -> SoftmaxState:
        return SoftmaxState(list(map(number, values[:2])), list(map(number, values[2:4])), list(values[4:]))


class MatrixRectangle:
    """Code of a thread for some queries of a head."""

    def __init__(self, tile: MatrixTile, operands: Operands):
        self.tile, self.given, self.what = tile, operands, operands.what
        self.element = element(self.what.dtype)
        self.of_keys, self.of_values = self._memories()
        self.thread = thread_id()
        self.lane = self.thread % _WARP
        #: First column of the lane within eight columns.
        self.column = self.lane % _LANES * 2

    def write(self, start: Size, column: Size) -> None:
        """Write all results of the queries from `start` on; `column` is 0."""
        first = self._begin(start)
        queries = self._queries()
        self._copy_keys(as_index(first))
        zero = constant_value(0, ir.VectorType.get([2, 2], element("f32")))
        nothing = [*[constant(-math.inf, "f32")] * 2, *[constant(0, "f32")] * 2]
        totals = [zero] * (padded(self.tile.width) // COLUMNS)

        def some_keys(key: Number, *carried: Value) -> list[Value]:
            wait_for_copies(0)
            wait_for_block()
            self._copy(self.given.value, self.of_values, self.tile.width, key)
            scores = self._scores(queries)
            wait_for_block()
            self._copy_keys(key + self.tile.keys)
            before = SoftmaxState.of(carried)
            most, sums, factors, powers = self._powers(self._adjusted(scores, key), before.most, before.sums)
            by_rows = number(stacked(factors))
            scaled = [(number(total) * by_rows).value for total in before.totals]
            weights = self._weights(powers)
            wait_for_copies(1)
            wait_for_block()
            return [*most, *sums, *self._weighted(weights, scaled)]

        found = loops.for_range(first, self.last, some_keys, *nothing, *totals, step=self.tile.keys)
        self._put(SoftmaxState.of(found))

    def _begin(self, start: Size) -> Size:
        """Set the lane's rows. Return the first key that a query of the block sees."""
        self.row = as_index(start) + self.thread // _WARP * ROWS + self.lane // _LANES
        self.rows = [self.row, self.row + ROWS // 2]
        first, self.last = seen_keys(self.what, start, self.tile.queries, self.given.keys)
        return first

    # ---- loads from memory ----

    def _queries(self) -> list[Value]:
        """Load the lane's parts of the queries: two rows, and two pairs of each sixteen elements."""
        pair = ir.VectorType.get([2], self.element)
        rows = [minimum(row, as_index(self.given.queries) - 1) for row in self.rows]
        tiles = []
        for first in range(0, self.tile.size, DEPTH):
            parts = []
            for begin in (first, first + DEPTH // 2):
                for row in rows:
                    at = self.given.query.at(self.given.sequence, row, self.given.head, self.column + begin)
                    is_there = begin < self.tile.size
                    parts.append(load(self.given.query.rows.tensor, at, 2) if is_there else constant_value(0, pair))
            tiles.append(stacked(parts))
        return tiles

    def _copy_keys(self, key: Number, stage: Size = 0) -> None:
        """Start to copy the next keys if there are any."""
        start = partial(self._start, self.given.key, self.of_keys, self.tile.size, key, stage)
        loops.when(key < as_index(self.last), start)
        ir.Operation.create("nvvm.cp.async.commit.group")

    def _copy(self, part: RowPart, memory: Value, size: int, key: Number, stage: Size = 0) -> None:
        self._start(part, memory, size, key, stage)
        ir.Operation.create("nvvm.cp.async.commit.group")

    def _start(self, part: RowPart, memory: Value, size: int, key: Number, stage: Size = 0) -> None:
        """Start to copy rows of keys or values. Rows beyond the last one repeat it."""

        def at(row: Number, column: Number) -> list[Size]:
            return self.given.of_keys(part, minimum(key + row, as_index(self.last) - 1), column)

        self._start_rows(part.rows.tensor, at, memory, self.tile.keys, size, stage)

    def _start_rows(
        self,
        tensor: Value,
        at: Callable[[Number, Number], list[Size]],
        memory: Value,
        rows: int,
        size: int,
        stage: Size = 0,
    ) -> None:
        """Start to copy `rows` rows. Elements beyond the end of a row are zeros."""
        across = padded(size) // COPIED
        for begin in range(0, rows * across, self.tile.threads):
            unit = self.thread + begin
            row, column = unit // across, unit % across * COPIED
            count = None
            inside = column
            if size % DEPTH:
                inside = minimum(column, size - COPIED)
                count = select(column < size, as_index(COPIED), as_index(0))
            to = self._place(row, column, rows, stage)
            start = partial(start_copy, tensor, at(row, inside), memory, to, COPIED, count)
            loops.when_all([begin + self.tile.threads <= rows * across or unit < rows * across], start)

    def _memories(self) -> list[Value]:
        """Allocate shared memory for keys and values."""
        sizes = self.tile.size, self.tile.width
        return [block_memory([self.tile.keys, padded(size) + COPIED], self.element) for size in sizes]

    def _place(self, row: Number, column: Number, rows: int, stage: Size) -> list[Size]:
        """Return the indices of an element in shared memory."""
        return [row, column]

    # ---- scores ----

    def _scores(self, queries: Sequence[Value]) -> list[Value]:
        scores = [constant_value(0, ir.VectorType.get([2, 2], element("f32")))] * (self.tile.keys // COLUMNS)
        # Tiles of eight elements of eight keys: the next elements come first, then the next keys.
        row = self.lane // 16 * 8 + self.lane % 8
        place = self.lane // 8 % 2 * 8
        for step, query in enumerate(queries):
            for pair in range(self.tile.keys // 16):
                tiles = load_tiles(self.of_keys, [row + pair * 16, place + step * DEPTH], is_turned=False)
                for half, keys in enumerate(halves(tiles)):
                    scores[pair * 2 + half] = add_products(query, keys, scores[pair * 2 + half])
        return scores

    def _adjusted(self, scores: Sequence[Value], key: Number) -> Rows:
        """Scale the scores for powers of two, add the biases, and replace the scores of unseen keys by -inf."""
        what = self.what
        scale = what.scale * _LOG2_E
        # 32 bits are enough for the keys' positions relative to the values they are compared with.
        place = key + self.column
        from_end = None if self._is_whole else (place - as_index(self.last)).to("i32")
        adjusted = []
        for half, row in enumerate(self.rows):
            from_own = None if what.offset is None else (place - (row + as_index(what.offset))).to("i32")
            tiles = []
            for tile, value in enumerate(scores):
                columns = []
                for column in range(2):
                    far = tile * COLUMNS + column
                    score = _element(value, half, column) * scale
                    for bias in self.given.biases_at(self.given.head, row, place + far):
                        score = fma(bias, constant(_LOG2_E, "f32"), score)
                    seen = None if from_end is None else from_end < -far
                    if from_own is not None:
                        near = sees(what.is_causal, what.window, from_own + far)
                        seen = near if seen is None else seen & near
                    columns.append(score if seen is None else select(seen, score, -math.inf))
                tiles.append(columns)
            adjusted.append(tiles)
        return adjusted

    @property
    def _is_whole(self) -> bool:
        """Check whether no block of keys goes beyond the last key."""
        return self.what.window is None and is_multiple(self.given.keys, self.tile.keys)

    def _powers(
        self, scores: Rows, most_before: Sequence[Number], sums_before: Sequence[Number]
    ) -> tuple[list[Number], list[Number], list[Value], Rows]:
        """Return the new maxima and sums of the rows, the scale factors of a pair of totals, and the powers."""
        most, sums, factors, powers = [], [], [], []
        for row, tiles in enumerate(scores):
            own = [score for columns in tiles for score in columns]
            largest = maximum(most_before[row], of_threads(maximum, own, _LANES))
            base = based_on(largest)
            factor = intrinsic("exp2", most_before[row] - base)
            found = [[intrinsic("exp2", score - base) for score in columns] for columns in tiles]
            flat = [column for columns in found for column in columns]
            most.append(largest)
            sums.append(fma(sums_before[row], factor, sum(flat[1:], flat[0])))
            factors.append(from_elements([factor, factor]))
            powers.append(found)
        return most, sums, factors, powers

    def _weights(self, powers: Rows) -> list[Value]:
        """Return the powers as left factors of the products with these keys' values."""
        weights = []
        for first in range(0, self.tile.keys // COLUMNS, 2):
            parts = [powers[row][tile] for tile in (first, first + 1) for row in range(2)]
            weights.append(stacked([number(from_elements(part)).to(self.what.dtype).value for part in parts]))
        return weights

    # ---- totals ----

    def _weighted(self, weights: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        found = list(totals)
        # Tiles of eight keys of eight columns: the next keys come first, then the next columns.
        row = self.lane // 8 % 2 * 8 + self.lane % 8
        place = self.lane // 16 * 8
        for step, weight in enumerate(weights):
            for pair in range(len(found) // 2):
                tiles = load_tiles(self.of_values, [row + step * DEPTH, place + pair * 16], is_turned=True)
                for half, values in enumerate(halves(tiles)):
                    found[pair * 2 + half] = add_products(weight, values, found[pair * 2 + half])
        return found

    def _put(self, state: SoftmaxState) -> None:
        """Write the results of existing queries."""
        result = quotient(self.what, self.given.keys)
        for half, row in enumerate(self.rows):
            divisor = of_threads(lambda x, y: x + y, [state.sums[half]], _LANES)

            def put(half: int = half, row: Number = row, divisor: Number = divisor) -> None:
                for tile in range(self.tile.width // COLUMNS):
                    pair = [result(_element(state.totals[tile], half, column), divisor) for column in range(2)]
                    at = self.given.out.at(self.given.sequence, row, self.given.head, self.column + tile * COLUMNS)
                    store(from_elements(pair), self.given.out.rows.tensor, at)

            queries = self.given.queries
            loops.when_all([is_multiple(queries, self.tile.queries) or row < as_index(queries)], put)


def padded(size: int) -> int:
    return -(-size // DEPTH) * DEPTH


def _element(pairs: Value, row: int, column: int) -> Number:
    return number(lane_of(row_of(pairs, row), column))
