# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating-point intrinsics with exact lowerings to arith and math, for every target."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from ...bindings.ir import OpView, Type
from ...bindings.mlir import ir
from ...emit.arithmetic import convert
from ...emit.numbers import Number, fma, intrinsic, numbers, operation, select, unary
from ...passes.kernels.intrinsics.registry import register_legalize_intrinsic, register_lower_intrinsic

# Formulas with more than one rounding need at least f32.
WIDE = ("f32", "f64")

# ---- single operations ----
_DIRECT = {
    "tir.sqrt": "math.sqrt",
    "tir.ceil": "math.ceil",
    "tir.floor": "math.floor",
    "tir.trunc": "math.trunc",
    "tir.round": "math.roundeven",
    "tir.roundeven": "math.roundeven",
    # The rounding mode is always to nearest, and exceptions are ignored.
    "tir.rint": "math.roundeven",
    "tir.nearbyint": "math.roundeven",
    "tir.fma": "math.fma",
    "tir.copysign": "math.copysign",
    "tir.fmod": "arith.remf",
}


@register_lower_intrinsic(sorted(_DIRECT), dtypes=WIDE)
def direct(op: OpView) -> Number:
    operands = numbers(op)
    return operation(_DIRECT[op.operation.name], operands, operands[0].type)


@register_lower_intrinsic("tir.fabs")
def fabs(op: OpView) -> Number:
    return unary("math.absf", *numbers(op))


# ---- arithmetic ----
def formula(name: str, dtypes: tuple[str, ...] = WIDE) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register a function of the operands as the formula of an intrinsic, for all targets."""

    def register(function: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(function)  # the location of the rule is that of the function
        def rule(op: OpView) -> object:
            return function(*numbers(op))

        register_legalize_intrinsic(name, dtypes=dtypes)(rule)
        return function

    return register


_FORMULAS: dict[str, Callable[..., Number]] = {
    "tir.rsqrt": lambda x: 1.0 / unary("math.sqrt", x),
    "tir.reciprocal": lambda x: 1.0 / x,
    "tir.deg2rad": lambda x: x * (math.pi / 180),
    "tir.rad2deg": lambda x: x * (180 / math.pi),
    "tir.fdim": lambda x, y: select(x <= y, 0.0, x - y),
    "tir.tan": lambda x: intrinsic("sin", x) / intrinsic("cos", x),
    "tir.exp_below": lambda x: intrinsic("exp", x),
    "tir.exp10": lambda x: intrinsic("pow", x.constant(10.0), x),
}
#: Formulas without rounding.
_EXACT: dict[str, Callable[..., Number]] = {
    "tir.fmin": lambda x, y: select((x < y) | (y != y), x, y),
    "tir.fmax": lambda x, y: select((x > y) | (y != y), x, y),
    "tir.isnan": lambda x: x != x,
    "tir.isinf": lambda x: unary("math.absf", x) == math.inf,
    "tir.isfinite": lambda x: unary("math.absf", x) < math.inf,
    "tir.isposinf": lambda x: x == math.inf,
    "tir.isneginf": lambda x: x == -math.inf,
}


@register_legalize_intrinsic(sorted(_FORMULAS), dtypes=WIDE)
def arithmetic(op: OpView) -> Number:
    return _FORMULAS[op.operation.name](*numbers(op))


@register_legalize_intrinsic(sorted(_EXACT))
def exact(op: OpView) -> Number:
    return _EXACT[op.operation.name](*numbers(op))


@formula("tir.heaviside")
def heaviside(x: Number, y: Number) -> Number:
    step = select(x < 0.0, x.constant(0.0), 1.0)
    return select(x == 0.0, y, select(x == x, step, x))


@formula("tir.sigmoid")
def sigmoid(x: Number) -> Number:
    """Return 1 / (1 + exp(-x)) in a form in which exp does not overflow."""
    e = intrinsic("exp", -unary("math.absf", x))
    return select(x < 0.0, e, 1.0) / (e + 1.0)


@formula("tir.hypot")
def hypot(x: Number, y: Number) -> Number:
    """Return sqrt(x**2 + y**2). The larger operand is factored out of the root, so that no square overflows."""
    a, b = unary("math.absf", x), unary("math.absf", y)
    larger, smaller = select(a > b, a, b), select(a > b, b, a)
    ratio = smaller / larger
    length = larger * unary("math.sqrt", fma(ratio, ratio, 1.0))
    # The sum is the correct result for two zeros, and for zero and NaN.
    length = select((a == 0.0) | (b == 0.0), a + b, length)
    return select((a == math.inf) | (b == math.inf), math.inf, length)


@register_legalize_intrinsic("tir.modf", dtypes=WIDE)
def modf(op: OpView) -> list[Number]:
    (x,) = numbers(op)
    whole = unary("math.trunc", x)
    fraction = select(unary("math.absf", x) == math.inf, 0.0, x - whole)
    return [operation("math.copysign", [fraction, x], x.type), whole]


@register_legalize_intrinsic(["tir.lround", "tir.lrint"], dtypes=WIDE)
def rounded_to_integer(op: OpView) -> Number:
    (x,) = numbers(op)
    name = "math.round" if op.operation.name == "tir.lround" else "math.roundeven"
    return to_integer(unary(name, x), op.operation.results[0].type)


def to_integer(x: Number, type_: Type) -> Number:
    element = getattr(type_, "element_type", type_)
    if (text := str(element)) == "index":
        return convert("arith.index_cast", convert("arith.fptosi", x, _signless(64)), element)
    if text.startswith("ui"):
        unsigned = convert("arith.fptoui", x, _signless(element.width))
        return operation("builtin.unrealized_conversion_cast", [unsigned], type_)
    return convert("arith.fptosi", x, element)


def _signless(width: int) -> Type:
    return ir.IntegerType.get_signless(width)


@register_legalize_intrinsic("tir.remquo", dtypes=WIDE)
def remquo(op: OpView) -> list[Number]:
    """Return the remainder and the quotient's low bits, from the remainder by 8 * y."""
    x, y = numbers(op)
    rest = intrinsic("remainder", x, y)
    eightfold = operation("arith.remf", [x, y * 8.0], x.type)
    # 8 * y may overflow. Then the quotient is below 8. If x is infinite as well, the result is NaN.
    quotient = unary("math.roundeven", (eightfold - rest) / y)
    i32 = _signless(32)
    is_number = quotient == quotient
    return [rest, convert("arith.fptosi", select(is_number, quotient, 0.0), i32)]
