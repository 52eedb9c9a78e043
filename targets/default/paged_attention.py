# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of paged attention and their run-time checks, and a kernel of plain loops for any target.

Keys are processed in blocks of fixed positions, whatever the size of a page. All sums are in the order of positions. So
neither other tokens nor the choice of pages change the bits of a result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...bindings.ir import Value
from ...emit import loops
from ...emit.arithmetic import element
from ...emit.numbers import Number, Size, as_index, constant, intrinsic, maximum, minimum, select
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from .attention_blocks import power

#: Keys that share one maximum. A larger score in a later block scales the sums of earlier blocks down.
KEYS_AT_ONCE = 32
#: Dtype of the computation.
WIDE = "f32"


class PagedAttention(NamedTuple):
    """Memrefs of a paged attention, with the call for its attributes."""

    call: LegalizeCall
    out: Value
    q: Value
    k_pages: Value
    v_pages: Value
    table: Value
    sequences: Value
    lengths: Value
    k_scale: Value | None = None
    v_scale: Value | None = None
    sinks: Value | None = None

    @staticmethod
    def of(call: LegalizeCall, parameters: Sequence[Value]) -> PagedAttention:
        """Return the memrefs of a PrimFunc's parameters, after checks of all indices and sizes."""
        *inputs, out = parameters
        names = [name for name, value in by_name(call.op, call.operands).items() if value is not None]
        paged = PagedAttention(call, out, **dict(zip(names, inputs, strict=True)))
        paged._check_sizes()
        paged._check_heads()
        paged._check_indices()
        return paged

    # ---- sizes ----

    @property
    def tokens(self) -> Size:
        return loops.sizes(self.q)[0]

    @property
    def heads(self) -> Size:
        return loops.sizes(self.q)[1]

    @property
    def shared(self) -> Size:
        """Heads of keys and values. Each serves several heads of queries."""
        return loops.sizes(self.k_pages)[2]

    @property
    def group(self) -> Size:
        """Heads of queries that a head of keys and values serves."""
        return self.heads // self.shared

    @property
    def size(self) -> Size:
        """Elements of a query or a key."""
        return loops.sizes(self.q)[2]

    @property
    def width(self) -> Size:
        """Elements of a value or a result."""
        return loops.sizes(self.v_pages)[3]

    @property
    def scale(self) -> Number:
        """Factor of the scores."""
        if self.call.op.scale is not None:
            return constant(self.call.op.scale, WIDE)
        if isinstance(self.size, int):
            return constant(1 / math.sqrt(max(self.size, 1)), WIDE)
        return 1.0 / intrinsic("sqrt", maximum(as_index(self.size), 1).to(WIDE))

    # ---- checks ----

    def _check_sizes(self) -> None:
        pages, places = ("number of pages", 0), ("number of places in a page", 1)
        for one, first, other, second, what in (
            (self.q, 0, self.sequences, 0, "number of tokens"),
            (self.q, 0, self.lengths, 0, "number of tokens"),
            (self.q, 2, self.k_pages, 3, "size of a head"),
            (self.q, 1, self.sinks, 0, "number of heads"),
            *(
                (self.k_pages, axis, value, axis, what)
                for value in (self.v_pages, self.k_scale, self.v_scale)
                for what, axis in (pages, places, ("number of heads", 2))
            ),
        ):
            if other is not None:
                loops.require_same(loops.sizes(one)[first], loops.sizes(other)[second], what)

    def _check_heads(self) -> None:
        heads, shared = self.heads, self.shared
        if isinstance(heads, int) and isinstance(shared, int):
            return  # inference has checked them
        is_some = as_index(shared) > 0
        loops.require(is_some, "ValueError", "pages have no heads")
        rest = as_index(heads) % select(is_some, as_index(shared), 1)
        loops.require(rest == 0, "ValueError", "{} heads of q are no multiple of {}", as_index(heads), as_index(shared))

    def _check_indices(self) -> None:
        """Check sequences, lengths, and the pages that tokens see, before any of them is used."""
        rows, most = (as_index(each) for each in loops.sizes(self.table))
        pages, places = (as_index(each) for each in loops.sizes(self.k_pages)[:2])
        room = most * places

        def check(token: Number) -> None:
            sequence, length = self.sequence(token), self.length(token)
            message = "length {} is out of range: the pages of a sequence have {} places"
            loops.require((length >= 0) & (length <= room), "IndexError", message, length, room)
            inside = (length == 0) | ((sequence >= 0) & (sequence < rows))
            loops.require(inside, "IndexError", "sequence {} is out of range for a table of {}", sequence, rows)
            last = select(inside & (length <= room), ceil_of(length, places), 0)
            loops.for_range(self.first_key(length) // maximum(places, 1), last, lambda at: check_page(sequence, at))

        def check_page(sequence: Number, at: Number) -> None:
            page = as_index(loops.load(self.table, sequence, at))
            message = "page {} of the table is out of range: there are {} pages"
            loops.require((page >= 0) & (page < pages), "IndexError", message, page, pages)

        loops.for_range(0, self.tokens, check, grain=256)

    # ---- elements ----

    def sequence(self, token: Number) -> Number:
        return as_index(loops.load(self.sequences, token))

    def length(self, token: Number) -> Number:
        return as_index(loops.load(self.lengths, token))

    def first_key(self, length: Number) -> Number:
        """Return the position of the first key that a token sees."""
        window = self.call.op.window_size
        return as_index(0) if window is None else maximum(length - window, 0)

    def place(self, sequence: Number, position: Number) -> tuple[Number, Number]:
        """Return the page of a position, and the place in the page."""
        places = loops.sizes(self.k_pages)[1]
        return as_index(loops.load(self.table, sequence, position // places)), position % as_index(places)

    def number(self, pages: Value, scales: Value | None, at: Sequence[Number], place: Size) -> Number:
        """Return an element of a page as a wide float."""
        found = loops.load(pages, *at, place)
        return found.to(WIDE) if scales is None else found.of("i8").to(WIDE) * loops.load(scales, *at)

    def capped(self, score: Number) -> Number:
        cap = self.call.op.softcap
        return score if cap is None else intrinsic("tanh", score * (1 / cap)) * cap

    def first_of_row(self, head: Number) -> tuple[Number, Number]:
        """Return the maximum and the sum of weights before the first key: of the sink, if there is one."""
        if self.sinks is None:
            return constant(-math.inf, WIDE), constant(0.0, WIDE)
        sink = loops.load(self.sinks, head)
        return sink, power(sink, sink)

    def write(self, token: Number, head: Number, place: Size, total: Number, divisor: Number) -> None:
        """Write an element of the result: 0 for a token without keys."""
        result = select(divisor == 0.0, 0.0, total / divisor)
        loops.store(result.to(self.call.result_dtype()), self.out, token, head, place)


def ceil_of(length: Number, places: Number) -> Number:
    """Return the number of pages for a number of keys."""
    some = maximum(places, 1)
    return (length + some - 1) // some


def write_attention(call: LegalizeCall, parameters: Sequence[Value]) -> None:
    """Write the loops. Threads share the tokens and heads."""
    paged = PagedAttention.of(call, parameters)
    heads = paged.heads

    def step(position: Number) -> None:
        token, head = position // heads, position % as_index(heads)
        loops.scratch([maximum(paged.width, 1)], element(WIDE), lambda totals: attend(token, head, totals))

    def attend(token: Number, head: Number, totals: Value) -> None:
        loops.for_range(0, paged.width, lambda at: loops.store(0.0, totals, at))
        compute = lambda scores: _TokenHead(paged, token, head, totals, scores).attend()  # noqa: E731
        loops.scratch([KEYS_AT_ONCE], element(WIDE), compute)

    loops.for_range(0, as_index(paged.tokens) * heads, step, grain=1)


class _TokenHead:
    """Computation of a token's head."""

    def __init__(self, paged: PagedAttention, token: Number, head: Number, totals: Value, scores: Value):
        self.paged, self.token, self.head = paged, token, head
        self.sequence, self.length = paged.sequence(token), paged.length(token)
        self.shared = head // paged.group
        self.totals, self.scores = totals, scores

    def attend(self) -> None:
        paged = self.paged
        first = paged.first_key(self.length)

        def block(start: Number, most: Number, divisor: Number) -> list[Number]:
            keys = maximum(start, first), minimum(start + KEYS_AT_ONCE, self.length)
            (new,) = loops.for_range(*keys, lambda key, so_far: maximum(so_far, self._score(key, key - start)), most)
            factor = power(most, new)
            loops.for_range(0, paged.width, lambda at: self._put(at, loops.load(self.totals, at) * factor))
            add = lambda key, total: self._add(key, key - start, new, total)  # noqa: E731
            return [new, *loops.for_range(*keys, add, divisor * factor)]

        start = first // KEYS_AT_ONCE * KEYS_AT_ONCE
        initial = paged.first_of_row(self.head)
        _, divisor = loops.for_range(start, self.length, block, *initial, step=KEYS_AT_ONCE)
        write = lambda at: paged.write(self.token, self.head, at, loops.load(self.totals, at), divisor)  # noqa: E731
        loops.for_range(0, paged.width, write)

    def _put(self, at: Number, total: Number) -> None:
        loops.store(total, self.totals, at)

    def _score(self, key: Number, at: Number) -> Number:
        """Return a key's score, which is also stored at its place in the block."""
        paged = self.paged
        place = [*paged.place(self.sequence, key), self.shared]

        def add(each: Number, total: Number) -> Number:
            own = loops.load(paged.q, self.token, self.head, each).to(WIDE)
            return total + own * paged.number(paged.k_pages, paged.k_scale, place, each)

        (product,) = loops.for_range(0, paged.size, add, constant(0.0, WIDE))
        score = paged.capped(product * paged.scale)
        loops.store(score, self.scores, at)
        return score

    def _add(self, key: Number, at: Number, most: Number, divisor: Number) -> Number:
        """Add a key's weighted value to the totals, and its weight to the divisor."""
        paged = self.paged
        place = [*paged.place(self.sequence, key), self.shared]
        weight = power(loops.load(self.scores, at), most)

        def add(each: Number) -> None:
            value = paged.number(paged.v_pages, paged.v_scale, place, each)
            self._put(each, loops.load(self.totals, each) + weight * value)

        loops.for_range(0, paged.width, add)
        return divisor + weight
