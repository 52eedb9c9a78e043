# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits the arithmetic of affine expressions, where an affine map cannot stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..bindings.mlir import ir
from .numbers import Number, as_index, number, operation


def affine_value(expression: Any, dim: Callable[[int], Any]) -> Number:
    """The index that an affine expression without symbols gives, of dimensions `dim(n)`; divisors are positive."""
    expression = expression.maybe_downcast()
    if isinstance(expression, ir.AffineConstantExpr):
        return as_index(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return number(dim(expression.position))
    left, right = affine_value(expression.lhs, dim), affine_value(expression.rhs, dim)
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr):
        return left * right
    if isinstance(expression, ir.AffineCeilDivExpr):
        return operation("arith.ceildivsi", [left, right], left.type)
    quotient = operation("arith.floordivsi", [left, right], left.type)
    # A remainder is neither negative nor as large as the divisor, whatever the sign.
    return quotient if isinstance(expression, ir.AffineFloorDivExpr) else left - quotient * right
