# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equations between sizes and their solutions. An equation that is linear in a symbol defines the symbol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import gcd
from typing import NamedTuple

from ....bindings.diagnostics import error_at, made_at
from ....bindings.ir import Operation
from ....dialects.core.substitute import symbols_of_operation
from ....dialects.core.symbols import Dim, Size, SymbolError, SymExpr, equal, sym
from ....dialects.core.symbols_expr import from_terms, terms_of
from ....dialects.core.symbols_terms import bounds
from ....support.errors import RefusalError, RelaxError


class Equation(NamedTuple):
    """Two sizes that an operation needs to be equal."""

    one: Size
    other: Size
    operation: Operation
    #: True if the operation runs whenever the function does. An unsatisfiable equation else means that it never runs.
    is_certain: bool = True

    def __str__(self) -> str:
        return f"{self.one} = {self.other}"


class SolvedSymbol(NamedTuple):
    """Value of a symbol, and the equation that defines it."""

    size: Size
    equation: Equation


#: Predicate: True if an operation may define a symbol in terms of others.
MayTell = Callable[[Operation, str, Iterable[str]], bool]


class Equations:
    """Known values of a function's symbols.

    `places` has the position of each symbol's definition, counted from the function's beginning, with parameters at -1.
    A symbol is expressed by symbols that are defined before it, and its own definition becomes a check. All other
    symbols stay free, and so do those in `kept`.
    """

    def __init__(self, places: Mapping[str, int], kept: Iterable[str] = (), may_tell: MayTell | None = None):
        self._places = places
        self._kept = frozenset(kept)
        self._may_tell = may_tell
        self.answers: dict[str, SolvedSymbol] = {}
        #: Equations that define nothing yet, by the symbols in them.
        self._open: dict[str, list[Equation]] = {}

    def resolve(self, size: Dim) -> Dim:
        """Return the size in terms of free symbols."""
        if not isinstance(size, SymExpr) or self.answers.keys().isdisjoint(size.variables):
            return size
        return size.substitute({name: self._answer(name) for name in size.variables if name in self.answers})

    def _answer(self, name: str) -> Size:
        """Return the value of a symbol. Chains of answers are followed without recursion, and shortened."""
        path = [name]
        while path:
            size, equation = self.answers[path[-1]]
            variables = size.variables if isinstance(size, SymExpr) else ()
            if unresolved := [variable for variable in variables if self._is_stale(variable)]:
                path.extend(unresolved)
                continue
            if isinstance(size, SymExpr):
                found = {
                    variable: self.answers[variable].size for variable in size.variables if variable in self.answers
                }
                resolved = size.substitute(found) if found else size
                assert resolved is not None
                self.answers[path[-1]] = SolvedSymbol(resolved, equation)
            path.pop()
        return self.answers[name].size

    def _is_stale(self, name: str) -> bool:
        """Check whether a symbol's answer contains symbols with answers of their own."""
        answer = self.answers.get(name)
        size = None if answer is None else answer.size
        return isinstance(size, SymExpr) and not self.answers.keys().isdisjoint(size.variables)

    def add(self, equation: Equation) -> None:
        """Add an equation. Raise RelaxError, with both locations, if it contradicts earlier equations."""
        pending = [equation]
        while pending:
            if (symbol := self._learn(pending.pop())) is not None:
                pending += self._open.pop(symbol, [])

    def _learn(self, equation: Equation) -> str | None:
        """Learn from an equation and return the symbol that it defines, or None."""
        if equation.one == equation.other:
            return None
        try:
            one, other = self.resolve(equation.one), self.resolve(equation.other)
            if equal(one, other) is False:
                if not equation.is_certain:
                    return None
                raise self._contradiction(equation, f"sizes that must be the same are {one} and {other}")
            difference = 0 if one is None or other is None else one - other
            found = self._solve(difference, equation.operation)
        except SymbolError:  # too large to solve
            return None
        if found is None:
            for name in difference.variables if isinstance(difference, SymExpr) else ():
                self._open.setdefault(name, []).append(equation)
            return None
        symbol, size = found
        if isinstance(size, int) and size < 0:
            if not equation.is_certain:
                return None
            raise self._contradiction(equation, f"{symbol} would have to be {size}")
        self.answers[symbol] = SolvedSymbol(size, equation)
        return symbol

    def _solve(self, difference: Size, operation: Operation) -> tuple[str, Size] | None:
        """Solve difference = 0 for the symbol that is defined last. Return the symbol and its value, or None."""
        terms = terms_of(difference)
        scale = gcd(*terms.values())
        found = []
        for order, (monomial, coefficient) in enumerate(terms.items()):
            if abs(coefficient) != scale or len(monomial) != 1 or monomial[0].kind != "variable":
                continue
            sign = -1 if coefficient > 0 else 1
            rest = {other: sign * count // scale for other, count in terms.items() if other != monomial}
            name, size = str(monomial[0]), from_terms(rest)
            if self._may_follow(name, size, operation):
                is_size = bounds(terms_of(size))[0] is not None
                found.append((self._places[name], is_size, order, name, size))
        if not found:
            return None
        *_, name, size = max(found, key=lambda each: each[:3])
        return name, size

    def _may_follow(self, name: str, size: Size, operation: Operation) -> bool:
        """Check whether the size can define the symbol at the symbol's definition."""
        if (place := self._places.get(name)) is None or name in self._kept:
            return False
        variables = size.variables if isinstance(size, SymExpr) else frozenset()
        if self._may_tell is not None and not self._may_tell(operation, name, variables):
            return False
        if isinstance(size, int):
            return True
        if (highest := bounds(terms_of(size))[1]) is not None and highest <= 0:  # n + m = 0
            return False
        before = [self._places.get(variable) for variable in size.variables]
        # A symbol may follow another one of the same operation only as an equal name, because definitions are read off
        # plain sizes.
        is_together = place < 0 or size == sym(next(iter(size.variables)))
        return name not in size.variables and all(
            each is not None and (each < place or (each == place and is_together)) for each in before
        )

    def _contradiction(self, equation: Equation, problem: str) -> RelaxError:
        message = f"'{equation.operation.name}' op can never run: {problem}"
        return self.error(equation.operation, message)

    def error(self, operation: Operation, message: str) -> RelaxError:
        """Return an error at an operation, with notes on the known symbols in its types and where they come from."""
        notes = []
        for reason in self._reasons(symbols_of_operation(operation)):
            location = reason.operation.location
            note = f"{reason} is needed by {made_at(reason.operation.name, location)}"
            notes.append(error_at(location, note)._replace(severity="note", name=""))
        diagnostic = error_at(operation.location, message)._replace(notes=tuple(notes))
        texts = [note.message for note in notes]
        return RefusalError(message, location=diagnostic.place, notes=texts, diagnostics=[diagnostic])

    def _reasons(self, names: Iterable[str]) -> list[Equation]:
        """Return the equations that define these symbols, and the symbols in the equations.

        Each equation occurs once.
        """
        reasons: dict[Equation, None] = {}
        pending, seen = sorted(names), set[str]()
        while pending:
            if (name := pending.pop(0)) in self.answers and name not in seen:
                seen.add(name)
                equation = self.answers[name].equation
                reasons[equation] = None
                pending += sorted(_variables(equation.one, equation.other))
        return list(reasons)


def _variables(*sizes: Dim) -> frozenset[str]:
    return frozenset(name for size in sizes if isinstance(size, SymExpr) for name in size.variables)


def names_in(dims: Iterable[Dim]) -> Iterator[str]:
    """Yield the symbols in sizes."""
    for dim in dims:
        if isinstance(dim, SymExpr):
            yield from sorted(dim.variables)
