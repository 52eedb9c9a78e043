# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators as loops over scalars; functions like exp stay intrinsics for the target to lower."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dialects.core.infos import is_float, is_unsigned
from ...dialects.tir import dialect as tir
from ...passes.legalize import scalar
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


def _dtype(builder: RuleBuilder) -> str:
    """The element type of the first operand, signed or not."""
    return str(builder.info(builder.operands[0]).dtype)  # type: ignore[union-attr]


@register_legalize([f"relax.{name}" for name in _INTRINSICS])
def intrinsic(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    name = _INTRINSICS[op.definition.name]
    return builder.elementwise(tir.ops[name])


@register_legalize([f"relax.{name}" for name in _ROUNDINGS])
def rounding(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    name = _ROUNDINGS[op.definition.name]
    return builder.elementwise(tir.ops[name]) if is_float(_dtype(builder)) else operands[0]


@register_legalize([f"relax.{name}" for name in _PREDICATES])
def predicate(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    if is_float(_dtype(builder)):
        return builder.elementwise(tir.ops[op.definition.name])
    always = op.definition.name == "isfinite"
    return builder.elementwise(lambda x: scalar.constant(always, builder.result_element))


@register_legalize([f"relax.{name}" for name in _ARITHMETIC])
def arithmetic(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    compute, dtype = _ARITHMETIC[op.definition.name], _dtype(builder)
    return builder.elementwise(lambda x, y: compute(x, y, dtype))


@register_legalize([f"relax.{name}" for name in _COMPARISONS])
def comparison(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    sign, dtype = _COMPARISONS[op.definition.name], _dtype(builder)
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
    if is_float(_dtype(builder)):
        return builder.elementwise(lambda x: scalar.create("arith.negf", x))
    return builder.elementwise(lambda x: scalar.create("arith.subi", scalar.constant(0, x.type), x))


@register_legalize("relax.square")
def square(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    dtype = _dtype(builder)
    return builder.elementwise(lambda x: scalar.multiply(x, x, dtype))


@register_legalize("relax.abs")
def absolute(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    dtype = _dtype(builder)
    if is_unsigned(dtype):
        return operands[0]
    if is_float(dtype):
        return builder.elementwise(tir.ops["fabs"])
    zero = lambda x: scalar.constant(0, x.type)  # noqa: E731
    return builder.elementwise(lambda x: scalar.maximum(x, scalar.create("arith.subi", zero(x), x), dtype))


@register_legalize("relax.ewise_fma")
def fused_multiply_add(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    dtype = _dtype(builder)
    if is_float(dtype):
        return builder.elementwise(tir.ops["fma"])
    return builder.elementwise(lambda x, y, z: scalar.add(scalar.multiply(x, y, dtype), z, dtype))


@register_legalize(["relax.power", "relax.atan2"])
def binary_intrinsic(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    if not is_float(_dtype(builder)):
        return builder.decline("only floats are legalized; convert with relax.astype")
    return builder.elementwise(tir.ops["pow" if op.definition.name == "power" else "atan2"])
