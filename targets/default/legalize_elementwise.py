# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators as loops over scalars. Functions such as exp stay intrinsics, which the target lowers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial

from ...dialects.core.infos import is_float, is_unsigned
from ...emit.loops import repeat_while
from ...emit.numbers import (
    Number,
    constant,
    divide,
    floor_divide,
    floor_remainder,
    intrinsic,
    maximum,
    minimum,
    operation,
    remainder,
    select,
)
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


def _power(x: Number, n: Number) -> Number:
    """Return x**n. Integers wrap around.

    NumPy refuses negative powers of integers. Here they are 1 / x**-n rounded towards zero: 0 except for 1 and -1. For
    0 the result is 0, too, like any integer divided by 0.
    """
    if x.is_float:
        return intrinsic("pow", x, n)
    if x.is_unsigned:
        return _power_by_squaring(x, n)
    is_negative = n < 0
    # For 1 and -1 only the parity of the exponent matters.
    exponent = select(is_negative, n & 1, n)
    is_fraction = is_negative & ~((x == 1) | (x == -1))
    return select(is_fraction, 0, _power_by_squaring(x, exponent))


def _power_by_squaring(x: Number, n: Number) -> Number:
    def step(result: Number, square: Number, left: Number) -> list[Number]:
        result = select((left & 1) != 0, result * square, result)
        return [result, square * square, left.shift_right_unsigned(1)]

    return repeat_while([x.constant(1), x, n], lambda result, square, left: left != 0, step)[0]


# Operators of relax that are an intrinsic of tir for floats, by name.
_INTRINSICS = "acos acosh asin asinh atan atanh cos cosh sin sinh tan tanh exp log erf sigmoid sqrt rsqrt".split()
# Rounding operators. Integers stay unchanged. relax rounds halves to even.
_ROUNDINGS = {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "round": "roundeven"}
_PREDICATES = ("isfinite", "isinf", "isnan")
_OPERATORS: dict[str, Callable[..., Number]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": divide,
    "floor_divide": floor_divide,
    "mod": remainder,
    "floor_mod": floor_remainder,
    "maximum": maximum,
    "minimum": minimum,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "bitwise_not": operator.invert,
    "logical_not": operator.invert,
    "negative": operator.neg,
    "square": lambda x: x * x,
    "power": _power,
    "ewise_fma": lambda x, y, z: intrinsic("fma", x, y, z) if x.is_float else x * y + z,
    **{f"{kind}_and": operator.and_ for kind in ("logical", "bitwise")},
    **{f"{kind}_or": operator.or_ for kind in ("logical", "bitwise")},
    **{f"{kind}_xor": operator.xor for kind in ("logical", "bitwise")},
}


@register_legalize([f"relax.{name}" for name in _OPERATORS], by_types=True)
def arithmetic(call: LegalizeCall) -> Legalized:
    return call.elementwise(_OPERATORS[call.op.definition.name])


@register_legalize([f"relax.{name}" for name in _INTRINSICS], by_types=True)
def intrinsics(call: LegalizeCall) -> Legalized:
    return call.elementwise(partial(intrinsic, call.op.definition.name))


@register_legalize([f"relax.{name}" for name in _ROUNDINGS], by_types=True)
def rounding(call: LegalizeCall) -> Legalized:
    name = _ROUNDINGS[call.op.definition.name]
    return call.elementwise(partial(intrinsic, name)) if is_float(call.dtype(call.operands[0])) else call.operands[0]


@register_legalize([f"relax.{name}" for name in _PREDICATES], by_types=True)
def predicate(call: LegalizeCall) -> Legalized:
    if is_float(call.dtype(call.operands[0])):
        return call.elementwise(partial(intrinsic, call.op.definition.name))
    return call.elementwise(lambda x: constant(call.op.definition.name == "isfinite", call.result_dtype()))


@register_legalize("relax.abs", by_types=True)
def absolute(call: LegalizeCall) -> Legalized:
    dtype = call.dtype(call.operands[0])
    if is_unsigned(dtype):
        return call.operands[0]
    return call.elementwise(partial(intrinsic, "fabs") if is_float(dtype) else lambda x: maximum(x, -x))


@register_legalize("relax.sign", by_types=True)
def sign(call: LegalizeCall) -> Legalized:
    is_natural = is_unsigned(call.dtype(call.operands[0]))
    return call.elementwise(lambda x: minimum(x, 1) if is_natural else intrinsic("sign", x))


@register_legalize(["relax.left_shift", "relax.right_shift"], by_types=True)
def shift(call: LegalizeCall) -> Legalized:
    """Shift as in NumPy. A negative amount, or one of at least the width, shifts all bits out."""
    is_leftward = call.op.definition.name == "left_shift"

    def body(x: Number, amount: Number) -> Number:
        # As unsigned numbers, negative amounts are large.
        inside = operation("arith.minui", [amount, x.constant(x.bits - 1)], x.type)
        if not is_leftward and not x.is_unsigned:
            return x >> inside
        moved = x << inside if is_leftward else x >> inside
        return select(amount.unsigned("<=", x.bits - 1), moved, 0)

    return call.elementwise(body)


_FLOAT_FUNCTIONS = {"atan2": "atan2", "log_add_exp": "logaddexp"}


@register_legalize([f"relax.{name}" for name in _FLOAT_FUNCTIONS], by_types=True)
def float_function(call: LegalizeCall) -> Legalized:
    """Compute the function, for integers in f64 with truncation of the result."""
    dtype, function = call.dtype(call.operands[0]), partial(intrinsic, _FLOAT_FUNCTIONS[call.op.definition.name])
    if is_float(dtype):
        return call.elementwise(function)
    return call.elementwise(lambda x, y: function(x.to("f64"), y.to("f64")).to(dtype))
