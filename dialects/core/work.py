# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost model of operations, from their operators' rows and the sizes in their types, which may be symbolic."""

from __future__ import annotations

from typing import NamedTuple

from ...bindings.ir import Operation, OpView
from .codec import decode
from .dialect import row_of
from .facts import elements
from .infos import Info, TensorInfo, bit_width
from .opdef import OpDef
from .operands import operand_info
from .symbols import Dim, dim_add, dim_mul
from .verifier import call_of


class Work(NamedTuple):
    """Cost of an operation. A field is None if a size or the operator's row is unknown."""

    #: Arithmetic operations; a function such as exp counts as one.
    flops: Dim
    #: Bytes of the tensors that the operation reads and writes.
    bytes: Dim


def work_of(op: OpView) -> Work:
    """Return the cost of an operation of the graph."""
    operation, row = op.operation, row_of(op)
    if row is None:
        return Work(None, None)
    if row.is_plain_view or row.role in ("literal", "shape"):
        return Work(0, 0)
    results = [decode(result.type) for result in operation.results]
    moved: Dim = 0
    for info in (*map(operand_info, operation.operands), *results):
        moved = dim_add(moved, bytes_of(info))
    return Work(_flops(row, operation, elements(results[0]) if results else None), moved)


def _flops(row: OpDef, operation: Operation, count: Dim) -> Dim:
    if callable(row.flops):
        return row.flops(call_of(row, operation), count)
    if isinstance(flops := row.flops, tuple):
        flops, operand = flops
        count = elements(call_of(row, operation).operands[operand])
    # No operations on an unknown number of elements are none, too.
    return flops and dim_mul(flops, count)


def bytes_of(info: Info) -> Dim:
    return dim_mul(elements(info), -(-bit_width(info.dtype) // 8)) if isinstance(info, TensorInfo) else 0
