# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits the arithmetic of affine expressions, where an affine map cannot stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..bindings.mlir import ir
from . import linalg, scalar


def affine_value(expression: Any, dim: Callable[[int], Any]) -> Any:
    """The index that an affine expression without symbols gives, of dimensions `dim(n)`; divisors are positive."""
    expression = expression.maybe_downcast()
    if isinstance(expression, ir.AffineConstantExpr):
        return linalg.constant_index(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return dim(expression.position)
    left, right = affine_value(expression.lhs, dim), affine_value(expression.rhs, dim)
    if isinstance(expression, ir.AffineAddExpr):
        return scalar.add(left, right, "index")
    if isinstance(expression, ir.AffineMulExpr):
        return scalar.multiply(left, right, "index")
    if isinstance(expression, ir.AffineFloorDivExpr):
        return scalar.create("arith.floordivsi", left, right)
    if isinstance(expression, ir.AffineCeilDivExpr):
        return scalar.create("arith.ceildivsi", left, right)
    # Neither negative nor as large as the divisor, whatever the sign.
    quotient = scalar.create("arith.floordivsi", left, right)
    return scalar.subtract(left, scalar.multiply(quotient, right, "index"), "index")
