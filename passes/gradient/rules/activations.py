# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of activations."""

from __future__ import annotations

import math
from typing import Any

from ..registry import GradientCall, register_gradient
from ..tensors import Tensor, apply, relax

_ROOT_HALF = math.sqrt(0.5)
_ONE_BY_ROOT_TWO_PI = 1 / math.sqrt(2 * math.pi)
_ROOT_TWO_BY_PI = math.sqrt(2 / math.pi)
_GELU_CUBIC = 0.044715
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@register_gradient("relax.nn.relu")
def relu(call: GradientCall) -> Any:
    return (Tensor(call.x) > 0.0).where(Tensor(call.gradient), 0.0).value


@register_gradient("relax.nn.leakyrelu")
def leakyrelu(call: GradientCall) -> Any:
    g = Tensor(call.gradient)
    return (Tensor(call.data) > 0.0).where(g, call.alpha * g).value


@register_gradient("relax.nn.selu")
def selu(call: GradientCall) -> Any:
    g, x = Tensor(call.gradient), Tensor(call.x)
    # Below zero the result is scale * alpha * (exp(x) - 1).
    return (g * (x > 0.0).where(_SELU_SCALE, Tensor(call.result) + _SELU_SCALE * _SELU_ALPHA)).value


@register_gradient("relax.nn.silu")
def silu(call: GradientCall) -> Any:
    x = Tensor(call.x)
    share = apply("sigmoid", x)
    return (Tensor(call.gradient) * (share + x * share * (1 - share))).value


@register_gradient("relax.nn.gelu")
def gelu(call: GradientCall) -> Any:
    x = Tensor(call.x)
    share = 0.5 * (apply("erf", x * _ROOT_HALF) + 1)
    density = _ONE_BY_ROOT_TWO_PI * apply("exp", -0.5 * (x * x))
    return (Tensor(call.gradient) * (share + x * density)).value


@register_gradient("relax.nn.gelu_tanh")
def gelu_tanh(call: GradientCall) -> Any:
    x = Tensor(call.x)
    bent = apply("tanh", _ROOT_TWO_BY_PI * (x + _GELU_CUBIC * x * x * x))
    slope = _ROOT_TWO_BY_PI * (3 * _GELU_CUBIC * x * x + 1)
    return (Tensor(call.gradient) * (0.5 * (bent + 1) + 0.5 * x * (1 - bent * bent) * slope)).value


@register_gradient("relax.nn.softplus")
def softplus(call: GradientCall) -> Any:
    g, scaled = Tensor(call.gradient), call.beta * Tensor(call.data)
    return (scaled > call.threshold).where(g, g * apply("sigmoid", scaled)).value


@register_gradient("relax.nn.softmax")
def softmax(call: GradientCall) -> Any:
    weighted = relax["multiply"](call.gradient, call.result)
    total = relax["sum"](weighted, axis=[call.axis], keepdims=True)
    return relax["subtract"](weighted, relax["multiply"](call.result, total))


@register_gradient("relax.nn.log_softmax")
def log_softmax(call: GradientCall) -> Any:
    total = relax["sum"](call.gradient, axis=[call.axis], keepdims=True)
    return relax["subtract"](call.gradient, relax["multiply"](relax["exp"](call.result), total))
