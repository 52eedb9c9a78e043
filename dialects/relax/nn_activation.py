# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations and dropout."""

from __future__ import annotations

from ..core.attributes import Float, Int
from .dialect import op
from .infer.elementwise import float_unary, numeric_unary
from .infer.nn_activation import dropout, prelu, softmax, softplus

op("nn.relu", "x", infer=numeric_unary, doc="max(x, 0).")
op("nn.gelu", "x", infer=float_unary, doc="x * (1 + erf(x / sqrt(2))) / 2.")
op("nn.gelu_tanh", "x", infer=float_unary, doc="gelu approximated with tanh.")
op("nn.selu", "x", infer=float_unary, doc="The self-normalizing exponential linear unit.")
op("nn.silu", "x", infer=float_unary, doc="x * sigmoid(x).")
op(
    "nn.leakyrelu",
    "data",
    attrs={"alpha": Float(0.01, doc="the slope below zero")},
    infer=float_unary,
    doc="data where it is positive, alpha * data elsewhere.",
)
op(
    "nn.prelu",
    "data alpha",
    attrs={"axis": Int(1, doc="the axis of alpha")},
    infer=prelu,
    doc="data where it is positive, alpha * data elsewhere, with an alpha for each channel.",
)
op(
    "nn.softplus",
    "data",
    attrs={"beta": Float(1.0), "threshold": Float(20.0, doc="above it the result is data")},
    infer=softplus,
    doc="log(1 + exp(beta * data)) / beta.",
)
op(
    "nn.softmax",
    "data",
    attrs={"axis": Int(-1)},
    infer=softmax,
    doc="exp(data), divided by its sum along the axis.",
)
op("nn.log_softmax", "data", attrs={"axis": Int(-1)}, infer=softmax, doc="The logarithm of softmax.")
op(
    "nn.dropout",
    "data",
    attrs={"rate": Float(0.5, doc="the share of elements that become 0")},
    results="result mask",
    infer=dropout,
    doc="Some elements set to 0, the others scaled up; also gives the mask.",
)
