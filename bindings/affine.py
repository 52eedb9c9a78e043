# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Affine expressions and maps: inspection, composition and evaluation in arbitrary arithmetic."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from .ir import AffineExpr, AffineMap, Context, Operation
from .mlir import ROOT, ir

ADD, MUL, MOD, FLOORDIV, CEILDIV = "+", "*", "%", "//", "ceildiv"
_SIGNS = {
    ir.AffineAddExpr: ADD,
    ir.AffineMulExpr: MUL,
    ir.AffineModExpr: MOD,
    ir.AffineFloorDivExpr: FLOORDIV,
    ir.AffineCeilDivExpr: CEILDIV,
}
_T = TypeVar("_T")


# ---- maps ----


def identity(rank: int, context: Context | None = None) -> AffineMap:
    return ir.AffineMap.get_identity(rank, context)


def indexing_maps(operation: Operation) -> list[AffineMap]:
    """Return the indexing maps of a structured operation, also if the operation has no attribute for them."""
    linalg = importlib.import_module(f"{ROOT}._mlir_libs._mlirDialectsLinalg")
    return [attribute.value for attribute in linalg.get_indexing_maps(operation)]


def compose(outer: AffineMap, inner: AffineMap) -> AffineMap:
    """Return the composition that applies `inner` first and `outer` second."""
    return ir.AffineMap.get(inner.n_dims, 0, [expression.compose(inner) for expression in outer.results])


def inverse(permutation: AffineMap) -> AffineMap:
    dims = [plain_dim(expression) for expression in permutation.results]
    # get_permutation crashes for maps without dimensions.
    places = [ir.AffineDimExpr.get(dims.index(dim)) for dim in range(len(dims))]
    return ir.AffineMap.get(len(dims), 0, places)


def visits_once(map_: AffineMap, sizes: Sequence[int | None]) -> bool:
    """Check whether loops of these sizes reach each point of the map's range at most once."""
    found = {_only_dim(expression) for expression in map_.results}
    return all(dim in found or size == 1 for dim, size in enumerate(sizes))


# ---- expressions ----


def plain_dim(expression: AffineExpr) -> int | None:
    """Return the dimension of a plain `dim` expression, or None."""
    known = expression.maybe_downcast()
    return known.position if isinstance(known, ir.AffineDimExpr) else None


def shifted_dim(expression: AffineExpr) -> int | None:
    """Return the dimension of a `dim + constant` expression, or None."""
    form = linear_form(expression)
    return form._replace(constant=0).dim if form is not None else None


def _only_dim(expression: AffineExpr) -> int | None:
    """Return the dimension of a `dim * factor + constant` expression, or None."""
    form = linear_form(expression)
    return form.factors[0][0] if form is not None and len(form.factors) == 1 else None


def dims_in(*expressions: AffineExpr) -> set[int]:
    """Return the dimensions that the expressions depend on."""
    dims: set[int] = set()
    for expression in expressions:
        if isinstance(known := expression.maybe_downcast(), ir.AffineDimExpr):
            dims.add(known.position)
        elif isinstance(known, ir.AffineBinaryExpr):
            dims |= dims_in(known.lhs, known.rhs)
    return dims


def unknown_names(map_: AffineMap) -> list[str]:
    """Return the undeclared dimensions and symbols that a map uses. MLIR accepts such maps in bytecode."""
    used: list[tuple[str, int, int]] = []
    for result in map_.results:
        value_of(
            result,
            lambda dim: used.append(("d", dim, map_.n_dims)),
            lambda *_: None,
            lambda _: None,
            lambda symbol: used.append(("s", symbol, map_.n_symbols)),
        )
    return sorted(f"{kind}{number}" for kind, number, count in used if number >= count)


class Linear(NamedTuple):
    """Sum of dimensions with nonzero factors, and a constant. Dimensions are in ascending order."""

    factors: tuple[tuple[int, int], ...]
    constant: int = 0
    #: For an index: True if the axis may be longer than the loop, such as a convolution's input for a filter of size 1.
    is_partial: bool = False

    @property
    def dim(self) -> int | None:
        """Return the dimension of a plain `dim` expression, or None."""
        plain = self.constant == 0 and len(self.factors) == 1 and self.factors[0][1] == 1
        return self.factors[0][0] if plain else None

    def is_all_of(self, dim: int) -> bool:
        """Check whether the indexed axis has exactly the size of this loop."""
        return self.dim == dim and not self.is_partial

    def factor(self, dim: int) -> int:
        for each, factor in self.factors:
            if each == dim:
                return factor
        return 0

    def renumbered(self, numbers: Mapping[int, int]) -> Linear:
        """Return the same form with renumbered dimensions."""
        return self._replace(factors=tuple(sorted((numbers[dim], factor) for dim, factor in self.factors)))


def linear_form(expression: AffineExpr) -> Linear | None:
    """Return the linear form of an expression, or None if the expression divides or has symbols."""
    return value_of(expression, lambda dim: Linear(((dim, 1),)), _linear, lambda value: Linear((), value))


def _linear(sign: str, left: Linear | None, right: Linear | None) -> Linear | None:
    if left is None or right is None or sign not in (ADD, MUL) or (sign == MUL and right.factors):
        return None
    if sign == MUL:
        by = right.constant
        return Linear(tuple((dim, factor * by) for dim, factor in left.factors if by), left.constant * by)
    sums = {dim: left.factor(dim) + right.factor(dim) for dim, _ in (*left.factors, *right.factors)}
    return Linear(tuple((dim, sums[dim]) for dim in sorted(sums) if sums[dim]), left.constant + right.constant)


def value_of(
    expression: AffineExpr,
    dim: Callable[[int], _T],
    join: Callable[[str, _T, _T], _T],
    constant: Callable[[int], Any] = int,
    symbol: Callable[[int], Any] | None = None,
) -> Any:
    """Evaluate an expression in an arithmetic: functions for dimensions, constants, symbols and binary operators.

    Symbols evaluate to None without a function `symbol`.
    """
    if isinstance(known := expression.maybe_downcast(), ir.AffineDimExpr):
        return dim(known.position)
    if isinstance(known, ir.AffineConstantExpr):
        return constant(known.value)
    if isinstance(known, ir.AffineSymbolExpr):
        return None if symbol is None else symbol(known.position)
    left, right = known.lhs, known.rhs
    values = value_of(left, dim, join, constant, symbol), value_of(right, dim, join, constant, symbol)
    return join(_SIGNS[type(known)], *values)


def by_operators(sign: str, left: Any, right: Any) -> Any:
    """Apply Python's operator to two values. For `value_of` on integers and on symbolic sizes."""
    if sign == ADD:
        return left + right
    if sign == MUL:
        return left * right
    if sign == MOD:
        return left % right
    return left // right if sign == FLOORDIV else -(-left // right)
