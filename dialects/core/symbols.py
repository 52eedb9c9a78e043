# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic of dimensions: an int, a SymExpr such as `2*n + 1`, or None for an unknown size without a name.

Variables represent sizes. symbols_expr.py states the assumptions about variables and divisors.
"""

from __future__ import annotations

import copyreg
import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from math import gcd

from .symbols_expr import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_TEXT,
    Dim,
    Size,
    SymbolError,
    SymExpr,
    ceildiv_sizes,
    check_number,
    extremum,
    floordiv,
    from_terms,
    is_cut,
    make_variable,
    mod,
    shorten,
    terms_of,
    value_of,
)
from .symbols_terms import Atom, Terms, bounds

__all__ = [
    "FUNCTIONS",
    "Dim",
    "Size",
    "SymExpr",
    "SymbolError",
    "at_most",
    "ceildiv",
    "dim_add",
    "dim_floordiv",
    "dim_max",
    "dim_min",
    "dim_mod",
    "dim_mul",
    "dim_sub",
    "equal",
    "is_cut",
    "parse",
    "product",
    "sym",
    "total",
]

#: Reserved names, which no dimension may have.
FUNCTIONS = ("min", "max", "ceildiv")
_MAX_NESTING = 2 * MAX_DEPTH + 2  # a level of an expression takes at most two in text: 2*((n + 1)//4)
_DIGITS = frozenset("0123456789")
_NAME_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME_PART = _NAME_START | _DIGITS | {"."}


def sym(name: str) -> SymExpr:
    """Return the variable of that name. Raise SymbolError for an invalid name."""
    if not isinstance(name, str):
        raise SymbolError(f"a dimension is named by text, got {type(name).__name__} {name!r}")
    if name in FUNCTIONS:
        raise SymbolError(f"'{name}' is a function and cannot name a dimension")
    if not name or name[0] not in _NAME_START or not _NAME_PART.issuperset(name):
        raise SymbolError(
            f"'{shorten(name)}' cannot name a dimension: expected a letter or '_', then letters, digits, '_' or '.'"
        )
    return make_variable(name)


# Arithmetic with unknown dimensions: the result is unknown if an operand is.


def _where_known(function: Callable[[Size, Size], Size], name: str) -> Callable[[Dim, Dim], Dim]:
    """Return the function for sizes that may be unknown."""

    def combine(a: Dim, b: Dim) -> Dim:
        return None if a is None or b is None else function(a, b)

    combine.__doc__ = f"Return the {name} of two sizes, or None if one of them is unknown."
    return combine


dim_add = _where_known(operator.add, "sum")
dim_sub = _where_known(operator.sub, "difference")
dim_mul = _where_known(operator.mul, "product")
dim_floordiv = _where_known(floordiv, "quotient, rounded down,")
dim_mod = _where_known(mod, "remainder")
ceildiv = _where_known(ceildiv_sizes, "quotient, rounded up,")


def dim_min(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return None if a is None or b is None else extremum("min", (a, b))


def dim_max(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return None if a is None or b is None else extremum("max", (a, b))


def product(dims: Iterable[Dim]) -> Dim:
    """Return the number of elements of a shape, or None if the expression would be too long."""
    return _all_of(dim_mul, 1, dims)


def total(dims: Iterable[Dim]) -> Dim:
    """Return the sum of the sizes, or None if the expression would be too long."""
    return _all_of(dim_add, 0, dims)


def _all_of(join: Callable[[Dim, Dim], Dim], start: Dim, dims: Iterable[Dim]) -> Dim:
    try:
        return functools.reduce(join, dims, start)
    except SymbolError:
        return None


def equal(a: Dim, b: Dim) -> bool | None:
    """Return True or False if that holds for all sizes, or None if undecided."""
    if a is None or b is None:
        return None
    if a == b:
        return True
    return False if isinstance(a, int) and isinstance(b, int) else _are_equal(a, b, _limits(a), _limits(b))


@functools.lru_cache(maxsize=4096)
def _are_equal(a: Size, b: Size, *limits: object) -> bool | None:
    """Compare two sizes.

    The cache key includes the variables' limits, because a variable of the same name may have other limits elsewhere.
    """
    try:
        difference = a - b
        without_mod = _open_mods(difference)
    except SymbolError:  # too large to compare
        return None
    if isinstance(without_mod, int):
        return without_mod == 0
    for size in (difference, without_mod):
        lower, upper = bounds(terms_of(size))
        if (lower is not None and lower > 0) or (upper is not None and upper < 0):
            return False
        if _is_never_zero(terms_of(size)):
            return False
    return None


#: Limits of the cases per comparison, and of the remainders per division.
_MOST_CASES, _MOST_REMAINDERS = 64, 8


def at_most(a: Size, b: Size) -> bool:
    """Return True if a <= b is certain for all sizes."""
    return a <= b if isinstance(a, int) and isinstance(b, int) else _is_at_most(a, b, _limits(a), _limits(b))


def _limits(size: Size) -> frozenset[tuple[str, int]]:
    return size.limits if isinstance(size, SymExpr) else frozenset()


@functools.lru_cache(maxsize=4096)
def _is_at_most(a: Size, b: Size, *limits: object) -> bool:
    """Compare two sizes. The cache key includes the variables' limits, as in `_are_equal`."""
    try:
        return _is_natural(_open_mods(b - a), [_MOST_CASES])
    except SymbolError:  # too large to compare
        return False


def _is_natural(size: Size, cases: list[int]) -> bool:
    """Return True if a size is known to be at least 0, by bounds or by case distinction.

    `cases[0]` is the number of remaining cases.
    """
    lower, _ = bounds(terms_of(size))
    cases[0] -= 1
    if lower is not None and lower >= 0 or cases[0] < 0:
        return lower is not None and lower >= 0
    choices = list(_choices(size))
    # A sum is smallest where its min is, and each argument may be the min: splitting there loses nothing.
    for is_each, alternatives in sorted(choices, key=lambda choice: not choice[0]):
        if is_each:
            return all(_is_natural(alternative, cases) for alternative in alternatives)
        if any(_is_natural(alternative, cases) for alternative in alternatives):
            return True
    return all(_is_natural(each, cases) for each in rests) if (rests := _split_by_remainder(size)) else False


def _choices(size: Size) -> Iterator[tuple[bool, list[Size]]]:
    """Yield the size with each argument in place of a min or max.

    The flag is True if all alternatives must be natural, False if one suffices.
    """
    for monomial, coefficient in terms_of(size).items():
        for place, atom in enumerate(monomial):
            rest = (*monomial[:place], *monomial[place + 1 :])
            if atom.kind in ("min", "max") and all(each.lowest is not None and each.lowest >= 0 for each in rest):
                others, factor = size - from_terms({monomial: coefficient}), from_terms({rest: coefficient})
                is_each = (coefficient > 0) == (atom.kind == "min")
                yield is_each, [others + factor * argument for argument in atom.args]


def _split_by_remainder(size: Size) -> list[Size]:
    """Split a size that contains p//4 by the remainder of p's first variable: 4*n, 4*n + 1, 4*n + 2 and 4*n + 3."""
    for atom in (atom for monomial in terms_of(size) for atom in monomial):
        if atom.kind == "//" and isinstance(divisor := atom.args[1], int) and 1 < divisor <= _MOST_REMAINDERS:
            name = min(atom.variables)
            whole = make_variable(name) * divisor
            return [_substitute(size, {name: whole + rest}) for rest in range(divisor)]
    return []


def _substitute(size: Size, values: dict[str, Dim]) -> Size:
    found = size.substitute(values) if isinstance(size, SymExpr) else size
    assert found is not None
    return found


def _is_never_zero(terms: Terms) -> bool:
    """Check by divisibility whether a size is never zero: 60*n - 80 is not a multiple of 60 for any n."""
    divisor = gcd(*(coefficient for monomial, coefficient in terms.items() if monomial))
    return divisor > 0 and terms.get((), 0) % divisor != 0


def _open_mods(size: Size) -> Size:
    """Rewrite x%a as x - a*(x//a), so that 4*(n//4) + n%4 simplifies to n."""

    def opened(atom: Atom) -> Size:
        return atom.args[0] - atom.args[1] * floordiv(*atom.args) if atom.kind == "%" else from_terms({(atom,): 1})

    return value_of(size, opened)


# Parsing.


@functools.lru_cache(maxsize=1024)
def parse(text: str) -> Size:
    """Parse names, integers, + - * // % with Python's precedence, min(..), max(..) and ceildiv(a, b)."""
    if len(text) > MAX_TEXT:
        raise SymbolError(f"expression is {len(text)} characters long, at most {MAX_TEXT} are allowed")
    return _Parser(text).parse()


def _scan(text: str) -> list[tuple[str, int]]:
    """Return the tokens with their columns, ended by an empty token."""
    tokens = []
    start = 0
    while start < len(text):
        end = start + 1
        if (first := text[start]) in _NAME_START or first in _DIGITS:
            part = _NAME_PART if first in _NAME_START else _DIGITS
            while end < len(text) and text[end] in part:
                end += 1
        elif text.startswith("//", start):
            end += 1
        elif first not in "+-*%(), \t\n":
            raise SymbolError(
                f"column {start + 1}: unexpected {first!r} in '{shorten(text)}', "
                "expected names, integers, + - * // % ( ) and ','"
            )
        if first not in " \t\n":
            tokens.append((text[start:end], start + 1))
        start = end
    tokens.append(("", len(text) + 1))
    return tokens


class _Parser:
    """Recursive descent parser, with three calls per level of nesting."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _scan(text)
        self.position = 0
        self.nesting = 0

    def parse(self) -> Size:
        value = self.sum()
        if self.tokens[self.position][0]:
            raise self.unexpected("an operator or the end")
        return value

    def sum(self) -> Size:
        value = self.term()
        while (operator := self.accept("+", "-")) is not None:
            value = self.apply(operator, value, self.term())
        return value

    def term(self) -> Size:
        value = self.factor()
        while (operator := self.accept("*", "//", "%")) is not None:
            value = self.apply(operator, value, self.factor())
        return value

    def factor(self) -> Size:
        negative = False
        while self.accept("-") is not None:
            negative = not negative
        token = self.tokens[self.position]
        word, column = token
        if word == "(":
            value = self.bracketed()[0]
        elif word in FUNCTIONS:
            self.position += 1
            value = self.apply(token, *self.bracketed(word))
        elif word and (word[0] in _NAME_START or word[0] in _DIGITS):
            self.position += 1
            value = self.number(word, column) if word[0] in _DIGITS else make_variable(word)
        else:
            raise self.unexpected("a name, an integer, '-' or '('")
        return -value if negative else value

    def number(self, digits: str, column: int) -> int:
        if len(digits) > MAX_DIGITS:
            raise SymbolError(f"column {column}: integer of {len(digits)} digits, at most {MAX_DIGITS} are allowed")
        return int(digits)

    def bracketed(self, function: str = "") -> list[Size]:
        """Parse the contents of parentheses: one expression, or a function's arguments."""
        self.expect("(")
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            column = self.tokens[self.position - 1][1]
            raise SymbolError(f"column {column}: parentheses nest more than {_MAX_NESTING} deep")
        values = [self.sum()]
        while function and (len(values) < 2 or function != "ceildiv"):
            if len(values) < 2:
                self.expect(",")
            elif self.accept(",") is None:
                break
            values.append(self.sum())
        self.expect(")")
        self.nesting -= 1
        return values

    def accept(self, *words: str) -> tuple[str, int] | None:
        token = self.tokens[self.position]
        if token[0] not in words:
            return None
        self.position += 1
        return token

    def expect(self, word: str) -> None:
        if self.accept(word) is None:
            raise self.unexpected(f"'{word}'")

    def unexpected(self, expected: str) -> SymbolError:
        word, column = self.tokens[self.position]
        found = f"'{shorten(word)}'" if word else "the end"
        before = self.tokens[self.position - 1][0] if self.position else ""
        if word == "(" and before and before[0] in _NAME_START:
            expected += f" ('{shorten(before)}' is no function; functions are {', '.join(FUNCTIONS)})"
        return SymbolError(f"column {column}: expected {expected}, found {found} in '{shorten(self.text)}'")

    def apply(self, operator: tuple[str, int], *args: Size) -> Size:
        word, column = operator
        try:
            if isinstance(value := _OPERATORS[word](*args), int):
                check_number(value)
        except SymbolError as error:
            raise SymbolError(f"column {column}: {error}") from None
        return value


_OPERATORS: dict[str, Callable[..., Size]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": floordiv,
    "%": mod,
    "ceildiv": ceildiv_sizes,
    "min": lambda *sizes: extremum("min", sizes),
    "max": lambda *sizes: extremum("max", sizes),
}


def _read(text: str) -> SymExpr:
    expression = parse(text)
    assert isinstance(expression, SymExpr)
    return expression


# An expression is pickled and copied as text.
copyreg.pickle(SymExpr, lambda expression: (_read, (str(expression),)))
