# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paged attention on CPUs: rows of queries meet blocks of keys in registers.

A step computes some tokens for a head of keys and values. Tokens of one sequence follow one another, and share each
block: its keys are transposed once, so that vectors contain keys, and its values are converted to f32. A row is a
token's head of queries.

All sums of a row have one order: along a head by fused multiply-adds, along the values of a block by position, block by
block. Blocks begin at fixed positions. So the bits of a row depend neither on the other rows, nor on pages and threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...bindings.ir import Type, Value
from ...bindings.mlir import ir
from ...emit import loops, vectors
from ...emit.linalg import product
from ...emit.numbers import Number, Size, as_index, ceil_divided, constant, intrinsic, maximum, minimum, number, select
from ...emit.parallel import share_steps
from ...emit.subviews import seen_as
from ...emit.vectors import multiply_add
from ...passes.legalize.call import LegalizeCall
from ..core.machine import Machine
from ..default.attention_blocks import power
from ..default.paged_attention import KEYS_AT_ONCE, WIDE, PagedAttention

#: Most rows of a step, which share blocks of keys. Their queries and totals stay in a core's private cache.
_MOST_ROWS = 64
#: Fewest steps for each core, and for all cores, that the tokens are divided into.
_STEPS_OF_CORE, _FEWEST_STEPS = 4, 16
#: Time of a step, in floating-point operations of a product in cache for each product of a score.
_FLOPS_OF_PRODUCT = 8


class Plan(NamedTuple):
    """Static sizes, and the tiles of registers."""

    heads: int
    shared: int
    size: int
    width: int
    #: Numbers of a vector register, registers, and cores.
    lanes: int
    registers: int
    cores: int

    @staticmethod
    def of(machine: Machine, heads: int, shared: int, size: int, width: int) -> Plan:
        lanes = min(machine.lanes(32), KEYS_AT_ONCE)
        return Plan(heads, shared, size, width, lanes, machine.registers, machine.cores)

    @property
    def group(self) -> int:
        """Rows of a token, which read the same keys."""
        return self.heads // self.shared

    @property
    def parts(self) -> int:
        """Vectors of a block of keys."""
        return KEYS_AT_ONCE // self.lanes

    @property
    def rows(self) -> int:
        """Rows with accumulators in three of four registers."""
        return max(self.registers * 3 // 4 // self.parts, 1)

    @property
    def tokens(self) -> int:
        """Tokens of one tile of registers."""
        return max(self.rows // self.group, 1)

    @property
    def most_tokens(self) -> int:
        """Most tokens of a step."""
        return max(_MOST_ROWS // (self.tokens * self.group), 1) * self.tokens

    @property
    def fewest_tiles(self) -> int:
        """Fewest parts of the tokens, so that all cores have work."""
        return -(-max(self.cores * _STEPS_OF_CORE, _FEWEST_STEPS) // self.shared)

    @property
    def columns(self) -> int:
        """Elements of a value, in whole vectors."""
        return -(-self.width // self.lanes) * self.lanes

    def side(self, size: int) -> int:
        """Return the elements of a row that are loaded at once: a power of two."""
        return min(self.lanes, 1 << (size.bit_length() - 1))


def write_attention(call: LegalizeCall, plan: Plan, parameters: Sequence[Value]) -> None:
    """Write the loops. Threads share the tokens and heads of keys."""
    paged = PagedAttention.of(call, parameters)
    tokens = as_index(paged.tokens)
    together = maximum(minimum(ceil_divided(tokens, plan.fewest_tiles), plan.most_tokens), 1)

    def count(token: Number, total: Number) -> Number:
        length = paged.length(token)
        return total + (length - paged.first_key(length))

    (keys,) = loops.for_range(0, tokens, count, as_index(0))
    tiles = ceil_divided(tokens, together)
    products = product([plan.group, plan.size + plan.width, _FLOPS_OF_PRODUCT])

    def step(position: Number) -> None:
        first = position // plan.shared * together
        stop = minimum(first + together, tokens)
        _allocate(plan, lambda memory: _Step(paged, plan, memory, position % as_index(plan.shared)).run(first, stop))

    share_steps(tiles * plan.shared, keys // maximum(tiles, 1) * products, step)


class _Memory(NamedTuple):
    """Scratch memory of a step."""

    #: Scaled queries, and sums of weighted values, of each row.
    queries: Value
    totals: Value
    #: Scores of the rows with a block of keys, then the weights.
    scores: Value
    #: Maximum, sum of weights, and factor for the earlier sums of each row.
    most: Value
    sums: Value
    factors: Value
    #: Transposed keys and values of a block, and the row of pages of each key.
    keys: Value
    values: Value
    places: Value


def _allocate(plan: Plan, use: Callable[[_Memory], None]) -> None:
    rows = plan.most_tokens * plan.group
    wide, index = ir.F32Type.get(), ir.IndexType.get()
    of_row = [[rows, plan.size], [rows, plan.columns], [rows, KEYS_AT_ONCE], [rows], [rows], [rows]]
    of_block = [[plan.size, KEYS_AT_ONCE], [KEYS_AT_ONCE, plan.columns]]
    shapes = [*((shape, wide) for shape in (*of_row, *of_block)), ([KEYS_AT_ONCE], index)]

    def allocate(values: list[Value]) -> None:
        if len(values) == len(shapes):
            use(_Memory(*values))
            return
        loops.scratch(*shapes[len(values)], lambda memory: allocate([*values, memory]))

    allocate([])


class _Step:
    """Computation of adjacent tokens for one head of keys and values."""

    def __init__(self, paged: PagedAttention, plan: Plan, memory: _Memory, head: Number):
        self.paged, self.plan, self.memory, self.head = paged, plan, memory, head
        self._wide = ir.F32Type.get()
        is_plain = paged.v_pages.type.element_type == self._wide and plan.columns == plan.width
        #: Pages with values that need no conversion.
        self._values = _PageRows.of(paged.v_pages, None) if is_plain else None

    def run(self, first: Number, stop: Number) -> None:
        """Compute the tokens from `first` to before `stop`, run by run of one sequence."""
        if self.plan.columns != self.plan.width:
            zero = vectors.spread(self._vector(), constant(0.0, self._wide))
            loops.nest(
                [KEYS_AT_ONCE, self.plan.columns // self.plan.lanes],
                lambda row, at: self._put(zero, self.memory.values, row, at * self.plan.lanes),
            )

        def one_run(start: Number) -> Number:
            sequence = self.paged.sequence(start)
            goes_on = lambda at: loops.and_then(at < stop, lambda: self.paged.sequence(at) == sequence)  # noqa: E731
            (end,) = loops.repeat_while([start + 1], goes_on, lambda at: at + 1)
            self._attend(sequence, start, end - start)
            return end

        loops.repeat_while([first], lambda start: start < stop, one_run)

    def _attend(self, sequence: Number, first: Number, count: Number) -> None:
        """Compute `count` tokens of a sequence."""
        plan = self.plan
        loops.for_range(0, count, lambda each: self._begin(first + each, each * plan.group))

        def seen(each: Number, start: Number, stop: Number) -> list[Number]:
            own_start, own_stop = self._keys_of(first + each)
            return [minimum(start, own_start), maximum(stop, own_stop)]

        start, stop = loops.for_range(0, count, seen, *self._keys_of(first))

        def block(at: Number) -> None:
            self._load(sequence, at, maximum(at, start), stop)
            self._tiles(first, count, at)

        loops.for_range(start // KEYS_AT_ONCE * KEYS_AT_ONCE, stop, block, step=KEYS_AT_ONCE)
        loops.for_range(0, count, lambda each: self._finish(first + each, each * plan.group))

    def _keys_of(self, token: Number) -> tuple[Number, Number]:
        """Return the range of positions that a token sees."""
        length = self.paged.length(token)
        return self.paged.first_key(length), length

    # ---- rows ----

    def _begin(self, token: Number, row: Number) -> None:
        """Scale the queries of a token, and clear its sums."""
        paged, plan, memory = self.paged, self.plan, self.memory
        first, element = self.head * plan.group, paged.q.type.element_type
        scale, zero = paged.scale, vectors.spread(self._vector(), constant(0.0, self._wide))

        def begin(each: Number) -> None:
            def scaled(at: Size, lanes: int) -> Number:
                own = vectors.load(vectors.vector_of(lanes, element), paged.q, token, first + each, at)
                return own.to(WIDE) * vectors.in_each_lane(scale, lanes)

            put = lambda at, lanes: self._put(scaled(at, lanes), memory.queries, row + each, at)  # noqa: E731
            _emit_vectors(plan, plan.size, put)
            most, total = paged.first_of_row(first + each)
            loops.store(most, memory.most, row + each)
            loops.store(total, memory.sums, row + each)
            clear = lambda at: self._put(zero, memory.totals, row + each, at)  # noqa: E731
            loops.for_range(0, plan.columns, clear, step=plan.lanes)

        loops.for_range(0, plan.group, begin)

    def _finish(self, token: Number, row: Number) -> None:
        """Write the results of a token."""
        paged, plan, memory = self.paged, self.plan, self.memory
        dtype = str(paged.out.type.element_type)

        def finish(each: Number) -> None:
            total = loops.load(memory.sums, row + each)
            divisor = select(total == 0.0, 1.0, total)

            def write(at: Size, lanes: int) -> None:
                own = vectors.load(vectors.vector_of(lanes, self._wide), memory.totals, row + each, at)
                quotient = (own / vectors.in_each_lane(divisor, lanes)).to(dtype)
                vectors.store(quotient, paged.out, token, self.head * plan.group + each, at)

            _emit_vectors(plan, plan.width, write)

        loops.for_range(0, plan.group, finish)

    # ---- keys and values ----

    def _load(self, sequence: Number, block: Number, start: Number, stop: Number) -> None:
        """Load the keys and values of a block that are between `start` and `stop`. Others have any elements."""
        paged, plan, memory = self.paged, self.plan, self.memory
        self._locate(sequence, block, start, stop)
        keys = _PageRows.of(paged.k_pages, paged.k_scale)
        side = plan.side(plan.size)

        def transpose(first: Number) -> None:
            rows = [loops.load(memory.places, first + index) for index in range(side)]

            def square(at: Size, lanes: int) -> None:
                for index, column in enumerate(vectors.transposed([keys.load(row, at, lanes) for row in rows])):
                    self._put(number(column), memory.keys, as_index(at) + index, first)

            _emit_vectors(plan, plan.size, square)

        loops.for_range(0, KEYS_AT_ONCE, transpose, step=side)
        if self._values is None:
            self._copy_values(block, start, stop)

    def _locate(self, sequence: Number, block: Number, start: Number, stop: Number) -> None:
        """Store the row of pages of each key of a block. Keys that nothing sees get a row of some page."""
        paged, plan = self.paged, self.plan
        places = loops.sizes(paged.k_pages)[1]
        together = math.gcd(places, KEYS_AT_ONCE) if isinstance(places, int) else 1

        def adjacent(at: Number) -> None:
            position = block + at
            page, _ = paged.place(sequence, minimum(maximum(position, start), stop - 1))
            row = (page * places + position % as_index(places)) * plan.shared + self.head
            store = lambda each: loops.store(row + each * plan.shared, self.memory.places, at + each)  # noqa: E731
            loops.for_range(0, together, store)

        loops.for_range(0, KEYS_AT_ONCE, adjacent, step=together)

    def _copy_values(self, block: Number, start: Number, stop: Number) -> None:
        """Convert the values of a block to f32."""
        plan, memory = self.plan, self.memory
        values = _PageRows.of(self.paged.v_pages, self.paged.v_scale)

        def copy(key: Number) -> None:
            row = loops.load(memory.places, key)
            put = lambda at, lanes: self._put(values.load(row, at, lanes), memory.values, key, at)  # noqa: E731
            _emit_vectors(plan, plan.width, put)

        loops.for_range(start - block, minimum(stop - block, KEYS_AT_ONCE), copy)

    # ---- tiles ----

    def _tiles(self, first: Number, count: Number, block: Number) -> None:
        """Process a block of keys. Tokens that all see the whole block share tiles of registers."""
        plan = self.plan
        group = plan.group

        def one(each: Number) -> None:
            start, stop = self._keys_of(first + each)
            start, stop = maximum(start - block, 0), minimum(stop - block, KEYS_AT_ONCE)
            loops.when(start < stop, lambda: self._rows(each * group, group, start, stop))

        def several(each: Number) -> None:
            stop = minimum(each + plan.tokens, count)

            def sees_all(at: Number, so_far: Number) -> Number:
                start, end = self._keys_of(first + at)
                return so_far & (start <= block) & (end >= block + KEYS_AT_ONCE)

            (is_whole,) = loops.for_range(each, stop, sees_all, each + plan.tokens <= count)
            loops.when(
                is_whole,
                lambda: self._rows(each * group, plan.tokens * group, 0, KEYS_AT_ONCE),
                lambda: loops.for_range(each, stop, one) and None,
            )

        if plan.tokens > 1:
            loops.for_range(0, count, several, step=plan.tokens)
        else:
            loops.for_range(0, count, one)

    def _rows(self, first: Number, count: int, start: Size, stop: Size) -> None:
        """Add the keys from `start` to before `stop` of the block to some rows."""
        tiles = [(at, min(self.plan.rows, count - at)) for at in range(0, count, self.plan.rows)]
        for at, rows in tiles:
            self._multiply(first + at, rows)
        loops.for_range(first, first + count, lambda row: self._weigh(row, start, stop))
        for at, rows in tiles:
            self._sum(first + at, rows, start, stop)

    def _multiply(self, first: Number, rows: int) -> None:
        """Store the scores of some rows with all keys of the block."""
        plan, memory = self.plan, self.memory

        def add(at: Number, *totals: Value) -> list[Number]:
            keys = [self._get(memory.keys, at, part * plan.lanes) for part in range(plan.parts)]
            made = []
            for row in range(rows):
                query = self._spread(loops.load(memory.queries, first + row, at))
                own = totals[row * plan.parts : (row + 1) * plan.parts]
                made += [multiply_add(query, key, total) for key, total in zip(keys, own, strict=True)]
            return made

        zero = constant(0.0, self._vector())
        totals = loops.for_range(0, plan.size, add, *[zero] * (rows * plan.parts))
        for place, total in enumerate(totals):
            self._put(total, memory.scores, first + place // plan.parts, place % plan.parts * plan.lanes)

    def _weigh(self, row: Number, start: Size, stop: Size) -> None:
        """Replace the scores of a row by weights, relative to the maximum so far. Unseen keys have none."""
        memory = self.memory
        type_ = vectors.vector_of(KEYS_AT_ONCE, self._wide)
        scores = self.paged.capped(vectors.load(type_, memory.scores, row, 0))
        if not isinstance(start, int):
            numbers = number(vectors.from_elements([constant(lane, "i32") for lane in range(KEYS_AT_ONCE)]))
            seen = (numbers >= _i32(start)) & (numbers < _i32(stop))
            scores = select(seen, scores, constant(-math.inf, type_))
        before = loops.load(memory.most, row)
        most = _fold_lanes(scores, lambda x, y: select(x > y, x, y))
        most = select(before > most, before, most)
        factor = power(before, most)
        base = select(most == -math.inf, 0.0, most)
        weights = intrinsic("exp_below", scores - vectors.in_each_lane(base, KEYS_AT_ONCE))
        total = multiply_add(loops.load(memory.sums, row), factor, _fold_lanes(weights, lambda x, y: x + y))
        vectors.store(weights, memory.scores, row, 0)
        for value, memref in ((most, memory.most), (total, memory.sums), (factor, memory.factors)):
            loops.store(value, memref, row)

    def _sum(self, first: Number, rows: int, start: Size, stop: Size) -> None:
        """Scale the totals of some rows, and add the weighted values."""
        plan, memory = self.plan, self.memory

        def columns(column: Number, parts: int) -> None:
            places = [(row, column + part * plan.lanes) for row in range(rows) for part in range(parts)]

            def add(key: Number, *totals: Value) -> list[Number]:
                values = [self._value(key, column + part * plan.lanes) for part in range(parts)]
                weights = [self._spread(loops.load(memory.scores, first + row, key)) for row in range(rows)]
                pairs = [(weight, value) for weight in weights for value in values]
                return [multiply_add(*pair, number(total)) for pair, total in zip(pairs, totals, strict=True)]

            factors = [self._spread(loops.load(memory.factors, first + row)) for row in range(rows)]
            scaled = [self._get(memory.totals, first + row, at) * factors[row] for row, at in places]
            for (row, at), total in zip(places, loops.for_range(start, stop, add, *scaled), strict=True):
                self._put(total, memory.totals, first + row, at)

        wide = plan.parts * plan.lanes
        whole, rest = plan.columns // wide * wide, plan.columns % wide // plan.lanes
        loops.for_range(0, whole, lambda column: columns(column, plan.parts), step=wide)
        if rest:
            columns(as_index(whole), rest)

    def _value(self, key: Number, column: Size) -> Number:
        if self._values is None:
            return self._get(self.memory.values, key, column)
        return self._values.load(loops.load(self.memory.places, key), column, self.plan.lanes)

    # ---- vectors ----

    def _vector(self) -> Type:
        return vectors.vector_of(self.plan.lanes, self._wide)

    def _spread(self, scalar: Number) -> Number:
        return vectors.in_each_lane(scalar, self.plan.lanes)

    def _get(self, memref: Value, row: Number, column: Size) -> Number:
        return vectors.load(self._vector(), memref, row, column)

    def _put(self, value: Value, memref: Value, row: Number, column: Size) -> None:
        vectors.store(value, memref, row, column)


class _PageRows(NamedTuple):
    """Pages as rows [pages * places * heads, size], with a scale for each row of codes."""

    rows: Value
    scales: Value | None

    @staticmethod
    def of(pages: Value, scales: Value | None) -> _PageRows:
        *leading, size = loops.sizes(pages)
        count = product(leading)
        return _PageRows(seen_as(pages, 0, [count, size], [size, 1]), scales and seen_as(scales, 0, [count], [1]))

    def load(self, row: Number, at: Size, lanes: int) -> Number:
        """Load adjacent elements of a row as f32."""
        loaded = vectors.load(vectors.vector_of(lanes, self.rows.type.element_type), self.rows, row, at)
        if self.scales is None:
            return loaded.to(WIDE)
        return loaded.of("i8").to(WIDE) * vectors.in_each_lane(loops.load(self.scales, row), lanes)


def _emit_vectors(plan: Plan, size: int, body: Callable[[Size, int], None]) -> None:
    """Emit `body(start, lanes)` for vectors that cover a row of `size` elements. The last one may overlap another."""
    if not size:
        return
    lanes = plan.side(size)
    whole = size // lanes * lanes
    loops.for_range(0, whole, lambda at: body(at, lanes), step=lanes)
    if whole != size:
        body(size - lanes, lanes)


def _fold_lanes(vector: Number, combine: Callable[[Number, Number], Number]) -> Number:
    """Combine all lanes, half by half, so that the order does not depend on the machine's vectors."""
    lanes = KEYS_AT_ONCE
    while lanes > 1:
        lanes //= 2
        halves = (range(lanes), range(lanes, 2 * lanes))
        low, high = (number(vectors.shuffle(vector, vector, list(half))) for half in halves)
        vector = combine(low, high)
    return number(vectors.lane_of(vector, 0))


def _i32(position: Size) -> Number:
    return vectors.in_each_lane(as_index(position).to("i32"), KEYS_AT_ONCE)
