# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory: other shapes of what there is, without a copy, and several scratch memories at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...bindings.mlir import ir
from . import scalar
from .loops import index, scratch, size


def around_axis(buffer: Any, axis: int | None) -> Any:
    """The elements as [before the axis, along it, after it]; without an axis all are along it."""
    sizes = [size(buffer, each) for each in range(len(buffer.type.shape))]
    if axis is None or not sizes:
        return _reshaped(buffer, [index(1), _product(sizes), index(1)])
    return _reshaped(buffer, [_product(sizes[:axis]), sizes[axis], _product(sizes[axis + 1 :])])


def with_memory(sizes: Sequence[int | Any], elements: Sequence[Any], use: Callable[..., None]) -> None:
    """`use(*memrefs)` with scratch memory of these sizes for each of the element types."""

    def allocate(memories: list[Any]) -> None:
        if len(memories) == len(elements):
            use(*memories)
        else:
            scratch(sizes, elements[len(memories)], lambda memory: allocate([*memories, memory]))

    allocate([])


def _product(sizes: Sequence[Any]) -> Any:
    result = index(1)
    for each in sizes:
        result = scalar.multiply(result, each, "index")
    return result


def _reshaped(buffer: Any, sizes: Sequence[Any]) -> Any:
    dynamic = ir.ShapedType.get_dynamic_size()
    rank = len(sizes)
    strides = [_product(sizes[axis + 1 :]) for axis in range(rank - 1)]
    layout = ir.StridedLayoutAttr.get(0, [*[dynamic] * (rank - 1), 1])
    attributes = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, rank, rank - 1]),
        "static_offsets": ir.DenseI64ArrayAttr.get([0]),
        "static_sizes": ir.DenseI64ArrayAttr.get([dynamic] * rank),
        "static_strides": ir.DenseI64ArrayAttr.get([*[dynamic] * (rank - 1), 1]),
    }
    return ir.Operation.create(
        "memref.reinterpret_cast",
        results=[ir.MemRefType.get([dynamic] * rank, buffer.type.element_type, layout)],
        operands=[buffer, *sizes, *strides],
        attributes=attributes,
    ).result
