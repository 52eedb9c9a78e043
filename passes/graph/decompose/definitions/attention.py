# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decomposition of attention into two products with a softmax between them."""

from __future__ import annotations

import math

from .....bindings.ir import OpView, Value
from .....dialects.core.symbols import Dim, SymExpr, dim_floordiv, dim_sub, equal
from .....dialects.core.verifier import call_of
from .....dialects.relax import const
from .....dialects.relax.values import dtype_of, is_known
from ..registry import register_decomposition
from ..tensor_formulas import Tensor, apply
from ..wide import Decline, known_shape, relax, require_same, rounded, wide_dtype, widened


@register_decomposition(["relax.nn.attention", "relax.nn.attention_bias"], by_types=True)
def attention(op: OpView, query: Value, key: Value, value: Value, bias: Value | None = None) -> Value:
    shape, keys, values = (known_shape(each) for each in (query, key, value))
    if not all(map(is_known, (shape, keys, values))):
        raise Decline("a size is not known")
    require_same(shape[0], keys[0], values[0], what="the batches")
    require_same(keys[1], values[1], what="keys and values")
    require_same(shape[3], keys[3], what="a query and a key")
    heads, scores = shape[2], _Scores(op, shape, keys)
    rows, columns, content = (_repeat_heads(each, heads) for each in (query, key, value))
    product = _times(rows, relax.permute_dims(columns, axes=[0, 1, 3, 2]), dtype_of(query))
    seen = scores.adjusted(product, bias)
    return rounded(
        Tensor(relax.permute_dims(_apply_weights(scores, seen, content).value, axes=[0, 2, 1, 3])), dtype_of(query)
    )


@register_decomposition("relax.nn.attention_cached", by_types=True)
def attention_cached(op: OpView, query: Value, key: Value, value: Value, bias: Value | None, length: Value) -> Value:
    """Attend to the valid rows of a cache, in which rows come before heads."""
    if not isinstance(count := call_of(op.definition, op.operation).length.value, (int, SymExpr)):
        raise Decline("the length is not known")
    cut = {"axes": [2], "begin": [0], "end": [count]}
    first = (relax.dialect.ops["strided_slice"](each, **cut) for each in (key, value))
    keys, values = (relax.permute_dims(each, axes=[0, 2, 1, 3]) for each in first)
    return attention(op, query, keys, values, bias)


def _repeat_heads(value: Value, heads: Dim) -> Value:
    """Return [batch, heads, length, size], with each head repeated for the query heads that it serves."""
    batch, length, own, size = known_shape(value)
    turned = relax.permute_dims(value, axes=[0, 2, 1, 3])
    if equal(own, heads) is True:
        return turned
    if isinstance(own, int) and isinstance(heads, int):
        return relax.repeat(turned, repeats=heads // own, axis=1)
    served = dim_floordiv(heads, own)
    spread = relax.broadcast_to(
        relax.expand_dims(turned, axis=[2]), relax.shape_expr(dims=(batch, own, served, length, size))
    )
    return relax.reshape(spread, relax.shape_expr(dims=(batch, heads, length, size)))


def _times(left: Value, right: Value, dtype: str) -> Tensor:
    """Multiply with a wide accumulator."""
    wide = wide_dtype(dtype)
    return Tensor(relax.dialect.ops["matmul"](left, right, **({} if wide == dtype else {"out_dtype": wide})))


class _Scores:
    """Scores of attention: products of queries and keys, adjusted for softmax."""

    def __init__(self, op: OpView, queries: tuple[Dim, ...], keys: tuple[Dim, ...]):
        self.op = op
        self.queries, self.keys = queries[1], keys[1]
        self.size = queries[3]

    def adjusted(self, product: Tensor, bias: Value | None) -> Tensor:
        """Scale the scores, add the bias, and set them to -inf for invisible keys."""
        scores = product * self._scale()
        if bias is not None:
            for axis, size in enumerate(known_shape(bias, "bias")):
                if equal(size, 1) is not True:
                    require_same(size, known_shape(product.value)[axis], what=f"bias and scores along axis {axis}")
            scores = scores + Tensor(rounded(Tensor(bias), dtype_of(product.value)))
        hides = bias is not None or self.op.causal_mask is not None or self.op.window_size is not None
        self.may_hide = hides and self.op.blind == "zeros"
        visible = self._visible()
        return scores if visible is None else visible.where(scores, -math.inf)

    def _scale(self) -> float:
        if self.op.scale is not None:
            return float(self.op.scale)
        if not isinstance(self.size, int):
            raise Decline("the head size, which determines the scale, is not known")
        return 1 / math.sqrt(self.size) if self.size else 1.0

    def _visible(self) -> Tensor | None:
        """Return a mask of the keys that a query sees, or None if every query sees all keys.

        A query is aligned with the key of its own position, counted from the end for BottomRight. A causal mask hides
        later keys. A window limits the keys up to the query's own to the window's width.
        """
        causal, window = self.op.causal_mask, self.op.window_size
        if causal is None and window is None:
            return None
        rows = Tensor(relax.expand_dims(_count_up(self.queries), axis=[1]))
        distance = Tensor(_count_up(self.keys)) - rows
        if causal == "BottomRight":
            distance = distance - Tensor(_number(dim_sub(self.keys, self.queries)))
        conditions = [distance < 1] if causal is not None else []
        if window is not None:
            conditions.append(distance > -window)
        return (
            conditions[0]
            if len(conditions) == 1
            else Tensor(relax.logical_and(*(condition.value for condition in conditions)))
        )


def _number(size: Dim) -> Value:
    return (
        const(size, "i64") if isinstance(size, int) else relax.scalar_to_tensor(relax.dialect.ops["prim_value"](size))
    )


def _count_up(size: Dim) -> Value:
    """Return 0, 1, ... as i64."""
    return relax.arange(0, size if isinstance(size, int) else relax.dialect.ops["prim_value"](size), 1, dtype="i64")


def _apply_weights(scores: _Scores, seen: Tensor, content: Value) -> Tensor:
    """Return softmax(seen) @ content. If all keys may be hidden, a row without keys yields zeros instead of NaN."""
    most = apply("max", seen, axis=[-1], keepdims=True)
    if scores.may_hide:
        most = most.equals(-math.inf).where(0.0, most)
    powers = apply("exp", seen - most)
    totals = apply("sum", powers, axis=[-1], keepdims=True)
    product = Tensor(relax.matmul(powers.value, widened(content).value))
    return totals.equals(0.0).where(0.0, product / totals) if scores.may_hide else product / totals
