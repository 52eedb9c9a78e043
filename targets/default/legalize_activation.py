# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activation functions as loops over scalars. Narrow floats are widened to f32 once, not at every step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...bindings.ir import OpView, Value
from ...dialects.core.infos import is_float
from ...emit import linalg, loops
from ...emit.broadcast import along_axis, broadcast_generic, require_broadcast
from ...emit.conversions import rounded, widened
from ...emit.numbers import Number, fma, intrinsic, maximum, select, unary
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

# sqrt(1/2) as the nearest number of a type, and the rest.
_ROOT_HALF = {"f32": (0.7071067690849304, 1.2101617485882343e-08), "f64": (0.7071067811865476, -4.833646656726457e-17)}


def _gelu(x: Number) -> Number:
    """Return x / 2 * erfc(-x / sqrt(2)), because 1 + erf(x) loses all digits for x far below 0.

    There erfc(t) decreases like exp(-t**2), so that a rounding error of t can change the result by a hundred times as
    much. The slope, about -2t * erfc(t), corrects the error.
    """
    high, low = _ROOT_HALF[x.dtype]
    # The result vanishes long before this limit.
    x = select(x < -50.0, -50.0, x)
    t = x * -high
    excess = fma(x, low, fma(x, high, t))
    half = x * 0.5
    return select(t < 0.0, half, fma(half * (t + t), excess, half)) * intrinsic("erfc", t)


def _softplus(op: OpView, x: Number) -> Number:
    """Return softplus. The operand of exp is at most 0, so exp does not overflow, whatever the threshold."""
    scaled = x * op.beta
    share = intrinsic("log1p", intrinsic("exp", 0.0 - unary("math.absf", scaled)))
    return select(scaled > op.threshold, x, (maximum(scaled, 0.0) + share) / op.beta)


_FUNCTIONS: dict[str, Callable[[OpView, Number], Number]] = {
    "gelu": lambda _, x: _gelu(x),
    # (1 + tanh(y)) / 2 is sigmoid(2 * y), which stays accurate for y far below 0.
    "gelu_tanh": lambda _, x: x * intrinsic("sigmoid", (x * x * x * 0.044715 + x) * (2 * math.sqrt(2 / math.pi))),
    "leakyrelu": lambda op, x: select(x > 0.0, x, x * op.alpha),
    "selu": lambda _, x: select(x > 0.0, x, intrinsic("expm1", x) * 1.6732632423543772) * 1.0507009873554805,
    "silu": lambda _, x: x * intrinsic("sigmoid", x),
    "softplus": _softplus,
}


@register_legalize([f"relax.nn.{name}" for name in _FUNCTIONS], by_types=True)
def activation(call: LegalizeCall) -> Legalized:
    """Legalize an activation. Floats narrower than f32 are computed in f32."""
    dtype, function = call.dtype(call.operands[0]), _FUNCTIONS[call.op.definition.name.removeprefix("nn.")]
    if not is_float(dtype):
        return call.decline("only floats are legalized; convert with relax.astype")
    return call.elementwise(lambda x: rounded(function(call.op, widened(x)), dtype), call.operands[:1])


@register_legalize("relax.nn.relu", by_types=True)
def relu(call: LegalizeCall) -> Legalized:
    """Return max(x, 0). NaN stays NaN."""
    return call.elementwise(lambda x: maximum(x, 0))


@register_legalize("relax.nn.prelu", by_types=True)
def prelu(call: LegalizeCall) -> Legalized:
    data, slopes = call.operands
    shape = call.shape(data)
    rank = len(shape)
    axis = call.op.axis % rank
    plan = along_axis(call.shape(slopes), shape[axis], axis)

    def body(x: Value, alpha: Value, output: Value) -> Value:
        require_broadcast(alpha, loops.sizes(x)[axis : axis + 1])
        sloped = lambda x, alpha: select(x > 0.0, x, x * alpha)  # noqa: E731
        return broadcast_generic([x, alpha], output, [list(range(rank)), plan], sloped)

    return call.prim(body)


@register_legalize("relax.nn.dropout", by_types=True)
def dropout(call: LegalizeCall) -> Legalized:
    """Return the operand unchanged and a mask of ones, since inference drops no elements."""
    mask: Any = call.result_infos[1]
    ones = call.prim(lambda output: linalg.fill(1, output), [], [mask])
    return [call.operands[0], *ones]
