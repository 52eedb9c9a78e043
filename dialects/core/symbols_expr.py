# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SymExpr, the canonical form of symbolic expressions (symbols.py), and the simplification of // % min and max.

Variables represent sizes, so they are >= 0; division floors as in Python. A divisor counts as non-zero: where it is
zero, the expression has no value that simplification could change, so (n*m)//n is m. Hence a divisor that cannot be
negative counts as >= 1.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd

from .intervals import OPERATIONS, Bounds
from .symbols_terms import (
    MAX_TERMS,
    Atom,
    Terms,
    add_terms,
    bounds,
    divide_by_term,
    divide_exactly,
    greatest_common_monomial,
    limits,
    multiply_terms,
    over,
    render,
    term_order,
)

TYPE_CHECKING = False  # importing typing would cost more than this module
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    Value = TypeVar("Value")

# Limits against hostile text, which could cost time or stack. Beyond them an operation raises SymbolError.
MAX_TEXT = 4096
MAX_DEPTH = 32
MAX_DIGITS = 600  # Python can be configured to convert no more than 640 digits
_MAX_BITS = 1990  # fewer than MAX_DIGITS decimal digits
_MAX_ARGUMENTS = 32


class SymbolError(ValueError):
    """Symbolic expression that cannot be parsed, built or evaluated."""


class SymExpr:
    """Immutable, canonical, never constant expression; created by sym(), parse() and operators."""

    __slots__ = ("_hash", "_terms", "_text", "limits", "variables")
    _terms: Terms
    # Computed on demand, because most expressions are intermediate steps.
    _text: str
    _hash: int
    variables: frozenset[str]  #: The names that the expression depends on.
    limits: frozenset[tuple[str, int]]  #: Highest values of variables: equal expressions may differ in these.

    def __init__(self, terms: Terms) -> None:
        """Take terms as from_terms() returns them: no zero coefficients, in canonical order, not a constant."""
        _check_size(terms)
        _set(self, "_terms", terms)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Compute the value of an empty slot."""
            if name not in _LATER:
                raise AttributeError(f"a symbolic expression has no '{name}'")
            value = _LATER[name](self._terms)
            _set(self, name, value)
            return value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set '{name}': symbolic expressions are immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete '{name}': symbolic expressions are immutable")

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"SymExpr({str(self)!r})"

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self._terms == other._terms if isinstance(other, SymExpr) else NotImplemented

    def __neg__(self) -> Size:
        return _sum(0, self, -1)

    def __add__(self, other: Size) -> Size:
        return _sum(self, other) if isinstance(other, (int, SymExpr)) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Size) -> Size:
        return _sum(self, other, -1) if isinstance(other, (int, SymExpr)) else NotImplemented

    def __rsub__(self, other: int) -> Size:
        return _sum(other, self, -1) if isinstance(other, int) else NotImplemented

    def __mul__(self, other: Size) -> Size:
        return _product(self, other) if isinstance(other, (int, SymExpr)) else NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return floordiv(self, other) if isinstance(other, (int, SymExpr)) else NotImplemented

    def __rfloordiv__(self, other: int) -> Size:
        return floordiv(other, self) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: Size) -> Size:
        return mod(self, other) if isinstance(other, (int, SymExpr)) else NotImplemented

    def __rmod__(self, other: int) -> Size:
        return mod(other, self) if isinstance(other, int) else NotImplemented

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the value for the given sizes. Every variable needs a value, which must be >= 0."""
        for name in sorted(self.variables):
            if name not in values:
                raise SymbolError(f"cannot evaluate '{shorten(self)}': no value for '{name}'")
            if not isinstance(value := values[name], int) or value < 0:
                raise SymbolError(f"cannot evaluate '{shorten(self)}': '{name}' is {value!r}, not a size >= 0")
        try:
            found = _substitute(self, values)
        except SymbolError as error:
            raise SymbolError(f"cannot evaluate '{shorten(self)}': {error}") from None
        assert isinstance(found, int)
        return found

    def substitute(self, values: Mapping[str, Dim]) -> Dim:
        """Replace variables, all at once. Return None if a replacement is None (unknown)."""
        known: dict[str, Size] = {}
        for name in sorted(self.variables & values.keys()):
            if (value := values[name]) is None:
                return None
            if not isinstance(value, (int, SymExpr)) or (isinstance(value, int) and value < 0):
                raise SymbolError(
                    f"cannot substitute in '{shorten(self)}': '{name}' is {shorten(repr(value))}, not a size >= 0"
                )
            known[name] = value
        return _substitute(self, known) if known else self


_set = object.__setattr__
_LATER: dict[str, Callable[[Terms], object]] = {
    "_text": render,
    "_hash": lambda terms: hash(tuple(terms.items())),
    "variables": lambda terms: frozenset().union(*(atom.variables for monomial in terms for atom in monomial)),
    "limits": limits,
}

Size = int | SymExpr
Dim = int | SymExpr | None


def shorten(text: object) -> str:
    """Cut text to the length of an error message."""
    whole = str(text)
    return whole if len(whole) <= 60 else whole[:57] + "..."


def _check_count(terms: Terms) -> None:
    if len(terms) > MAX_TERMS:
        raise SymbolError(f"expression has {len(terms)} terms, at most {MAX_TERMS} are allowed")


def _check_size(terms: Terms) -> None:
    _check_count(terms)
    letters = 0
    for monomial, coefficient in terms.items():
        if (bits := coefficient.bit_length()) > _MAX_BITS:
            check_number(coefficient)
        # Separators between and around factors, and the digits; a bit adds less than one digit.
        letters += bits + 4
        for atom in monomial:
            letters += len(atom) + 3
    if letters > MAX_TEXT and len(text := render(terms)) > MAX_TEXT:
        raise SymbolError(f"expression is {len(text)} characters long, at most {MAX_TEXT} are allowed")


def check_number(value: int) -> None:
    if value.bit_length() > _MAX_BITS:
        raise SymbolError(f"number of {value.bit_length()} bits in an expression, at most {_MAX_BITS} are allowed")


# Between expressions, terms and atoms.


def terms_of(size: Size) -> Terms:
    """Return the factor of each product of atoms in a size. The empty product belongs to the constant."""
    if isinstance(size, SymExpr):
        return size._terms
    return {(): size} if size else {}


def from_terms(terms: Terms) -> Size:
    """Return the size of these factors, by products of atoms."""
    kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
    if len(kept) > 1:
        return SymExpr(dict(sorted(kept.items(), key=term_order)))
    return kept.get((), 0) if not kept or () in kept else SymExpr(kept)


@lru_cache(maxsize=4096)
def make_variable(name: str, highest: int | None = None) -> SymExpr:
    """Return a variable. `highest` is its largest value, if known, as for the variable of a loop."""
    return _make_atom(name, "variable", (), frozenset([name]), 0, (0, highest))


def _make_call(kind: str, args: tuple[Size, ...]) -> SymExpr:
    atoms = [atom for arg in args for monomial in terms_of(arg) for atom in monomial]
    if (depth := 1 + max(atom.depth for atom in atoms)) > MAX_DEPTH:
        raise SymbolError(f"expression nests // % min max {depth} deep, at most {MAX_DEPTH} levels are allowed")
    infix = kind in ("//", "%")
    text = kind.join(map(_render_operand, args)) if infix else f"{kind}({', '.join(map(str, args))})"
    variables = frozenset(name for atom in atoms for name in atom.variables)
    return _make_atom(text, kind, args, variables, depth, OPERATIONS[kind](*(bounds(terms_of(arg)) for arg in args)))


def _make_atom(
    text: str, kind: str, args: tuple[Size, ...], variables: frozenset[str], depth: int, known: Bounds
) -> SymExpr:
    atom = Atom(text)
    atom.kind, atom.args, atom.variables, atom.depth = kind, args, variables, depth
    atom.lowest, atom.highest = known
    return SymExpr({(atom,): 1})


def _render_operand(size: Size) -> str:
    if isinstance(size, int):
        return str(size) if size >= 0 else f"({size})"
    atom = sole_atom(size)
    return f"({size})" if atom is None or atom.infix else atom


def sole_atom(size: Size) -> Atom | None:
    """Return the atom that forms the whole expression, or None."""
    if isinstance(size, int) or len(size._terms) != 1:
        return None
    ((monomial, coefficient),) = size._terms.items()
    return monomial[0] if coefficient == 1 and len(monomial) == 1 else None


def _leading(size: Size) -> int:
    """Return the first coefficient, which is negative only if at most a constant is added."""
    return size if isinstance(size, int) else next(iter(size._terms.values()))


def _is_at_least(a: Size, b: Size, margin: int = 0) -> bool:
    """Return True if bounds prove a >= b + margin for all sizes."""
    lower, _ = bounds(add_terms(terms_of(a), terms_of(b), -1))
    return lower is not None and lower >= margin


def _sum(a: Size, b: Size, scale: int = 1) -> Size:
    """Return a + scale*b."""
    if isinstance(a, int) and scale == 1:
        a, b = b, a
    if not isinstance(b, int) or isinstance(a, int):
        return from_terms(add_terms(terms_of(a), terms_of(b), scale))
    if not b:
        return a
    # All terms except the constant, which comes last, stay unchanged.
    terms = dict(a._terms)
    constant = terms.pop((), 0) + scale * b
    return SymExpr({**terms, (): constant} if constant else terms)


def _product(a: Size, b: Size) -> Size:
    if isinstance(a, int):
        a, b = b, a
    if b == 1:
        return a
    if isinstance(b, int) and isinstance(a, SymExpr) and b > 0:  # the order stays
        return SymExpr({monomial: coefficient * b for monomial, coefficient in a._terms.items()})
    return from_terms(multiply_terms(terms_of(a), terms_of(b)))


# Division. Each rule rewrites to a simpler division and starts over, so that the result is a fixed point.


def floordiv(p: Size, q: Size) -> Size:
    if q == 0:
        raise SymbolError(f"division by zero: '{shorten(p)}' // 0")
    if isinstance(p, int) and isinstance(q, int):
        return p // q
    if _leading(q) < 0:
        return floordiv(-p, -q)
    whole, rest = _split(p, q)
    if rest == 0:
        return whole
    if whole != 0:
        return whole + floordiv(rest, q)
    factor, left, divisor, _ = _cancel(p, q)
    if factor != 1:
        return floordiv(left, divisor)
    if not _is_at_least(q, 0):
        return _make_call("//", (p, q))
    if (quotient := _bounded_quotient(p, q)) is not None:
        return quotient
    if _leading(p) < 0:  # the negated ceiling of the subtrahend, so that -(-n//4) is ceildiv(n, 4)
        return -floordiv(q - 1 - p, q)
    merged = _merge_nested(p, q)
    return _make_call("//", (p, q)) if merged is None else floordiv(*merged)


def mod(p: Size, q: Size) -> Size:
    if q == 0:
        raise SymbolError(f"division by zero: '{shorten(p)}' % 0")
    if isinstance(p, int) and isinstance(q, int):
        return p % q
    if _leading(q) < 0:
        return -mod(-p, -q)
    whole, rest = _split(p, q)
    if rest == 0:
        return 0
    if whole != 0:
        return mod(rest, q)
    factor, left, divisor, remainder = _cancel(p, q)
    if factor != 1:
        return factor * mod(left, divisor) + remainder
    if (opened := _open_nested_mod(p, q)) is not None:
        return mod(opened, q)
    quotient = _bounded_quotient(p, q) if _is_at_least(q, 0) else None
    return _make_call("%", (p, q)) if quotient is None else p - quotient * q


def ceildiv_sizes(p: Size, q: Size) -> Size:
    if q == 0:
        raise SymbolError(f"division by zero: ceildiv({shorten(p)}, 0)")
    if not _is_at_least(q, 0) or (isinstance(p, int) and isinstance(q, int)):
        return -floordiv(-p, q)
    # If the divisor is a sum, p + q - 1 no longer shows that the divisor divides p.
    whole, rest = _split(p, q)
    return whole if rest == 0 else floordiv(p + q - 1, q)


def _split(p: Size, q: Size) -> tuple[Size, Size]:
    """Return (whole, rest) with p == whole*q + rest. If the divisor is a sum, whole takes all of p or nothing."""
    q_terms = terms_of(q)
    if len(q_terms) > 1:
        quotient = divide_exactly(terms_of(p), q_terms)
        return (0, p) if quotient is None else (from_terms(quotient), 0)
    ((divisor, number),) = q_terms.items()
    whole, rest = divide_by_term(terms_of(p), divisor, number)
    return from_terms(whole), from_terms(rest)


def _cancel(p: Size, q: Size) -> tuple[Size, Size, Size, int]:
    """Return (factor, left, divisor, remainder) with p == factor*left + remainder and q == factor*divisor. The
    remainder is in [0, factor). A divisor that is not negative absorbs it: (2*n + 1)//4 is n//2."""
    p_terms, q_terms = terms_of(p), terms_of(q)
    rounds = _is_at_least(q, 0)
    number = gcd(*q_terms.values(), *(c for monomial, c in p_terms.items() if monomial or not rounds))
    shared = greatest_common_monomial([*q_terms, *p_terms])
    if number == 1 and not shared:
        return 1, p, q, 0
    left, divisor = (
        {over(monomial, shared) or (): c // number for monomial, c in t.items()} for t in (p_terms, q_terms)
    )
    return from_terms({shared: number}), from_terms(left), from_terms(divisor), p_terms.get((), 0) % number


def _bounded_quotient(p: Size, q: Size) -> int | None:
    """Return p//q, for q >= 1, if bounds leave only one value, else None."""
    if isinstance(q, int):
        lower, upper = bounds(terms_of(p))
        return lower // q if lower is not None and upper is not None and lower // q == upper // q else None
    atom = sole_atom(p)
    if atom is not None and atom.kind == "%" and atom.args[1] == q:
        return 0
    if _is_at_least(-1, p) and (_is_at_least(p, -1) or _is_at_least(p, -q)):
        return -1
    not_negative = _is_at_least(p, 0) or _is_at_least(p, q, -1)  # as q >= 1, p >= q - 1 is enough
    return 0 if not_negative and _is_at_least(q, p, 1) else None


def _merge_nested(p: Size, q: Size) -> tuple[Size, Size] | None:
    """Rewrite (x//a + rest)//q as (x + a*rest)//(a*q), for q >= 1: n//2//3 is n//6."""
    quotients = [
        monomial for monomial, c in terms_of(p).items() if c == 1 and [atom.kind for atom in monomial] == ["//"]
    ]
    if len(quotients) != 1:
        return None
    inner, a = quotients[0][0].args
    rest = p - from_terms({quotients[0]: 1})
    constant = isinstance(a, int) and isinstance(q, int)
    return (inner + a * rest, a * q) if constant or rest == 0 else None


def _open_nested_mod(p: Size, q: Size) -> Size | None:
    """Replace one x%a in p by x if both are equal modulo q: (n%8 + m)%4 is (n + m)%4."""
    for monomial, coefficient in terms_of(p).items():
        for atom in monomial:
            if atom.kind == "%" and mod(coefficient * atom.args[1], q) == 0:
                factor = from_terms({over(monomial, (atom,)) or (): coefficient})
                return p + factor * (atom.args[0] - from_terms({(atom,): 1}))
    return None


# Minimum and maximum.


def extremum(kind: str, sizes: Iterable[Size]) -> Size:
    """Return the "min" or "max" of sizes."""
    flat: set[Size] = set()
    for size in sizes:
        atom = sole_atom(size)
        flat.update(atom.args if atom is not None and atom.kind == kind else (size,))
    kept: list[Size] = []
    for size in sorted(flat, key=lambda size: (isinstance(size, int), str(size))):
        if any(_decides(kind, other, size) for other in kept):
            continue
        kept = [other for other in kept if not _decides(kind, size, other)] + [size]
        if len(kept) > _MAX_ARGUMENTS:
            raise SymbolError(f"{kind} of more than {_MAX_ARGUMENTS} expressions")
    return kept[0] if len(kept) == 1 else _make_call(kind, tuple(kept))


def is_cut(size: Size, whole: Size) -> bool:
    """Check whether a size is min(whole, other sizes of at least 1)."""
    atom = sole_atom(size)
    if atom is None or atom.kind != "min" or whole not in atom.args:
        return False
    return all(arg == whole or _is_at_least(arg, 1) for arg in atom.args)


def _decides(kind: str, a: Size, b: Size) -> bool:
    """Check whether b can be dropped in favour of a."""
    inner = sole_atom(b)
    if inner is not None and {kind, inner.kind} == {"min", "max"} and a in inner.args:
        return True  # max(n, min(n, 8)) is n
    return _is_at_least(b, a) if kind == "min" else _is_at_least(a, b)


# Evaluation and substitution.


def value_of(size: Size, of_atom: Callable[[Atom], Value]) -> Value | int:
    """Evaluate an expression in any arithmetic with + and *, given the values of its atoms. Constants stay numbers."""
    total: Any = 0
    for monomial, coefficient in terms_of(size).items():
        term: Any = coefficient
        for atom in monomial:
            term = term * of_atom(atom)
        total = total + term
    return total


def substituted(size: Size, values: Mapping[str, Size]) -> Size:
    """Replace variables by values, which may be negative here: an index before the start of a loop, for example."""
    return _substitute(size, values) if isinstance(size, SymExpr) and not size.variables.isdisjoint(values) else size


def variables_of(size: Size) -> frozenset[str]:
    """Return the names of the variables in a size."""
    return size.variables if isinstance(size, SymExpr) else frozenset()


def _substitute(size: Size, values: Mapping[str, Size]) -> Size:
    total: Terms = {}
    for monomial, coefficient in terms_of(size).items():
        term: Terms = {(): coefficient}
        for atom in monomial:
            term = multiply_terms(term, _substitute_atom(atom, values))
            _check_count(term)
        for key, number in term.items():
            total[key] = total.get(key, 0) + number
    return from_terms(total)


def _substitute_atom(atom: Atom, values: Mapping[str, Size]) -> Terms:
    if atom.kind == "variable":
        return terms_of(values[atom]) if atom in values else {(atom,): 1}
    if atom.variables.isdisjoint(values):
        return {(atom,): 1}
    return terms_of(_apply(atom.kind, [_substitute(arg, values) for arg in atom.args]))


def _apply(kind: str, args: Iterable[Size]) -> Size:
    if kind in ("min", "max"):
        return extremum(kind, args)
    p, q = args
    return floordiv(p, q) if kind == "//" else mod(p, q)
