# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporter of attention as single steps: scores, mask, softmax, and the product with the values."""

from __future__ import annotations

from .....dialects.core.symbols import equal
from ..export_call import ExportedOp
from ..export_values import Part, Ref
from ..registry import exports


@exports(["relax.nn.attention", "relax.nn.attention_bias", "relax.nn.attention_cached"])
def attention(op: ExportedOp) -> Ref:
    """Export softmax(query @ key^T * scale + bias, with a mask) @ value. Heads are the third dimension."""
    if op.causal_mask is not None or op.window_size is not None:
        return _attend(op, _visible(op))
    return _attend(op, None)


def _rows(op: ExportedOp, name: str) -> tuple[Ref, list[Part]]:
    """Return an operand as [batch, heads, length, head size], and these sizes."""
    batch, one, other, size = op.parts(name)
    if not _is_by_head(op, name):
        return op.graph.transpose(op[name], [0, 2, 1, 3]), [batch, other, one, size]
    length = op.graph.unsqueeze(op.cast(op["length"], "i64"), [0])
    return op.node("Slice", op[name], op.ints(0), length, op.ints(2)), [batch, one, length, size]


def _is_by_head(op: ExportedOp, name: str) -> bool:
    """Return True if heads precede rows, as in a cache of which only the first `length` rows count."""
    return name != "query" and "length" in op.call.operands


def _heads(op: ExportedOp, name: str) -> Ref:
    """Return an operand as [batch, heads, length, head size], repeated if a head serves several query heads."""
    tensor, (batch, _, length, size) = _rows(op, name)
    wanted, own = op.shape("query")[2], op.shape(name)[1 if _is_by_head(op, name) else 2]
    if equal(wanted, own) is True:
        return tensor
    if not isinstance(wanted, int) or not isinstance(own, int):
        raise op.fail(f"the numbers of heads of query and {name} differ, and are not known before the model runs")
    repeats = wanted // own
    spread = op.graph.unsqueeze(tensor, [2])
    spread = op.node("Expand", spread, op.ints(1, 1, repeats, 1, 1))
    return op.reshape(spread, [batch, wanted, length, size])


def _attend(op: ExportedOp, is_visible: Ref | None) -> Ref:
    query, key, value = _heads(op, "query"), _heads(op, "key"), _heads(op, "value")
    wide = "f64" if query.dtype == "f64" else "f32"
    scores = op.node("MatMul", op.cast(query, wide), op.graph.transpose(op.cast(key, wide), [0, 1, 3, 2]))
    if op.scale is not None:
        scale = op.number(op.scale, wide)
    else:
        scale = op.node("Reciprocal", op.node("Sqrt", op.size(op.parts("query")[3], wide)))
    scores = op.node("Mul", scores, scale)
    if has_bias := op.call.operands.get("bias") is not None:
        scores = op.node("Add", scores, op.cast(op["bias"], wide))
    if is_visible is not None:
        scores = op.node("Where", is_visible, scores, op.number(float("-inf"), wide))
    weights = op.node("Softmax", scores, axis=-1)
    if op.blind == "zeros" and (is_visible is not None or has_bias):
        most = op.graph.reduce("ReduceMax", scores, [-1], keep=True)
        sees_none = op.node("Equal", most, op.number(float("-inf"), wide))
        weights = op.node("Where", sees_none, op.number(0, wide), weights)
    attended = op.node("MatMul", weights, op.cast(value, wide))
    return op.cast(op.graph.transpose(attended, [0, 2, 1, 3]), query.dtype)


def _visible(op: ExportedOp) -> Ref:
    """Return the mask [queries, keys], which is true if a query attends to a key."""
    zero, one = op.number(0, "i64"), op.number(1, "i64")
    queries, keys = (op.size(_rows(op, name)[1][2]) for name in ("query", "key"))
    rows = op.graph.unsqueeze(op.node("Range", zero, queries, one), [1])
    columns = op.graph.unsqueeze(op.node("Range", zero, keys, one), [0])
    if op.causal_mask == "BottomRight":
        rows = op.node("Add", rows, op.node("Sub", keys, queries))
    seen = []
    if op.causal_mask is not None:
        seen.append(op.node("LessOrEqual", columns, rows))
    if op.window_size is not None:
        seen.append(op.node("Greater", columns, op.node("Sub", rows, op.number(op.window_size, "i64"))))
    return seen[0] if len(seen) == 1 else op.node("And", *seen)
