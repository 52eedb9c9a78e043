# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer polynomials as dicts from monomial to coefficient: the basis of symbols_expr.py."""

from __future__ import annotations

from functools import reduce
from operator import attrgetter

from .intervals import Bounds, multiply

TYPE_CHECKING = False  # importing typing would cost more than this module
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

MAX_TERMS = 256


class Atom(str):
    """Variable, floordiv, mod, min or max. The string is the canonical text, used for comparison, hash and order."""

    __slots__ = ("args", "depth", "highest", "kind", "lowest", "variables")
    kind: str  # "variable", "//", "%", "min" or "max"
    args: tuple[Any, ...]  # numbers and symbolic sizes, which symbols_expr.py defines
    variables: frozenset[str]
    depth: int  # levels of // % min max; 0 for a variable
    lowest: int | None
    highest: int | None

    @property
    def infix(self) -> bool:
        return self.kind in ("//", "%")


Monomial = tuple[Atom, ...]  # sorted, with an atom repeated for its power; () belongs to the constant
Terms = dict[Monomial, int]


# Order and text.

_depth = attrgetter("depth")


def term_order(term: tuple[Monomial, int]) -> tuple[bool, bool, int, bool, Monomial]:
    """Return the sort key of a term: added terms, subtracted terms, then the constant.

    Short, plain terms come first, then the order is by name.
    """
    monomial, coefficient = term
    return not monomial, coefficient < 0, len(monomial), any(map(_depth, monomial)), monomial


def render(terms: Terms) -> str:
    """Return the text of terms in canonical order."""
    pieces: list[str] = []
    for monomial, coefficient in terms.items():
        # A leading minus binds tighter than //, so -(n//4) needs its parentheses and m - n//4 does not.
        term = _render_term(monomial, abs(coefficient), bare=bool(pieces) or coefficient > 0)
        if pieces:
            pieces.append(" - " if coefficient < 0 else " + ")
        elif coefficient < 0:
            pieces.append("-")
        pieces.append(term)
    return "".join(pieces)


def _render_term(monomial: Monomial, coefficient: int, bare: bool) -> str:
    if not monomial:
        return str(coefficient)
    if bare and coefficient == 1 and len(monomial) == 1:
        return monomial[0]
    plain_first = sorted(monomial, key=lambda atom: atom.depth > 0)
    factors = [f"({atom})" if atom.infix else atom for atom in plain_first]
    return "*".join(factors if coefficient == 1 else [str(coefficient), *factors])


# Bounds.


def bounds(terms: Terms, of_atom: Callable[[Atom], Bounds] = attrgetter("lowest", "highest")) -> Bounds:
    """Return the bounds of an expression, from the bounds of its atoms or from `of_atom`."""
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in terms.items():
        least, most = reduce(multiply, map(of_atom, monomial)) if monomial else (1, 1)
        if coefficient < 0:
            least, most = most, least
        low = None if low is None or least is None else low + coefficient * least
        high = None if high is None or most is None else high + coefficient * most
    return low, high


def limits(terms: Terms) -> frozenset[tuple[str, int]]:
    """Return the upper bounds of the variables that have them."""
    return frozenset().union(*(_limits_of_atom(atom) for monomial in terms for atom in monomial))


def _limits_of_atom(atom: Atom) -> frozenset[tuple[str, int]]:
    if atom.kind == "variable":
        return frozenset() if atom.highest is None else frozenset([(str(atom), atom.highest)])
    return frozenset().union(*(arg.limits for arg in atom.args if not isinstance(arg, int)))


# Arithmetic. Results may contain zero coefficients.


def add_terms(a: Terms, b: Terms, scale: int = 1) -> Terms:
    """Return a + scale*b."""
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, 0) + scale * coefficient
    return total


def multiply_terms(a: Terms, b: Terms) -> Terms:
    total: Terms = {}
    for left, left_coefficient in a.items():
        for right, right_coefficient in b.items():
            monomial = times(left, right)
            total[monomial] = total.get(monomial, 0) + left_coefficient * right_coefficient
    return total


def times(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted(a + b)) if a and b else a or b


def over(a: Monomial, b: Monomial) -> Monomial | None:
    """Return a/b, or None if b does not divide a."""
    left = list(a)
    for atom in b:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def greatest_common_monomial(monomials: Iterable[Monomial]) -> Monomial:
    shared, *others = map(list, monomials)
    for other in others:
        kept = []
        for atom in shared:
            if atom in other:
                other.remove(atom)
                kept.append(atom)
        shared = kept
    return tuple(shared)


def divide_by_term(p: Terms, divisor: Monomial, number: int) -> tuple[Terms, Terms]:
    """Return (whole, rest) with p == whole*number*divisor + rest, for number > 0."""
    whole: Terms = {}
    rest: Terms = {}
    for monomial, coefficient in p.items():
        factor = over(monomial, divisor)
        count = 0
        if factor is not None:
            # The rest keeps its sign, so that (n - m)//2 stays as written. A constant rest is never negative.
            count = coefficient // number if coefficient > 0 or not factor else -(-coefficient // number)
            whole[factor] = count
        rest[monomial] = coefficient - count * number
    return whole, rest


def divide_exactly(p: Terms, q: Terms) -> Terms | None:
    """Return p/q by long division, or None if a rest remains."""
    quotient: Terms = {}
    rest = dict(p)
    lead = _lead(q)
    while rest:
        top = _lead(rest)
        factor = over(top, lead)
        if factor is None or rest[top] % q[lead] or len(rest) > 2 * MAX_TERMS or len(quotient) == MAX_TERMS:
            return None
        quotient[factor] = rest[top] // q[lead]
        for monomial, coefficient in q.items():
            target = times(factor, monomial)
            rest[target] = rest.get(target, 0) - quotient[factor] * coefficient
            if not rest[target]:
                del rest[target]
    return quotient


def _lead(terms: Terms) -> Monomial:
    """Return the first monomial by degree, then name. Products keep this order, so that long division ends."""
    return min(terms, key=lambda monomial: (-len(monomial), monomial))
