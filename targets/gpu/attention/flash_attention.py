# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flash attention by a block of threads: some queries of a head meet all keys that they see, in tiles.

A block stages rectangles of queries, keys and values in shared memory. A thread keeps in registers the scores of some
rows and keys, and columns of these rows' totals. Sixteen adjacent threads share rows and exchange their largest scores
by shuffles, without memory. A later key with a larger score scales the previous totals down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ....bindings.ir import Value
from ....emit import loops
from ....emit.arithmetic import constant_value, element
from ....emit.linalg import product
from ....emit.numbers import Number, Size, as_index, constant, fma, intrinsic, maximum, minimum, number, select
from ....emit.vectors import from_elements
from ...default.attention_blocks import Blocks, is_same, quotient, seen_keys, sees
from ..emit.memory_access import elements, filled, load, loaded_type, store, wait_for_block
from ..emit.threads import block_memory, from_lane, thread_id
from ..planned.index_arithmetic import is_multiple
from .operands import Operands, RowPart

#: Threads of a block that share a row's scores. Up to as many groups of threads have different rows.
ACROSS = 16
#: Elements of queries and keys that are in shared memory at a time, and bytes of values.
_DEPTH, _VALUE_BYTES = 16, 16 << 10
#: Steps of a product that are unrolled in a loop.
_STEPS = 4
#: Bytes that a thread moves at once, and padding bytes between rows in shared memory against bank conflicts.
_VECTOR, _GAP = 16, 16
#: Columns of totals per thread: the maximum, and the number for a dynamic width.
_MOST_COLUMNS, _USUAL_COLUMNS = 16, 4


class Tile(NamedTuple):
    """Numbers of scores and totals that a thread computes."""

    wide: str
    rows: int
    keys: int
    #: Columns of totals: `vectors` vectors of `lanes`.
    lanes: int
    vectors: int
    depth: int
    #: Bytes of values that are in shared memory at a time.
    value_bytes: int = _VALUE_BYTES
    #: Number of thread groups with different rows.
    groups: int = ACROSS

    @staticmethod
    def of(what: Blocks, queries: Size, size: Size, width: Size, most: int, threads: int) -> Tile:
        """Choose a tile for a block with at most `most` bytes of shared memory and at most `threads` threads."""
        groups = min(ACROSS, threads // ACROSS)
        keys = _VECTOR // (element(what.wide).width // 8)
        rows = next((each for each in (1, 2, 4) if isinstance(queries, int) and each * groups >= queries), keys)
        if isinstance(width, int):
            parts = max(-(-width // (_MOST_COLUMNS * ACROSS)), 1)
            columns = max(-(-width // (parts * ACROSS)), 1)
        else:
            columns = _USUAL_COLUMNS
        lanes = min(keys, 1 << (columns - 1).bit_length())
        depth = min(_DEPTH, max(size, 1)) if isinstance(size, int) else _DEPTH
        tile = Tile(what.wide, min(rows, keys), keys, lanes, -(-columns // lanes), depth, groups=groups)
        return tile._fit(most)

    def _fit(self, most: int) -> Tile:
        """Reduce the tile to `most` bytes: first fewer values at a time, then fewer queries, then a smaller depth."""
        tile = self
        while tile.bytes > most and tile.value_bytes > _VALUE_BYTES // 4:
            tile = tile._replace(value_bytes=tile.value_bytes // 2)
        while tile.bytes > most and tile.rows > 1:
            tile = tile._replace(rows=tile.rows // 2)
        while tile.bytes > most and tile.depth > 1:
            tile = tile._replace(depth=tile.depth // 2)
        return tile

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Shapes of the queries, keys, scores and values in shared memory."""
        gap = _GAP * 8 // element(self.wide).width
        return (
            (self.depth, self.queries + gap),
            (self.depth, self.keys_of_block + gap),
            (self.queries, self.keys_of_block + gap),
            (self.values, self.width),
        )

    @property
    def bytes(self) -> int:
        return sum(map(math.prod, self.shapes)) * element(self.wide).width // 8

    @property
    def threads(self) -> int:
        """Number of threads per block."""
        return ACROSS * self.groups

    def rectangle(self, operands: Operands) -> Rectangle:
        """Return the code of a thread for some queries of a head."""
        return Rectangle(self, operands)

    @property
    def queries(self) -> int:
        """Number of rows per block."""
        return self.rows * self.groups

    @property
    def keys_of_block(self) -> int:
        return self.keys * ACROSS

    @property
    def width(self) -> int:
        """Columns of a block's totals."""
        return self.lanes * self.vectors * ACROSS

    @property
    def values(self) -> int:
        """Rows of values that are in shared memory at a time."""
        rows = self.value_bytes // (self.width * element(self.wide).width // 8)
        return max(min(1 << (rows.bit_length() - 1), self.keys_of_block), self.keys)


class _Memories(NamedTuple):
    """Shared memory of a block: queries and keys by element, scores by row, values by key."""

    queries: Value
    keys: Value
    scores: Value
    values: Value

    @staticmethod
    def of(tile: Tile) -> _Memories:
        return _Memories(*(block_memory(shape, element(tile.wide)) for shape in tile.shapes))


class Partial(NamedTuple):
    """Memory for the partial results of a part of the keys: maximum and sum of each row, and the totals."""

    part: Size
    rows: Value
    totals: Value


class Rectangle:
    """Computation of a thread for some rows and some columns of their results.

    Rows are the queries of one head, or of several adjacent heads that share keys. In the latter case the heads of a
    query are adjacent rows.
    """

    def __init__(self, tile: Tile, operands: Operands):
        self.tile, self.given, self.what = tile, operands, operands.what
        self.rows = product([operands.queries, operands.heads])
        self.memories = _Memories.of(tile)
        self.thread = thread_id()
        self.across = self.thread % ACROSS
        #: First row of the thread in its block.
        self.row = self.thread // ACROSS * tile.rows

    def write(self, start: Size, column: Size) -> None:
        """Write the columns from `column` on of the results for the rows from `start` on."""
        self._put(*self._met(start, column, 0, self.given.keys))

    def write_part(self, start: Size, column: Size, first: Size, last: Size, to: Partial) -> None:
        """Write the partial results of the keys from `first` to `last`."""
        most, sums, totals = self._met(start, column, first, last)

        def put(row: int, query: Number, head: Size) -> None:
            at = [to.part, self.given.sequence, query, head]
            is_writer = (self.across == 0) & (as_index(column) == 0)
            for position, each in enumerate((most[row], sums[row])):
                loops.when(is_writer, lambda each=each, position=position: loops.store(each, to.rows, *at, position))
            self._each_total(totals, row, lambda total, place: loops.store(total, to.totals, *at, place))

        self._each_row(put)

    def _met(
        self, start: Size, column: Size, begin: Size, end: Size
    ) -> tuple[list[Number], list[Number], list[list[Number]]]:
        """Return the maximum and the sum of each row, equal in all threads of the row, and the thread's totals."""
        tile, wide = self.tile, self.tile.wide
        self.start, self.column = start, column
        heads = self.given.heads
        queries = tile.queries if is_same(heads, 1) else as_index(tile.queries) // heads + 2
        first, self.last = seen_keys(self.what, self._split_row(as_index(start))[0], queries, self.given.keys)
        first, self.last = maximum(first, begin), minimum(self.last, end)
        none, zero = constant(-math.inf, wide), constant(0, wide)
        nothing = [constant_value(0, loaded_type(element(wide), tile.lanes))] * (tile.rows * tile.vectors)

        def some_keys(key: Number, *carried: Value) -> list[Value]:
            most, sums, totals = _cut(carried, tile.rows, tile.rows)
            scores = [self._adjusted(each, row, key) for row, each in enumerate(self._scores(key))]
            new = [maximum(old, of_threads(maximum, each)) for old, each in zip(most, scores, strict=True)]
            based = [based_on(bounds) for bounds in new]
            factors = [power(old, base) for old, base in zip(most, based, strict=True)]
            powers = [[power(score, base) for score in row] for row, base in zip(scores, based, strict=True)]
            for row, each in enumerate(powers):
                store(from_elements(each), self.memories.scores, [self.row + row, self.across * tile.keys])
            added = [sum(row[1:], row[0]) for row in powers]
            sums = [fma(*each) for each in zip(sums, factors, added, strict=True)]
            scaled = [total * filled(factors[at // tile.vectors], tile.lanes) for at, total in enumerate(totals)]
            return [*new, *sums, *self._weighted(key, scaled)]

        carried = [*[none] * tile.rows, *[zero] * tile.rows, *nothing]
        found = loops.for_range(first, self.last, some_keys, *carried, step=tile.keys_of_block)
        most, sums, totals = _cut(found, tile.rows, tile.rows)
        whole = [of_threads(lambda x, y: x + y, [each]) for each in sums]
        return most, whole, [totals[row * tile.vectors : (row + 1) * tile.vectors] for row in range(tile.rows)]

    def _split_row(self, row: Number) -> tuple[Number, Size]:
        """Return the query and the head of a row."""
        if is_same(self.given.heads, 1):
            return row, self.given.head
        return row // self.given.heads, as_index(self.given.head) + row % self.given.heads

    # ---- scores ----

    def _scores(self, key: Number) -> list[list[Number]]:
        """Return the scores of the thread's rows with its keys, starting at `key`."""
        tile, memories = self.tile, self.memories
        together = math.gcd(tile.depth, _STEPS)

        def some_elements(place: Number, *scores: Value) -> list[Value]:
            wait_for_block()
            self._bring_queries(place)
            rows = self._stage_keys(self.given.key, self.given.size), key, as_index(self.last), self.tile.keys_of_block
            self._bring(*rows, place, self.tile.depth, self.memories.keys, turned=True)
            wait_for_block()

            def few(inside: Number, *scores: Value) -> list[Number]:
                found = list(map(number, scores))
                for index in range(together):
                    queries = elements(load(memories.queries, [inside + index, self.row], tile.rows))
                    keys = load(memories.keys, [inside + index, self.across * tile.keys], tile.keys)
                    for row, query in enumerate(queries):
                        found[row] = fma(filled(query, tile.keys), number(keys), found[row])
                return found

            return loops.for_range(0, tile.depth, few, *scores, step=together)

        zeros = [constant_value(0, loaded_type(element(tile.wide), tile.keys))] * tile.rows
        scores = loops.for_range(0, self.given.size, some_elements, *zeros, step=tile.depth)
        if not isinstance(self.given.size, int) or self.given.size == 0:
            # Without elements no barrier has been emitted for threads that still read scores.
            wait_for_block()
        return [list(map(number, elements(score))) for score in scores]

    def _adjusted(self, scores: Sequence[Number], row: int, key: Number) -> list[Number]:
        """Scale the scores, add the biases, and replace the scores of unseen keys by -inf."""
        what = self.what
        own, head = self._split_row(as_index(self.start) + self.row + row)
        adjusted = []
        for index, score in enumerate(scores):
            place = key + self.across * self.tile.keys + index
            score = score * what.scale
            for bias in self.given.biases_at(head, own, place):
                score = score + bias
            is_whole = what.window is None and is_multiple(self.given.keys, self.tile.keys_of_block)
            seen = None if is_whole else place < as_index(self.last)
            if what.offset is not None:
                near = sees(what.is_causal, what.window, place - (own + as_index(what.offset)))
                seen = near if seen is None else seen & near
            adjusted.append(score if seen is None else select(seen, score, -math.inf))
        return adjusted

    # ---- totals ----

    def _weighted(self, key: Number, totals: Sequence[Number]) -> list[Number]:
        """Add the weighted values of one block of keys to the totals."""
        tile, memories = self.tile, self.memories

        def some_values(first: Number, *totals: Value) -> list[Number]:
            wait_for_block()
            self._bring_values(key + first)
            wait_for_block()

            def few(inside: Number, *before: Value) -> list[Number]:
                rows, totals = range(tile.rows), list(map(number, before))
                weights = [elements(load(memories.scores, [self.row + row, first + inside], tile.keys)) for row in rows]
                for index in range(tile.keys):
                    for vector in range(tile.vectors):
                        place = self.across * tile.lanes + vector * tile.lanes * ACROSS
                        values = load(memories.values, [inside + index, place], tile.lanes)
                        for row in rows:
                            at = row * tile.vectors + vector
                            totals[at] = fma(filled(weights[row][index], tile.lanes), number(values), totals[at])
                return totals

            return loops.for_range(0, tile.values, few, *totals, step=tile.keys)

        return loops.for_range(0, tile.keys_of_block, some_values, *totals, step=tile.values)

    def _put(self, most: Sequence[Number], sums: Sequence[Number], totals: Sequence[Sequence[Number]]) -> None:
        """Write the results."""
        result = quotient(self.what, self.given.keys)

        def put(row: int, query: Number, head: Size) -> None:
            def divided(total: Number, place: Number) -> None:
                at = self.given.out.at(self.given.sequence, query, head, place)
                loops.store(result(total, sums[row]), self.given.out.rows.tensor, *at)

            self._each_total(totals, row, divided)

        self._each_row(put)

    def _each_row(self, put: Callable[[int, Number, Size], None]) -> None:
        """Emit `put` for each of the thread's rows that exists, with its query and head."""
        for row in range(self.tile.rows):
            own = as_index(self.start) + self.row + row
            is_some = None if is_multiple(self.rows, self.tile.queries) else own < as_index(self.rows)
            loops.when_all([is_some], partial(put, row, *self._split_row(own)))

    def _each_total(self, totals: Sequence[Sequence[Number]], row: int, put: Callable[[Number, Number], None]) -> None:
        """Emit `put` for each of a row's totals that exists, with its column."""
        tile = self.tile
        for vector, total in enumerate(totals[row]):
            first = as_index(self.column) + self.across * tile.lanes + vector * tile.lanes * ACROSS
            for lane, each in enumerate(elements(total)):
                place = first + lane
                width = self.given.width
                is_some = None if is_multiple(width, tile.width) else place < as_index(width)
                loops.when_all([is_some], partial(put, number(each), place))

    # ---- shared memory ----

    def _bring_queries(self, place: Number) -> None:
        def at(row: Number, column: Number) -> list[Size]:
            query, head = self._split_row(row)
            return self.given.query.at(self.given.sequence, query, head, column)

        block = _Brought(self.given.query.rows.tensor, at, self.given.size)
        rows = block, as_index(self.start), as_index(self.rows), self.tile.queries
        self._bring(*rows, place, self.tile.depth, self.memories.queries, turned=True)

    def _bring_values(self, key: Number) -> None:
        rows = self._stage_keys(self.given.value, self.given.width), key, as_index(self.last), self.tile.values
        self._bring(*rows, as_index(self.column), self.tile.width, self.memories.values)

    def _stage_keys(self, part: RowPart, size: Size) -> _Brought:
        return _Brought(part.rows.tensor, lambda row, column: self.given.of_keys(part, row, column), size)

    def _bring(
        self,
        block: _Brought,
        first: Number,
        until: Number,
        rows: int,
        column: Number,
        columns: int,
        memory: Value,
        *,
        turned: bool = False,
    ) -> None:
        """Copy `rows` rows from `first` on into shared memory.

        Rows beyond the last row repeat it. Columns beyond the last column are 0.
        """
        lanes = block.lanes(self.tile.wide, columns)
        across, threads = columns // lanes, self.tile.threads
        for begin in range(0, rows * across, threads):
            unit = self.thread + begin
            row, place = unit // across, unit % across * lanes

            def bring(row: Number = row, place: Number = place) -> None:
                value = block.load(minimum(first + row, until - 1), column + place, columns, lanes)
                wide = number(value).of(self.what.dtype).to(self.tile.wide)
                if not turned:
                    store(wide.value, memory, [row, place])
                    return
                for lane, each in enumerate(elements(wide.value)):
                    store(each, memory, [place + lane, row])

            loops.when_all([begin + threads <= rows * across or unit < rows * across], bring)


class _Brought(NamedTuple):
    """Rows of `size` elements, with a function that returns an element's indices."""

    tensor: Value
    at: Callable[[Number, Number], list[Size]]
    size: Size

    def lanes(self, wide: str, columns: int) -> int:
        """Return the number of elements that are read at once."""
        lanes = _VECTOR // (element(wide).width // 8)
        return lanes if is_multiple(self.size, lanes) and columns % lanes == 0 else 1

    def load(self, row: Number, column: Number, columns: int, lanes: int) -> Value:
        is_whole = is_multiple(self.size, columns)
        inside = column if is_whole else minimum(column, as_index(self.size) - lanes)
        value = load(self.tensor, self.at(row, inside), lanes)
        return value if is_whole else select(column < as_index(self.size), number(value), 0.0).value


def _cut(values: Sequence[Value], *counts: int) -> list[list[Number]]:
    """Split the values into runs of `counts` elements, and the rest."""
    left = list(map(number, values))
    parts = []
    for count in counts:
        parts.append(left[:count])
        left = left[count:]
    return [*parts, left]


def of_threads(combine: Callable[[Number, Number], Number], parts: Sequence[Number], across: int = ACROSS) -> Number:
    """Reduce over `across` adjacent threads by butterfly shuffles. Each of the threads receives the result."""
    whole = parts[0]
    for part in parts[1:]:
        whole = combine(whole, part)
    while across > 1:
        across //= 2
        whole = combine(whole, number(from_lane(whole.value, across)))
    return whole


def based_on(most: Number) -> Number:
    """Return the base that is subtracted in the exponents: the maximum, or 0 if the row has seen no key."""
    return select(most == -math.inf, 0.0, most)


def power(score: Number, base: Number) -> Number:
    return intrinsic("exp2", (score - base) * math.log2(math.e))
