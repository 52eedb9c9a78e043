# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equations between sizes, and what symbols are by them: each that is linear in a symbol says what that symbol is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import gcd
from typing import NamedTuple

from ...bindings.diagnostics import error_at, made_at
from ...bindings.ir import Operation
from ...dialects.core.substitute import symbols_of_operation
from ...dialects.core.symbols import Dim, Size, SymbolError, SymExpr, equal, sym
from ...dialects.core.symbols_expr import make, terms_of
from ...dialects.core.symbols_terms import bounds
from ...support.errors import RefusalError, RelaxError


class Equation(NamedTuple):
    """What an operation needs: two sizes that are the same."""

    one: Size
    other: Size
    operation: Operation
    #: Whether the operation runs whenever the function does. What cannot hold is else never run.
    is_certain: bool = True

    def __str__(self) -> str:
        return f"{self.one} = {self.other}"


class Answer(NamedTuple):
    """What a symbol is, and the equation that says so."""

    size: Size
    equation: Equation


#: Whether an operation may say what a symbol is, in terms of others.
MayTell = Callable[[Operation, str, Iterable[str]], bool]


class Equations:
    """What is known of a function's symbols.

    `places` says where each is defined, counted from the function's beginning, parameters at -1. A symbol is expressed
    by those that are defined before it: its own definition becomes a check. The others stay free, and so do those that
    are kept.
    """

    def __init__(self, places: Mapping[str, int], kept: Iterable[str] = (), may_tell: MayTell | None = None):
        self._places = places
        self._kept = frozenset(kept)
        self._may_tell = may_tell
        self.answers: dict[str, Answer] = {}
        #: Equations that say nothing yet, by the symbols in them.
        self._open: dict[str, list[Equation]] = {}

    def resolve(self, size: Dim) -> Dim:
        """The size in terms of symbols that nothing is known of."""
        if not isinstance(size, SymExpr) or self.answers.keys().isdisjoint(size.variables):
            return size
        return size.substitute({name: self._answer(name) for name in size.variables if name in self.answers})

    def _answer(self, name: str) -> Size:
        """What a symbol is: chains of answers are followed once, without recursion, and cut short."""
        path = [name]
        while path:
            size, equation = self.answers[path[-1]]
            variables = size.variables if isinstance(size, SymExpr) else ()
            unresolved = [each for each in variables if self._is_stale(each)]
            if unresolved:
                path.extend(unresolved)
                continue
            if isinstance(size, SymExpr):
                found = {each: self.answers[each].size for each in size.variables if each in self.answers}
                resolved = size.substitute(found) if found else size
                assert resolved is not None
                self.answers[path[-1]] = Answer(resolved, equation)
            path.pop()
        return self.answers[name].size

    def _is_stale(self, name: str) -> bool:
        """Whether what is known of a symbol is said in terms of one that more is known of."""
        answer = self.answers.get(name)
        size = None if answer is None else answer.size
        return isinstance(size, SymExpr) and not self.answers.keys().isdisjoint(size.variables)

    def add(self, equation: Equation) -> None:
        """Learns from an equation. Raises RelaxError, with both places, where it contradicts those before."""
        pending = [equation]
        while pending:
            symbol = self._learn(pending.pop())
            if symbol is not None:
                pending += self._open.pop(symbol, [])

    def _learn(self, equation: Equation) -> str | None:
        """The symbol that more is known of now, if there is one."""
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
        except SymbolError:  # too large to say anything
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
        self.answers[symbol] = Answer(size, equation)
        return symbol

    def _solve(self, difference: Size, operation: Operation) -> tuple[str, Size] | None:
        """A symbol and what it must be for this to be 0: the one that is defined last."""
        terms = terms_of(difference)
        scale = gcd(*terms.values())
        found = []
        for order, (monomial, coefficient) in enumerate(terms.items()):
            if abs(coefficient) != scale or len(monomial) != 1 or monomial[0].kind != "variable":
                continue
            sign = -1 if coefficient > 0 else 1
            rest = {other: sign * count // scale for other, count in terms.items() if other != monomial}
            name, size = str(monomial[0]), make(rest)
            if self._may_follow(name, size, operation):
                is_size = bounds(terms_of(size))[0] is not None
                found.append((self._places[name], is_size, order, name, size))
        if not found:
            return None
        *_, name, size = max(found, key=lambda each: each[:3])
        return name, size

    def _may_follow(self, name: str, size: Size, operation: Operation) -> bool:
        """Whether the size says what the symbol is where that is defined."""
        place = self._places.get(name)
        if place is None or name in self._kept:
            return False
        variables = size.variables if isinstance(size, SymExpr) else frozenset()
        if self._may_tell is not None and not self._may_tell(operation, name, variables):
            return False
        if isinstance(size, int):
            return True
        highest = bounds(terms_of(size))[1]
        if highest is not None and highest <= 0:  # n + m = 0
            return False
        before = [self._places.get(each) for each in size.variables]
        # What one operation defines together may only be equal to another name: definitions are read off plain sizes.
        is_together = place < 0 or size == sym(next(iter(size.variables)))
        return name not in size.variables and all(
            each is not None and (each < place or (each == place and is_together)) for each in before
        )

    def _contradiction(self, equation: Equation, problem: str) -> RelaxError:
        message = f"'{equation.operation.name}' op can never run: {problem}"
        return self.error(equation.operation, message)

    def error(self, operation: Operation, message: str) -> RelaxError:
        """An error at an operation, with what is known of the symbols in its types, and from where."""
        notes = []
        for reason in self._reasons(symbols_of_operation(operation)):
            location = reason.operation.location
            note = f"{reason} is needed by {made_at(reason.operation.name, location)}"
            notes.append(error_at(location, note)._replace(severity="note", name=""))
        diagnostic = error_at(operation.location, message)._replace(notes=tuple(notes))
        texts = [note.message for note in notes]
        return RefusalError(message, location=diagnostic.place, notes=texts, diagnostics=[diagnostic])

    def _reasons(self, names: Iterable[str]) -> list[Equation]:
        """The equations that say what these symbols are, and what those in them are; each once."""
        found: dict[Equation, None] = {}
        pending, seen = sorted(names), set[str]()
        while pending:
            name = pending.pop(0)
            if name in self.answers and name not in seen:
                seen.add(name)
                equation = self.answers[name].equation
                found[equation] = None
                pending += sorted(_variables(equation.one, equation.other))
        return list(found)


def _variables(*sizes: Dim) -> frozenset[str]:
    return frozenset(name for size in sizes if isinstance(size, SymExpr) for name in size.variables)


def names_in(dims: Iterable[Dim]) -> Iterator[str]:
    """The symbols in sizes."""
    for dim in dims:
        if isinstance(dim, SymExpr):
            yield from sorted(dim.variables)
