# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that only move elements or rename dimensions: what does nothing goes, chains become one operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.patterns import Pattern, Rewriter, defining_op
from ...dialects.core.aliases import viewed
from ...dialects.core.dialect import row_of
from ...dialects.core.symbols import Dim, equal
from .support import as_result, ints, make, normal_axis, same_known_shape, shape_of


def _result(op: Any) -> Any:
    return op.operation.results[0]


def reshape_to_same(op: Any, rewriter: Rewriter) -> Any:
    """A reshape to the shape that the operand has already: the same elements in the same order."""
    return as_result(op, op.x) if _is_determined(shape_of(op.x)) else None


def _is_determined(shape: Sequence[Dim] | None) -> bool:
    """Whether equal types mean equal shapes: one unknown size follows from the others and the number of elements."""
    if shape is None:
        return False
    others = [size for size in shape if size is not None]
    unknown = len(shape) - len(others)
    return unknown == 0 or unknown == 1 and all(isinstance(size, int) and size > 0 for size in others)


def merge_reshapes(op: Any, rewriter: Rewriter) -> Any:
    """reshape(reshape(x)) is one reshape of x; so is a reshape of any other view of x: only the last shape counts."""
    source = viewed(op.x)
    # A view that checks something stays.
    if source is None or not row_of(op.x.owner).pure:  # type: ignore[union-attr]
        return None
    return make(op, op.OPERATION_NAME, [source, *list(op.operation.operands)[1:]])


def flatten_vector(op: Any, rewriter: Rewriter) -> Any:
    """A tensor of one dimension is flat."""
    shape = shape_of(op.x)
    return as_result(op, op.x) if shape is not None and len(shape) == 1 else None


def permute_by_nothing(op: Any, rewriter: Rewriter) -> Any:
    """Every dimension stays where it is."""
    axes = _permutation(op)
    return as_result(op, op.x) if axes is not None and axes == list(range(len(axes))) else None


def merge_permutations(op: Any, rewriter: Rewriter) -> Any:
    """The result's dimension i is dimension axes[i] of the inner result, which is dimension inner[axes[i]] of x."""
    inner = defining_op(op.x, "relax.permute_dims")
    outer_axes = _permutation(op)
    inner_axes = _permutation(inner) if inner is not None else None
    if outer_axes is None or inner_axes is None or len(outer_axes) != len(inner_axes):
        return None
    axes = [inner_axes[axis] for axis in outer_axes]
    return make(op, "relax.permute_dims", [inner.x], {"axes": ints(axes)})


def _permutation(op: Any) -> list[int] | None:
    """The axes from the front; None where the rank that says what is reversed is unknown."""
    if op.axes is not None:
        return [normal_axis(axis, len(op.axes)) for axis in op.axes]
    shape = shape_of(op.x)
    return None if shape is None else list(reversed(range(len(shape))))


def expand_by_nothing(op: Any, rewriter: Rewriter) -> Any:
    """No new dimension."""
    return as_result(op, op.x) if not op.axis else None


def merge_expansions(op: Any, rewriter: Rewriter) -> Any:
    """The inner operation's new dimensions are moved on by the outer one's before them."""
    inner = defining_op(op.x, "relax.expand_dims")
    shape = shape_of(_result(op))
    if inner is None or shape is None:
        return None
    outer_new = {normal_axis(axis, len(shape)) for axis in op.axis}
    kept = [axis for axis in range(len(shape)) if axis not in outer_new]
    inner_new = {kept[normal_axis(axis, len(kept))] for axis in inner.axis}
    return make(op, "relax.expand_dims", [inner.x], {"axis": ints(sorted(outer_new | inner_new))})


def undo_expansion(op: Any, rewriter: Rewriter) -> Any:
    """squeeze of the very dimensions that expand_dims has made."""
    inner = defining_op(op.x, "relax.expand_dims")
    shape = shape_of(op.x)
    if inner is None or shape is None or op.axis is None:
        return None
    new = {normal_axis(axis, len(shape)) for axis in inner.axis}
    return as_result(op, inner.x) if {normal_axis(axis, len(shape)) for axis in op.axis} == new else None


def undo_squeeze(op: Any, rewriter: Rewriter) -> Any:
    """expand_dims of the very dimensions that squeeze has dropped, which were of size 1 there."""
    inner = defining_op(op.x, "relax.squeeze")
    shape = shape_of(_result(op))
    if inner is None or inner.axis is None or shape is None:
        return None
    dropped = {normal_axis(axis, len(shape)) for axis in inner.axis}
    return as_result(op, inner.x) if {normal_axis(axis, len(shape)) for axis in op.axis} == dropped else None


def squeeze_nothing(op: Any, rewriter: Rewriter) -> Any:
    """No dimension is named; or all of size 1 go, and none can be."""
    if op.axis is not None:
        return None if op.axis else as_result(op, op.x)
    shape = shape_of(op.x)
    has_ones = shape is None or any(equal(size, 1) is not False for size in shape)
    return None if has_ones else as_result(op, op.x)


def merge_squeezes(op: Any, rewriter: Rewriter) -> Any:
    """The outer operation's axes are moved on by what the inner one has dropped before them."""
    inner = defining_op(op.x, "relax.squeeze")
    shape = shape_of(inner.x) if inner is not None else None
    if inner is None or shape is None or inner.axis is None or op.axis is None:
        return None
    dropped = {normal_axis(axis, len(shape)) for axis in inner.axis}
    kept = [axis for axis in range(len(shape)) if axis not in dropped]
    dropped |= {kept[normal_axis(axis, len(kept))] for axis in op.axis}
    return make(op, "relax.squeeze", [inner.x], {"axis": ints(sorted(dropped))})


def broadcast_to_same(op: Any, rewriter: Rewriter) -> Any:
    """Every size is the operand's; where one is unknown it could still be 1 and grow."""
    return as_result(op, op.x) if same_known_shape(op.x, _result(op)) else None


def merge_broadcasts(op: Any, rewriter: Rewriter) -> Any:
    """What is copied along a dimension twice could have been copied so at once."""
    inner = defining_op(op.x, "relax.broadcast_to")
    return make(op, "relax.broadcast_to", [inner.x, op.shape]) if inner is not None else None


def undo_flip(op: Any, rewriter: Rewriter) -> Any:
    """Reversing along one axis twice."""
    inner = defining_op(op.data, "relax.flip")
    shape = shape_of(op.data)
    if inner is None or shape is None:
        return None
    same = normal_axis(op.axis, len(shape)) == normal_axis(inner.axis, len(shape))
    return as_result(op, inner.data) if same else None


def repeat_once(op: Any, rewriter: Rewriter) -> Any:
    """One copy. Without an axis the result is flat, so the operand must have been."""
    shape = shape_of(op.data)
    flat = op.axis is None and (shape is None or len(shape) != 1)
    return as_result(op, op.data) if op.repeats == 1 and not flat else None


def tile_once(op: Any, rewriter: Rewriter) -> Any:
    """One copy along each axis, and no new axis."""
    shape = shape_of(op.data)
    nothing = shape is not None and len(op.repeats) <= len(shape) and set(op.repeats) <= {1}
    return as_result(op, op.data) if nothing else None


PATTERNS = (
    Pattern("relax.reshape", reshape_to_same),
    Pattern(("relax.reshape", "relax.flatten"), merge_reshapes),
    Pattern("relax.flatten", flatten_vector),
    Pattern("relax.permute_dims", permute_by_nothing),
    Pattern("relax.permute_dims", merge_permutations),
    Pattern("relax.expand_dims", expand_by_nothing),
    Pattern("relax.expand_dims", undo_squeeze),
    Pattern("relax.expand_dims", merge_expansions),
    Pattern("relax.squeeze", squeeze_nothing),
    Pattern("relax.squeeze", undo_expansion),
    Pattern("relax.squeeze", merge_squeezes),
    Pattern("relax.broadcast_to", broadcast_to_same),
    Pattern("relax.broadcast_to", merge_broadcasts),
    Pattern("relax.flip", undo_flip),
    Pattern("relax.repeat", repeat_once),
    Pattern("relax.tile", tile_once),
)
