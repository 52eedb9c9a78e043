# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices of tensors with dynamic sizes, for loops that collapse several of their axes.

The type of such a slice does not show that its rows are contiguous, so MLIR would copy the slice to collapse its axes.
The source tensor is contiguous: its axes are collapsed first, and the slice is taken from the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.mlir import DYNAMIC
from ....bindings.navigation import constant_of, made_by, users_of
from ....emit import linalg
from ....emit.collapse import groups_of
from ....emit.numbers import Size, number
from ....emit.structured import StructuredOp
from ....emit.tensors import SlicePlace

_SLICE, _INSERT = "tensor.extract_slice", "tensor.insert_slice"


class TensorSlice(NamedTuple):
    """Slice of a tensor, and the source tensor."""

    source: Value
    place: SlicePlace


def open_part(value: Value, groups: Sequence[Sequence[int]]) -> TensorSlice | None:
    """Return the slice that a value is, if it covers the source along all axes of each group but the first.

    The tensor types do not show that the elements of such a slice are contiguous.
    """
    slice_ = made_by(value, _SLICE)
    if slice_ is None or slice_.operands[0].type.rank != value.type.rank:
        return None
    source, place = slice_.operands[0], SlicePlace.of(slice_)
    outermost = min(first for first, *others in groups if others)
    if DYNAMIC not in source.type.shape[outermost + 1 :] or place.strides[-1] != 1:
        return None
    if made_by(_root(source), _SLICE) is not None:
        return None
    is_whole = all(
        place.strides[first] == 1 and all(_is_all(place, source, axis) for axis in others)
        for first, *others in groups
        if others
    )
    return TensorSlice(source, place) if is_whole else None


def written_back(part: TensorSlice) -> Operation | None:
    """Return the operation that writes a slice back to its place."""
    inserts = (user for user in users_of(part.source) if user.name == _INSERT and user.operands[1] == part.source)
    return next((insert for insert in inserts if SlicePlace.of(insert) == part.place), None)


def _is_all(place: SlicePlace, source: Value, axis: int) -> bool:
    """Return True if a slice covers its source along an axis."""
    offset, size, stride = (numbers[axis] for numbers in place)
    if (offset, stride) != (0, 1):
        return False
    if isinstance(size, int):
        return size == source.type.shape[axis]
    asked = made_by(size, "tensor.dim")
    return asked is not None and constant_of(asked.operands[1]) == axis and _root(asked.operands[0]) == _root(source)


def _root(value: Value) -> Value:
    """Return the first tensor of a chain of in-place updates, which has the same shape."""
    while (into := _changed(value)) is not None:
        value = into
    return value


def _changed(value: Value) -> Value | None:
    """Return the tensor that an operation updates to compute a value, or None."""
    if (insert := made_by(value, _INSERT)) is not None:
        return insert.operands[1]
    if (generic := made_by(value, "linalg.generic")) is not None:
        return generic.operands[len(generic.operands) - len(generic.results) + value.result_number]
    return None


def fills_border(op: StructuredOp) -> bool:
    """Return True if the operation fills a part of static size in a tensor of dynamic size, which is little work."""
    slices = [made_by(output, _SLICE) for output in op.outputs]
    is_fill = all(not shape for shape in op.shapes[: op.input_count]) and not op.reductions
    return is_fill and all(slice_ is not None and _is_known_part(slice_) for slice_ in slices)


def _is_known_part(slice_: Operation) -> bool:
    place, shape = SlicePlace.of(slice_), slice_.operands[0].type.shape
    return any(known == DYNAMIC and isinstance(size, int) for size, known in zip(place.sizes, shape, strict=True))


def loop_size(op: StructuredOp, dim: int) -> Size:
    """Return a loop's size as an expression that shows its factors.

    Rows of whole vectors then have no partial vector.
    """
    if (known := op.sizes[dim]) is not None:
        return known
    operand, axis = op.places_of(dim)[0]
    return _extent(op.operands[operand], axis)


def _extent(value: Value, axis: int) -> Size:
    if (known := value.type.shape[axis]) != DYNAMIC:
        return int(known)
    maker = made_by(value, _SLICE, "tensor.collapse_shape")
    if maker is None or maker.name == _SLICE and maker.operands[0].type.rank != value.type.rank:
        return linalg.size(value, axis)
    if maker.name == _SLICE:
        size = SlicePlace.of(maker).sizes[axis]
        return size if isinstance(size, int) else number(size)
    extents = [_extent(maker.operands[0], each) for each in groups_of(maker)[axis]]
    return math.prod(sorted(extents, key=lambda extent: isinstance(extent, int)))
