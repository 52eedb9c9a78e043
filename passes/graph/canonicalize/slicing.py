# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Canonicalization of whole slices, joins of one tensor, and splits that are joined again."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Operation, OpView, Value
from ....bindings.navigation import is_used_once
from ....bindings.patterns import Pattern, Rewriter, defining_op
from ....dialects.core.symbols import Dim, dim_sub
from ....dialects.relax.infer.sizes import at_least
from ....dialects.relax.infer.slices import OPEN
from ....dialects.relax.values import as_result, ints, make, normal_axis, shape_of
from ...patterns.matched import Match
from ...patterns.operator_patterns import is_op
from .rules import X, rule


def slice_of_all(op: OpView, rewriter: Rewriter) -> Value | None:
    """Remove a slice x[0:size] along every named axis."""
    shape = shape_of(op.x)
    if shape is None or any(stride != 1 for stride in op.strides or ()):
        return None
    sizes = [shape[normal_axis(axis, len(shape))] for axis in op.axes]
    begins = all(_is_begin(begin, size) for begin, size in zip(op.begin, sizes, strict=True))
    ends = all(_is_end(end, size) for end, size in zip(op.end, sizes, strict=True))
    return as_result(op, op.x) if begins and ends else None


def _is_begin(bound: Dim, size: Dim) -> bool:
    return bound == 0 or at_least(-OPEN, bound) or at_least(dim_sub(0, size), bound)


def _is_end(bound: Dim, size: Dim) -> bool:
    return at_least(bound, OPEN) or at_least(bound, size)


def drop_empty(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Drop operands without elements along the axis. One operand is kept if all are empty."""
    tensors = op.tensors
    kept = [tensor for tensor in tensors if not _is_empty(tensor, op.axis)] or tensors[:1]
    return _concat(op, kept) if len(kept) < len(tensors) else None


def _is_empty(tensor: Value, axis: int) -> bool:
    shape = shape_of(tensor)
    return shape is not None and shape[normal_axis(axis, len(shape))] == 0


def flatten_concat(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Flatten concat(a, concat(b, c)) along one axis to concat(a, b, c) if the inner one has no other user.

    With other users both concats would copy b and c. In a chain of concats the last one would copy all pieces, and
    concats of a tensor with itself would grow without bound.
    """
    parts: list[Value] = []
    for tensor in op.tensors:
        inner = defining_op(tensor, "relax.concat")
        if inner is not None and is_used_once(tensor) and _same_axis(op.axis, inner.axis, tensor):
            parts += inner.tensors
        else:
            parts.append(tensor)
    return _concat(op, parts) if len(parts) > len(op.tensors) else None


def _same_axis(one: int, other: int, tensor: Value) -> bool:
    shape = shape_of(tensor)
    return one == other if shape is None else normal_axis(one, len(shape)) == normal_axis(other, len(shape))


def _concat(op: OpView, tensors: Sequence[Value]) -> Operation | None:
    attributes = op.operation.attributes
    return make(op, "relax.concat", tensors, {"axis": attributes["axis"]} if "axis" in attributes else {})


def join_split(op: OpView, rewriter: Rewriter) -> Value | None:
    """Replace a concat of all parts of a split, in order and along the same axis, by the split's operand."""
    tensors = op.tensors
    split = defining_op(tensors[0], "relax.split") if tensors else None
    if split is None or list(split.operation.results) != list(tensors):
        return None
    # Indices ascend, and indices outside of the tensor are clamped, so the parts of a split always cover the whole.
    return as_result(op, split.x) if _same_axis(op.axis, split.axis, split.x) else None


def split_into_one(op: OpView, rewriter: Rewriter) -> list[Value] | None:
    """Remove a split into one section."""
    results = op.operation.results
    return [op.x] if len(results) == 1 and results[0].type == op.x.type else None


def stack_one(match: Match) -> Operation | None:
    """Rewrite a stack of one tensor to expand_dims."""
    return make(match.op(), "relax.expand_dims", [match[X]], {"axis": ints([match.op().axis])})


PATTERNS = (
    Pattern("relax.strided_slice", slice_of_all),
    rule(is_op("relax.concat")([X]), X, name="join_one"),
    # Patterns for any number of operands.
    Pattern("relax.concat", drop_empty),
    Pattern("relax.concat", flatten_concat, after=("relax.concat",)),
    Pattern("relax.concat", join_split, after=("relax.split",)),
    rule(is_op("relax.stack")([X]), stack_one),
    Pattern("relax.split", split_into_one),
)
