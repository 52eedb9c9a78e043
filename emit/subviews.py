# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits subviews: parts of memory from a place on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..bindings.ir import Value
from ..bindings.mlir import DYNAMIC, ir
from . import linalg
from .arithmetic import result_of
from .numbers import as_index


def part_of(
    memref: Value, starts: Sequence[Any], dims: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> Value:
    """The subview from a place on, of these sizes in some dimensions and of one element in the others. `steps` is 1
    where elements are next to each other, 2 where it is every second one.
    """
    strides, _ = memref.type.get_strides_and_offset()
    rank, dynamic = memref.type.rank, DYNAMIC
    extents, apart = [1] * rank, [1] * rank
    for dim, size, step in zip(dims, sizes, steps, strict=True):
        extents[dim], apart[dim] = size, step
    kept = [strides[dim] if strides[dim] == dynamic else strides[dim] * apart[dim] for dim in dims]
    offset = ir.ShapedType.get_dynamic_stride_or_offset()
    known = all(isinstance(start, int) for start in starts) and all(stride >= 0 for stride in strides)
    if known:
        offset = sum(start * stride for start, stride in zip(starts, strides, strict=True))
    static = [start if isinstance(start, int) else dynamic for start in starts]
    layout = ir.StridedLayoutAttr.get(offset, kept)
    attributes = {
        "static_offsets": ir.DenseI64ArrayAttr.get(static),
        "static_sizes": ir.DenseI64ArrayAttr.get(extents),
        "static_strides": ir.DenseI64ArrayAttr.get(apart),
        **linalg.segments(1, sum(each == dynamic for each in static), 0, 0),
    }
    operands = [memref, *(as_index(start) for start in starts if not isinstance(start, int))]
    type_ = ir.MemRefType.get(list(sizes), memref.type.element_type, layout=layout)
    return result_of("memref.subview", operands, type_, **attributes)
