# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions as Python has them: parentheses where an operand binds less strongly than its place asks for."""

from __future__ import annotations

import pytest
from relax_mlir.dialects.script.expr import Expr, Level, affine, affine_values, infix, literal

X, Y = Expr("x"), Expr("y")
SUM = Expr("x + y", Level.SUM)


@pytest.mark.parametrize(
    ("left", "symbol", "right", "level", "text"),
    [
        (X, "+", Y, Level.SUM, "x + y"),
        (X, "+", literal("-3"), Level.SUM, "x - 3"),
        (X, "+", literal("-0.5"), Level.SUM, "x - 0.5"),
        (X, "-", literal("-3"), Level.SUM, "x - -3"),
        (X, "+", Expr("-y", Level.SIGN), Level.SUM, "x + -y"),
        (X, "+", literal("-inf"), Level.SUM, "x + -inf"),
        (X, "*", literal("-3"), Level.PRODUCT, "x * -3"),
        (SUM, "-", Y, Level.SUM, "x + y - y"),
        (Y, "-", SUM, Level.SUM, "y - (x + y)"),
        (SUM, "*", Y, Level.PRODUCT, "(x + y) * y"),
        (SUM, "+", literal("-3"), Level.SUM, "x + y - 3"),
        (Expr("x < y", Level.COMPARE), "<", Y, Level.COMPARE, "(x < y) < y"),
        (Expr("x < y", Level.COMPARE), "+", literal("-1"), Level.SUM, "(x < y) - 1"),
    ],
)
def test_operands(left: Expr, symbol: str, right: Expr, level: int, text: str) -> None:
    assert infix(left, symbol, right, level) == Expr(text, level)


@pytest.mark.parametrize(
    ("text", "written", "level"),
    [
        ("d0", "x + y", Level.SUM),
        ("-7", "-7", Level.SIGN),
        ("7", "7", Level.ATOM),
        ("d0 * 2", "(x + y) * 2", Level.PRODUCT),
        ("d0 * 2 + s0", "(x + y) * 2 + y", Level.SUM),
        ("(d0 + s0) floordiv 4", "((x + y) + y) // 4", Level.PRODUCT),
        ("-d0", "-(x + y)", Level.SIGN),
        ("s0 mod 3 - 1", "y % 3 - 1", Level.SUM),
    ],
)
def test_affine_expressions(text: str, written: str, level: int) -> None:
    assert affine(text, affine_values([SUM], [Y])) == Expr(written, level)
