# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Range analysis of indices: arithmetic over loop variables, possibly with dynamic extents."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping
from math import gcd
from typing import Any

from .symbols_expr import Size, SymExpr, from_terms, sole_atom, substituted, terms_of, value_of, variables_of
from .symbols_terms import Atom, bounds


def is_below(index: Size, limit: Size, extents: Mapping[str, Size] = {}) -> bool:
    """Return True if an index of loops with these extents is known to be below a limit."""
    if _is_at_least(limit - index, 1) or _is_remainder(index, limit):
        return True
    # With dynamic extents, the contribution of a loop variable is largest at the last step.
    last = {name: extents[name] - 1 for name in variables_of(index) if isinstance(extents.get(name), SymExpr)}
    if not last or not all(_grows_with(index, name) for name in last):
        return False
    return _is_at_least(limit - substituted(index, last), 1)


def _is_remainder(index: Size, limit: Size) -> bool:
    """Check whether the index is x % limit. With a limit of 0, the loop has no points."""
    atom = sole_atom(index)
    return atom is not None and atom.kind == "%" and atom.args[1] == limit


def is_never_negative(index: Size) -> bool:
    """Check whether an index is known to be at least 0."""
    return _is_at_least(index, 0)


def regrouped(index: Size) -> Size:
    """Rewrite (4*x + y)//8 as x//2, and (4*x + y)%8 as 4*(x%2) + y, for y below 4. The result increases with y."""
    return value_of(index, _regrouped_atom) if divisions(index) else index


def _regrouped_atom(atom: Atom) -> Size:
    if atom.kind not in ("//", "%"):
        return from_terms({(atom,): 1})
    inner, by = map(regrouped, atom.args)
    shared = gcd(*terms_of(by).values())
    for size in sorted({gcd(shared, coefficient) for coefficient in terms_of(inner).values()}, reverse=True):
        parts = {monomial: term for monomial, term in terms_of(inner).items() if term % size == 0}
        rest = inner - from_terms(parts)
        if size > 1 and parts and is_never_negative(rest) and is_below(rest, size):
            groups = from_terms({monomial: part // size for monomial, part in parts.items()})
            return groups // (by // size) if atom.kind == "//" else groups % (by // size) * size + rest
    return inner // by if atom.kind == "//" else inner % by


def divisions(index: Size) -> int:
    """Return the number of // and % in an expression."""
    return sum(
        (atom.kind in ("//", "%")) + sum(map(divisions, atom.args)) for monomial in terms_of(index) for atom in monomial
    )


def undivided(index: Size) -> Size:
    """Rewrite x // n * n + x % n as x, and x // n % m * n + x % n as x % (m * n)."""
    found = divisions(index)
    for monomial, coefficient in terms_of(index).items():
        for place, atom in enumerate(monomial if found else ()):
            if atom.kind != "%":
                continue
            times = from_terms({(*monomial[:place], *monomial[place + 1 :]): coefficient})
            whole, by = atom.args
            for one in _yield_undivided(index, whole, by, times):
                if divisions(one) < found:
                    return undivided(one)
    return index


def _yield_undivided(index: Size, whole: Size, by: Size, times: Size) -> Iterator[Size]:
    """Yield candidates for an index that replace x % n."""
    quotient = whole // by
    left = index - times * (whole % by)
    yield left - times * by * quotient + times * whole
    for atom in (atom for monomial in terms_of(left) for atom in monomial):
        if atom.kind == "%" and atom.args[0] == quotient:
            groups = atom.args[1]
            yield left - times * by * (quotient % groups) + times * (whole % (by * groups))


def _is_at_least(size: Size, least: int) -> bool:
    low, _ = bounds(terms_of(size))
    if low is not None and low >= least:
        return True
    for monomial, factor in terms_of(size).items():
        # A min is at most each of its arguments, a max at least.
        if len(monomial) == 1 and (monomial[0].kind, factor > 0) in (("min", False), ("max", True)):
            rest = size - from_terms({monomial: factor})
            return any(_is_at_least(rest + factor * arg, least) for arg in monomial[0].args)
    return False


def _grows_with(index: Size, name: str) -> bool:
    """Check whether the index is a sum in which a variable has a positive factor."""
    found = [
        (monomial, factor)
        for monomial, factor in terms_of(index).items()
        if any(name in atom.variables for atom in monomial)
    ]
    return all(len(monomial) == 1 and monomial[0] == name and factor > 0 for monomial, factor in found)


def evaluated(size: Size, values: Mapping[str, object]) -> Any:
    """Evaluate an index at many points at once: the values are arrays."""

    def of_atom(atom: Atom) -> object:
        if atom.kind == "variable":
            return values[str(atom)]
        return _CALLED[atom.kind](*(evaluated(arg, values) for arg in atom.args))

    return value_of(size, of_atom)


_CALLED: dict[str, Callable[..., object]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "min": lambda *each: functools.reduce(lambda x, y: x - (x > y) * (x - y), each),
    "max": lambda *each: functools.reduce(lambda x, y: x + (x < y) * (y - x), each),
}
