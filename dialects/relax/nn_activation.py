# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations and dropout."""

from __future__ import annotations

from ..core.attributes import Float, Int
from ..core.equalities import contradict
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import equal
from .dialect import broadcast_op, elementwise_op, op
from .elementwise import float_unary, numeric_unary
from .infer.dtypes import check_dtype, check_same_dtype
from .infer.sizes import normalize_axis, shape_of_rank


def softmax(call: Call) -> TensorInfo:
    check_dtype(call, "data", "float")
    if call.data.shape is not None:
        normalize_axis(call, "axis", call.data.rank, call.axis)
    return call.data


def softplus(call: Call) -> TensorInfo:
    call.require(call.beta != 0, f"{call.describe('beta')} must not be 0: the result is divided by it")
    return float_unary(call)


def prelu(call: Call) -> TensorInfo:
    check_dtype(call, "data", "float")
    check_same_dtype(call, "data", "alpha")
    (slopes,) = shape_of_rank(call, "alpha", 1)
    if call.data.shape is None:
        return call.data
    size = call.data.shape[normalize_axis(call, "axis", call.data.rank, call.axis)]
    if equal(slopes, 1) is False and contradict(slopes, size):
        raise call.fail(
            f"{call.describe('alpha')} must have 1 element or {size}, the size of the data along axis {call.axis}"
        )
    return call.data


def dropout(call: Call) -> tuple[TensorInfo, TensorInfo]:
    call.require(0 <= call.rate <= 1, f"{call.describe('rate')} must be between 0 and 1")
    return call.data, call.data


elementwise_op("nn.relu", "x", infer=numeric_unary, doc="max(x, 0).")
elementwise_op("nn.gelu", "x", flops=5, infer=float_unary, doc="x * (1 + erf(x / sqrt(2))) / 2.")
elementwise_op("nn.gelu_tanh", "x", flops=9, infer=float_unary, doc="Approximation of gelu by tanh.")
elementwise_op("nn.selu", "x", flops=4, infer=float_unary, doc="Scaled exponential linear unit.")
elementwise_op("nn.silu", "x", flops=2, infer=float_unary, doc="x * sigmoid(x).")
elementwise_op("nn.leakyrelu", "data", attrs={"alpha": Float(0.01, doc="slope below zero")},
   flops=2, infer=float_unary, doc="data where data > 0, else alpha * data.")  # fmt: skip
broadcast_op("nn.prelu", "data alpha", attrs={"axis": Int(1, doc="axis of alpha")}, flops=2, infer=prelu,
   doc="data where data > 0, else alpha * data, with an alpha for each channel.")  # fmt: skip
elementwise_op("nn.softplus", "data", flops=4, infer=softplus,
   attrs={"beta": Float(1.0), "threshold": Float(20.0, doc="data above this value is the result")},
   doc="log(1 + exp(beta * data)) / beta.")  # fmt: skip
op("nn.softmax", "data", attrs={"axis": Int(-1)}, flops=5, infer=softmax,
   doc="exp(data) / sum(exp(data)) along the axis.")  # fmt: skip
op("nn.log_softmax", "data", attrs={"axis": Int(-1)}, flops=5, infer=softmax, doc="Logarithm of softmax.")
elementwise_op("nn.dropout", "data", attrs={"rate": Float(0.5, doc="share of elements set to 0")},
   results="result mask", flops=0, infer=dropout,
   doc="Sets random elements to 0 and scales the others; lowers to the identity. Returns the mask, too.")  # fmt: skip
