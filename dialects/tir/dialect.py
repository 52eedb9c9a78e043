# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dialect tir.

Its operators are in this folder's other files, by family.

The dialect supplements `arith` with elementwise operations: C's math.h, NumPy's elementwise functions, TIR's own
intrinsics. The operations stay abstract until a target lowers them, so the dialect also covers upstream's `math`.
Integers without a sign in their type (i32) are signed, as in C; `ui32` is unsigned.
"""

from __future__ import annotations

from ..core.dialect import Dialect

tir = Dialect("tir", doc="Intrinsics on scalars and vectors, and calls to external functions, in tensor programs.")
op = tir.op

# Operands of most intrinsics: scalars or vectors of numbers.
X = "x:elementwise"
X1_X2 = "x1:elementwise x2:elementwise"
X1_X2_X3 = "x1:elementwise x2:elementwise x3:elementwise"
