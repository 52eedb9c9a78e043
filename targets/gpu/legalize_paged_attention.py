# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with keys and values in pages: a block of threads for each token and head.

A thread computes the score of one key of a block of keys, then adds the weighted values of some columns. Blocks of keys
begin at fixed positions, and sums are in the order of positions. So the bits of a token depend on its sequence only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...bindings.ir import Value
from ...emit import loops
from ...emit.arithmetic import element
from ...emit.numbers import Number, as_index, constant, fma, maximum, minimum, number
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize
from ..default.attention_blocks import power
from ..default.paged_attention import WIDE, PagedAttention
from .emit.memory_access import wait_for_block
from .emit.threads import block_memory, thread_id

#: Threads of a block, and keys that they process at a time.
_THREADS = 128
#: Most columns of a thread, which stay in registers.
_MOST_COLUMNS = 16


@register_legalize("relax.paged_attention", target="gpu", by_types=True)
def paged_attention(call: LegalizeCall) -> Legalized:
    width = call.shape(by_name(call.op, call.operands)["v_pages"])[3]
    if not isinstance(width, int) or not 0 < width <= _THREADS * _MOST_COLUMNS:
        return call.decline(f"only for values of a known size up to {_THREADS * _MOST_COLUMNS}")

    def body(*parameters: Value) -> None:
        paged = PagedAttention.of(call, parameters)
        heads = paged.heads

        def block(position: Number) -> None:
            _TokenHead(paged, position // heads, position % as_index(heads), width).write()

        loops.for_blocks(as_index(paged.tokens) * heads, _THREADS, block)

    return call.loops(body)


class _TokenHead:
    """Computation of a thread for a token's head."""

    def __init__(self, paged: PagedAttention, token: Number, head: Number, width: int):
        self.paged, self.token, self.head, self.width = paged, token, head, width
        self.sequence, self.length = paged.sequence(token), paged.length(token)
        self.first = paged.first_key(self.length)
        self.thread, self.scores = thread_id(), block_memory([_THREADS], element(WIDE))
        #: Columns of the thread. The last ones may be behind the last column, and then repeat it.
        self.columns = [self.thread + start for start in range(0, width, _THREADS)]

    def write(self) -> None:
        initial = self.paged.first_of_row(self.head)
        zeros = [constant(0.0, WIDE)] * len(self.columns)
        start = self.first // _THREADS * _THREADS
        found = loops.for_range(start, self.length, self._some_keys, *initial, *zeros, step=_THREADS)
        _, divisor, *totals = found
        for column, total in zip(self.columns, totals, strict=True):
            put = lambda column=column, total=total: self.paged.write(  # noqa: E731
                self.token, self.head, column, number(total), divisor
            )
            loops.when(column < self.width, put)

    def _some_keys(self, start: Number, most: Number, divisor: Number, *totals: Value) -> list[Number]:
        key = start + self.thread
        is_seen = (key >= self.first) & (key < self.length)
        nothing = constant(-math.inf, WIDE)
        (score,) = loops.when(is_seen, lambda: self._score(key), lambda: nothing, [nothing.type])
        self._share(score)
        keys = maximum(self.first - start, 0), minimum(self.length - start, _THREADS)
        (new,) = loops.for_range(*keys, lambda at, so_far: maximum(so_far, loops.load(self.scores, at)), most)
        self._share(power(score, new))
        factor = power(most, new)

        def add(at: Number, divisor: Number, *totals: Value) -> list[Number]:
            weight, place = loops.load(self.scores, at), self._place(start + at)
            pairs = zip(self._values(place), totals, strict=True)
            return [divisor + weight, *(fma(weight, value, number(total)) for value, total in pairs)]

        scaled = [number(total) * factor for total in (divisor, *totals)]
        return [new, *map(number, loops.for_range(*keys, add, *scaled))]

    def _share(self, number: Number) -> None:
        """Store a number of each thread, after all threads have read the previous one."""
        wait_for_block()
        loops.store(number, self.scores, self.thread)
        wait_for_block()

    def _place(self, key: Number) -> list[Number]:
        return [*self.paged.place(self.sequence, key), self.head // self.paged.group]

    def _score(self, key: Number) -> Number:
        paged, place = self.paged, self._place(key)

        def add(at: Number, total: Number) -> Number:
            own = loops.load(paged.q, self.token, self.head, at).to(WIDE)
            return fma(own, paged.number(paged.k_pages, paged.k_scale, place, at), total)

        (product,) = loops.for_range(0, paged.size, add, constant(0.0, WIDE))
        return paged.capped(product * paged.scale)

    def _values(self, place: Sequence[Number]) -> list[Number]:
        paged = self.paged
        columns = [minimum(column, self.width - 1) for column in self.columns]
        return [paged.number(paged.v_pages, paged.v_scale, place, column) for column in columns]
