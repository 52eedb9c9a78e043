# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check for functions of upstream's tensor operations. Every compilation imports this file, so it imports little."""

from __future__ import annotations

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import operations_in


def is_plain(function: Operation) -> bool:
    """Check whether a function computes with upstream's tensor operations outside of any PrimFunc."""
    operations = operations_in(function)
    dialects = {op.name.partition(".")[0] for op in operations}
    if "relax" in dialects and "linalg" not in dialects:
        return False  # a relax graph may contain scalars of tensors
    return any(map(is_on_tensors, operations))


def is_on_tensors(op: Operation) -> bool:
    if (dialect := op.name.partition(".")[0]) in ("arith", "math"):
        return op.name != "arith.constant" and any(
            isinstance(result.type, ir.RankedTensorType) for result in op.results
        )
    return dialect in ("linalg", "tensor") and not is_of_graphs(op)


def is_of_graphs(op: Operation) -> bool:
    """Check for scalars of tensors without dimensions, and for such tensors."""
    return op.name == "tensor.from_elements" or (op.name == "tensor.extract" and len(op.operands) == 1)
