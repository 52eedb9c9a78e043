# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators: one line each."""

from __future__ import annotations

from collections.abc import Callable

from ..core.infos import TensorInfo
from ..core.opdef import Call
from .dialect import op
from .infer.broadcast import broadcast_shapes
from .infer.dtypes import check_dtype, check_same_dtype
from .infer.sizes import same_shape


def unary(*classes: str) -> Callable[[Call], TensorInfo]:
    """The result is like the one operand, which must have elements of these classes."""

    def infer(call: Call) -> TensorInfo:
        name = call.definition.operands[0].name
        check_dtype(call, name, *classes)
        return call.operands[name]

    return infer


float_unary = unary("float")
numeric_unary = unary("float", "int")


def predicate(call: Call) -> TensorInfo:
    return numeric_unary(call).with_dtype("i1")


def binary(*classes: str, result: str = "") -> Callable[[Call], TensorInfo]:
    """Two operands x1, x2 of one element type, broadcast; the result has that type or `result`."""

    def infer(call: Call) -> TensorInfo:
        check_dtype(call, "x1", *classes)
        check_same_dtype(call, "x1", "x2")
        shape = broadcast_shapes(call, ("x1", "x2"), (call.x1.shape, call.x2.shape))
        return TensorInfo(shape, result or call.x1.dtype)

    return infer


arithmetic = binary("float", "int")
comparison = binary("float", "int", "bool", result="i1")
logical = binary("bool")
bitwise = binary("int", "bool")
shift = binary("int")


def ternary(call: Call) -> TensorInfo:
    check_dtype(call, "x1", "float", "int")
    check_same_dtype(call, "x1", "x2", "x3")
    shape = call.x1.shape
    for name in ("x2", "x3"):
        shape = same_shape(call, name, shape, "the shape of the operands before it")
    return TensorInfo(shape, call.x1.dtype)


# ---- one operand ----
op("abs", "x", infer=numeric_unary, doc="Absolute value.")
op("negative", "x", infer=numeric_unary, doc="-x.")
op("sign", "x", infer=numeric_unary, doc="-1, 0 or 1 by the sign of x.")
op("square", "x", infer=numeric_unary, doc="x * x.")
op("ceil", "x", infer=numeric_unary, doc="The smallest integer not below x.")
op("floor", "x", infer=numeric_unary, doc="The largest integer not above x.")
op("round", "x", infer=numeric_unary, doc="The nearest integer, halves to even.")
op("trunc", "x", infer=numeric_unary, doc="x without its fraction.")
op("acos", "x", infer=float_unary, doc="Inverse cosine.")
op("acosh", "x", infer=float_unary, doc="Inverse hyperbolic cosine.")
op("asin", "x", infer=float_unary, doc="Inverse sine.")
op("asinh", "x", infer=float_unary, doc="Inverse hyperbolic sine.")
op("atan", "x", infer=float_unary, doc="Inverse tangent.")
op("atanh", "x", infer=float_unary, doc="Inverse hyperbolic tangent.")
op("cos", "x", infer=float_unary, doc="Cosine.")
op("cosh", "x", infer=float_unary, doc="Hyperbolic cosine.")
op("sin", "x", infer=float_unary, doc="Sine.")
op("sinh", "x", infer=float_unary, doc="Hyperbolic sine.")
op("tan", "x", infer=float_unary, doc="Tangent.")
op("tanh", "x", infer=float_unary, doc="Hyperbolic tangent.")
op("exp", "x", infer=float_unary, doc="e to the power of x.")
op("log", "x", infer=float_unary, doc="Natural logarithm.")
op("erf", "x", infer=float_unary, doc="The error function.")
op("sigmoid", "x", infer=float_unary, doc="1 / (1 + exp(-x)).")
op("sqrt", "x", infer=float_unary, doc="Square root.")
op("rsqrt", "x", infer=float_unary, doc="1 / sqrt(x).")
op("bitwise_not", "x", infer=unary("int", "bool"), doc="Every bit inverted.")
op("logical_not", "x", infer=unary("bool"), doc="True where x is false.")
op("isfinite", "x", infer=predicate, doc="True where x is neither infinite nor NaN.")
op("isinf", "x", infer=predicate, doc="True where x is infinite.")
op("isnan", "x", infer=predicate, doc="True where x is NaN.")

# ---- two operands, broadcast ----
op("add", "x1 x2", infer=arithmetic, doc="x1 + x2.")
op("subtract", "x1 x2", infer=arithmetic, doc="x1 - x2.")
op("multiply", "x1 x2", infer=arithmetic, doc="x1 * x2.")
op("divide", "x1 x2", infer=arithmetic, doc="x1 / x2; integers round towards zero.")
op("floor_divide", "x1 x2", infer=arithmetic, doc="x1 / x2, rounded down.")
op("mod", "x1 x2", infer=arithmetic, doc="The remainder of x1 / x2 with the sign of x1.")
op("floor_mod", "x1 x2", infer=arithmetic, doc="The remainder of x1 / x2 with the sign of x2.")
op("power", "x1 x2", infer=arithmetic, doc="x1 to the power of x2.")
op("maximum", "x1 x2", infer=arithmetic, doc="The larger of both.")
op("minimum", "x1 x2", infer=arithmetic, doc="The smaller of both.")
op("atan2", "x1 x2", infer=arithmetic, doc="The angle of the point (x2, x1).")
op("log_add_exp", "x1 x2", infer=arithmetic, doc="log(exp(x1) + exp(x2)), without overflow.")
op("equal", "x1 x2", infer=comparison, doc="True where x1 == x2.")
op("not_equal", "x1 x2", infer=comparison, doc="True where x1 != x2.")
op("less", "x1 x2", infer=comparison, doc="True where x1 < x2.")
op("less_equal", "x1 x2", infer=comparison, doc="True where x1 <= x2.")
op("greater", "x1 x2", infer=comparison, doc="True where x1 > x2.")
op("greater_equal", "x1 x2", infer=comparison, doc="True where x1 >= x2.")
op("logical_and", "x1 x2", infer=logical, doc="True where both are.")
op("logical_or", "x1 x2", infer=logical, doc="True where either is.")
op("logical_xor", "x1 x2", infer=logical, doc="True where exactly one is.")
op("bitwise_and", "x1 x2", infer=bitwise, doc="The bits set in both.")
op("bitwise_or", "x1 x2", infer=bitwise, doc="The bits set in either.")
op("bitwise_xor", "x1 x2", infer=bitwise, doc="The bits set in exactly one.")
op("left_shift", "x1 x2", infer=shift, doc="x1 shifted left by x2 bits.")
op("right_shift", "x1 x2", infer=shift, doc="x1 shifted right by x2 bits, arithmetically where signed.")

# ---- three operands ----
op("ewise_fma", "x1 x2 x3", infer=ternary, doc="x1 * x2 + x3, rounded once; no broadcasting.")
