# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices and of tensors with labels."""

from __future__ import annotations

from .....dialects.core.infos import is_int
from ..call import ExportedOp
from ..registry import exports
from ..values import Ref


@exports("relax.matmul")
def matmul(op: ExportedOp) -> Ref:
    """Integers are added up as what the result is, or as 32 bits at least."""
    left, right, dtype = op["x1"], op["x2"], op.result().dtype
    if op.out_dtype is not None or left.dtype != right.dtype:
        wide = dtype if not is_int(dtype) or is_int(left.dtype) else left.dtype
        left, right = op.cast(left, wide), op.cast(right, wide)
    return op.cast(op.node("MatMul", left, right), dtype)


@exports("relax.einsum")
def einsum(op: ExportedOp) -> Ref:
    return op.node("Einsum", *op.all("operands"), equation=op.subscripts)


@exports("relax.outer")
def outer(op: ExportedOp) -> Ref:
    return op.node("Mul", op.graph.unsqueeze(op["x1"], [1]), op.graph.unsqueeze(op["x2"], [0]))
