# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bounds of symbolic sizes, from symbol ranges (relax-bind-symbolic-vars) and model limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from .intervals import OPERATIONS, UNKNOWN, Bounds
from .ir_attributes import SYMBOL_LIMITS, SYMBOL_RANGES
from .symbols import Dim, SymExpr
from .symbols_expr import Size, terms_of
from .symbols_terms import Atom, bounds

#: Largest number that cannot wrap around.
_MOST = 1 << 62


class SymbolRange(NamedTuple):
    """Range of a symbol's values."""

    least: int
    most: int


Ranges = Mapping[str, SymbolRange]


def symbol_ranges(function: Operation) -> dict[str, SymbolRange]:
    """Return the known ranges of symbolic sizes by name."""
    return _read_ranges(function, SYMBOL_RANGES)


def symbol_limits(function: Operation) -> dict[str, SymbolRange]:
    """Return the model's limits of symbolic sizes by name."""
    return _read_ranges(function, SYMBOL_LIMITS)


def allowed_ranges(function: Operation) -> dict[str, SymbolRange]:
    """Return the ranges that callers may pass for symbolic sizes: the intersection of ranges and limits."""
    ranges = symbol_ranges(function)
    limits = {name: _both(ranges.get(name, limit), limit) for name, limit in symbol_limits(function).items()}
    return {**ranges, **limits}


def _both(one: SymbolRange, other: SymbolRange) -> SymbolRange:
    return SymbolRange(max(one.least, other.least), min(one.most, other.most))


def _read_ranges(function: Operation, attribute: str) -> dict[str, SymbolRange]:
    if attribute not in function.attributes:
        return {}
    return {each.name: SymbolRange(*ir.DenseI64ArrayAttr(each.attr)) for each in function.attributes[attribute]}


def size_bounds(size: Dim, ranges: Ranges) -> Bounds:
    """Return the lower and upper bound of a size, with None for unknown bounds."""
    if not isinstance(size, SymExpr):
        return size, size
    lower, upper = _bounds(size, ranges)
    return lower, None if upper is None or upper > _MOST else upper


def _bounds(size: Size, ranges: Ranges) -> Bounds:
    def of_atom(atom: Atom) -> Bounds:
        if atom.kind == "variable":
            return ranges.get(str(atom), UNKNOWN)
        return OPERATIONS[atom.kind](*(_bounds(arg, ranges) for arg in atom.args))

    return bounds(terms_of(size), of_atom)
