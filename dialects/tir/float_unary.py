# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating-point functions of one operand, one per line."""

from __future__ import annotations

from ..core.attributes import DType
from .dialect import X, op
from .infer import exponent_of, float_and_int, float_to_int, same_float, two_floats

# ---- trigonometry ----
op("acos", X, infer=same_float, doc="Inverse cosine.")
op("acosh", X, infer=same_float, doc="Inverse hyperbolic cosine.")
op("asin", X, infer=same_float, doc="Inverse sine.")
op("asinh", X, infer=same_float, doc="Inverse hyperbolic sine.")
op("atan", X, infer=same_float, doc="Inverse tangent.")
op("atanh", X, infer=same_float, doc="Inverse hyperbolic tangent.")
op("cos", X, infer=same_float, doc="Cosine.")
op("cosh", X, infer=same_float, doc="Hyperbolic cosine.")
op("cospi", X, infer=same_float, doc="cos(pi * x).")
op("sin", X, infer=same_float, doc="Sine.")
op("sinh", X, infer=same_float, doc="Hyperbolic sine.")
op("sinpi", X, infer=same_float, doc="sin(pi * x).")
op("sinc", X, infer=same_float, doc="sin(pi * x) / (pi * x), and 1 at 0.")
op("tan", X, infer=same_float, doc="Tangent.")
op("tanh", X, infer=same_float, doc="Hyperbolic tangent.")
op("tanpi", X, infer=same_float, doc="tan(pi * x).")
op("deg2rad", X, infer=same_float, short=True, doc="Converts degrees to radians.")
op("rad2deg", X, infer=same_float, short=True, doc="Converts radians to degrees.")

# ---- exponentials, logarithms, roots ----
op("exp", X, infer=same_float, doc="e to the power of x.")
op("exp2", X, infer=same_float, doc="2 to the power of x.")
op("exp10", X, infer=same_float, doc="10 to the power of x.")
op("exp_below", X, infer=same_float,
   doc="exp(x) for x <= 0, with 0 for subnormal results; for softmax.")  # fmt: skip
op("expm1", X, infer=same_float, doc="exp(x) - 1, accurate near 0.")
op("log", X, infer=same_float, doc="Natural logarithm.")
op("log2", X, infer=same_float, doc="Logarithm to base 2.")
op("log10", X, infer=same_float, doc="Logarithm to base 10.")
op("log1p", X, infer=same_float, doc="log(1 + x), accurate near 0.")
op("sqrt", X, infer=same_float, short=True, doc="Square root.")
op("rsqrt", X, infer=same_float, doc="1 / sqrt(x).")
op("cbrt", X, infer=same_float, doc="Cube root.")
op("reciprocal", X, infer=same_float, short=True, doc="1 / x.")

# ---- special functions ----
op("erf", X, infer=same_float, doc="Error function.")
op("erfc", X, infer=same_float, doc="1 - erf(x), accurate where erf(x) is near 1.")
op("tgamma", X, infer=same_float, doc="Gamma function.")
op("lgamma", X, infer=same_float, doc="Logarithm of the absolute value of the gamma function.")
op("i0", X, infer=same_float, doc="Modified Bessel function of the first kind, order 0.")
op("sigmoid", X, infer=same_float, doc="1 / (1 + exp(-x)).")

# ---- rounding ----
op("ceil", X, infer=same_float, short=True, doc="Smallest integer >= x.")
op("floor", X, infer=same_float, short=True, doc="Largest integer <= x.")
op("trunc", X, infer=same_float, short=True, doc="Integer part of x.")
op("round", X, infer=same_float, short=True,
   doc="Nearest integer; ties to even, unlike C's round.")  # fmt: skip
op("roundeven", X, infer=same_float, short=True, doc="Nearest integer; ties to even.")
op("rint", X, infer=same_float, short=True, doc="x rounded in the current rounding mode; sets the inexact flag.")
op("nearbyint", X, infer=same_float, short=True, doc="x rounded in the current rounding mode.")
op("lround", X, attrs={"dtype": DType("i64")}, infer=float_to_int,
   doc="Nearest integer, as an integer type; ties away from zero.")  # fmt: skip
op("lrint", X, attrs={"dtype": DType("i64")}, infer=float_to_int,
   doc="x rounded in the current rounding mode, as an integer type.")  # fmt: skip

# ---- parts of the representation ----
op("fabs", X, infer=same_float, short=True, doc="Absolute value.")
op("logb", X, infer=same_float, doc="Exponent of x, as a float.")
op("ilogb", X, infer=exponent_of, doc="Exponent of x, as an i32.")
op("spacing", X, infer=same_float, doc="Distance from x to the next number away from zero.")
op("frexp", X, results="mantissa exponent", infer=float_and_int,
   doc="x = mantissa * 2**exponent, with |mantissa| in [0.5, 1) and an i32 exponent.")  # fmt: skip
op("modf", X, results="fraction integral", infer=two_floats,
   doc="x = fraction + integral, both with the sign of x.")  # fmt: skip
