# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of activations, softmax, dropout and losses."""

from __future__ import annotations

from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import export_rows, exports

export_rows(
    {
        "nn.relu": lambda op: op.node("Relu", op["x"]),
        "nn.gelu": lambda op: op.node("Gelu", op["x"]),
        "nn.gelu_tanh": lambda op: op.node("Gelu", op["x"], approximate="tanh"),
        "nn.leakyrelu": lambda op: op.node("LeakyRelu", op["data"], alpha=op.alpha),
        "nn.log_softmax": lambda op: op.node("LogSoftmax", op["data"], axis=op.axis),
        "nn.selu": lambda op: op.node("Selu", op["x"]),
        "nn.silu": lambda op: op.node("Mul", op["x"], op.node("Sigmoid", op["x"])),
        "nn.softmax": lambda op: op.node("Softmax", op["data"], axis=op.axis),
        # These operators only affect how derivatives are computed.
        "grad.end_checkpoint": lambda op: op["input"],
        "grad.no_grad": lambda op: op["input"],
        "grad.start_checkpoint": lambda op: op["input"],
    }
)


@exports("relax.nn.prelu")
def prelu(op: ExportedOp) -> Ref:
    axis, rank = op.axis_of("data", op.axis), op.rank("data")
    return op.node("PRelu", op["data"], op.along(op["alpha"], axis, rank) if rank else op.reshape(op["alpha"], []))


@exports("relax.nn.softplus")
def softplus(op: ExportedOp) -> Ref:
    """Export softplus without its threshold.

    Above the threshold the result is the data. The exact logarithm differs from it by less than the rounding error.
    """
    data = op["data"]
    if op.threshold < 15:
        raise op.fail("ONNX's Softplus has no threshold", "threshold")
    if op.beta == 1:
        return op.node("Softplus", data)
    beta = op.number(op.beta, data.dtype)
    return op.node("Div", op.node("Softplus", op.node("Mul", data, beta)), beta)


@exports("relax.nn.dropout")
def dropout(op: ExportedOp) -> list[Ref]:
    """Export dropout in inference, which keeps all elements: the mask is 1 everywhere."""
    data = op["data"]
    return [data, op.node("Expand", op.number(1, data.dtype), op.node("Shape", data))]


@exports("relax.nn.cross_entropy_with_logits")
def cross_entropy(op: ExportedOp) -> Ref:
    total = op.graph.reduce("ReduceSum", op.node("Mul", op["predictions"], op["labels"]), None, keep=False)
    loss = op.node("Neg", total)
    if op.rank("predictions") < 2:
        return loss
    return op.node("Div", loss, op.size(op.parts("predictions")[0], loss.dtype))


@exports("relax.nn.nll_loss")
def nll_loss(op: ExportedOp) -> Ref:
    predictions, targets, rank = op["predictions"], op.cast(op["targets"], "i64"), op.rank("predictions")
    if rank == 1:
        predictions, targets = op.graph.unsqueeze(predictions, [0]), op.graph.unsqueeze(targets, [0])
    settings = {"reduction": op.reduction, "ignore_index": op.ignore_index}
    loss = op.node("NegativeLogLikelihoodLoss", predictions, targets, op.optional("weights"), **settings)
    return op.graph.squeeze(loss, [0]) if rank == 1 and op.reduction == "none" else loss
