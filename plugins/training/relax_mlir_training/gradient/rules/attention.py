# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of attention: products of the recomputed probabilities with the gradient of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.symbols import Dim, dim_floordiv, equal
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import dtype_of, same_known_shape
from relax_mlir.passes.graph.decompose.tensor_formulas import cast, relax, size_of
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..gradient_call import Gradient, GradientCall
from ..requirements import known_shape


@register_gradient(["relax.nn.attention", "relax.nn.attention_bias"], by_types=True)
def attention(call: GradientCall) -> Sequence[Gradient]:
    queries, keys = known_shape(call, call.query)[1], known_shape(call, call.key)[1]
    rows, columns = _numbers(queries, [1]), _numbers(keys, [])
    offset = None
    if call.causal_mask == "BottomRight":
        offset = relax.subtract(size_of(keys), size_of(queries))
    distance = relax.subtract(columns, rows if offset is None else relax.add(rows, offset))
    bias = call.bias if call.operation.name == "relax.nn.attention_bias" else None
    return _Attention(call, bias, _mask_keys(call, distance)).gradients()


@register_gradient("relax.nn.attention_var_len", by_types=True)
def attention_var_len(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate one attention over all sequences, in which a query only sees the keys of its own sequence."""
    starts_of_queries = relax.astype(call.seqstart_q, dtype="i64")
    starts_of_keys = starts_of_queries if call.seqstart_k is None else relax.astype(call.seqstart_k, dtype="i64")
    (count,) = known_shape(call, call.seqstart_q, "its starts")
    row, rows = _sequences(known_shape(call, call.query)[1], starts_of_queries)
    column, columns = _sequences(known_shape(call, call.key)[1], starts_of_keys)
    if call.causal_mask == "BottomRight":
        ends = [_length(starts, row) for starts in (starts_of_keys, starts_of_queries)]
        rows = relax.add(rows, relax.subtract(*ends))

    def upright(value: Value) -> Value:
        return relax.expand_dims(value, axis=[1])

    # Positions before the first sequence or after the last belong to none.
    is_one = relax.logical_and(
        relax.greater_equal(row, const(0, "i64")),
        relax.less(row, relax.subtract(size_of(count), const(1, "i64"))),
    )
    is_seen = relax.logical_and(relax.equal(upright(row), column), upright(is_one))
    near = _mask_keys(call, relax.subtract(columns, upright(rows)))
    return _Attention(call, None, is_seen if near is None else relax.logical_and(is_seen, near)).gradients()


def _numbers(size: Dim, behind: Sequence[int]) -> Value:
    numbers = relax.arange(0, size, 1, dtype="i64")
    return relax.expand_dims(numbers, axis=list(behind)) if behind else numbers


def _sequences(size: Dim, starts: Value) -> tuple[Value, Value]:
    """Return the sequence of each position, and the position within it."""
    places = _numbers(size, [])
    has_begun = relax.greater_equal(relax.expand_dims(places, axis=[1]), starts)
    begun = relax.sum(relax.astype(has_begun, dtype="i64"), axis=[1])
    sequence = relax.subtract(begun, const(1, "i64"))
    start = relax.take(starts, relax.maximum(sequence, const(0, "i64")), axis=0)
    return sequence, relax.subtract(places, start)


def _length(starts: Value, sequence: Value) -> Value:
    """Return the length of the sequence of each position. Positions in no sequence give any number."""
    first = relax.maximum(sequence, const(0, "i64"))
    ends = relax.take(starts, relax.add(first, const(1, "i64")), axis=0, mode="clip")
    return relax.subtract(ends, relax.take(starts, first, axis=0, mode="clip"))


def _mask_keys(call: GradientCall, distance: Value) -> Value | None:
    """Return a mask of the visible keys from the distance of key and query, or None if all are visible."""
    conditions = []
    if call.causal_mask is not None:
        conditions.append(relax.less_equal(distance, const(0, "i64")))
    if call.window_size is not None:
        conditions.append(relax.greater(distance, const(-call.window_size, "i64")))
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else relax.logical_and(*conditions)


class _Attention:
    """One attention, with tensors [batch, heads, queries or keys, ...] of 32 bits or more."""

    def __init__(self, call: GradientCall, bias: Value | None, is_seen: Value | None):
        self._call = call
        shapes = [known_shape(call, each) for each in (call.query, call.key, call.value)]
        self._shapes = shapes
        self._wide = "f64" if dtype_of(call.query) == "f64" else "f32"
        # The default scale depends on the size of a head.
        self._scale = relax.rsqrt(size_of(shapes[0][3], self._wide))
        if call.scale is not None:
            self._scale = const(call.scale, self._wide)
        self._bias = bias
        self.query = self._split(call.query)
        self.key, self.value = (self._split_heads(each) for each in (call.key, call.value))
        self._probabilities = self._softmax(bias, is_seen)

    def _split(self, x: Value) -> Value:
        return relax.permute_dims(cast(x, self._wide), axes=[0, 2, 1, 3])

    def _count_served(self, x: Value) -> Dim:
        """Return the number of query heads that share a head of x."""
        return dim_floordiv(self._shapes[0][2], known_shape(self._call, x)[2])

    def _split_heads(self, x: Value) -> Value:
        count = self._count_served(x)
        if count == 1:
            return self._split(x)
        batch, length, heads, size = known_shape(self._call, x)
        apart = relax.expand_dims(self._split(x), axis=[2])
        copies = relax.broadcast_to(apart, relax.shape_expr(dims=(batch, heads, count, length, size)))
        together = (batch, self._shapes[0][2], length, size)
        return relax.reshape(copies, relax.shape_expr(dims=together))

    def _softmax(self, bias: Value | None, is_seen: Value | None) -> Value:
        """Return the probabilities. Rows that see no key are 0 or NaN."""
        scores = relax.matmul(self._scale_scores(self.query), _transpose(self.key))
        if bias is not None:
            scores = relax.add(scores, cast(bias, self._wide))
        none = const(-math.inf, self._wide)
        if is_seen is not None:
            scores = relax.where(is_seen, scores, none)
        most = relax.max(scores, axis=[3], keepdims=True)
        if self._call.blind == "nan":
            weights = relax.exp(relax.subtract(scores, most))
            return relax.divide(weights, relax.sum(weights, axis=[3], keepdims=True))
        most = relax.where(relax.equal(most, none), const(0, self._wide), most)
        weights = relax.exp(relax.subtract(scores, most))
        total = relax.sum(weights, axis=[3], keepdims=True)
        return relax.divide(weights, relax.where(relax.greater(total, const(0, self._wide)), total,
                                                       const(1, self._wide)))  # fmt: skip

    def _scale_scores(self, x: Value) -> Value:
        return relax.multiply(x, self._scale)

    def gradients(self) -> list[Gradient]:
        call, shares = self._call, self._probabilities
        arriving = self._split(call.gradient)
        by_share = relax.multiply(relax.matmul(arriving, _transpose(self.value)), shares)
        total = relax.sum(by_share, axis=[3], keepdims=True)
        by_score = relax.subtract(by_share, relax.multiply(shares, total))
        made: list[Gradient] = [
            lambda: self._back(relax.matmul(self._scale_scores(by_score), self.key), call.query),
            lambda: self._back(relax.matmul(_transpose(self._scale_scores(by_score)), self.query), call.key),
            lambda: self._back(relax.matmul(_transpose(shares), arriving), call.value),
        ]
        return made if self._bias is None else [*made, lambda: self._reduce_to_bias(by_score)]

    def _back(self, gradient: Value, x: Value) -> Value:
        """Return a gradient in the operand's layout, summed over the query heads that share a head."""
        count = self._count_served(x)
        if equal(count, 1) is not True:
            batch, length, heads, size = known_shape(self._call, x)
            apart = relax.shape_expr(dims=(batch, heads, count, length, size))
            gradient = relax.sum(relax.reshape(gradient, apart), axis=[2])
        return cast(relax.permute_dims(gradient, axes=[0, 2, 1, 3]), dtype_of(x))

    def _reduce_to_bias(self, by_score: Value) -> Value:
        bias = self._call.bias
        summed = by_score if same_known_shape(by_score, bias) else relax.collapse_sum_like(by_score, bias)
        return cast(summed, dtype_of(bias))


def _transpose(x: Value) -> Value:
    return relax.permute_dims(x, axes=[0, 1, 3, 2])
