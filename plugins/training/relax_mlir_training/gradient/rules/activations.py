# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of activations."""

from __future__ import annotations

from relax_mlir.passes.graph.decompose.tensor_formulas import Tensor, apply, relax
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..gradient_call import GradientCall, Gradients

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@register_gradient("relax.nn.relu", by_types=True)
def relu(call: GradientCall) -> Gradients:
    return (Tensor(call.x) > 0.0).where(Tensor(call.gradient), 0.0).value


@register_gradient("relax.nn.leakyrelu", by_types=True)
def leakyrelu(call: GradientCall) -> Gradients:
    g = Tensor(call.gradient)
    return (Tensor(call.data) > 0.0).where(g, call.alpha * g).value


@register_gradient("relax.nn.dropout", by_types=True)
def dropout(call: GradientCall) -> Gradients:
    """Return the gradient unchanged. This dropout drops nothing, and a random mask is an operand of a product."""
    return call.gradient if call.arrives_at(0) else None


@register_gradient("relax.nn.selu", by_types=True)
def selu(call: GradientCall) -> Gradients:
    g, x = Tensor(call.gradient), Tensor(call.x)
    # Below zero the result is scale * alpha * (exp(x) - 1).
    return (g * (x > 0.0).where(_SELU_SCALE, Tensor(call.result) + _SELU_SCALE * _SELU_ALPHA)).value


@register_gradient("relax.nn.softplus", by_types=True)
def softplus(call: GradientCall) -> Gradients:
    g, scaled = Tensor(call.gradient), call.beta * Tensor(call.data)
    return (scaled > call.threshold).where(g, g * apply("sigmoid", scaled)).value


@register_gradient("relax.nn.softmax", by_types=True)
def softmax(call: GradientCall) -> Gradients:
    weighted = relax.multiply(call.gradient, call.result)
    total = relax.sum(weighted, axis=[call.axis], keepdims=True)
    return relax.subtract(weighted, relax.multiply(call.result, total))


@register_gradient("relax.nn.log_softmax", by_types=True)
def log_softmax(call: GradientCall) -> Gradients:
    total = relax.sum(call.gradient, axis=[call.axis], keepdims=True)
    return relax.subtract(call.gradient, relax.multiply(relax.exp(call.result), total))
