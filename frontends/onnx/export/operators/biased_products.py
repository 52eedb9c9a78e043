# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporter of add: a constant bias becomes an operand of the convolution or matrix product before the add.

onnxruntime fuses quantized layers to QLinearConv and QGemm in this form only.
"""

from __future__ import annotations

from collections.abc import Sequence

from .....bindings.ir import Operation, Value
from .....bindings.navigation import made_by
from .....dialects.core.infos import is_float
from .....dialects.relax.known_constants import elements_of
from .....dialects.relax.values import tensor_info
from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import exports
from .convolutions import CONVOLUTIONS, convolve, plain_places
from .quantization import dequantize_as, has_linear_form, has_single_parameters


@exports("relax.add")
def add(op: ExportedOp) -> Ref:
    left, right = op.operation.operands
    for value, bias in ((left, right), (right, left)):
        product = op.exporter.sole_maker(value)
        if product is not None and (made := _bias(op, product, bias)) is not None:
            return made
    return op.node("Add", *op.operands)


def _bias(op: ExportedOp, operation: Operation, bias: Value) -> Ref | None:
    """Return the result of a product with a bias, or None if the bias has to be added."""
    if operation.name not in (*CONVOLUTIONS, "relax.matmul"):
        return None
    product = ExportedOp(operation, op.exporter, op.graph)
    result, summand = product.result(), tensor_info(bias)
    if not is_float(result.dtype) or result.dtype != summand.dtype or result.shape is None or summand.shape is None:
        return None
    if operation.name == "relax.matmul":
        axis = 1 if _is_plain(product) else None
    else:
        axis = plain_places(product, "result")[1]
    vector = None if axis is None else _vector(op, bias, result.shape, axis)
    if vector is None:
        return None
    if operation.name == "relax.matmul":
        return op.node("Gemm", product["x1"], product["x2"], vector)
    return convolve(product, vector)


def _is_plain(op: ExportedOp) -> bool:
    """Check whether a product is one of two matrices of the result's type."""
    operands = [op.info(name) for name in ("x1", "x2")]
    return all(operand.rank == 2 and operand.dtype == op.result().dtype for operand in operands)


def _vector(op: ExportedOp, bias: Value, shape: Sequence[object], axis: int) -> Ref | None:
    """Return a constant bias as a 1-D tensor if it differs along one axis of a shape only, else None."""
    sizes = tensor_info(bias).shape or ()
    padded = (*(1,) * (len(shape) - len(sizes)), *sizes)
    if len(padded) != len(shape) or padded != tuple(size if place == axis else 1 for place, size in enumerate(shape)):
        return None
    if (elements := elements_of(bias)) is not None:
        return op.const(elements.reshape(-1), tensor_info(bias).dtype, op.exporter.name_of(bias.owner.operation))
    if (maker := made_by(bias, "relax.dequantize")) is None:
        return None
    real = ExportedOp(maker, op.exporter, op.graph)
    numbers = real.elements("data")
    is_along = real.rank("data") and real.axis_of("data", real.axis) == axis - len(shape) + len(sizes)
    if numbers is None or not has_linear_form(real) or not (is_along or has_single_parameters(real)):
        return None
    return dequantize_as(real, op.const(numbers.reshape(-1), real.dtype("data")), 0)
