# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Affine expressions of loop indices as symbolic expressions with ranges, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....bindings.affine import by_operators, value_of
from ....bindings.ir import AffineExpr
from ....bindings.mlir import ir
from ....dialects.core.indices import divisions, regrouped
from ....dialects.core.symbols_expr import Size, SymbolError, make_variable, terms_of
from ....dialects.core.symbols_terms import Atom

#: Operators of affine expressions that are no sums and products.
DIVISIONS = ("floordiv", "ceildiv", "mod")
#: Loop steps that no tensor in a 64-bit address space reaches: the bound of a dynamic size.
_MOST_STEPS = 1 << 57


def loop_index(dim: int, size: int | None) -> Size:
    """Return the index of a loop as a variable with its range. A loop of one step has the index 0."""
    if size == 1:
        return 0
    return make_variable(f"d{dim}", (_MOST_STEPS if size is None else size) - 1)


def loop_indices(sizes: Sequence[int | None]) -> list[Size]:
    """Return the index variable of each loop."""
    return [loop_index(dim, size) for dim, size in enumerate(sizes)]


def is_divided(expression: AffineExpr) -> bool:
    """Check whether an affine expression has a division or a remainder."""
    text = str(expression)
    return any(word in text for word in DIVISIONS)


def size_of(expression: AffineExpr, indices: Sequence[Size]) -> Size | None:
    """Return the simplified value of an affine expression, or None if it exceeds the limits of symbolic expressions."""
    try:
        return regrouped(value_of(expression, indices.__getitem__, by_operators))
    except SymbolError:
        return None


def is_linear(size: Size) -> bool:
    """Check whether an index is a sum of variables with constant factors."""
    return all(len(monomial) < 2 and all(atom.kind == "variable" for atom in monomial) for monomial in terms_of(size))


def linear_factors(size: Size) -> dict[int, int] | None:
    """Return the factor of each loop in a linear index, or None for other indices."""
    if not is_linear(size):
        return None
    return {dim_of(monomial[0]): factor for monomial, factor in terms_of(size).items() if monomial}


def dim_of(variable: str) -> int:
    """Return the number of the loop of a `loop_index` variable."""
    return int(variable[1:])


def affine_of(size: Size, positions: Mapping[int, int] | None = None) -> AffineExpr | None:
    """Return the affine expression of an index, or None for products of variables, minima and maxima.

    `positions` renumbers loops.
    """
    total = ir.AffineExpr.get_constant(0)
    for monomial, factor in terms_of(size).items():
        if len(monomial) > 1:
            return None
        term = _atom_expression(monomial[0], positions) if monomial else ir.AffineExpr.get_constant(1)
        if term is None:
            return None
        total = ir.AffineExpr.get_add(total, ir.AffineExpr.get_mul(term, ir.AffineExpr.get_constant(factor)))
    return total


def _atom_expression(atom: Atom, positions: Mapping[int, int] | None) -> AffineExpr | None:
    if atom.kind == "variable":
        dim = dim_of(atom)
        return ir.AffineExpr.get_dim(dim if positions is None else positions[dim])
    if atom.kind not in ("//", "%") or not isinstance(atom.args[1], int) or atom.args[1] <= 0:
        return None
    if (whole := affine_of(atom.args[0], positions)) is None:
        return None
    by = ir.AffineExpr.get_constant(atom.args[1])
    return ir.AffineExpr.get_floor_div(whole, by) if atom.kind == "//" else ir.AffineExpr.get_mod(whole, by)


def simplified(expression: AffineExpr, indices: Sequence[Size]) -> AffineExpr:
    """Return an equal affine expression with fewer divisions, or the expression itself if there is none."""
    size = size_of(expression, indices)
    if size is None or divisions(size) >= _divisions_in(expression):
        return expression
    return affine_of(size) or expression


def _divisions_in(expression: AffineExpr) -> int:
    text = str(expression)
    return sum(text.count(word) for word in DIVISIONS)
