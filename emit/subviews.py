# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views of memory by sizes and strides: parts of the memory, or all of it with another shape."""

from __future__ import annotations

from collections.abc import Sequence

from ..bindings.ir import Operation, Type, Value
from ..bindings.mlir import ir
from .arithmetic import result_of
from .linalg import static_and_dynamic
from .numbers import Size
from .tensors import place


def part_of(
    memref: Value, starts: Sequence[Size], dims: Sequence[int], sizes: Sequence[Size], steps: Sequence[int]
) -> Value:
    """Return the subview at `starts`, with these sizes in some dimensions and one element in the others.

    A step is 1 for adjacent elements, and 2 for every second element.
    """
    strides, first = memref.type.get_strides_and_offset()
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    extents, apart = list[Size]([1] * memref.type.rank), [1] * memref.type.rank
    for dim, size, step in zip(dims, sizes, steps, strict=True):
        extents[dim], apart[dim] = size, step
    offset = unknown
    if all(isinstance(start, int) for start in starts) and unknown not in (*strides, first):
        offset = first + sum(start * stride for start, stride in zip(starts, strides, strict=True))
    kept = [unknown if strides[dim] == unknown else strides[dim] * apart[dim] for dim in dims]
    operands, attributes = place(starts, extents, apart, 1)
    return result_of("memref.subview", [memref, *operands], _type(memref, sizes, kept, offset), **attributes)


def seen_as(memref: Value, offset: Size, sizes: Sequence[Size], strides: Sequence[Size]) -> Value:
    """Return a view of the memory from an offset on, with these sizes and strides in elements."""
    operands, attributes = place([offset], sizes, strides, 1)
    (start,), _ = static_and_dynamic([offset])
    type_ = _type(memref, sizes, static_and_dynamic(strides)[0], start)
    return result_of("memref.reinterpret_cast", [memref, *operands], type_, **attributes)


def strided_metadata(memref: Value) -> Operation:
    """Create the operation whose results are the buffer, its offset, its sizes and its strides."""
    type_, index = memref.type, ir.IndexType.get()
    base = ir.MemRefType.get([], type_.element_type, memory_space=type_.memory_space)
    results = [base, *[index] * (1 + 2 * type_.rank)]
    return ir.Operation.create("memref.extract_strided_metadata", results=results, operands=[memref])


def _type(memref: Value, sizes: Sequence[Size], strides: Sequence[int], offset: int) -> Type:
    layout = ir.StridedLayoutAttr.get(offset, list(strides))
    return ir.MemRefType.get(static_and_dynamic(sizes)[0], memref.type.element_type, layout=layout)
