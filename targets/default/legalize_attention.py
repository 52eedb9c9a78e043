# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention as two contractions with a softmax between them, or in blocks without a matrix of all scores.

Scores are [batch, heads, queries, keys], computed wide. The softmax is divided by its sum after the second
contraction, where there is less to divide.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

from ...bindings.ir import OpView, Value
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, SymExpr, dim_mod, equal
from ...dialects.relax.infer.sizes import at_least
from ...emit import linalg, loops, tensors
from ...emit.arithmetic import element
from ...emit.broadcast import broadcast_generic, broadcast_plan, require_broadcast
from ...emit.contraction import Labelled, labelled_product
from ...emit.conversions import accumulator
from ...emit.numbers import Number, Size, as_index, constant, intrinsic, maximum, select
from ...emit.reduction import Reduction
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import register_legalize
from .attention_blocks import Blocks, Rows, attend_in_blocks, quotient
from .attention_few import attend_one_by_one

_HEADS = 2
_QUERIES, _KEYS = 2, 3  # of the scores
#: With fewer, most lanes of a vector of queries would be empty.
_FEW_QUERIES = 8


class _Attention(NamedTuple):
    """What is computed, and what the graph knows of the operands."""

    query: TensorInfo
    key: TensorInfo
    value: TensorInfo
    bias: TensorInfo | None
    scale: float | None
    causal_mask: str | None
    window: int | None
    #: Whether a query that sees no key gives NaN.
    is_blind_nan: bool

    @property
    def dtype(self) -> str:
        return self.query.dtype

    @property
    def wide(self) -> str:
        """What is computed with."""
        return accumulator(self.dtype)

    @property
    def scores(self) -> TensorInfo:
        batch, queries, heads, _ = self.query.shape  # type: ignore[misc]
        return TensorInfo((batch, heads, queries, self.key.shape[1]), self.wide)  # type: ignore[index]


def _attention(op: OpView, operands: dict[str, Value], builder: RuleBuilder) -> _Attention:
    names = ("query", "key", "value", "bias")
    infos: dict[str, Any] = {name: builder.info(operands[name]) if name in operands else None for name in names}
    masks = {"causal_mask": op.causal_mask, "window": op.window_size, "is_blind_nan": op.blind == "nan"}
    return _Attention(**infos, scale=op.scale, **masks)


@register_legalize(["relax.nn.attention", "relax.nn.attention_bias"], by_types=True)
def attention(op: OpView, operands: list[Value], builder: RuleBuilder) -> Any:
    what = _attention(op, by_name(op, operands), builder)

    def body(query: Value, key: Value, value: Value, *rest: Value) -> Value:
        *biases, out = rest
        rows, keys, values = (Rows.of(each) for each in (query, key, value))
        _check_sizes(what, rows, keys, values)
        _check_biases(biases, rows, keys)
        if not _is_bias_known(what):
            return _attend(what, query, key, value, biases, out)
        return _attend_by_count(_blocks(what, rows, keys), rows, keys, values, biases, out)

    return builder.prim(body)


@register_legalize("relax.nn.attention_cached", by_types=True)
def attention_cached(op: OpView, operands: list[Value], builder: RuleBuilder) -> Any:
    """Keys and values are read where they lie."""
    given = {name: value for name, value in by_name(op, operands).items() if value is not None}
    known, rows = builder.scalar_value(given["length"]), builder.shape(given["key"])[2]
    length = known if isinstance(known, (int, SymExpr)) else None
    what = _attention(op, given, builder)
    what = what._replace(key=_by_length(what.key, length), value=_by_length(what.value, length))
    fits = at_least(rows, length) and equal(rows, builder.shape(given["value"])[2]) is True

    def body(query: Value, *rest: Value) -> Value:
        *tensors, count, out = rest
        size = length if isinstance(length, int) else as_index(count)
        if not fits:
            _require_rows(size, *tensors[:2])
        own, (keys, values) = Rows.of(query), (Rows(each, size, is_by_head=True) for each in tensors[:2])
        _check_sizes(what, own, keys, values)
        _check_biases(tensors[2:], own, keys)
        return _attend_by_count(_blocks(what, own, keys), own, keys, values, tensors[2:], out)

    return builder.prim(body, list(given.values()))


def _by_length(info: TensorInfo, length: Dim) -> TensorInfo:
    """[batch, heads, rows, size] as [batch, length, heads, size]."""
    batch, heads, _, size = info.shape  # type: ignore[misc]
    return info.with_shape((batch, length, heads, size))


def _require_rows(length: Size, *tensors: Value) -> None:
    loops.require(as_index(length) >= 0, "ValueError", "the length of keys and values is {}", as_index(length))
    for tensor in tensors:
        loops.require_at_most(length, linalg.sizes(tensor)[2], "length")


@register_legalize("relax.nn.attention_var_len", by_types=True)
def attention_var_len(op: OpView, operands: list[Value], builder: RuleBuilder) -> Any:
    """One sequence after the other. Queries that are in none give zeros."""
    given = by_name(op, operands)
    what = _attention(op, given, builder)
    names = ("query", "key", "value", "seqstart_q", "seqstart_k")

    def body(query: Value, key: Value, value: Value, *rest: Value) -> list[Value]:
        (of_queries, *others), out = rest[:-1], rest[-1]
        of_keys = others[0] if others else of_queries
        _check_sizes(what, *(Rows.of(each) for each in (query, key, value)))
        for tensor in (query, key, value):
            loops.require_same(linalg.sizes(tensor)[0], 1, "batch of attention_var_len")
        loops.require_same(linalg.sizes(of_queries)[0], linalg.sizes(of_keys)[0], "number of sequences")
        _require_sequences(of_queries, query, "queries")
        _require_sequences(of_keys, key, "keys")

        def sequence(position: Number, out: Value) -> Value:
            queries, keys = _range(of_queries, position), _range(of_keys, position)
            own_keys, own_values = _part(key, *keys), _part(value, *keys)
            result = _attend(what, _part(query, *queries), own_keys, own_values, [], _part(out, *queries))
            return tensors.put_slice(result, out, [0, queries[0], 0, 0])

        return loops.for_range(0, _count(of_queries), sequence, linalg.fill(0, out))

    return builder.prim(body, [given[name] for name in names if given[name] is not None])


# ---- sequences end to end ----


def _count(starts: Value) -> Number:
    """How many sequences there are: each ends where the next one starts."""
    return linalg.size(starts, 0) - 1


def _range(starts: Value, position: Number) -> tuple[Number, Number]:
    """Where a sequence starts, and its length."""
    start, end = (as_index(linalg.extract(starts, [each])) for each in (position, position + 1))
    return start, end - start


def _require_sequences(starts: Value, tensor: Value, what: str) -> None:
    total = linalg.size(tensor, 1)

    def check(position: Number) -> None:
        start, length = _range(starts, position)
        end = start + length
        message = f"a sequence starts at {{}} and ends at {{}}, of {{}} {what}"
        loops.require((start >= 0) & (start <= end) & (end <= total), "ValueError", message, start, end, total)

    loops.for_range(0, _count(starts), check)


def _part(tensor: Value, start: Number, length: Number) -> Value:
    _, _, heads, size = linalg.sizes(tensor)
    return tensors.slice_of(tensor, [0, start, 0, 0], [1, length, heads, size])


# ---- attention of a batch ----


def _is_bias_known(what: _Attention) -> bool:
    """Whether it is known where a bias has one element for several: blocks read parts of it."""
    return what.bias is None or not any(isinstance(each, tuple) for each in broadcast_plan(what.bias, what.scores))


def _attend_by_count(what: Blocks, query: Rows, key: Rows, value: Rows, biases: Sequence[Value], out: Value) -> Any:
    """In vectors of queries or, where these are few, of keys; the run tells where nobody knows before."""
    few = lambda: attend_one_by_one(what, query, key, value, biases, out)  # noqa: E731
    many = lambda: attend_in_blocks(what, query, key, value, biases, out)  # noqa: E731
    if isinstance(query.length, int):
        return few() if query.length < _FEW_QUERIES else many()
    return loops.when(as_index(query.length) < _FEW_QUERIES, few, many, [out.type])


def _blocks(what: _Attention, query: Rows, key: Rows) -> Blocks:
    """What the blocks of scores are told."""
    places = [] if what.bias is None else broadcast_plan(what.bias, what.scores)
    is_masked = what.causal_mask is not None or what.window is not None
    offset = _offset(what, query.length, key.length) if is_masked else None
    bias = "" if what.bias is None else what.bias.dtype
    scale, is_causal = _scale(what, query.tensor), what.causal_mask is not None
    return Blocks(what.dtype, what.wide, scale, offset, is_causal, what.window, what.is_blind_nan, bias, places)


def _attend(what: _Attention, query: Value, key: Value, value: Value, biases: Sequence[Value], out: Value) -> Value:
    batch, queries, heads, _ = linalg.sizes(query)
    keys = linalg.sizes(key)[1]
    scores = linalg.empty([batch, heads, queries, keys], element(what.wide))
    scores = _scores(what, query, key, scores)
    scores = _adjusted(what, scores, biases, _scale(what, query), queries, keys)
    rows = Reduction(scores, [_KEYS])
    most = rows.extreme(maximum, -math.inf, what.wide)
    weights = rows.everywhere(_exponential, [rows.whole, rows.part(most)], scores)
    rows = Reduction(weights, [_KEYS])
    sums = rows.total(lambda weight: weight, [rows.whole])
    total = out if what.wide == what.dtype else linalg.empty(linalg.sizes(out), element(what.wide))
    # What is wide enough has been summed in the result's place.
    weighted = _weighted(what, weights, value, total)
    place = weighted if what.wide == what.dtype else out
    by_sum = quotient(_blocks(what, Rows.of(query), Rows.of(key)), keys)
    return broadcast_generic([weighted, sums], place, [[0, 1, 2, 3], [0, 2, 1]], by_sum)


def _scores(what: _Attention, query: Value, key: Value, out: Value) -> Value:
    """query @ key^T of each head."""
    if _same_heads(what, what.key):
        factors = [Labelled(query, what.dtype, "bqhd"), Labelled(key, what.dtype, "bkhd")]
        return labelled_product(factors, out, "bhqk", what.wide)
    query, out = _in_groups(query, _HEADS, key), _in_groups(out, 1, key)
    factors = [Labelled(query, what.dtype, "bqghd"), Labelled(key, what.dtype, "bkgd")]
    return tensors.merge(labelled_product(factors, out, "bghqk", what.wide), 1, 2)


def _weighted(what: _Attention, weights: Value, value: Value, out: Value) -> Value:
    """weights @ value of each head."""
    if _same_heads(what, what.value):
        factors = [Labelled(weights, what.wide, "bhqk"), Labelled(value, what.dtype, "bkhd")]
        return labelled_product(factors, out, "bqhd", what.wide)
    weights, out = _in_groups(weights, 1, value), _in_groups(out, _HEADS, value)
    factors = [Labelled(weights, what.wide, "bghqk"), Labelled(value, what.dtype, "bkgd")]
    return tensors.merge(labelled_product(factors, out, "bqghd", what.wide), _HEADS, 2)


def _same_heads(what: _Attention, other: TensorInfo) -> bool:
    return equal(what.query.shape[_HEADS], other.shape[_HEADS]) is True  # type: ignore[index]


def _in_groups(tensor: Value, axis: int, other: Value) -> Value:
    """The tensor with its heads as groups, one for each head of the other, which serves several."""
    heads, groups = linalg.sizes(tensor)[axis], linalg.sizes(other)[_HEADS]
    return tensors.split(tensor, axis, [groups, heads // groups])


def _scale(what: _Attention, query: Value) -> Number:
    """What scores are multiplied by."""
    size = linalg.sizes(query)[3]
    if what.scale is not None:
        return constant(what.scale, what.wide)
    if isinstance(size, int):
        return constant(1 / math.sqrt(size) if size else 1.0, what.wide)
    return 1.0 / intrinsic("sqrt", size.to(what.wide))


def _adjusted(
    what: _Attention, scores: Value, biases: Sequence[Value], scale: Number, queries: Size, keys: Size
) -> Value:
    """The scores scaled, with the bias, and -inf where a key is not seen."""
    is_visible = _mask(what, queries, keys)
    infos = [what.scores] if what.bias is None else [what.scores, what.bias]
    plans = [broadcast_plan(info, what.scores) for info in infos]

    def body(score: Number, *added: Number) -> Number:
        result = score * scale
        for each in added:
            result = result + each.of(what.bias.dtype).to(what.wide)  # type: ignore[union-attr]
        return result if is_visible is None else select(is_visible(), result, -math.inf)

    return broadcast_generic([scores, *biases], scores, plans, body)


def _mask(what: _Attention, queries: Size, keys: Size) -> Callable[[], Number] | None:
    """Whether a key is seen, inside of a loop over the scores; None where all are.

    A query stands beside the key of its own position, counted from the end for BottomRight. It sees no later key if
    there is a causal mask, and of those up to its own as many as the window is wide.
    """
    if what.causal_mask is None and what.window is None:
        return None
    offset = _offset(what, queries, keys)

    def is_visible() -> Number:
        distance = linalg.index(_KEYS) - (linalg.index(_QUERIES) + offset)
        conditions = [distance <= 0] if what.causal_mask is not None else []
        if what.window is not None:
            conditions.append(distance > -what.window)
        return reduce(operator.and_, conditions)

    return is_visible


def _offset(what: _Attention, queries: Size, keys: Size) -> Size:
    """How far behind its place among the queries a query's own key is."""
    if what.causal_mask != "BottomRight":
        return 0
    if isinstance(keys, int) and isinstance(queries, int):
        return keys - queries
    return as_index(keys) - as_index(queries)


def _exponential(score: Number, most: Number) -> Number:
    """Of the distance to the row's largest score; 0 where nothing is seen in all of the row."""
    return intrinsic("exp", score - select(most == -math.inf, 0.0, most))


# ---- what only the run tells ----


def _check_sizes(what: _Attention, query: Rows, key: Rows, value: Rows) -> None:
    shared = (
        ("batch size", (query, what.query, 0), (key, what.key, 0)),
        ("batch size", (query, what.query, 0), (value, what.value, 0)),
        ("length", (key, what.key, 1), (value, what.value, 1)),
        ("size of a head", (query, what.query, 3), (key, what.key, 3)),
    )
    for name, *pair in shared:
        known = [info.shape[axis] for _, info, axis in pair]  # type: ignore[index]
        if equal(*known) is not True:
            left, right = (rows.sizes[axis] for rows, _, axis in pair)
            loops.require_same(left, right, name)
    for rows, info in ((key, what.key), (value, what.value)):
        _check_heads(what, query, rows, info)


def _check_heads(what: _Attention, query: Rows, other: Rows, info: TensorInfo) -> None:
    """A head of key and value may serve several of query."""
    if equal(dim_mod(what.query.shape[_HEADS], info.shape[_HEADS]), 0) is True:  # type: ignore[index]
        return
    heads, own = (as_index(rows.sizes[_HEADS]) for rows in (query, other))
    is_some = own > 0
    loops.require(is_some, "ValueError", "key and value have no heads")
    rest = heads % select(is_some, own, 1)
    divides = rest == 0
    loops.require(divides, "ValueError", "{} heads of query are no multiple of {}", heads, own)


def _check_biases(biases: Sequence[Value], query: Rows, key: Rows) -> None:
    batch, queries, heads, _ = query.sizes
    for bias in biases:
        require_broadcast(bias, [batch, heads, queries, key.length])
