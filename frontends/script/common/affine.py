# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Affine index expressions of both forms of scripts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ....bindings.ir import AffineExpr
from ....bindings.mlir import ir
from ....dialects.script.syntax import APPLIED, folded


def affine(
    node: ast.expr,
    operation: Callable[[ast.expr], tuple[str, Sequence[ast.expr]]],
    leaf: Callable[[ast.expr], AffineExpr | None],
) -> AffineExpr | None:
    """Return an affine expression, with `leaf` for names and numbers; None if it is not affine."""
    return folded(node, operation, leaf, _computed)


def _computed(sign: str, parts: Sequence[AffineExpr]) -> AffineExpr | None:
    if len(parts) == 1:
        return parts[0] * -1 if sign == "-" else None
    left, right = parts[0], parts[-1]
    is_number = [isinstance(each.maybe_downcast(), ir.AffineConstantExpr) for each in (left, right)]
    if sign in ("+", "-") or (sign == "*" and any(is_number)):
        return APPLIED[sign](left, right)
    if sign not in ("//", "%") or not is_number[1] or right.maybe_downcast().value <= 0:
        return None
    return (ir.AffineExpr.get_floor_div if sign == "//" else ir.AffineExpr.get_mod)(left, right)
