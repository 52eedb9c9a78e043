# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tir dialect. Its operators are in this folder's other files, by family.

It has what tensor programs say elementwise in addition to `arith`: C's math.h, numpy's elementwise functions, TIR's
own intrinsics. They stay abstract until a target lowers them, so what upstream's `math` has is here too.
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
