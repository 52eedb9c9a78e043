# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention as two contractions with a softmax between them, or in blocks without a matrix of all scores.

Scores are [batch, heads, queries, keys], in the wide dtype. The division by the softmax's sum follows the second
contraction, which has fewer elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...bindings.ir import Value
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import equal
from ...emit import linalg, loops, tensors
from ...emit.arithmetic import element
from ...emit.axis_reduction import Reduction
from ...emit.broadcast import broadcast_generic, broadcast_plan
from ...emit.contraction import Labelled, labelled_product
from ...emit.numbers import Number, Size, as_index, intrinsic, maximum, select
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize
from .attention import (
    Attention,
    Cached,
    attention_of,
    blocks_of,
    check_biases,
    check_sequences,
    check_sizes,
    offset_of,
    scale_of,
    sequence_count,
    sequence_range,
)
from .attention_blocks import Blocks, Rows, attend_in_blocks, quotient, sees

_HEADS = 2
_QUERIES, _KEYS = 2, 3  # of the scores
#: With fewer queries, most lanes of a vector of queries would be empty.
_FEW_QUERIES = 8


@register_legalize(["relax.nn.attention", "relax.nn.attention_bias"], by_types=True)
def attention(call: LegalizeCall) -> Legalized:
    what = attention_of(call)

    def body(query: Value, key: Value, value: Value, *rest: Value) -> Value:
        *biases, out = rest
        rows, keys, values = (Rows.of(each) for each in (query, key, value))
        check_sizes(what, rows, keys, values)
        check_biases(biases, rows, keys)
        if not _is_bias_known(what):
            return _attend(what, query, key, value, biases, out)
        return _attend_by_count(blocks_of(what, rows, keys), rows, keys, values, biases, out)

    return call.prim(body)


@register_legalize("relax.nn.attention_cached", by_types=True)
def attention_cached(call: LegalizeCall) -> Legalized:
    """Compute attention with cached keys and values, which are read in place."""
    cached = Cached.of(call)

    def body(*parameters: Value) -> Value:
        *tensors, count, out = parameters
        query, key, value = cached.rows(*tensors, count=count)
        return _attend_by_count(blocks_of(cached.what, query, key), query, key, value, tensors[3:], out)

    return call.prim(body, cached.operands)


@register_legalize("relax.nn.attention_var_len", by_types=True)
def attention_var_len(call: LegalizeCall) -> Legalized:
    """Compute attention of one sequence after the other. Queries outside of all sequences yield zeros."""
    given = by_name(call.op, call.operands)
    what = attention_of(call)
    names = ("query", "key", "value", "seqstart_q", "seqstart_k")

    def body(query: Value, key: Value, value: Value, *rest: Value) -> list[Value]:
        (of_queries, *others), out = rest[:-1], rest[-1]
        of_keys = others[0] if others else of_queries
        check_sequences(what, (query, key, value), of_queries, of_keys)

        def sequence(position: Number, out: Value) -> Value:
            queries, keys = sequence_range(of_queries, position), sequence_range(of_keys, position)
            own_keys, own_values = _part(key, *keys), _part(value, *keys)
            result = _attend(what, _part(query, *queries), own_keys, own_values, [], _part(out, *queries))
            return tensors.put_slice(result, out, [0, queries[0], 0, 0])

        return loops.for_range(0, sequence_count(of_queries), sequence, linalg.fill(0, out))

    return call.prim(body, [given[name] for name in names if given[name] is not None])


def _part(tensor: Value, start: Number, length: Number) -> Value:
    _, _, heads, size = linalg.sizes(tensor)
    return tensors.slice_of(tensor, [0, start, 0, 0], [1, length, heads, size])


# ---- attention of a batch ----


def _is_bias_known(what: Attention) -> bool:
    """Check whether the types state where a bias broadcasts, since blocks read parts of it."""
    return what.bias is None or not any(isinstance(place, tuple) for place in broadcast_plan(what.bias, what.scores))


def _attend_by_count(what: Blocks, query: Rows, key: Rows, value: Rows, biases: Sequence[Value], out: Value) -> Value:
    """Vectorize along queries, or along keys if there are few queries. Dynamic counts are decided at run time."""
    from .attention_few import attend_one_by_one  # most programs have no attention

    few = lambda: attend_one_by_one(what, query, key, value, biases, out)  # noqa: E731
    many = lambda: attend_in_blocks(what, query, key, value, biases, out)  # noqa: E731
    if isinstance(query.length, int):
        return few() if query.length < _FEW_QUERIES else many()
    return loops.when(as_index(query.length) < _FEW_QUERIES, few, many, [out.type])[0]


def _attend(what: Attention, query: Value, key: Value, value: Value, biases: Sequence[Value], out: Value) -> Value:
    batch, queries, heads, _ = linalg.sizes(query)
    keys = linalg.sizes(key)[1]
    scores = linalg.empty([batch, heads, queries, keys], element(what.wide))
    scores = _scores(what, query, key, scores)
    scores = _adjust(what, scores, biases, scale_of(what, query), queries, keys)
    rows = Reduction(scores, [_KEYS])
    most = rows.extreme(maximum, -math.inf, what.wide)
    weights = rows.everywhere(_exponential, [rows.whole, rows.part(most)], scores)
    rows = Reduction(weights, [_KEYS])
    sums = rows.total(lambda weight: weight, [rows.whole])
    total = out if what.wide == what.dtype else linalg.empty(linalg.sizes(out), element(what.wide))
    # Totals of sufficient width have been accumulated in the result's memory.
    weighted = _weigh_values(what, weights, value, total)
    place = weighted if what.wide == what.dtype else out
    by_sum = quotient(blocks_of(what, Rows.of(query), Rows.of(key)), keys)
    return broadcast_generic([weighted, sums], place, [[0, 1, 2, 3], [0, 2, 1]], by_sum)


def _scores(what: Attention, query: Value, key: Value, out: Value) -> Value:
    """Return query @ key^T of each head."""
    if _same_heads(what, what.key):
        factors = [Labelled(query, what.dtype, "bqhd"), Labelled(key, what.dtype, "bkhd")]
        return labelled_product(factors, out, "bhqk", what.wide)
    query, out = _group_heads(query, _HEADS, key), _group_heads(out, 1, key)
    factors = [Labelled(query, what.dtype, "bqghd"), Labelled(key, what.dtype, "bkgd")]
    return tensors.merge(labelled_product(factors, out, "bghqk", what.wide), 1, 2)


def _weigh_values(what: Attention, weights: Value, value: Value, out: Value) -> Value:
    """Return weights @ value of each head."""
    if _same_heads(what, what.value):
        factors = [Labelled(weights, what.wide, "bhqk"), Labelled(value, what.dtype, "bkhd")]
        return labelled_product(factors, out, "bqhd", what.wide)
    weights, out = _group_heads(weights, 1, value), _group_heads(out, _HEADS, value)
    factors = [Labelled(weights, what.wide, "bghqk"), Labelled(value, what.dtype, "bkgd")]
    return tensors.merge(labelled_product(factors, out, "bqghd", what.wide), _HEADS, 2)


def _same_heads(what: Attention, other: TensorInfo) -> bool:
    return equal(what.query.shape[_HEADS], other.shape[_HEADS]) is True  # type: ignore[index]


def _group_heads(tensor: Value, axis: int, other: Value) -> Value:
    """Group the heads of the tensor, with one group for each head of the other."""
    heads, groups = linalg.sizes(tensor)[axis], linalg.sizes(other)[_HEADS]
    return tensors.split(tensor, axis, [groups, heads // groups])


def _adjust(what: Attention, scores: Value, biases: Sequence[Value], scale: Number, queries: Size, keys: Size) -> Value:
    """Scale the scores, add the biases, and replace the scores of unseen keys by -inf."""
    is_visible = _mask(what, queries, keys)
    infos = [what.scores] if what.bias is None else [what.scores, what.bias]
    plans = [broadcast_plan(info, what.scores) for info in infos]

    def body(score: Number, *added: Number) -> Number:
        result = score * scale
        for number in added:
            result = result + number.of(what.bias.dtype).to(what.wide)  # type: ignore[union-attr]
        return result if is_visible is None else select(is_visible(), result, -math.inf)

    return broadcast_generic([scores, *biases], scores, plans, body)


def _mask(what: Attention, queries: Size, keys: Size) -> Callable[[], Number] | None:
    """Return the test for visible keys, inside of a loop over the scores, or None if all keys are visible.

    A query is aligned with the key of its own position, counted from the end for BottomRight. With a causal mask it
    sees no later key. With a window it sees only the last keys up to its own.
    """
    if what.causal_mask is None and what.window is None:
        return None
    offset = offset_of(what, queries, keys)

    def is_visible() -> Number:
        distance = linalg.index(_KEYS) - (linalg.index(_QUERIES) + offset)
        return sees(what.causal_mask is not None, what.window, distance)

    return is_visible


def _exponential(score: Number, most: Number) -> Number:
    """Return exp of the distance to the row's maximum, or 0 if the whole row is masked."""
    return intrinsic("exp", score - select(most == -math.inf, 0.0, most))
