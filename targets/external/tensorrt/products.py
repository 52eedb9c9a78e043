# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....bindings.ir import Operation
from ....dialects.core.opdef import Call
from ..core.operator_checks import refuse_quantized
from .rules import Tensor, converts

if TYPE_CHECKING:
    from ..core.flatten import FlatNode, Ref
    from .converter import Converter


def _refuse_matmul(op: Operation, call: Call) -> str:
    if call.out_dtype not in (None, call.x1.dtype) or call.x1.dtype != call.x2.dtype:
        return f"TensorRT's products of {call.x1.dtype} and {call.x2.dtype} are of the same type, not {call.out_dtype}"
    return refuse_quantized(op)


@converts("matmul", refuse=_refuse_matmul)
def matmul(converter: Converter, node: FlatNode) -> Tensor:
    """A vector is marked as such and has a dimension less, in addition to those of the batch, which both have alike."""
    batch = max(max(len(each.dims) - 2 for each in node.operands), 0)
    operands = [each for ref in node.operands for each in _operand(converter, ref, batch)]
    return converter.network.add_matrix_multiply(*operands).get_output(0)


def _operand(converter: Converter, ref: Ref, batch: int) -> tuple[Tensor, object]:
    operation = converter.trt.MatrixOperation
    if len(ref.dims) == 1:
        return converter.with_rank(ref, batch + 1), operation.VECTOR
    return converter.with_rank(ref, batch + 2), operation.NONE
