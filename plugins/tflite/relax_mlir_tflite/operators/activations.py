# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations: separate operators, and activation functions fused into other operators."""

from __future__ import annotations

import math
from collections.abc import Callable

from relax_mlir import select
from relax_mlir.emit.numbers import intrinsic

from ..prelude import (
    Number,
    Outputs,
    Tensor,
    TfliteNode,
    const,
    elementwise,
    like,
    register_rows,
    register_tflite,
    relax,
)


def _sign_bit(x: Tensor) -> Tensor:
    return relax.where(relax.less(x, like(x, 0)), like(x, 1), like(x, 0))


#: Fused activation functions of other operators, by their names in the schema.
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "NONE": lambda x: x,
    "RELU": relax.nn.relu,
    "RELU_N1_TO_1": lambda x: relax.clip(x, -1, 1),
    "RELU_0_TO_1": lambda x: relax.clip(x, 0, 1),
    "RELU6": lambda x: relax.clip(x, 0, 6),
    "TANH": relax.tanh,
    "SIGN_BIT": _sign_bit,
}


def activated(node: TfliteNode, x: Tensor) -> Tensor:
    """Apply the operator's fused activation function to its result."""
    return function_of(node)(x)


def function_of(node: TfliteNode) -> Callable[[Tensor], Tensor]:
    if node.activation not in FUNCTIONS:
        raise node.fail(f"the activation {node.activation} is not known", "fused_activation_function")
    return FUNCTIONS[node.activation]


def _elu(x: Number) -> Number:
    return select(x > 0, x, intrinsic("expm1", x))


def _hard_swish(x: Tensor) -> Tensor:
    return relax.multiply(x, relax.multiply(relax.clip(relax.add(x, like(x, 3)), 0, 6), like(x, 1 / 6)))


register_rows(
    {
        "RELU": lambda node: relax.nn.relu(node.tensor(0)),
        "RELU6": lambda node: relax.clip(node.tensor(0), 0, 6),
        "RELU_N1_TO_1": lambda node: relax.clip(node.tensor(0), -1, 1),
        "RELU_0_TO_1": lambda node: relax.clip(node.tensor(0), 0, 1),
        "LEAKY_RELU": lambda node: relax.nn.leakyrelu(node.tensor(0), alpha=node.attr("alpha", 0.0)),
        "ELU": lambda node: elementwise(node, _elu, [node.tensor(0)]),
        "HARD_SWISH": lambda node: _hard_swish(node.tensor(0)),
        "LOGISTIC": lambda node: relax.sigmoid(node.tensor(0)),
        "TANH": lambda node: relax.tanh(node.tensor(0)),
        "GELU": lambda node: (relax.nn.gelu_tanh if node.attr("approximate", False) else relax.nn.gelu)(node.tensor(0)),
        "LOG_SOFTMAX": lambda node: relax.nn.log_softmax(node.tensor(0), axis=-1),
    }
)


@register_tflite("SOFTMAX")
def softmax(node: TfliteNode) -> Outputs:
    x, beta = node.tensor(0), node.attr("beta", 1.0)
    scaled = x if math.isclose(beta, 1) else relax.multiply(x, like(x, beta))
    return relax.nn.softmax(scaled, axis=-1)


@register_tflite("PRELU")
def prelu(node: TfliteNode) -> Outputs:
    """Convert PRELU. The slopes are broadcast to the shape of the data."""
    x, slope = node.tensor(0), node.tensor(1)
    return relax.where(relax.greater_equal(x, const(0, node.dtype)), x, relax.multiply(x, slope))
