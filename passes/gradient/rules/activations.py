# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of activations."""

from __future__ import annotations

import math
from typing import Any

from ....bindings.ir import Value
from ...canonicalize.support import same_known_shape
from ..registry import GradientCall, register_gradient
from ..tensors import Tensor, apply, rank_of, relax

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


@register_gradient("relax.nn.prelu")
def prelu(call: GradientCall) -> list[Any]:
    rank = rank_of(call, call.data)
    axis = call.axis % rank
    others = [each for each in range(rank) if each != axis]
    behind = list(range(1, rank - axis))
    slopes = relax["expand_dims"](call.alpha, axis=behind) if behind else call.alpha
    g, x = Tensor(call.gradient), Tensor(call.data)

    def by_alpha() -> Value:
        each = (x > 0.0).where(0.0, g * x).value
        summed = relax["sum"](each, axis=others) if others else each
        # One slope may be that of all channels.
        return summed if same_known_shape(summed, call.alpha) else relax["collapse_sum_like"](summed, call.alpha)

    return [lambda: (x > 0.0).where(g, g * Tensor(slopes)).value, by_alpha]


@register_gradient("relax.nn.dropout")
def dropout(call: GradientCall) -> Any:
    """Nothing is dropped (a mask that is drawn is an operand of a product): the mask does not change."""
    return call.gradient if call.arrives_at(0) else None


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
