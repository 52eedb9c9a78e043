# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in blocks of threads: some queries of a head meet all keys that they see, some at a time.

A block has rectangles of queries, keys and values in shared memory. A thread keeps scores of some rows and keys, and
columns of these rows' totals, in registers; sixteen threads beside each other share rows, and tell each other their
largest scores without memory. What so many keys have added up to is scaled down where a later one has a larger score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....bindings.ir import Type, Value
from ....bindings.mlir import ir
from ....emit import loops
from ....emit.arithmetic import constant_value, element, result_of
from ....emit.broadcast import load_broadcast
from ....emit.linalg import product
from ....emit.numbers import Number, Size, as_index, constant, fma, intrinsic, maximum, minimum, number, select
from ....passes.lower_calls import memrefs
from ....passes.schedule.vector_body import from_elements
from ...default.attention_blocks import Blocks, Rows, ceil_divided, is_same, places, quotient, seen_keys, sees
from ..kernels.threads import from_lane, thread_id
from .memory import elements, load, store, wait_for_block
from .places import is_multiple

#: Of a block: so many share a row's scores, and as many have other rows.
_ACROSS = 16
THREADS = _ACROSS * _ACROSS
#: Elements of queries and keys that are in shared memory at a time, and bytes of values.
_DEPTH, _VALUE_BYTES = 16, 16 << 10
#: Of a product: so many are written out in a loop.
_STEPS = 4
#: Bytes: what a thread moves at once, and between rows in shared memory, for the sake of banks.
_VECTOR, _GAP = 16, 16
#: Columns of totals of a thread, at most, and where their number is not known.
_MOST_COLUMNS, _USUAL_COLUMNS = 16, 4


class Part(NamedTuple):
    """Rows of a tensor from one on: of a sequence that is beside others."""

    rows: Rows
    start: Size = 0

    def at(self, sequence: Size, row: Size, head: Size, place: Size) -> list[Size]:
        """The indices of an element."""
        own = row if is_same(self.start, 0) else as_index(row) + as_index(self.start)
        return [sequence, head, own, place] if self.rows.is_by_head else [sequence, own, head, place]


class Tile(NamedTuple):
    """What a thread has of scores and totals."""

    wide: str
    rows: int
    keys: int
    #: Columns of totals: so many vectors of so many.
    lanes: int
    vectors: int
    depth: int

    @staticmethod
    def of(what: Blocks, queries: Size, size: Size, width: Size) -> Tile:
        keys = _VECTOR // (element(what.wide).width // 8)
        rows = next((each for each in (1, 2, 4) if isinstance(queries, int) and each * _ACROSS >= queries), keys)
        if isinstance(width, int):
            parts = max(-(-width // (_MOST_COLUMNS * _ACROSS)), 1)
            columns = max(-(-width // (parts * _ACROSS)), 1)
        else:
            columns = _USUAL_COLUMNS
        lanes = min(keys, 1 << (columns - 1).bit_length())
        depth = min(_DEPTH, max(size, 1)) if isinstance(size, int) else _DEPTH
        return Tile(what.wide, min(rows, keys), keys, lanes, -(-columns // lanes), depth)

    @property
    def queries(self) -> int:
        """Of a block."""
        return self.rows * _ACROSS

    @property
    def keys_of_block(self) -> int:
        return self.keys * _ACROSS

    @property
    def width(self) -> int:
        """Columns of a block's totals."""
        return self.lanes * self.vectors * _ACROSS

    @property
    def values(self) -> int:
        """Rows of values that are in shared memory at a time."""
        rows = _VALUE_BYTES // (self.width * element(self.wide).width // 8)
        return max(min(1 << (rows.bit_length() - 1), self.keys_of_block), self.keys)


class _Memories(NamedTuple):
    """Of a block: queries and keys by their elements, scores by their rows, values by their keys."""

    queries: Value
    keys: Value
    scores: Value
    values: Value

    @staticmethod
    def of(tile: Tile) -> _Memories:
        type_ = element(tile.wide)
        gap = _GAP * 8 // type_.width
        shapes = (
            (tile.depth, tile.queries + gap),
            (tile.depth, tile.keys_of_block + gap),
            (tile.queries, tile.keys_of_block + gap),
            (tile.values, tile.width),
        )
        return _Memories(*(memrefs.allocate(list(shape), type_) for shape in shapes))


def attend(what: Blocks, query: Rows, key: Rows, value: Rows, biases: Sequence[Value], out: Value) -> None:
    """`out` overwritten by softmax(query @ key^T) @ value of each head."""
    batch, queries, heads, size = query.sizes
    tile = Tile.of(what, queries, size, value.sizes[3])
    blocks, parts = ceil_divided(queries, tile.queries), ceil_divided(value.sizes[3], tile.width)

    def block(position: Number) -> None:
        part, block, head, sequence = places(position, [parts, blocks, heads, batch])
        if what.is_causal:
            # Those that see most keys first.
            block = as_index(blocks) - 1 - as_index(block)
        tensors = Part(query), Part(key), Part(value), Part(Rows(out, queries))
        rectangle = Rectangle(what, tile, *tensors, biases, sequence, head)
        rectangle.write(_times(block, tile.queries), _times(part, tile.width))

    loops.for_blocks(product([parts, blocks, heads, batch]), THREADS, block)


def attend_to_sequences(
    tile: Tile,
    heads: Size,
    width: Size,
    count: Size,
    rows: Size,
    sequence: Callable[[Number], tuple[Blocks, Part, Part, Part, Part]],
) -> None:
    """The same of sequences end to end, so many, of so many queries together; `sequence` has what each is made of."""
    # A sequence's last block may be smaller than the others.
    blocks = as_index(rows) // tile.queries + as_index(count)
    parts = ceil_divided(width, tile.width)

    def block(position: Number) -> None:
        part, head, block = places(position, [parts, heads, blocks])

        def look(own: Number, found: Number, left: Number) -> list[Value]:
            """The sequence that has the block, and which of its blocks that is."""
            _, query, *_ = sequence(own)
            there = as_index(ceil_divided(query.rows.length, tile.queries))
            is_open = found < 0
            is_here = is_open & (left < there)
            left_behind = select(is_open & (left >= there), left - there, left)
            return [select(is_here, own, found), left_behind]

        found, left = loops.for_range(0, count, look, as_index(-1), as_index(block))

        def write() -> None:
            what, query, key, value, out = sequence(found)
            rectangle = Rectangle(what, tile, query, key, value, out, [], 0, head)
            rectangle.write(left * tile.queries, _times(part, tile.width))

        loops.when(found >= 0, write)

    loops.for_blocks(product([parts, heads, blocks]), THREADS, block)


class Rectangle:
    """What a thread does for some queries of a head, and some columns of their results."""

    def __init__(
        self,
        what: Blocks,
        tile: Tile,
        query: Part,
        key: Part,
        value: Part,
        out: Part,
        biases: Sequence[Value],
        sequence: Size,
        head: Size,
    ):
        self.what, self.tile, self.biases = what, tile, biases
        self.query, self.key, self.value, self.out = query, key, value, out
        self.sequence, self.head = sequence, head
        self.queries, self.keys, self.size = query.rows.length, key.rows.length, query.rows.sizes[3]
        self.width = value.rows.sizes[3]
        self.memories = _Memories.of(tile)
        self.thread = thread_id()
        self.across = self.thread % _ACROSS
        #: Its first row in the block.
        self.row = self.thread // _ACROSS * tile.rows

    def write(self, start: Size, column: Size) -> None:
        """Of the queries from `start` on, the columns from `column` on."""
        tile, wide = self.tile, self.tile.wide
        self.start, self.column = start, column
        first, self.last = seen_keys(self.what, start, tile.queries, self.keys)
        none, zero = constant(-math.inf, wide), constant(0, wide)
        totals = [constant_value(0, _vector(wide, tile.lanes))] * (tile.rows * tile.vectors)

        def some_keys(key: Number, *carried: Value) -> list[Value]:
            most, sums, totals = _cut(carried, tile.rows, tile.rows)
            scores = [self._adjusted(each, row, key) for row, each in enumerate(self._scores(key))]
            new = [maximum(number(old), _of_row(maximum, each)) for old, each in zip(most, scores, strict=True)]
            based = [select(each == -math.inf, 0.0, each) for each in new]
            factors = [_power(number(old), base) for old, base in zip(most, based, strict=True)]
            powers = [[_power(score, base) for score in row] for row, base in zip(scores, based, strict=True)]
            for row, each in enumerate(powers):
                store(from_elements(each), self.memories.scores, [self.row + row, self.across * tile.keys])
            sums = [fma(number(old), factor, sum(row[1:], row[0])) for old, factor, row in zip(sums, factors, powers)]  # noqa: B905
            scaled = [number(each) * _spread(factors[at // tile.vectors], tile.lanes) for at, each in enumerate(totals)]
            return [*new, *sums, *self._weighted(key, scaled)]

        carried = [*[none] * tile.rows, *[zero] * tile.rows, *totals]
        found = loops.for_range(first, self.last, some_keys, *carried, step=tile.keys_of_block)
        _, sums, totals = _cut(found, tile.rows, tile.rows)
        self._put([_of_row(lambda x, y: x + y, [number(each)]) for each in sums], totals)

    # ---- scores ----

    def _scores(self, key: Number) -> list[list[Number]]:
        """Of the thread's rows and keys, from a key on."""
        tile, memories = self.tile, self.memories
        together = math.gcd(tile.depth, _STEPS)

        def some_elements(place: Number, *scores: Value) -> list[Value]:
            wait_for_block()
            self._bring_queries(place)
            self._bring_keys(key, place)
            wait_for_block()

            def few(inside: Number, *scores: Value) -> list[Value]:
                found = list(scores)
                for each in range(together):
                    queries = elements(load(memories.queries, [inside + each, self.row], tile.rows))
                    keys = load(memories.keys, [inside + each, self.across * tile.keys], tile.keys)
                    for row, query in enumerate(queries):
                        found[row] = fma(number(_spread(query, tile.keys)), number(keys), found[row])
                return found

            return loops.for_range(0, tile.depth, few, *scores, step=together)

        zeros = [constant_value(0, _vector(tile.wide, tile.keys))] * tile.rows
        scores = loops.for_range(0, self.size, some_elements, *zeros, step=tile.depth)
        if not isinstance(self.size, int) or self.size == 0:
            # Without elements nobody has waited for those who still read scores.
            wait_for_block()
        return [list(map(number, elements(each))) for each in scores]

    def _adjusted(self, scores: Sequence[Number], row: int, key: Number) -> list[Number]:
        """Scaled, with the bias, and -inf where a key is not seen."""
        what = self.what
        own = as_index(self.start) + self.row + row
        adjusted = []
        for each, score in enumerate(scores):
            place = key + self.across * self.tile.keys + each
            score = score * what.scale
            for bias in self.biases:
                inside = [self.sequence, self.head, minimum(own, as_index(self.queries) - 1)]
                more = load_broadcast(bias, [*map(as_index, inside), minimum(place, as_index(self.keys) - 1)])
                score = score + more.of(what.bias_dtype).to(what.wide)
            seen = None if is_multiple(self.keys, self.tile.keys_of_block) else place < as_index(self.last)
            if what.offset is not None:
                near = sees(what.is_causal, what.window, place - (own + as_index(what.offset)))
                seen = near if seen is None else seen & near
            adjusted.append(score if seen is None else select(seen, score, -math.inf))
        return adjusted

    # ---- totals ----

    def _weighted(self, key: Number, totals: Sequence[Value]) -> list[Value]:
        """With those of some keys added."""
        tile, memories = self.tile, self.memories

        def some_values(first: Number, *totals: Value) -> list[Value]:
            wait_for_block()
            self._bring_values(key + first)
            wait_for_block()

            def few(inside: Number, *totals: Value) -> list[Value]:
                rows = range(tile.rows)
                weights = [elements(load(memories.scores, [self.row + row, first + inside], tile.keys)) for row in rows]
                totals = list(totals)
                for each in range(tile.keys):
                    for vector in range(tile.vectors):
                        place = self.across * tile.lanes + vector * tile.lanes * _ACROSS
                        values = load(memories.values, [inside + each, place], tile.lanes)
                        for row in rows:
                            at = row * tile.vectors + vector
                            weight = number(_spread(weights[row][each], tile.lanes))
                            totals[at] = fma(weight, number(values), totals[at])
                return totals

            return loops.for_range(0, tile.values, few, *totals, step=tile.keys)

        return loops.for_range(0, tile.keys_of_block, some_values, *totals, step=tile.values)

    def _put(self, sums: Sequence[Number], totals: Sequence[Value]) -> None:
        """The results, of what there is."""
        tile, result = self.tile, quotient(self.what, self.keys)
        for row, divisor in enumerate(sums):
            own = as_index(self.start) + self.row + row

            def put(row: int = row, own: Number = own, divisor: Number = divisor) -> None:
                for vector in range(tile.vectors):
                    first = as_index(self.column) + self.across * tile.lanes + vector * tile.lanes * _ACROSS
                    for lane, total in enumerate(elements(totals[row * tile.vectors + vector])):
                        place = self.out.at(self.sequence, own, self.head, first + lane)
                        value = result(number(total), divisor)
                        write = lambda value=value, place=place: loops.store(value, self.out.rows.tensor, *place)  # noqa: E731
                        _if(None if is_multiple(self.width, tile.width) else first + lane < as_index(self.width), write)

            _if(None if is_multiple(self.queries, tile.queries) else own < as_index(self.queries), put)

    # ---- shared memory ----

    def _bring_queries(self, place: Number) -> None:
        heads = self.query.rows.sizes[2]
        block = _Brought(self.query, self.sequence, self.query.rows.head_for(self.head, heads), self.size)
        rows = block, as_index(self.start), as_index(self.queries), self.tile.queries
        self._bring(*rows, place, self.tile.depth, self.memories.queries, turned=True)

    def _bring_keys(self, key: Number, place: Number) -> None:
        block = _Brought(self.key, self.sequence, self._head_of(self.key), self.size)
        rows = block, key, as_index(self.last), self.tile.keys_of_block
        self._bring(*rows, place, self.tile.depth, self.memories.keys, turned=True)

    def _bring_values(self, key: Number) -> None:
        block = _Brought(self.value, self.sequence, self._head_of(self.value), self.width)
        rows = block, key, as_index(self.last), self.tile.values
        self._bring(*rows, as_index(self.column), self.tile.width, self.memories.values)

    def _head_of(self, part: Part) -> Size:
        return part.rows.head_for(self.head, self.query.rows.sizes[2])

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
        """So many rows from one on, and columns of them; beyond the last row that one, beyond the last column zeros."""
        lanes = block.lanes(self.tile.wide, columns)
        across = columns // lanes
        for begin in range(0, rows * across, THREADS):
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

            _if(None if begin + THREADS <= rows * across else unit < rows * across, bring)


class _Brought(NamedTuple):
    """Rows of a head, of so many elements."""

    part: Part
    sequence: Size
    head: Size
    size: Size

    def lanes(self, wide: str, columns: int) -> int:
        """How many elements are read at once."""
        lanes = _VECTOR // (element(wide).width // 8)
        return lanes if is_multiple(self.size, lanes) and columns % lanes == 0 else 1

    def load(self, row: Number, column: Number, columns: int, lanes: int) -> Value:
        is_whole = is_multiple(self.size, columns)
        inside = column if is_whole else minimum(column, as_index(self.size) - lanes)
        value = load(self.part.rows.tensor, self.part.at(self.sequence, row, self.head, inside), lanes)
        return value if is_whole else select(column < as_index(self.size), number(value), 0.0).value


def _times(size: Size, by: int) -> Size:
    return size * by if isinstance(size, int) else as_index(size) * by


def _cut(values: Sequence[Value], *counts: int) -> list[list[Value]]:
    """So many, so many, and the rest."""
    left = list(values)
    parts = []
    for count in counts:
        parts.append(left[:count])
        left = left[count:]
    return [*parts, left]


def _vector(dtype: str, lanes: int) -> Type:
    return element(dtype) if lanes == 1 else ir.VectorType.get([lanes], element(dtype))


def _spread(scalar: Value, lanes: int) -> Value:
    """A vector of equal elements."""
    if lanes == 1:
        return scalar
    return result_of("vector.broadcast", [scalar], ir.VectorType.get([lanes], scalar.type))


def _of_row(combine: Callable[[Number, Number], Number], parts: Sequence[Number]) -> Number:
    """What all threads of a row have together, which each gets."""
    whole = parts[0]
    for part in parts[1:]:
        whole = combine(whole, part)
    across = _ACROSS // 2
    while across:
        whole = combine(whole, number(from_lane(whole.value, across)))
        across //= 2
    return whole


def _power(score: Number, base: Number) -> Number:
    return intrinsic("exp2", (score - base) * math.log2(math.e))


def _if(condition: Number | None, body: Callable[[], None]) -> None:
    """Where it holds; None: always."""
    if condition is None:
        body()
    else:
        loops.when(condition, body)
