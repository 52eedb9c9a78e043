# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Canonicalization of operations that move elements or rename dimensions: no-ops are erased, chains are merged."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Attribute, Operation, OpView, Value
from ....bindings.navigation import is_used_once
from ....bindings.patterns import Pattern, Rewriter, defining_op
from ....dialects import relax
from ....dialects.core.aliases import viewed
from ....dialects.core.dialect import row_of
from ....dialects.core.symbols import Dim, equal
from ....dialects.relax.values import ints, is_known, make, normal_axis, removal, same_known_shape, shape_of
from ...patterns.matched import Match
from ...patterns.operator_patterns import is_op
from .rules import X, Y, rule


def _result(op: OpView) -> Value:
    return op.operation.results[0]


def _is_determined(shape: Sequence[Dim] | None) -> bool:
    """Check whether equal types mean equal shapes.

    One unknown size follows from the others and the number of elements.
    """
    if shape is None:
        return False
    others = [size for size in shape if size is not None]
    unknown = len(shape) - len(others)
    return unknown == 0 or unknown == 1 and all(isinstance(size, int) and size > 0 for size in others)


def merge_reshapes(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Merge a reshape with a reshape, or another dialect's view, of x: only the last shape counts."""
    source = viewed(op.x)
    # A view with a check is kept.
    if source is None or not _is_pure(op.x):
        return None
    return make(op, op.OPERATION_NAME, [source, *list(op.operation.operands)[1:]])


def _is_pure(value: Value) -> bool:
    row = row_of(value.owner)
    return row is not None and row.pure


def merge_permutations(match: Match) -> Operation | None:
    op, axes = match.op(), _permutation_of_both(match.op(), match.op("inner"))
    return None if axes is None else make(op, "relax.permute_dims", [match[X]], {"axes": ints(axes)})


def _permutation_of_both(outer: OpView, inner: OpView) -> list[int] | None:
    """Compose two permutations: the result's dimension i is dimension inner[axes[i]] of x."""
    axes, before = permutation(outer), permutation(inner)
    if axes is None or before is None or len(axes) != len(before):
        return None
    return [before[axis] for axis in axes]


def permutation(op: OpView) -> list[int] | None:
    """Return the axes as nonnegative numbers, or None if the axes are to be reversed and the rank is unknown."""
    if (axes := op.axes) is not None:
        return [normal_axis(axis, len(axes)) for axis in axes]
    shape = shape_of(op.x)
    return None if shape is None else list(reversed(range(len(shape))))


def permute_ones(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Rewrite a permutation that moves only dimensions of size 1 to a reshape."""
    order, shape, wanted = permutation(op), shape_of(op.x), shape_of(_result(op))
    if order is None or shape is None or not is_known(wanted):
        return None
    if (moving := [axis for axis in order if equal(shape[axis], 1) is not True]) != sorted(moving):
        return None
    return make(op, "relax.reshape", [op.x, relax.shape_expr(dims=wanted)])


def permute_through(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Rewrite permute(f(permute(x))) to f(permute(x)) for an elementwise f of any dialect."""
    between = defining_op(op.x)
    row = None if between is None else row_of(between)
    if between is None or row is None or row.pattern != "elemwise" or not row.pure:
        return None
    operands, results = between.operation.operands, between.operation.results
    if len(operands) != 1 or len(results) != 1 or not is_used_once(op.x):
        return None
    inner = defining_op(operands[0], "relax.permute_dims")
    axes = None if inner is None else _permutation_of_both(op, inner)
    if inner is None or axes is None:
        return None
    moved = relax.permute_dims(inner.x, axes=axes)
    return make(op, between.operation.name, [moved], dict(between.operation.attributes))


def _axes(axes: Sequence[int], rank: int) -> set[int]:
    return {normal_axis(axis, rank) for axis in axes}


def _both(axes: Sequence[int], others: Sequence[int], rank: int) -> Attribute:
    """Join axes with axes that are counted without them."""
    taken = _axes(axes, rank)
    kept = [axis for axis in range(rank) if axis not in taken]
    return ints(sorted(taken | {kept[axis] for axis in _axes(others, len(kept))}))


def merge_expansions(match: Match) -> Operation | None:
    """Merge two expand_dims. The outer one's new dimensions shift the inner one's."""
    op, inner = match.op(), match.op("inner")
    if (shape := shape_of(_result(op))) is None:
        return None
    return make(op, "relax.expand_dims", [match[X]], {"axis": _both(op.axis, inner.axis, len(shape))})


def _are_undone(match: Match) -> bool:
    """Check whether squeeze and expand_dims, in either order, name the same dimensions."""
    op, inner = match.op(), match.op("inner")
    shape = shape_of(op.x if op.OPERATION_NAME == "relax.squeeze" else _result(op))
    if shape is None or op.axis is None or inner.axis is None:
        return False
    return _axes(op.axis, len(shape)) == _axes(inner.axis, len(shape))


def _squeezes_nothing(op: OpView) -> bool:
    """Check for a squeeze of no dimensions: none is named, or none can have size 1."""
    if op.axis is not None:
        return not op.axis
    shape = shape_of(op.x)
    return shape is not None and all(equal(size, 1) is False for size in shape)


def merge_squeezes(match: Match) -> Operation | None:
    """Merge two squeezes. The inner one's dropped dimensions shift the outer one's axes."""
    op, inner, shape = match.op(), match.op("inner"), shape_of(match[X])
    if shape is None or inner.axis is None or op.axis is None:
        return None
    return make(op, "relax.squeeze", [match[X]], {"axis": _both(inner.axis, op.axis, len(shape))})


def _have_same_axis(match: Match) -> bool:
    shape = shape_of(match[X])
    axes = match.op().axis, match.op("inner").axis
    return shape is not None and len({normal_axis(axis, len(shape)) for axis in axes}) == 1


def _repeats_once(op: OpView) -> bool:
    """Check for one copy. A repeat without an axis flattens, so the operand must be a vector."""
    return op.repeats == 1 and (op.axis is not None or _is_vector(op.data))


def _tiles_once(op: OpView) -> bool:
    """Check for one copy along each axis, without new axes."""
    shape = shape_of(op.data)
    return shape is not None and len(op.repeats) <= len(shape) and set(op.repeats) <= {1}


def _is_vector(tensor: Value) -> bool:
    shape = shape_of(tensor)
    return shape is not None and len(shape) == 1


def _permutes_nothing(op: OpView) -> bool:
    axes = permutation(op)
    return axes is not None and axes == sorted(axes)


_permute, _expand, _squeeze = (is_op(f"relax.{name}") for name in ("permute_dims", "expand_dims", "squeeze"))
_broadcast, _flip = is_op("relax.broadcast_to"), is_op("relax.flip")
_inner_permute = _permute(X).named("inner")

PATTERNS = (
    # A reshape to the operand's shape keeps the elements in order.
    removal("relax.reshape", "x", lambda op: _is_determined(shape_of(op.x)), "reshape_to_same"),
    Pattern(("relax.reshape", "relax.flatten"), merge_reshapes),
    removal("relax.flatten", "x", lambda op: _is_vector(op.x), "flatten_vector"),
    removal("relax.permute_dims", "x", _permutes_nothing, "permute_by_nothing"),
    rule(_permute(_inner_permute), merge_permutations),
    Pattern("relax.permute_dims", permute_ones),
    Pattern("relax.permute_dims", permute_through),
    removal("relax.expand_dims", "x", lambda op: not op.axis, "expand_by_nothing"),
    removal("relax.squeeze", "x", _squeezes_nothing, "squeeze_nothing"),
    rule(_expand(_squeeze(X).named("inner")).where(_are_undone), X, name="undo_dimensions"),
    rule(_squeeze(_expand(X).named("inner")).where(_are_undone), X, name="undo_dimensions"),
    rule(_expand(_expand(X).named("inner")), merge_expansions),
    rule(_squeeze(_squeeze(X).named("inner")), merge_squeezes),
    # Every size must be the operand's. An unknown size could be 1 and grow.
    removal("relax.broadcast_to", "x", lambda op: same_known_shape(op.x, _result(op)), "broadcast_to_same"),
    # Two broadcasts in a row equal the last one.
    rule(_broadcast(_broadcast(X, ...), Y), _broadcast(X, Y), name="merge_broadcasts"),
    rule(_flip(_flip(X).named("inner")).where(_have_same_axis), X, name="undo_flip"),
    removal("relax.repeat", "data", _repeats_once, "repeat_once"),
    removal("relax.tile", "data", _tiles_once, "tile_once"),
)
