# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Canonicalization of slices: slices of joined or sliced tensors, rejoined slices, and slices before a split axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ....bindings.ir import Attribute, Operation, OpView, Value
from ....bindings.mlir import i64_attribute
from ....bindings.patterns import Pattern, Rewriter, defining_op
from ....dialects import relax
from ....dialects.core.dialect import find_op
from ....dialects.core.symbols import Dim, dim_add, dim_sub, equal
from ....dialects.relax.infer.sizes import at_least
from ....dialects.relax.infer.slices import OPEN
from ....dialects.relax.known_constants import array_of
from ....dialects.relax.values import as_result, ints, listed_dims, make, normal_axis, removal, shape_of
from ...patterns.matched import Match
from ...patterns.operator_patterns import is_op
from ...patterns.tree import is_const
from .rules import X, rule

#: Begin and end of a slice, counted from the front and within bounds.
Range = tuple[Dim, Dim]
Ranges = Mapping[int, Range]


def _ranges(op: OpView) -> dict[int, Range] | None:
    """Return the range of a slice with stride 1 by axis, or None if it depends on dynamic sizes."""
    shape = shape_of(op.x)
    if shape is None or any(stride != 1 for stride in op.strides or ()):
        return None
    ranges: dict[int, Range] = {}
    for given, begin, end in zip(op.axes, op.begin, op.end, strict=True):
        axis = normal_axis(given, len(shape))
        first, last = _place(begin, shape[axis]), _place(end, shape[axis])
        if axis in ranges or not at_least(last, first):
            return None
        ranges[axis] = (first, last)
    return ranges


def _place(bound: Dim, size: Dim) -> Dim:
    """Convert a bound by Python's rules to an index between 0 and the size. None if it is unknown."""
    if size is None or bound is None:
        return None
    counted = dim_add(size, bound) if isinstance(bound, int) and bound < 0 else bound
    if at_least(bound, OPEN) or at_least(counted, size):
        return size
    if at_least(-OPEN, bound) or at_least(0, counted):
        return 0
    return counted if at_least(counted, 0) and at_least(size, counted) else None


def _slice_attributes(ranges: Ranges, op: OpView) -> dict[str, Attribute]:
    kinds, axes = find_op("relax.strided_slice").attrs, sorted(ranges)
    begin, end = (tuple(ranges[axis][side] for axis in axes) for side in (0, 1))
    context = op.operation.context
    return {
        "axes": ints(axes),
        "begin": kinds["begin"].encode(begin, context),
        "end": kinds["end"].encode(end, context),
    }


def merge_slices(match: Match) -> Operation | None:
    """Rewrite x[a:b][c:d] to x[a + c : a + d]."""
    op = match.op()
    outer_ranges, inner_ranges = _ranges(op), _ranges(match.op("cut"))
    if outer_ranges is None or inner_ranges is None:
        return None
    both = dict(inner_ranges)
    for axis, (begin, end) in outer_ranges.items():
        start = inner_ranges[axis][0] if axis in inner_ranges else 0
        both[axis] = (dim_add(start, begin), dim_add(start, end))
    return make(op, "relax.strided_slice", [match[X]], _slice_attributes(both, op))


def slice_of_joined(match: Match) -> Operation | None:
    """Slice only the tensors of a concat that the slice touches."""
    op, joined = match.op(), match.op("joined")
    ranges, shape = _ranges(op), shape_of(op.x)
    if ranges is None or shape is None:
        return None
    axis = normal_axis(joined.axis, len(shape))
    offsets = _offsets(joined.tensors, axis)
    if axis not in ranges or offsets is None:
        return None
    begin, end = ranges[axis]
    touched = [
        index
        for index in range(len(joined.tensors))
        if not at_least(begin, offsets[index + 1]) and not at_least(offsets[index], end)
    ]
    if not touched or len(touched) == len(joined.tensors):
        return None
    start = offsets[touched[0]]
    kept = joined.tensors[touched[0] : touched[-1] + 1]
    moved = {**ranges, axis: (dim_sub(begin, start), dim_sub(end, start))}
    source = kept[0] if len(kept) == 1 else relax.concat(kept, axis=axis)
    return make(op, "relax.strided_slice", [source], _slice_attributes(moved, op))


def _offsets(tensors: Sequence[Value], axis: int) -> list[Dim] | None:
    """Return the offsets of the joined tensors and the total size, or None if one is unknown."""
    offsets: list[Dim] = [0]
    for tensor in tensors:
        shape = shape_of(tensor)
        end = None if shape is None else dim_add(offsets[-1], shape[axis])
        if end is None:
            return None
        offsets.append(end)
    return offsets


def split_joined(match: Match) -> list[Value] | None:
    """Replace a split of a concat at its seams by the joined tensors."""
    op, joined = match.op(), match.op("joined")
    shape = shape_of(op.x)
    results = list(op.operation.results)
    if shape is None or len(joined.tensors) != len(results):
        return None
    if (axis := normal_axis(joined.axis, len(shape))) != normal_axis(op.axis, len(shape)):
        return None
    for tensor, result in zip(joined.tensors, results, strict=True):
        sizes = shape_of(tensor), shape_of(result)
        # Equal sizes in the same order have equal offsets.
        if tensor.type != result.type or sizes[0] is None or sizes[0][axis] is None:
            return None
    return list(joined.tensors)


def join_slices(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Rewrite concat(x[a:b], x[b:c]) to x[a:c]."""
    tensors = list(op.tensors)
    if (shape := shape_of(op.operation.results[0])) is None:
        return None
    axis = normal_axis(op.axis, len(shape))
    for index, (one, other) in enumerate(pairwise(tensors)):
        left, right = _slice_along(one, axis), _slice_along(other, axis)
        if left is None or right is None or left[0] != right[0] or equal(left[1][1], right[1][0]) is not True:
            continue
        whole = relax.dialect.ops["strided_slice"](left[0], axes=[axis], begin=[left[1][0]], end=[right[1][1]])
        return make(op, "relax.concat", [*tensors[:index], whole, *tensors[index + 2 :]], {"axis": i64_attribute(axis)})
    return None


def _slice_along(value: Value, axis: int) -> tuple[Value, Range] | None:
    """Return the source and range of a slice along only this axis, or None."""
    op = defining_op(value, "relax.strided_slice")
    ranges = None if op is None else _ranges(op)
    return (op.x, ranges[axis]) if op is not None and ranges is not None and list(ranges) == [axis] else None


def slice_by_known_bounds(match: Match) -> Operation | None:
    """Turn constant bounds and strides, and bounds that are sizes, into attributes."""
    op = match.op()
    begin, end, strides = (_numbers(match[each]) for each in _KNOWN)
    if begin is None or end is None or strides is None or not all(isinstance(stride, int) for stride in strides):
        return None
    kinds, context = find_op("relax.strided_slice").attrs, op.operation.context
    attributes = {
        "axes": ints(range(len(begin))),
        "begin": kinds["begin"].encode(begin, context),
        "end": kinds["end"].encode(end, context),
        "strides": ints([int(str(stride)) for stride in strides]),
    }
    return make(op, "relax.strided_slice", [op.x], attributes)


def split_before_slice(match: Match) -> Value | None:
    """Rewrite reshape(x[..., 8:16]) to (..., 2, 4) as reshape(x)[..., 2:4, :] if the bounds are whole parts of the
    axis.

    Users of the slice can then read x in place: heads of queries, keys and values of one product.
    """
    op = match.op()
    ranges, whole, wanted = _ranges(match.op("cut")), shape_of(match[X]), shape_of(op.operation.results[0])
    if ranges is None or whole is None or wanted is None or len(ranges) != 1:
        return None
    ((axis, (begin, end)),) = ranges.items()
    sizes, size = _split_of(whole, wanted, axis), whole[axis]
    if sizes is None or not isinstance(begin, int) or not isinstance(end, int) or not isinstance(size, int):
        return None
    inner = math.prod(sizes[1:])
    if any(bound % inner for bound in (begin, end, size)):
        return None
    shape = [*whole[:axis], size // inner, *sizes[1:], *whole[axis + 1 :]]
    split = relax.reshape(match[X], relax.shape_expr(dims=shape))
    return as_result(op, relax.strided_slice(split, axes=[axis], begin=[begin // inner], end=[end // inner]))


def _split_of(whole: Sequence[Dim], dims: Sequence[Dim], axis: int) -> list[int] | None:
    """Return the sizes into which a reshape of a slice splits an axis, if the other axes are kept."""
    behind = len(dims) - (len(whole) - axis - 1)
    middle = dims[axis:behind]
    kept = zip((*whole[:axis], *whole[axis + 1 :]), (*dims[:axis], *dims[behind:]), strict=False)
    if len(middle) < 2 or not all(equal(one, other) is True for one, other in kept):
        return None
    sizes = [size for size in middle if isinstance(size, int) and size > 0]
    return sizes if len(sizes) == len(middle) else None


# Longest vector of bounds that is read.
_MOST_DIMENSIONS = 64


def _numbers(value: Value) -> tuple[Dim, ...] | None:
    """Return the elements of an integer vector: a constant, or a list of sizes."""
    if (sizes := defining_op(value, "relax.shape_to_tensor")) is not None:
        return listed_dims(sizes.input)
    array = array_of(value, _MOST_DIMENSIONS)
    return tuple(int(each) for each in array) if array is not None and array.ndim == 1 else None


_slice, _reshape, _joined = is_op("relax.strided_slice"), is_op("relax.reshape"), is_op("relax.concat").named("joined")
_cut = _slice(X).named("cut")
_KNOWN = [is_const() | is_op("relax.shape_to_tensor") for _ in ("begin", "end", "strides")]

PATTERNS = (
    rule(_reshape(_cut.used_once(), ...), split_before_slice),
    removal("relax.strided_slice", "x", lambda op: not op.axes, "slice_by_nothing"),
    rule(_slice(_cut), merge_slices),
    rule(_slice(_joined), slice_of_joined),
    rule(is_op("relax.split")(_joined), split_joined),
    # Any two adjacent operands of a variadic operator.
    Pattern("relax.concat", join_slices, after=("relax.strided_slice",)),
    rule(is_op("relax.dynamic_strided_slice")(X, *_KNOWN), slice_by_known_bounds),
)
