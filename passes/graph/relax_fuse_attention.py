# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion of attention, written as two products with a softmax between them: softmax(q @ k^T * scale + bias) @ v.

The fused operator stores no matrix of all scores. The scale may apply to the scores or to an operand of their product.
A bias broadcasts. A query that sees no key gives NaN, or zeros if exporters put where(isnan(p), 0, p) behind the
softmax. If the heads of key and value were repeated for several heads of the query, the operator reads the unrepeated
heads. It reads keys and values of earlier calls in place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ...bindings.ir import Operation, Value
from ...bindings.navigation import defining_op, is_used_once, made_by, use_count
from ...bindings.patterns import apply_greedy
from ...dialects import relax
from ...dialects.core.infos import is_float
from ...dialects.core.symbols import Dim, equal
from ...dialects.relax.known_constants import splat
from ...dialects.relax.values import as_result, dtype_of, shape_of
from ...support.errors import OptionError
from ..core.base import Pass
from ..core.registry import register_pass
from ..patterns.matched import Match
from ..patterns.operator_patterns import is_op
from ..patterns.rewrite import rewrite
from ..patterns.tree import wildcard
from .canonicalize.data_movement import permutation

#: Permutation from [batch, heads, length, size] to [batch, length, heads, size], and back.
_SWAPPED = [0, 2, 1, 3]


@register_pass
@dataclass(frozen=True)
class FuseAttention(Pass):
    """Fuse products with a softmax between them into attention."""

    name: ClassVar[str] = "relax-fuse-attention"
    anchor: ClassVar[str] = "any"

    #: Minimum number of queries. With fewer queries, copies of keys and values cost more than the scores. A dynamic
    #: number counts as many.
    least: int = 8

    def __post_init__(self) -> None:
        if self.least < 0:
            raise OptionError(f"pass '{self.name}': least must be 0 or more, got {self.least}")

    def run(self, op: Operation) -> None:
        patterns = [rewrite(_WEIGHTED, lambda found: _attention(found, self.least), name="fuse_attention")]
        apply_greedy(op, patterns, what=self.name)


_MATMUL = is_op("relax.matmul").has_attr(out_dtype=None)
_PROBABILITIES = is_op("relax.nn.softmax").named("softmax")
_GUARDED = is_op("relax.where")(is_op("relax.isnan"), wildcard(), _PROBABILITIES).used_once().named("guarded")
_WEIGHTED = _MATMUL(_GUARDED | _PROBABILITIES, wildcard().named("value"))


class _Scores(NamedTuple):
    """Operands of the scores. The key has the heads that it has before they are repeated."""

    query: Value
    key: Value
    scale: float
    bias: Value | None


def _attention(match: Match, least: int) -> Value | None:
    softmax = match.op("softmax")
    shape = shape_of(softmax.operation.results[0])
    value = match["value"]
    sizes = shape_of(value)
    if shape is None or len(shape) != 4 or sizes is None or len(sizes) != 4 or None in (*shape, *sizes):
        return None
    if softmax.axis not in (-1, 3) or not _is_replaceable(match) or not _are_equal(shape[:2], sizes[:2]):
        return None
    is_few = isinstance(shape[2], int) and shape[2] < least
    scores, value = _scores(softmax.operation.operands[0], shape), _unrepeated_heads(value)
    if scores is None:
        return None
    # If the model replaces NaN by zeros, the operator gives zeros at once.
    options: dict[str, Any] = {"scale": scores.scale, "blind": "zeros" if "guarded" in match else "nan"}
    if scores.bias is not None:
        options["bias"] = scores.bias
    query, kept = _swap_heads(scores.query), [_tensor_by_heads(each, is_few) for each in (scores.key, value)]
    if all(each is not None for each in kept):
        length = relax.dialect.ops["prim_value"](shape[3])
        result = relax.dialect.ops["nn.attention_cached"](query, *kept, length=length, **options)
    elif is_few:
        return None
    else:
        result = relax.nn.attention(query, _swap_heads(scores.key), _swap_heads(value), **options)
    return as_result(match.root.opview, _swap_heads(result))


def _swap_heads(value: Value) -> Value:
    return relax.permute_dims(value, axes=_SWAPPED)


def _tensor_by_heads(value: Value, is_few: bool) -> Value | None:
    """Return the tensor laid out by heads if no permutation pays, or None.

    Rows of earlier calls joined with new ones stay by heads. With few queries all tensors do, unless a permutation made
    them.
    """
    if (rows := defining_op(value, "relax.concat", "relax.strided_slice")) is None:
        return value if is_few and made_by(value, "relax.permute_dims") is None else None
    if rows.operation.name == "relax.concat":
        return value
    is_first = list(rows.axes) == [2] and list(rows.begin) == [0] and list(rows.strides or [1]) == [1]
    return rows.x if is_first else value


def _is_replaceable(match: Match) -> bool:
    """Check whether the probabilities have no other user, and whether 0 replaces NaN."""
    probabilities = match.op("softmax").operation.results[0]
    if "guarded" not in match:
        return is_used_once(probabilities)
    test, zero, _ = match.op("guarded").operation.operands
    is_of_them = test.owner.operation.operands[0] == probabilities
    return is_of_them and use_count(probabilities) == 2 and is_used_once(test) and splat(zero) == 0


def _are_equal(sizes: Sequence[Dim], others: Sequence[Dim]) -> bool:
    return all(equal(*pair) is True for pair in zip(sizes, others, strict=True))


def _scores(value: Value, shape: Sequence[Dim]) -> _Scores | None:
    """Return the parts of the scores of this shape that the softmax reads, or None."""
    bias = None
    if (added := defining_op(value, "relax.add")) is not None and is_used_once(value):
        for scores, other in (tuple(added.operation.operands), tuple(reversed(added.operation.operands))):
            fitting = _bias(other, shape)
            if fitting is not None and _product(scores) is not None:
                value, bias = scores, fitting
                break
    if (found := _product(value)) is None:
        return None
    product, scale = found
    query, turned = product.operands
    (query, of_query), (turned, of_key) = _unscale(query), _unscale(turned)
    own, others = shape_of(query), shape_of(turned)
    if own is None or others is None or len(own) != 4 or len(others) != 4:
        return None
    if not _are_equal((*shape[:3], others[2]), own) or not _are_equal((*shape[:2], own[3], shape[3]), others):
        return None
    total = scale * of_query * of_key
    return _Scores(query, _key(turned), total, bias) if math.isfinite(total) else None


def _product(value: Value) -> tuple[Operation, float] | None:
    """Return the product that computes the scores, and the factor on its result."""
    if not is_used_once(value):
        return None
    value, scale = _unscale(value)
    product = defining_op(value, "relax.matmul")
    if product is None or product.out_dtype is not None or not is_used_once(value):
        return None
    return product.operation, scale


def _unscale(value: Value) -> tuple[Value, float]:
    """Return a tensor without the scalar factors and divisors of all its elements, and their product."""
    scale = 1.0
    while (op := defining_op(value, "relax.multiply", "relax.divide")) is not None:
        left, right = op.operation.operands
        if op.operation.name == "relax.multiply" and splat(left) is not None:
            left, right = right, left
        if not (factor := splat(right)) or left.type != value.type:
            break
        scale = scale / factor if op.operation.name == "relax.divide" else scale * factor
        value = left
    return value, scale


def _bias(value: Value, shape: Sequence[Dim]) -> Value | None:
    """Return the value as a bias with all dimensions of the scores, or None if the shapes do not fit."""
    own = shape_of(value)
    if own is None or len(own) > len(shape) or not is_float(dtype_of(value)):
        return None
    own = (1,) * (len(shape) - len(own)) + tuple(own)
    if not all(equal(size, 1) is True or equal(size, dim) is True for size, dim in zip(own, shape, strict=True)):
        return None
    if equal(own[3], shape[3]) is not True:
        return None
    missing = len(shape) - len(shape_of(value) or ())
    return relax.expand_dims(value, axis=list(range(missing))) if missing else value


# ---- keys and values ----


def _key(turned: Value) -> Value:
    """Return the key before its transposition: [batch, heads, size, keys] as [batch, heads, keys, size]."""
    sizes = shape_of(turned)
    assert sizes is not None
    batch, heads, size, keys = sizes
    flat = defining_op(turned, "relax.reshape")
    op = defining_op(turned if flat is None else flat.operation.operands[0], "relax.permute_dims")
    if op is not None:
        before = op.operation.operands[0]
        order, known = permutation(op), shape_of(before)
        is_turned = order is not None and order[-2:] == [len(order) - 1, len(order) - 2]
        stay = order is not None and order[:-2] == list(range(len(order) - 2))
        if is_turned and stay and known is not None and _are_equal(known[-2:], (keys, size)):
            key = _unflatten_heads(before, (batch, heads, keys, size))
            if key is not None:
                return key
    return relax.permute_dims(turned, axes=[0, 1, 3, 2])


def _unflatten_heads(value: Value, shape: Sequence[Dim]) -> Value | None:
    """Return a tensor as it was before batch and heads were flattened to one dimension, or None."""
    if (own := shape_of(value)) is not None and len(own) == 4:
        return _unrepeated_heads(value) if _are_equal(own, shape) else None
    if (flat := defining_op(value, "relax.reshape")) is None:
        return None
    before = flat.operation.operands[0]
    sizes = shape_of(before)
    if sizes is not None and len(sizes) == 4 and _are_equal(sizes, shape):
        return _unrepeated_heads(before)
    return _repeat_operand(before, shape)


def _unrepeated_heads(value: Value) -> Value:
    """Return the tensor before its heads were repeated, or the tensor itself."""
    flat = defining_op(value, "relax.reshape")
    sizes = shape_of(value)
    assert sizes is not None
    found = None if flat is None else _repeat_operand(flat.operation.operands[0], sizes)
    return value if found is None else found


def _repeat_operand(value: Value, shape: Sequence[Dim]) -> Value | None:
    """Return the operand that [batch, heads, times, length, size] repeats `times` times, or None."""
    op = defining_op(value, "relax.broadcast_to")
    sizes = shape_of(value)
    if op is None or sizes is None or len(sizes) != 5 or not isinstance(shape[1], int):
        return None
    batch, heads, times, length, size = sizes
    expanded = defining_op(op.operation.operands[0], "relax.expand_dims")
    if expanded is None or list(expanded.axis) != [2] or not _are_equal((batch, length, size), (shape[0], *shape[2:])):
        return None
    before = expanded.operation.operands[0]
    known = shape_of(before)
    is_whole = isinstance(heads, int) and isinstance(times, int) and heads * times == shape[1]
    return before if is_whole and known is not None and _are_equal(known, (batch, heads, length, size)) else None
