# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of few queries, as in token-by-token decoding: single queries meet blocks of keys.

Each key is read once for all heads that it serves. A block of scores is [heads, keys]. The maximum and the sum are
reductions along vectors of keys. The query's position determines the range of keys that it sees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...bindings.ir import Value
from ...emit import linalg, loops, tensors
from ...emit.arithmetic import element
from ...emit.axis_reduction import Reduction
from ...emit.broadcast import broadcast_generic
from ...emit.contraction import Labelled, labelled_product
from ...emit.numbers import Number, Size, as_index, is_same, maximum, minimum
from ...emit.parallel import share_steps
from ...passes.kernels.schedule.ahead import stream
from .attention_blocks import Blocks, Rows, biased, places, power, quotient, seen_keys, weighted_rows

#: A block of this many keys stays in a core's first-level cache until all heads have processed it.
_KEYS_AT_ONCE = 128
#: Float operations of a product in the time of loading one key element from memory.
_FLOPS_OF_ELEMENT = 32
#: Dimensions of a bias.
_HEADS, _KEYS = 1, 3


def attend_one_by_one(what: Blocks, query: Rows, key: Rows, value: Rows, biases: Sequence[Value], out: Value) -> Value:
    """Overwrite `out` with softmax(query @ key^T) @ value of each head."""
    batch, queries, heads, size = query.sizes
    is_shared = is_same(key.sizes[2], value.sizes[2])
    groups = key.sizes[2] if is_shared else heads
    work = linalg.product([key.length, size + value.sizes[3], _FLOPS_OF_ELEMENT])

    def step(position: Number, out: Value) -> Value:
        group, row, sequence = places(position, [groups, queries, batch])
        return _Query(what, sequence, row, group, groups, query, key, value, biases).attend(out)

    return share_steps(linalg.product([batch, queries, groups]), work, step, out)


class _Query:
    """Computation of a query for the heads that share a head of keys and values."""

    def __init__(
        self,
        what: Blocks,
        sequence: Size,
        row: Size,
        group: Size,
        groups: Size,
        query: Rows,
        key: Rows,
        value: Rows,
        biases: Sequence[Value],
    ):
        self.what, self.sequence, self.row = what, sequence, row
        self.query, self.key, self.value, self.biases = query, key, value, biases
        heads = query.sizes[2]
        self.heads: Size = heads
        #: Number of these heads, and the first one.
        self.count = 1 if is_same(heads, groups) else heads // groups
        self.head = group * self.count

    def attend(self, out: Value) -> Value:
        scaled = self._scale()
        total = linalg.fill(0, self._scratch(self.value.sizes[3]))
        most, sums = linalg.fill(-math.inf, self._row()), linalg.fill(0, self._row())
        first, last = seen_keys(self.what, self.row, 1, self.key.length)

        def some_keys(start: Number, most: Value, sums: Value, total: Value) -> list[Value]:
            count = minimum(as_index(last) - start, _KEYS_AT_ONCE)
            scores = self._scores(scaled, start, count)
            new = Reduction(scores, [1]).fold_into(maximum, [(scores, [0, 1])], linalg.copy(most, self._row()))
            powers = linalg.parallel([scores, new], scores, power, [None, [0]])
            factors = linalg.parallel([most, new], self._row(), power)
            sums = linalg.parallel([sums, factors], sums, lambda x, factor: x * factor)
            sums = Reduction(powers, [1]).fold_into(lambda x, so_far: so_far + x, [(powers, [0, 1])], sums)
            total = linalg.parallel([total, factors], total, lambda x, factor: x * factor, [None, [0]])
            values = self._slice_group(self.value, start, count)
            labels = self.value.labels(None, "k", None, "e")
            return [new, sums, stream(weighted_rows(self.what, powers, "qk", values, labels, total), 1)]

        _, sums, total = loops.for_range(first, last, some_keys, most, sums, total, step=_KEYS_AT_ONCE)
        offsets, sizes = [self.sequence, self.row, self.head, 0], [1, 1, self.count, self.value.sizes[3]]
        place = tensors.slice_of(out, offsets, sizes)
        result = broadcast_generic([total, sums], place, [[2, 3], [2]], quotient(self.what, self.key.length))
        return tensors.put_slice(result, out, offsets, sizes=sizes)

    # ---- tensors ----

    def _scratch(self, width: Size) -> Value:
        return linalg.empty([self.count, width], element(self.what.wide))

    def _row(self) -> Value:
        """Return an uninitialized row with a number for each head."""
        return linalg.empty([self.count], element(self.what.wide))

    def _slice_group(self, rows: Rows, start: Size, count: Size) -> Value:
        return rows.some(self.sequence, start, count, rows.head_for(self.head, self.heads))

    def _scale(self) -> Value:
        """Return the query's scaled heads: [heads, size of a head]."""
        rows = self.query.some(self.sequence, self.row, 1, self.head, self.count)
        scaled = lambda x: x.of(self.what.dtype).to(self.what.wide) * self.what.scale  # noqa: E731
        return linalg.parallel([rows], self._scratch(self.query.sizes[3]), scaled, [[None, None, 0, 1]])

    # ---- steps ----

    def _scores(self, scaled: Value, start: Number, count: Number) -> Value:
        whole = linalg.empty([self.count, _KEYS_AT_ONCE], element(self.what.wide))
        out = tensors.slice_of(whole, [0, 0], [self.count, count])
        keys = self._slice_group(self.key, start, count)
        factors = [
            Labelled(scaled, self.what.wide, ("q", "d")),
            Labelled(keys, self.what.dtype, self.key.labels(None, "k", None, "d")),
        ]
        scores = stream(labelled_product(factors, out, "qk", self.what.wide), 1)
        for bias in self.biases:
            starts, sizes = (self.sequence, self.head, self.row, start), (1, self.count, 1, count)
            scores = biased(self.what, scores, bias, starts, sizes, {_HEADS: 0, _KEYS: 1})
        return scores
