# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of floats and integers, one per line."""

from __future__ import annotations

from .dialect import X1_X2, X, op
from .infer import same_number

op("abs", X, infer=same_number, short=True, doc="Absolute value; the lowest signed integer maps to itself.")
op("sign", X, infer=same_number, short=True, doc="Sign of x: -1, 0 or 1; NaN for NaN.")
op("square", X, infer=same_number, short=True, doc="x * x.")
op("floordiv", X1_X2, infer=same_number, short=True, doc="x1 / x2, rounded down.")
op("floormod", X1_X2, infer=same_number, short=True, doc="Remainder of x1 / x2 with the sign of x2.")
op("clip", "x:elementwise min:elementwise max:elementwise", infer=same_number, short=True,
   doc="Limits x to [min, max].")  # fmt: skip
