# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators, one per line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..core.infos import TensorInfo
from ..core.opdef import Call
from .dialect import broadcast_op, elementwise_op
from .infer.broadcast import broadcast_shapes
from .infer.dtypes import check_dtype, check_same_dtype
from .infer.sizes import same_shape


def unary(*classes: str) -> Callable[[Call], TensorInfo]:
    """Return an inference function for one operand of these classes, with a result like the operand."""

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
    """Return an inference function for operands x1, x2 of one element type, broadcast.

    The result has that type or `result`.
    """

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
elementwise_op("abs", "x", infer=numeric_unary, doc="Absolute value.")
elementwise_op("negative", "x", infer=numeric_unary, doc="-x.")
elementwise_op("sign", "x", infer=numeric_unary, doc="Sign of x: -1, 0 or 1.")
elementwise_op("square", "x", infer=numeric_unary, doc="x * x.")
elementwise_op("ceil", "x", infer=numeric_unary, doc="Smallest integer >= x.")
elementwise_op("floor", "x", infer=numeric_unary, doc="Largest integer <= x.")
elementwise_op("round", "x", infer=numeric_unary, doc="Nearest integer; ties to even.")
elementwise_op("trunc", "x", infer=numeric_unary, doc="Integer part of x.")
elementwise_op("acos", "x", infer=float_unary, doc="Inverse cosine.")
elementwise_op("acosh", "x", infer=float_unary, doc="Inverse hyperbolic cosine.")
elementwise_op("asin", "x", infer=float_unary, doc="Inverse sine.")
elementwise_op("asinh", "x", infer=float_unary, doc="Inverse hyperbolic sine.")
elementwise_op("atan", "x", infer=float_unary, doc="Inverse tangent.")
elementwise_op("atanh", "x", infer=float_unary, doc="Inverse hyperbolic tangent.")
elementwise_op("cos", "x", infer=float_unary, doc="Cosine.")
elementwise_op("cosh", "x", infer=float_unary, doc="Hyperbolic cosine.")
elementwise_op("sin", "x", infer=float_unary, doc="Sine.")
elementwise_op("sinh", "x", infer=float_unary, doc="Hyperbolic sine.")
elementwise_op("tan", "x", infer=float_unary, doc="Tangent.")
elementwise_op("tanh", "x", infer=float_unary, doc="Hyperbolic tangent.")
elementwise_op("exp", "x", infer=float_unary, doc="e to the power of x.")
elementwise_op("log", "x", infer=float_unary, doc="Natural logarithm.")
elementwise_op("erf", "x", infer=float_unary, doc="Error function.")
elementwise_op("sigmoid", "x", infer=float_unary, doc="1 / (1 + exp(-x)).")
elementwise_op("sqrt", "x", infer=float_unary, doc="Square root.")
elementwise_op("rsqrt", "x", infer=float_unary, doc="1 / sqrt(x).")
elementwise_op("bitwise_not", "x", infer=unary("int", "bool"), doc="Bitwise NOT.")
elementwise_op("logical_not", "x", infer=unary("bool"), doc="Logical NOT.")
elementwise_op("isfinite", "x", infer=predicate, doc="True where x is neither infinite nor NaN.")
elementwise_op("isinf", "x", infer=predicate, doc="True where x is infinite.")
elementwise_op("isnan", "x", infer=predicate, doc="True where x is NaN.")

# ---- two operands, broadcast ----
commutative_op = partial(broadcast_op, commutative=True)
commutative_op("add", "x1 x2", infer=arithmetic, doc="x1 + x2.")
broadcast_op("subtract", "x1 x2", infer=arithmetic, doc="x1 - x2.")
commutative_op("multiply", "x1 x2", infer=arithmetic, doc="x1 * x2.")
broadcast_op("divide", "x1 x2", infer=arithmetic, doc="x1 / x2; integers round toward zero.")
broadcast_op("floor_divide", "x1 x2", infer=arithmetic, doc="x1 / x2, rounded down.")
broadcast_op("mod", "x1 x2", infer=arithmetic, doc="Remainder of x1 / x2 with the sign of x1.")
broadcast_op("floor_mod", "x1 x2", infer=arithmetic, doc="Remainder of x1 / x2 with the sign of x2.")
broadcast_op("power", "x1 x2", infer=arithmetic, doc="x1 to the power of x2.")
commutative_op("maximum", "x1 x2", infer=arithmetic, doc="Elementwise maximum.")
commutative_op("minimum", "x1 x2", infer=arithmetic, doc="Elementwise minimum.")
broadcast_op("atan2", "x1 x2", infer=arithmetic, doc="Angle of the point (x2, x1).")
commutative_op("log_add_exp", "x1 x2", infer=arithmetic, doc="log(exp(x1) + exp(x2)), without overflow.")
commutative_op("equal", "x1 x2", infer=comparison, doc="True where x1 == x2.")
commutative_op("not_equal", "x1 x2", infer=comparison, doc="True where x1 != x2.")
broadcast_op("less", "x1 x2", infer=comparison, doc="True where x1 < x2.")
broadcast_op("less_equal", "x1 x2", infer=comparison, doc="True where x1 <= x2.")
broadcast_op("greater", "x1 x2", infer=comparison, doc="True where x1 > x2.")
broadcast_op("greater_equal", "x1 x2", infer=comparison, doc="True where x1 >= x2.")
commutative_op("logical_and", "x1 x2", infer=logical, doc="Logical AND.")
commutative_op("logical_or", "x1 x2", infer=logical, doc="Logical OR.")
commutative_op("logical_xor", "x1 x2", infer=logical, doc="Logical XOR.")
commutative_op("bitwise_and", "x1 x2", infer=bitwise, doc="Bitwise AND.")
commutative_op("bitwise_or", "x1 x2", infer=bitwise, doc="Bitwise OR.")
commutative_op("bitwise_xor", "x1 x2", infer=bitwise, doc="Bitwise XOR.")
broadcast_op("left_shift", "x1 x2", infer=shift, doc="x1 shifted left by x2 bits.")
broadcast_op("right_shift", "x1 x2", infer=shift, doc="x1 shifted right by x2 bits, arithmetically if signed.")

# ---- three operands ----
elementwise_op("ewise_fma", "x1 x2 x3", flops=2, infer=ternary, doc="x1 * x2 + x3, rounded once; no broadcasting.")
