# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that only move elements or rename dimensions: what does nothing goes, chains become one operation."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Attribute, Operation, OpView, Value
from ...bindings.navigation import use_count
from ...bindings.patterns import Pattern, Rewriter, defining_op
from ...dialects.core.aliases import viewed
from ...dialects.core.dialect import row_of
from ...dialects.core.symbols import Dim, equal
from ...dialects.relax import dialect
from .support import as_result, ints, is_known, make, normal_axis, removal, same_known_shape, shape_of

relax = dialect.ops


def _result(op: OpView) -> Value:
    return op.operation.results[0]


def _is_determined(shape: Sequence[Dim] | None) -> bool:
    """Whether equal types mean equal shapes: one unknown size follows from the others and the number of elements."""
    if shape is None:
        return False
    others = [size for size in shape if size is not None]
    unknown = len(shape) - len(others)
    return unknown == 0 or unknown == 1 and all(isinstance(size, int) and size > 0 for size in others)


def merge_reshapes(op: OpView, rewriter: Rewriter) -> Operation | None:
    """reshape(reshape(x)) is one reshape of x; so is a reshape of any other view of x: only the last shape counts."""
    source = viewed(op.x)
    # A view that checks something stays.
    if source is None or not row_of(op.x.owner).pure:  # type: ignore[union-attr]
        return None
    return make(op, op.OPERATION_NAME, [source, *list(op.operation.operands)[1:]])


def merge_permutations(op: OpView, rewriter: Rewriter) -> Operation | None:
    """The result's dimension i is dimension axes[i] of the inner result, which is dimension inner[axes[i]] of x."""
    inner = defining_op(op.x, "relax.permute_dims")
    outer_axes = permutation(op)
    inner_axes = permutation(inner) if inner is not None else None
    if inner is None or outer_axes is None or inner_axes is None or len(outer_axes) != len(inner_axes):
        return None
    axes = [inner_axes[axis] for axis in outer_axes]
    return make(op, "relax.permute_dims", [inner.x], {"axes": ints(axes)})


def permutation(op: OpView) -> list[int] | None:
    """The axes from the front; None where the rank that says what is reversed is unknown."""
    axes = op.axes
    if axes is not None:
        return [normal_axis(axis, len(axes)) for axis in axes]
    shape = shape_of(op.x)
    return None if shape is None else list(reversed(range(len(shape))))


def permute_ones(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Where only dimensions of size 1 change places, no element moves."""
    order, shape, wanted = permutation(op), shape_of(op.x), shape_of(_result(op))
    if order is None or shape is None or not is_known(wanted):
        return None
    moving = [axis for axis in order if equal(shape[axis], 1) is not True]
    if moving != sorted(moving):
        return None
    return make(op, "relax.reshape", [op.x, relax["shape_expr"](dims=wanted)])


def permute_through(op: OpView, rewriter: Rewriter) -> Operation | None:
    """permute(f(permute(x))) is f(permute(x)) with both at once, for an f that treats elements one by one."""
    between = defining_op(op.x)
    row = row_of(between) if between is not None else None
    if between is None or row is None or row.pattern != "elemwise" or not row.pure:
        return None
    operands = between.operation.operands
    if len(operands) != 1 or len(between.operation.results) != 1 or use_count(op.x) != 1:
        return None
    inner = defining_op(operands[0], "relax.permute_dims")
    order, before = permutation(op), permutation(inner) if inner is not None else None
    if inner is None or order is None or before is None or len(order) != len(before):
        return None
    moved = relax["permute_dims"](inner.x, axes=[before[axis] for axis in order])
    return make(op, between.operation.name, [moved], dict(between.operation.attributes))


def _axes(axes: Sequence[int], rank: int) -> set[int]:
    return {normal_axis(axis, rank) for axis in axes}


def _both(axes: Sequence[int], others: Sequence[int], rank: int) -> Attribute:
    """Axes, and others that are counted without them."""
    taken = _axes(axes, rank)
    kept = [axis for axis in range(rank) if axis not in taken]
    return ints(sorted(taken | {kept[axis] for axis in _axes(others, len(kept))}))


def merge_expansions(op: OpView, rewriter: Rewriter) -> Operation | None:
    """The inner operation's new dimensions are moved on by the outer one's before them."""
    inner = defining_op(op.x, "relax.expand_dims")
    shape = shape_of(_result(op))
    if inner is None or shape is None:
        return None
    return make(op, "relax.expand_dims", [inner.x], {"axis": _both(op.axis, inner.axis, len(shape))})


def undo_dimensions(op: OpView, rewriter: Rewriter) -> Value | None:
    """squeeze of the very dimensions that expand_dims has made; expand_dims of those that squeeze has dropped."""
    is_squeeze = op.OPERATION_NAME == "relax.squeeze"
    inner = defining_op(op.x, "relax.expand_dims" if is_squeeze else "relax.squeeze")
    shape = shape_of(op.x if is_squeeze else _result(op))
    if inner is None or shape is None or op.axis is None or inner.axis is None:
        return None
    return as_result(op, inner.x) if _axes(op.axis, len(shape)) == _axes(inner.axis, len(shape)) else None


def _squeezes_nothing(op: OpView) -> bool:
    """No dimension is named; or all of size 1 go, and none can be."""
    if op.axis is not None:
        return not op.axis
    shape = shape_of(op.x)
    return shape is not None and all(equal(size, 1) is False for size in shape)


def merge_squeezes(op: OpView, rewriter: Rewriter) -> Operation | None:
    """The outer operation's axes are moved on by what the inner one has dropped before them."""
    inner = defining_op(op.x, "relax.squeeze")
    shape = shape_of(inner.x) if inner is not None else None
    if inner is None or shape is None or inner.axis is None or op.axis is None:
        return None
    return make(op, "relax.squeeze", [inner.x], {"axis": _both(inner.axis, op.axis, len(shape))})


def merge_broadcasts(op: OpView, rewriter: Rewriter) -> Operation | None:
    """What is copied along a dimension twice could have been copied so at once."""
    inner = defining_op(op.x, "relax.broadcast_to")
    return make(op, "relax.broadcast_to", [inner.x, op.shape]) if inner is not None else None


def undo_flip(op: OpView, rewriter: Rewriter) -> Value | None:
    """Reversing along one axis twice."""
    inner = defining_op(op.data, "relax.flip")
    shape = shape_of(op.data)
    if inner is None or shape is None:
        return None
    same = normal_axis(op.axis, len(shape)) == normal_axis(inner.axis, len(shape))
    return as_result(op, inner.data) if same else None


def _repeats_once(op: OpView) -> bool:
    """One copy. Without an axis the result is flat, so the operand must have been."""
    return op.repeats == 1 and (op.axis is not None or _is_vector(op.data))


def _tiles_once(op: OpView) -> bool:
    """One copy along each axis, and no new axis."""
    shape = shape_of(op.data)
    return shape is not None and len(op.repeats) <= len(shape) and set(op.repeats) <= {1}


def _is_vector(tensor: Value) -> bool:
    shape = shape_of(tensor)
    return shape is not None and len(shape) == 1


def _permutes_nothing(op: OpView) -> bool:
    axes = permutation(op)
    return axes is not None and axes == sorted(axes)


PATTERNS = (
    # To the shape that the operand has already: the same elements in the same order.
    removal("relax.reshape", "x", lambda op: _is_determined(shape_of(op.x)), "reshape_to_same"),
    Pattern(("relax.reshape", "relax.flatten"), merge_reshapes),
    removal("relax.flatten", "x", lambda op: _is_vector(op.x), "flatten_vector"),
    removal("relax.permute_dims", "x", _permutes_nothing, "permute_by_nothing"),
    Pattern("relax.permute_dims", merge_permutations, after=("relax.permute_dims",)),
    Pattern("relax.permute_dims", permute_ones),
    Pattern("relax.permute_dims", permute_through),
    removal("relax.expand_dims", "x", lambda op: not op.axis, "expand_by_nothing"),
    removal("relax.squeeze", "x", _squeezes_nothing, "squeeze_nothing"),
    Pattern(("relax.expand_dims", "relax.squeeze"), undo_dimensions, after=("relax.squeeze", "relax.expand_dims")),
    Pattern("relax.expand_dims", merge_expansions, after=("relax.expand_dims",)),
    Pattern("relax.squeeze", merge_squeezes, after=("relax.squeeze",)),
    # Every size is the operand's; where one is unknown it could still be 1 and grow.
    removal("relax.broadcast_to", "x", lambda op: same_known_shape(op.x, _result(op)), "broadcast_to_same"),
    Pattern("relax.broadcast_to", merge_broadcasts, after=("relax.broadcast_to",)),
    Pattern("relax.flip", undo_flip, after=("relax.flip",)),
    removal("relax.repeat", "data", _repeats_once, "repeat_once"),
    removal("relax.tile", "data", _tiles_once, "tile_once"),
)
