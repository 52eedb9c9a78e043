# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rule for matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.passes.graph.parts.operator_checks import refuse_quantized
from relax_mlir.rewriting import Operation

from .converter import Converter
from .rules import NetworkTensor, converts

if TYPE_CHECKING:
    from relax_mlir.passes.graph.parts.flat_graph import FlatNode, Ref


def _refuse_matmul(op: Operation, call: Call) -> str:
    if call.out_dtype not in (None, call.x1.dtype) or call.x1.dtype != call.x2.dtype:
        types = f"{call.x1.dtype}, {call.x2.dtype} and {call.out_dtype or call.x1.dtype}"
        return f"TensorRT needs operands and result of one type, not {types}"
    return refuse_quantized(op)


@converts("matmul", refuse=_refuse_matmul)
def matmul(converter: Converter, node: FlatNode) -> NetworkTensor:
    """Convert to a matrix multiply layer. Operands have equal batch ranks, and a vector has one dimension less."""
    batch = max(max(len(operand.dims) - 2 for operand in node.operands), 0)
    operands = [each for ref in node.operands for each in _operand(converter, ref, batch)]
    return converter.network.add_matrix_multiply(*operands).get_output(0)


def _operand(converter: Converter, ref: Ref, batch: int) -> tuple[NetworkTensor, object]:
    operation = converter.trt.MatrixOperation
    if len(ref.dims) == 1:
        return converter.with_rank(ref, batch + 1), operation.VECTOR
    return converter.with_rank(ref, batch + 2), operation.NONE
