# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views and slices of tensors: dimensions split and merged, slices read and written.

Sizes, offsets and strides are numbers if static, else index values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..bindings.ir import Attribute, Operation, Value
from ..bindings.mlir import DYNAMIC, ir
from . import linalg
from .arithmetic import result_of
from .collapse import collapse, reassociation
from .linalg import is_nothing, segments, static_and_dynamic
from .numbers import Size


def split(tensor: Value, axis: int, sizes: Sequence[Size]) -> Value:
    """Split one dimension into several, whose sizes multiply to its own.

    If only one side's type states a size, the fact applies to both sides.
    """
    shape = list(tensor.type.shape)
    tensor = cast(tensor, [*shape[:axis], _static_product(sizes), *shape[axis + 1 :]])
    all_sizes = linalg.sizes(tensor)
    all_sizes[axis : axis + 1] = sizes
    shape, dynamic = static_and_dynamic(all_sizes)
    attributes = {
        "reassociation": reassociation(_dims_joined(tensor.type.rank, axis, len(sizes))),
        "static_output_shape": ir.DenseI64ArrayAttr.get(shape),
    }
    result = ir.RankedTensorType.get(shape, tensor.type.element_type)
    return result_of("tensor.expand_shape", [tensor, *dynamic], result, **attributes)


def _static_product(sizes: Sequence[Size]) -> int:
    """Return the static product of sizes, or MLIR's marker for a dynamic size."""
    known = [size for size in sizes if isinstance(size, int)]
    return prod(known) if len(known) == len(sizes) else DYNAMIC


def cast(tensor: Value, shape: Sequence[int]) -> Value:
    """Return the tensor with a type that states more or fewer sizes."""
    type_ = ir.RankedTensorType.get(list(shape), tensor.type.element_type)
    return tensor if tensor.type == type_ else result_of("tensor.cast", [tensor], type_)


def merge(tensor: Value, axis: int, count: int) -> Value:
    """Merge `count` dimensions from `axis` on into one."""
    return collapse(tensor, _dims_joined(tensor.type.rank - count + 1, axis, count))


def merge_all(tensor: Value, counts: Sequence[int]) -> Value:
    """Merge runs of dimensions, of these lengths, into one dimension each."""
    for position in reversed(range(len(counts))):
        if counts[position] > 1:
            tensor = merge(tensor, sum(counts[:position]), counts[position])
    return tensor


def split_all(tensor: Value, parts: Sequence[Sequence[Size]]) -> Value:
    """Split each dimension into one or more, whose sizes multiply to its own."""
    for axis in reversed(range(len(parts))):
        if len(parts[axis]) > 1:
            tensor = split(tensor, axis, parts[axis])
    return tensor


def _dims_joined(rank: int, axis: int, count: int) -> list[range]:
    """Return the original dimensions of each of `rank` dimensions. The dimension at `axis` covers `count` of them."""
    groups = [range(i, i + 1) if i < axis else range(i + count - 1, i + count) for i in range(rank)]
    groups[axis] = range(axis, axis + count)
    return groups


def slice_of(
    tensor: Value,
    offsets: Sequence[int | Value],
    sizes: Sequence[int | Value],
    strides: Sequence[int | Value] | None = None,
) -> Value:
    """Return a slice of a tensor. Strides are positive."""
    if is_nothing([*sizes, *tensor.type.shape]):
        return linalg.empty(sizes, tensor.type.element_type)
    shape, _ = static_and_dynamic(sizes)
    result = ir.RankedTensorType.get(shape, tensor.type.element_type)
    operands, attributes = place(offsets, sizes, strides or [1] * len(shape), 1)
    return result_of("tensor.extract_slice", [tensor, *operands], result, **attributes)


def put_slice(
    source: Value,
    tensor: Value,
    offsets: Sequence[int | Value],
    strides: Sequence[int | Value] | None = None,
    sizes: Sequence[int | Value] | None = None,
) -> Value:
    """Return the tensor with another tensor written into a slice.

    If the source was computed in a slice, pass the slice's `sizes`: only identical sizes avoid a copy.
    """
    sizes = sizes or linalg.sizes(source)
    if is_nothing([*sizes, *tensor.type.shape]):
        return tensor
    operands, attributes = place(offsets, sizes, strides or [1] * len(sizes), 2)
    return result_of("tensor.insert_slice", [source, tensor, *operands], tensor.type, **attributes)


def place(
    offsets: Sequence[int | Value], sizes: Sequence[int | Value], strides: Sequence[int | Value], tensors: int
) -> tuple[list[Value], dict[str, Attribute]]:
    """Return the operands and attributes of an operation on a slice. `tensors` operands precede them."""
    operands: list[Value] = []
    counts = [1] * tensors
    attributes = {}
    for name, values in (("offsets", offsets), ("sizes", sizes), ("strides", strides)):
        static, dynamic = static_and_dynamic(values)
        attributes[f"static_{name}"] = ir.DenseI64ArrayAttr.get(static)
        counts.append(len(dynamic))
        operands += dynamic
    return operands, {**attributes, **segments(*counts)}


class SlicePlace(NamedTuple):
    """Offsets, sizes and strides of a slice in a tensor or in memory."""

    offsets: list[int | Value]
    sizes: list[int | Value]
    strides: list[int | Value]

    @staticmethod
    def of(op: Operation) -> SlicePlace:
        """Return the slice that an operation reads or writes."""
        tensor_count = len(list(op.attributes["operandSegmentSizes"])) - 3
        values = iter(list(op.operands)[tensor_count:])
        return SlicePlace(
            *(
                [next(values) if number == DYNAMIC else int(number) for number in op.attributes[f"static_{name}"]]
                for name in SlicePlace._fields
            )
        )

    def joined(self, groups: Sequence[Sequence[int]]) -> SlicePlace:
        """Return the slice after collapsing each group of axes, all but the first of which are covered completely."""
        sizes = [[self.sizes[axis] for axis in group] for group in groups]
        offsets = [[self.offsets[first], *others] for (first, *_), (_, *others) in zip(groups, sizes, strict=True)]
        strides = [self.strides[first] for first, *_ in groups]
        return SlicePlace(list(map(linalg.product, offsets)), list(map(linalg.product, sizes)), strides)


def kept_axes(op: Operation) -> list[int]:
    """Return the source's axis of each axis of a slice.

    Axes of size 1 may be dropped; among several, the outer ones.
    """
    sizes, kept = list(op.attributes["static_sizes"]), list[int]()
    axis = len(sizes)
    for size in reversed(op.results[0].type.shape):
        axis = next(index for index in reversed(range(axis)) if sizes[index] == size)
        kept.insert(0, axis)
    return kept
