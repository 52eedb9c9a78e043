# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How large sizes can be where it is known what range their symbols are from (relax-bind-symbolic-vars)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...dialects.core.ir_attributes import SYMBOL_RANGES
from ...dialects.core.symbols import Dim, SymExpr
from ...dialects.core.symbols_expr import Size, terms_of
from ...dialects.core.symbols_terms import Atom, Bounds, call_bounds

#: Numbers that are no larger do not wrap around.
_MOST = 1 << 62


class Range(NamedTuple):
    """What a symbol may stand for."""

    least: int
    most: int


Ranges = Mapping[str, Range]


def symbol_ranges(function: Operation) -> dict[str, Range]:
    """The ranges of symbolic sizes that are known, by name."""
    if SYMBOL_RANGES not in function.attributes:
        return {}
    return {each.name: Range(*ir.DenseI64ArrayAttr(each.attr)) for each in function.attributes[SYMBOL_RANGES]}


def size_bounds(size: Dim, ranges: Ranges) -> Bounds:
    """The least and the most that a size can be; None where nothing tells."""
    if not isinstance(size, SymExpr):
        return size, size
    lower, upper = _sum(size, ranges)
    return lower, None if upper is None or upper > _MOST else upper


def _sum(size: Size, ranges: Ranges) -> Bounds:
    lower: int | None = 0
    upper: int | None = 0
    for monomial, coefficient in terms_of(size).items():
        bounds: Bounds = coefficient, coefficient
        for atom in monomial:
            bounds = _times(bounds, _atom(atom, ranges))
        lower = None if lower is None or bounds[0] is None else lower + bounds[0]
        upper = None if upper is None or bounds[1] is None else upper + bounds[1]
    return lower, upper


def _times(left: Bounds, right: Bounds) -> Bounds:
    if None in (*left, *right):
        return None, None
    ends = [one * other for one in left for other in right if one is not None and other is not None]
    return min(ends), max(ends)


def _atom(atom: Atom, ranges: Ranges) -> Bounds:
    if atom.kind == "variable":
        return ranges.get(str(atom), (None, None))
    return call_bounds(atom.kind, [_sum(each, ranges) for each in atom.args])
