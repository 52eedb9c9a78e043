# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of indices that are arithmetic of loops' variables, whose extents may be open."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from .symbols_expr import Size, SymExpr, substituted, terms_of, variables_of
from .symbols_terms import bounds


def is_below(index: Size, limit: Size, extents: Mapping[str, Size] = {}) -> bool:
    """Whether an index of loops with these extents is known to be below a limit."""
    if _is_at_least(limit - index, 1):
        return True
    # Loops of open extents: what they add is most at their last step.
    last = {name: extents[name] - 1 for name in variables_of(index) if isinstance(extents.get(name), SymExpr)}
    if not last or not all(_grows_with(index, name) for name in last):
        return False
    return _is_at_least(limit - substituted(index, last), 1)


def is_never_negative(index: Size) -> bool:
    return _is_at_least(index, 0)


def _is_at_least(size: Size, least: int) -> bool:
    low, _ = bounds(terms_of(size))
    return low is not None and low >= least


def _grows_with(index: Size, name: str) -> bool:
    """Whether it is a sum in which a variable has a positive factor."""
    found = [
        (monomial, factor)
        for monomial, factor in terms_of(index).items()
        if any(name in atom.variables for atom in monomial)
    ]
    return all(len(monomial) == 1 and monomial[0] == name and factor > 0 for monomial, factor in found)


def evaluated(size: Size, values: Mapping[str, Any]) -> Any:
    """An index at many points at once: values are arrays."""
    if isinstance(size, int):
        return size
    total: Any = 0
    for monomial, factor in terms_of(size).items():
        term: Any = factor
        for atom in monomial:
            args = [evaluated(arg, values) for arg in atom.args]
            term = term * (values[str(atom)] if atom.kind == "variable" else _CALLED[atom.kind](*args))
        total = total + term
    return total


_CALLED: dict[str, Callable[..., Any]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "min": lambda *each: functools.reduce(lambda x, y: x - (x > y) * (x - y), each),
    "max": lambda *each: functools.reduce(lambda x, y: x + (x < y) * (y - x), each),
}
