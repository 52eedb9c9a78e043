# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of symbolic expressions. Expressions of static operands are folded to numbers."""

from __future__ import annotations

from collections.abc import Callable

from ..dialects.core.symbols_expr import Size as Expression
from ..dialects.core.symbols_expr import terms_of, value_of
from ..dialects.core.symbols_terms import Atom, bounds
from .numbers import Size, as_index, maximum, minimum, operation


def emit_size(expression: Expression, variable: Callable[[str], Size]) -> Size:
    """Return the value of an expression; `variable(name)` returns the values of its variables."""
    return expression if isinstance(expression, int) else value_of(expression, lambda atom: _atom(atom, variable))


def _atom(atom: Atom, variable: Callable[[str], Size]) -> Size:
    if atom.kind == "variable":
        return variable(str(atom))
    left, *others = (emit_size(arg, variable) for arg in atom.args)
    for right in others:
        left = _call(atom, left, right)
    return left


def _call(atom: Atom, left: Size, right: Size) -> Size:
    if atom.kind in ("min", "max"):
        return (minimum if atom.kind == "min" else maximum)(left, right)
    if isinstance(left, int) and isinstance(right, int):
        return left // right if atom.kind == "//" else left % right
    x, y = as_index(left), as_index(right)
    low, _ = bounds(terms_of(atom.args[0]))
    if low is not None and low >= 0:
        return x // y if atom.kind == "//" else x % y
    quotient = operation("arith.floordivsi", [x, y], x.type)
    return quotient if atom.kind == "//" else x - quotient * y
