# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of activations, softmax, and dropout in inference."""

from __future__ import annotations

import math

from .....bindings.ir import OpView, Value
from ..registry import register_decomposition
from ..tensor_formulas import Tensor, apply
from ..wide import along, computed_wide, relax

_GELU_CUBIC = 0.044715
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@register_decomposition("relax.nn.gelu", by_types=True)
@computed_wide
def gelu(op: OpView, x: Tensor) -> Tensor:
    return x * 0.5 * (apply("erf", x * math.sqrt(0.5)) + 1.0)


@register_decomposition("relax.nn.gelu_tanh", by_types=True)
@computed_wide
def gelu_tanh(op: OpView, x: Tensor) -> Tensor:
    return x * 0.5 * (apply("tanh", (x + _GELU_CUBIC * x * x * x) * math.sqrt(2 / math.pi)) + 1.0)


@register_decomposition("relax.nn.silu", by_types=True)
@computed_wide
def silu(op: OpView, x: Tensor) -> Tensor:
    return x * apply("sigmoid", x)


@register_decomposition("relax.nn.selu", by_types=True)
@computed_wide
def selu(op: OpView, x: Tensor) -> Tensor:
    return (x > 0.0).where(x, (apply("exp", x) - 1.0) * _SELU_ALPHA) * _SELU_SCALE


@register_decomposition("relax.nn.leakyrelu", by_types=True)
@computed_wide
def leakyrelu(op: OpView, x: Tensor) -> Tensor:
    return (x > 0.0).where(x, x * op.alpha)


@register_decomposition("relax.nn.prelu", by_types=True)
@computed_wide
def prelu(op: OpView, x: Tensor, alpha: Tensor) -> Tensor:
    is_one = list(alpha.value.type.shape) == [1]
    return (x > 0.0).where(x, x * (alpha if is_one else along(alpha, [op.axis], x.value)))


@register_decomposition("relax.nn.softplus", by_types=True)
@computed_wide
def softplus(op: OpView, x: Tensor) -> Tensor:
    """Decompose softplus. The exponent is at most 0, so that exp does not overflow for any threshold."""
    scaled = x * op.beta
    share = apply("log", apply("exp", -apply("abs", scaled)) + 1.0)
    return (scaled > op.threshold).where(x, ((scaled > 0.0).where(scaled, 0.0) + share) / op.beta)


@register_decomposition("relax.nn.softmax", by_types=True)
@computed_wide
def softmax(op: OpView, x: Tensor) -> Tensor:
    """Decompose softmax. Subtracting the maximum keeps exp from overflowing."""
    powers = apply("exp", x - apply("max", x, axis=[op.axis], keepdims=True))
    return powers / apply("sum", powers, axis=[op.axis], keepdims=True)


@register_decomposition("relax.nn.log_softmax", by_types=True)
@computed_wide
def log_softmax(op: OpView, x: Tensor) -> Tensor:
    below = x - apply("max", x, axis=[op.axis], keepdims=True)
    return below - apply("log", apply("sum", apply("exp", below), axis=[op.axis], keepdims=True))


@register_decomposition("relax.nn.dropout", by_types=True)
def dropout(op: OpView, data: Value) -> list[Value]:
    """Keep all elements. The mask is 1 everywhere."""
    return [data, relax.ones_like(data)]
