# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating-point functions of two and three operands, one per line."""

from __future__ import annotations

from .dialect import X1_X2, X1_X2_X3, op
from .infer import float_and_int, same_float, scaled

# ---- powers, angles, distances ----
op("pow", X1_X2, infer=same_float, doc="x1 to the power of x2.")
op("atan2", X1_X2, infer=same_float, doc="Angle of the point (x2, x1).")
op("hypot", X1_X2, infer=same_float, doc="sqrt(x1**2 + x2**2), without overflow.")
op("logaddexp", X1_X2, infer=same_float, doc="log(exp(x1) + exp(x2)), without overflow.")
op("logaddexp2", X1_X2, infer=same_float, doc="log2(2**x1 + 2**x2), without overflow.")
op("heaviside", X1_X2, infer=same_float, short=True, doc="0 where x1 < 0, x2 where x1 is 0, else 1; NaN for NaN.")

# ---- remainders (n is the integer nearest to x1 / x2, halves to even) ----
op("fmod", X1_X2, infer=same_float, doc="Remainder of x1 / x2 with the sign of x1.")
op("remainder", X1_X2, infer=same_float, doc="x1 - n * x2, n nearest to x1 / x2, as in C; numpy.remainder is floormod.")
op("remquo", X1_X2, results="remainder quotient", infer=float_and_int,
   doc="remainder(x1, x2), and the sign and three or more low bits of its n, as an i32.")  # fmt: skip

# ---- minimum, maximum, difference ----
op("fmin", X1_X2, infer=same_float, short=True, doc="Minimum; ignores a NaN operand.")
op("fmax", X1_X2, infer=same_float, short=True, doc="Maximum; ignores a NaN operand.")
op("fdim", X1_X2, infer=same_float, short=True, doc="max(x1 - x2, 0); NaN for NaN.")

# ---- parts of the representation ----
op("copysign", X1_X2, infer=same_float, short=True, doc="Magnitude of x1 with the sign of x2.")
op("nextafter", X1_X2, infer=same_float, doc="Next number after x1 in the direction of x2.")
op("ldexp", X1_X2, infer=scaled, doc="x1 * 2**x2 for an integer x2.")
op("scalbn", X1_X2, infer=scaled, doc="x1 * radix**x2 for an integer x2; the radix is 2.")

# ---- three operands ----
op("fma", X1_X2_X3, infer=same_float, short=True, doc="x1 * x2 + x3, rounded once.")
