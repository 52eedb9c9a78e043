# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators as loops over scalars; functions like exp stay intrinsics for the target to lower."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dialects.core.infos import bit_width, is_float, is_unsigned
from ...dialects.tir import dialect as tir
from ...emit import scalar
from ...emit.conversions import convert_scalar, element
from ...emit.loops import repeat_while
from ...emit.numbers import number
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize

# relax's operators on floats that are an intrinsic of tir, by name.
_INTRINSICS = {
    **{name: name for name in "acos acosh asin asinh atan atanh cos cosh sin sinh tan tanh exp log erf".split()},
    **{name: name for name in "sigmoid sqrt rsqrt".split()},
}
# Rounding: integers are round already. relax rounds halves to even.
_ROUNDINGS = {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "round": "roundeven"}
_PREDICATES = ("isfinite", "isinf", "isnan")
_ARITHMETIC: dict[str, Callable[[Any, Any, str], Any]] = {
    "add": scalar.add,
    "subtract": scalar.subtract,
    "multiply": scalar.multiply,
    "divide": scalar.divide,
    "floor_divide": scalar.floor_divide,
    "mod": scalar.remainder,
    "floor_mod": scalar.floor_remainder,
    "maximum": scalar.maximum,
    "minimum": scalar.minimum,
}
_COMPARISONS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_BITS = {
    **{f"{kind}_{name}": f"arith.{name}i" for kind in ("logical", "bitwise") for name in ("and", "or", "xor")},
}


@register_legalize([f"relax.{name}" for name in _INTRINSICS])
def intrinsic(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    name = _INTRINSICS[op.definition.name]
    return builder.elementwise(tir.ops[name])


@register_legalize([f"relax.{name}" for name in _ROUNDINGS])
def rounding(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    name = _ROUNDINGS[op.definition.name]
    return builder.elementwise(tir.ops[name]) if is_float(builder.dtype(operands[0])) else operands[0]


@register_legalize([f"relax.{name}" for name in _PREDICATES])
def predicate(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    if is_float(builder.dtype(operands[0])):
        return builder.elementwise(tir.ops[op.definition.name])
    always = op.definition.name == "isfinite"
    return builder.elementwise(lambda x: scalar.constant(always, element(builder.result_dtype())))


@register_legalize([f"relax.{name}" for name in _ARITHMETIC])
def arithmetic(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    compute, dtype = _ARITHMETIC[op.definition.name], builder.dtype(operands[0])
    return builder.elementwise(lambda x, y: compute(x, y, dtype))


@register_legalize([f"relax.{name}" for name in _COMPARISONS])
def comparison(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    sign, dtype = _COMPARISONS[op.definition.name], builder.dtype(operands[0])
    return builder.elementwise(lambda x, y: scalar.compare(sign, x, y, dtype))


@register_legalize([f"relax.{name}" for name in _BITS])
def bits(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    name = _BITS[op.definition.name]
    return builder.elementwise(lambda x, y: scalar.create(name, x, y))


@register_legalize(["relax.bitwise_not", "relax.logical_not"])
def inverted(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    return builder.elementwise(lambda x: scalar.create("arith.xori", x, scalar.constant(-1, x.type)))


@register_legalize("relax.negative")
def negative(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    if is_float(builder.dtype(operands[0])):
        return builder.elementwise(lambda x: scalar.create("arith.negf", x))
    return builder.elementwise(lambda x: scalar.create("arith.subi", scalar.constant(0, x.type), x))


@register_legalize("relax.square")
def square(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    dtype = builder.dtype(operands[0])
    return builder.elementwise(lambda x: scalar.multiply(x, x, dtype))


@register_legalize("relax.abs")
def absolute(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    dtype = builder.dtype(operands[0])
    if is_unsigned(dtype):
        return operands[0]
    if is_float(dtype):
        return builder.elementwise(tir.ops["fabs"])
    zero = lambda x: scalar.constant(0, x.type)  # noqa: E731
    return builder.elementwise(lambda x: scalar.maximum(x, scalar.create("arith.subi", zero(x), x), dtype))


@register_legalize("relax.ewise_fma")
def fused_multiply_add(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    dtype = builder.dtype(operands[0])
    if is_float(dtype):
        return builder.elementwise(tir.ops["fma"])
    return builder.elementwise(lambda x, y, z: scalar.add(scalar.multiply(x, y, dtype), z, dtype))


@register_legalize("relax.sign")
def sign(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    if not is_unsigned(builder.dtype(operands[0])):
        return builder.elementwise(tir.ops["sign"])
    one = lambda x: scalar.constant(1, x.type)  # noqa: E731
    return builder.elementwise(lambda x: scalar.create("arith.minui", x, one(x)))


@register_legalize(["relax.left_shift", "relax.right_shift"])
def shift(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    """As numpy: by an amount that is negative or the width and more, every bit is shifted out."""
    dtype = builder.dtype(operands[0])
    leftward = op.definition.name == "left_shift"
    name = "arith.shli" if leftward else "arith.shrui" if is_unsigned(dtype) else "arith.shrsi"

    def body(x: Any, amount: Any) -> Any:
        most = scalar.constant(bit_width(dtype) - 1, x.type)
        # Without sign, for which negative amounts are large.
        inside = scalar.create("arith.minui", amount, most)
        moved = scalar.create(name, x, inside)
        if name == "arith.shrsi":
            return moved
        is_within = number(amount).unsigned("<=", number(most)).value
        return scalar.select(is_within, moved, scalar.constant(0, x.type))

    return builder.elementwise(body)


@register_legalize("relax.power")
def power(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    """Integers wrap around. An integer to a negative power, which numpy refuses, is 1 / x**-n rounded towards zero:
    0 but for 1 and -1, and for 0 too, as any integer divided by 0 is."""
    dtype = builder.dtype(operands[0])
    if is_float(dtype):
        return builder.elementwise(tir.ops["pow"])
    return builder.elementwise(lambda x, n: _integer_power(x, n, dtype))


def _integer_power(x: Any, n: Any, dtype: str) -> Any:
    zero, one = scalar.constant(0, x.type), scalar.constant(1, x.type)
    if is_unsigned(dtype):
        return _power_by_squaring(x, n)
    is_negative = scalar.compare("<", n, zero, dtype)
    # Of 1 and -1 only the last bit matters.
    exponent = scalar.select(is_negative, scalar.create("arith.andi", n, one), n)
    units = [scalar.compare("==", x, scalar.constant(value, x.type), dtype) for value in (1, -1)]
    is_fraction = scalar.create("arith.andi", is_negative, scalar.inverted(scalar.create("arith.ori", *units)))
    return scalar.select(is_fraction, zero, _power_by_squaring(x, exponent))


def _power_by_squaring(x: Any, n: Any) -> Any:
    zero, one = scalar.constant(0, x.type), scalar.constant(1, x.type)

    def step(result: Any, square: Any, left: Any) -> list[Any]:
        is_odd = scalar.compare("!=", scalar.create("arith.andi", left, one), zero, "i64")
        result = scalar.select(is_odd, scalar.create("arith.muli", result, square), result)
        return [result, scalar.create("arith.muli", square, square), scalar.create("arith.shrui", left, one)]

    is_left = lambda result, square, left: scalar.compare("!=", left, zero, "i64")  # noqa: E731
    return repeat_while([one, x, n], is_left, step)[0]


_FLOAT_FUNCTIONS = {"atan2": "atan2", "log_add_exp": "logaddexp"}


@register_legalize([f"relax.{name}" for name in _FLOAT_FUNCTIONS])
def float_function(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    """Of integers the result in f64, towards zero."""
    dtype, function = builder.dtype(operands[0]), tir.ops[_FLOAT_FUNCTIONS[op.definition.name]]
    if is_float(dtype):
        return builder.elementwise(function)

    def body(x: Any, y: Any) -> Any:
        result = function(*(convert_scalar(value, dtype, "f64") for value in (x, y)))
        return convert_scalar(result, "f64", dtype)

    return builder.elementwise(body)
