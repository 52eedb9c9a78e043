# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which functions are of upstream's operations on tensors: every compilation asks, so little is imported for it."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in


def is_plain(function: Operation) -> bool:
    """Whether a function computes with upstream's operations on tensors, outside of any PrimFunc."""
    operations = operations_in(function)
    dialects = {op.name.partition(".")[0] for op in operations}
    if "relax" in dialects and "linalg" not in dialects:
        return False  # a graph of relax, in which scalars of tensors are
    return any(map(is_on_tensors, operations))


def is_on_tensors(op: Operation) -> bool:
    dialect = op.name.partition(".")[0]
    if dialect in ("arith", "math"):
        return op.name != "arith.constant" and any(isinstance(each.type, ir.RankedTensorType) for each in op.results)
    return dialect in ("linalg", "tensor") and not is_of_graphs(op)


def is_of_graphs(op: Operation) -> bool:
    """Scalars of tensors without dimensions, and such tensors."""
    return op.name == "tensor.from_elements" or (op.name == "tensor.extract" and len(op.operands) == 1)
