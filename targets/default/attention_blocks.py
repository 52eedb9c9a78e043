# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flash attention, without the score matrix in memory: blocks of queries of a head meet blocks of keys.

A block of scores is [keys, queries], with the queries contiguous. Vectors contain queries, so that the maximum and the
sum of each query need no reduction across a vector. A later key with a larger score scales the previous totals down.
Keys that no query of a block sees are skipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...bindings.ir import Value
from ...emit import linalg, loops, tensors
from ...emit.arithmetic import element
from ...emit.axis_reduction import Reduction
from ...emit.broadcast import Place, broadcast_generic
from ...emit.contraction import Factor, Labelled, labelled_product, products_added
from ...emit.numbers import Number, Size, as_index, ceil_divided, intrinsic, is_same, maximum, minimum, select
from ...emit.parallel import share_steps

#: Most queries and keys per block. With these numbers the block's data stay in a core's private cache.
_QUERIES_AT_ONCE, _KEYS_AT_ONCE = 64, 128
#: Up to this many keys form a single block, which needs no scaling.
_FEW_KEYS = 256
#: Dimensions of a bias.
_HEADS, _QUERIES, _KEYS = 1, 2, 3


class Blocks(NamedTuple):
    """Parameters of the computation: element types, the factor of scores, and the keys that a query may see."""

    dtype: str
    wide: str
    scale: Number
    #: Distance between a query's position among the keys and among the queries; None if all keys are seen.
    offset: Size | None
    is_causal: bool
    window: int | None
    #: True if a query that sees no key yields NaN, as in softmax, instead of zeros.
    is_blind_nan: bool
    #: Mapping of the bias to the dimensions of scores; empty without a bias.
    bias_dtype: str
    bias_places: Sequence[Place]
    #: True if the bias has the queries after the keys.
    is_bias_turned: bool = False


class Rows(NamedTuple):
    """Queries, keys or values: [batch, length, heads, size], of which the first `length` rows count.

    Caches have the heads before the lengths.
    """

    tensor: Value
    length: Size
    is_by_head: bool = False

    @staticmethod
    def of(tensor: Value) -> Rows:
        return Rows(tensor, linalg.sizes(tensor)[1])

    @property
    def sizes(self) -> list[Size]:
        """[batch, length, heads, size], whatever the layout."""
        batch, *_, size = linalg.sizes(self.tensor)
        return [batch, self.length, linalg.sizes(self.tensor)[1 if self.is_by_head else 2], size]

    def some(self, sequence: Size, start: Size, count: Size, head: Size, heads: Size = 1) -> Value:
        """Return `count` rows of some heads: [1, count, heads, size], or the cache's layout."""
        size = self.sizes[3]
        if self.is_by_head:
            return tensors.slice_of(self.tensor, [sequence, head, start, 0], [1, heads, count, size])
        return tensors.slice_of(self.tensor, [sequence, start, head, 0], [1, count, heads, size])

    def labels(self, *labels: str | None) -> tuple[str | None, ...]:
        """Return the labels of sequences, rows, heads and elements in the order of the tensor's dimensions."""
        sequence, row, head, rest = labels
        return (sequence, head, row, rest) if self.is_by_head else (sequence, row, head, rest)

    def head_for(self, head: Size, heads: Size) -> Size:
        """Return the head of key and value that serves one of the query's heads."""
        own = self.sizes[2]
        return head if is_same(own, heads) else as_index(head) // (as_index(heads) // own)


class _Part(NamedTuple):
    """Range of a tensor's dimension, with a static maximum size for types."""

    start: Size
    size: Size
    most: int


def attend_in_blocks(what: Blocks, query: Rows, key: Rows, value: Rows, biases: Sequence[Value], out: Value) -> Value:
    """Overwrite `out` with softmax(query @ key^T) @ value of each head."""
    batch, queries, heads, size = query.sizes
    most = block_size(queries, _QUERIES_AT_ONCE)
    blocks = ceil_divided(queries, most)
    if _is_for_all_heads(what):
        what, biases = _transpose_bias(what, biases)
    work = linalg.product([most, key.length, size + value.sizes[3], 2])

    def step(position: Number, out: Value) -> Value:
        block, head, sequence = places(position, [blocks, heads, batch])
        head_of_query = _Head(what, sequence, head, _part(block, queries, most), query, key, value, biases)
        return head_of_query.attend(out)

    return share_steps(linalg.product([batch, heads, blocks]), work, step, out)


def _is_for_all_heads(what: Blocks) -> bool:
    """Check whether all heads read the same bias, and whether it varies by query."""
    return len(what.bias_places) > 0 and what.bias_places[_HEADS] is None and what.bias_places[_QUERIES] is not None


def _transpose_bias(what: Blocks, biases: Sequence[Value]) -> tuple[Blocks, list[Value]]:
    """Transpose a bias once for all heads, so that its queries are contiguous as in the scores."""
    (bias,) = biases
    sizes = linalg.sizes(bias)
    empty = linalg.empty([*sizes[:2], sizes[_KEYS], sizes[_QUERIES]], bias.type.element_type)
    turned = linalg.copy(bias, empty, [0, 1, _KEYS, _QUERIES])
    return what._replace(is_bias_turned=True), [turned]


def biased(
    what: Blocks, scores: Value, bias: Value, starts: Sequence[Size], sizes: Sequence[Size], loop: Mapping[int, int]
) -> Value:
    """Add a part of the bias to scores; `loop` maps dimensions of the bias to dimensions of the scores."""
    order = [0, _HEADS, _KEYS, _QUERIES] if what.is_bias_turned else [0, _HEADS, _QUERIES, _KEYS]
    own = [None if what.bias_places[axis] is None else axis for axis in order]
    part = tensors.slice_of(
        bias,
        [0 if axis is None else starts[axis] for axis in own],
        [1 if axis is None else sizes[axis] for axis in own],
    )
    dims = [None if axis is None else loop.get(axis) for axis in own]

    def added(score: Number, more: Number) -> Number:
        return score + more.of(what.bias_dtype).to(what.wide)

    return linalg.parallel([scores, part], scores, added, [None, dims])


def block_size(size: Size, most: int) -> int:
    """Return the largest size up to `most` that divides the dimension equally.

    Returns `most` if there is none, or if the size is dynamic.
    """
    if not isinstance(size, int):
        return most
    blocks = max(-(-size // most), 1)
    return max(size // blocks, 1) if size % blocks == 0 else most


def _keys_of_block(keys: Size, *, is_even: bool) -> Size:
    """Return the keys of a block: all if they are few. The rule is the same for dynamic sizes, and so are the bits."""
    if isinstance(keys, int):
        return block_size(keys, _KEYS_AT_ONCE) if is_even else _KEYS_AT_ONCE
    blocks = maximum(ceil_divided(keys, _KEYS_AT_ONCE), 1)
    length = select(keys % blocks == 0, keys // blocks, _KEYS_AT_ONCE) if is_even else as_index(_KEYS_AT_ONCE)
    return select(keys <= _FEW_KEYS, maximum(keys, 1), length)


def places(position: Number, sizes: Sequence[Size]) -> list[Size]:
    """Split a linear position into one per dimension, the first dimension fastest."""
    found: list[Size] = []
    for size in sizes[:-1]:
        if is_same(size, 1):
            found.append(0)
            continue
        found.append(position % size)
        position = position // size
    return [*found, 0 if is_same(sizes[-1], 1) else position]


def _part(block: Size, size: Size, most: int) -> _Part:
    if is_same(size, most):
        return _Part(0, most, most)
    start = as_index(block) * most
    is_whole = isinstance(size, int) and size % most == 0
    return _Part(start, most if is_whole else minimum(as_index(size) - start, most), most)


class _Head:
    """Computation of a block of a head's queries."""

    def __init__(
        self,
        what: Blocks,
        sequence: Size,
        head: Size,
        rows: _Part,
        query: Rows,
        key: Rows,
        value: Rows,
        biases: Sequence[Value],
    ):
        self.what = what
        self.sequence, self.head, self.rows = sequence, head, rows
        self.query, self.key, self.value, self.biases = query, key, value, biases
        self.heads = query.sizes[2]

    def attend(self, out: Value) -> Value:
        keys = self.key.length
        width = self.value.sizes[3]
        columns = self._columns()
        total = linalg.fill(0, self._scratch([self.rows.most, width], [self.rows.size, width]))
        most, sums = linalg.fill(-math.inf, self._row()), linalg.fill(0, self._row())
        if isinstance(keys, int) and keys <= _FEW_KEYS:
            whole = _Part(0, keys, keys)
            scores = self._scores(columns, whole)
            powers = self._powers(scores, self._largest(scores, most))
            return self._divide(self._weigh(powers, whole, total), self._sum(powers, sums), out)
        length = _keys_of_block(keys, is_even=self.what.offset is None)
        longest = length if isinstance(length, int) else _FEW_KEYS
        is_even = self.what.offset is None and isinstance(keys, int) and keys % longest == 0
        first, last = seen_keys(self.what, self.rows.start, self.rows.size, keys)

        def some_keys(start: Number, most: Value, sums: Value, total: Value) -> list[Value]:
            part = _Part(start, longest if is_even else minimum(as_index(last) - start, length), longest)
            scores = self._scores(columns, part)
            new = self._largest(scores, linalg.copy(most, self._row()))
            powers = self._powers(scores, new)
            factors = linalg.parallel([most, new], self._row(), power)
            sums = self._sum(powers, linalg.parallel([sums, factors], sums, lambda x, factor: x * factor))
            total = linalg.parallel([total, factors], total, lambda x, factor: x * factor, [None, [0]])
            return [new, sums, self._weigh(powers, part, total)]

        _, sums, total = loops.for_range(first, last, some_keys, most, sums, total, step=length)
        return self._divide(total, sums, out)

    # ---- tensors ----

    def _scratch(self, most: Sequence[Size], sizes: Sequence[Size]) -> Value:
        """Return an uninitialized tensor, as a slice of a static one if only the last block is smaller."""
        whole = linalg.empty(most, element(self.what.wide))
        is_whole = all(map(is_same, most, sizes))
        return whole if is_whole else tensors.slice_of(whole, [0] * len(sizes), sizes)

    def _row(self) -> Value:
        """Return an uninitialized row with a number for each query."""
        return self._scratch([self.rows.most], [self.rows.size])

    def _slice_head(self, rows: Rows, part: _Part) -> Value:
        return rows.some(self.sequence, part.start, part.size, rows.head_for(self.head, self.heads))

    def _columns(self) -> Value:
        """Return the scaled queries as contiguous [size of a head, queries]."""
        size = self.query.sizes[3]
        rows = self.query.some(self.sequence, self.rows.start, self.rows.size, self.head)
        columns = self._scratch([size, self.rows.most], [size, self.rows.size])
        scaled = lambda x: x.of(self.what.dtype).to(self.what.wide) * self.what.scale  # noqa: E731
        return linalg.parallel([rows], columns, scaled, [[None, 1, None, 0]])

    # ---- steps ----

    def _scores(self, columns: Value, part: _Part) -> Value:
        out = self._scratch([part.most, self.rows.most], [part.size, self.rows.size])
        factors = [
            Labelled(self._slice_head(self.key, part), self.what.dtype, self.key.labels(None, "k", None, "d")),
            Labelled(columns, self.what.wide, ("d", "q")),
        ]
        return self._adjust(labelled_product(factors, out, "kq", self.what.wide), part)

    def _adjust(self, scores: Value, part: _Part) -> Value:
        """Add the biases to the scores, and replace the scores of unseen keys by -inf."""
        for bias in self.biases:
            starts, sizes = (self.sequence, self.head, self.rows.start, part.start), (1, 1, self.rows.size, part.size)
            scores = biased(self.what, scores, bias, starts, sizes, {_KEYS: 0, _QUERIES: 1})
        if self.what.offset is None:
            return scores
        # The position of the first query's own key, relative to the first key of the part.
        own = as_index(self.rows.start) + as_index(self.what.offset) - as_index(part.start)
        hides = own < as_index(part.size) - 1 if self.what.is_causal else None
        if self.what.window is not None:
            is_far = own + as_index(self.rows.size) > self.what.window
            hides = is_far if hides is None else hides | is_far
        masked = lambda: linalg.parallel([scores], scores, lambda x: select(self._is_seen(own), x, -math.inf))  # noqa: E731
        assert hides is not None
        return loops.when(hides, masked, lambda: scores, [scores.type])[0]

    def _is_seen(self, own: Number) -> Number:
        return sees(self.what.is_causal, self.what.window, linalg.index(0) - (linalg.index(1) + own))

    def _largest(self, scores: Value, initial: Value) -> Value:
        rows = Reduction(scores, [0])
        return rows.fold_into(maximum, [rows.whole], initial)

    def _sum(self, powers: Value, initial: Value) -> Value:
        rows = Reduction(powers, [0])
        return rows.fold_into(lambda x, total: total + x, [rows.whole], initial)

    def _powers(self, scores: Value, most: Value) -> Value:
        """Return exp of the distances to each query's maximum; 0 if it has none."""
        return linalg.parallel([scores, most], scores, power, [None, [1]])

    def _weigh(self, powers: Value, part: _Part, total: Value) -> Value:
        values = self._slice_head(self.value, part)
        return weighted_rows(self.what, powers, "kq", values, self.value.labels(None, "k", None, "e"), total)

    def _divide(self, total: Value, sums: Value, out: Value) -> Value:
        width = linalg.sizes(out)[3]
        offsets, sizes = [self.sequence, self.rows.start, self.head, 0], [1, self.rows.size, 1, width]
        place = tensors.slice_of(out, offsets, sizes)
        result = broadcast_generic([total, sums], place, [[1, 3], [1]], quotient(self.what, self.key.length))
        return tensors.put_slice(result, out, offsets, sizes=sizes)


def seen_keys(what: Blocks, start: Size, rows: Size, keys: Size) -> tuple[Size, Size]:
    """Return the range of keys that `rows` queries from `start` on see."""
    if what.offset is None:
        return 0, keys
    own = as_index(start) + as_index(what.offset)
    first: Size = 0
    last: Size = keys
    if what.is_causal:
        last = maximum(minimum(own + as_index(rows), as_index(keys)), 0)
    if what.window is not None:
        first = maximum(own - (what.window - 1), 0)
    return first, last


def sees(is_causal: bool, window: int | None, distance: Number) -> Number:
    """Check whether a query sees a key at a distance from its own position, with a mask, a window or both."""
    seen = distance <= 0 if is_causal else None
    if window is not None:
        is_near = distance > -window
        seen = is_near if seen is None else seen & is_near
    assert seen is not None
    return seen


def quotient(what: Blocks, keys: Size) -> Callable[[Number, Number], Number]:
    """Return the division of a total by its sum. The result without any keys is 0, not NaN."""

    def body(total: Number, divisor: Number) -> Number:
        sees_none = divisor == 0.0 if not what.is_blind_nan else as_index(keys) == 0
        return select(sees_none, 0.0, total / divisor).to(what.dtype)

    return body


def weighted_rows(
    what: Blocks, powers: Value, by: str, values: Value, of_values: Sequence[str | None], total: Value
) -> Value:
    """Return the total [q, e] plus powers @ values. Labels name the dimensions; "k" is that of the keys."""
    loop = {"q": 0, "e": 1, "k": 2}
    maps = [linalg.select_dims(3, [loop.get(label or "") for label in labels]) for labels in (by, of_values, "qe")]
    factors = [Factor(powers, what.wide, maps[0]), Factor(values, what.dtype, maps[1])]
    iterators = [linalg.PARALLEL, linalg.PARALLEL, linalg.REDUCTION]
    return products_added(factors, total, what.wide, maps[2], iterators)


def power(score: Number, most: Number) -> Number:
    return intrinsic("exp_below", score - select(most == -math.inf, 0.0, most))
