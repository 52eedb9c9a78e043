# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Coverage analysis: proof that a tensor program writes all of a buffer before it reads it, for any number of points.

Indices are sums of digits of loop variables, such as `x // 4 % 8`, times factors. Disjoint digits take all combinations
of their values, so that each dimension is analyzed by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise
from typing import NamedTuple

from ...dialects.script.syntax import folded, indices_of, operation_of
from .names import Names
from .points import Unknown, worked_out
from .program import REDUCE, Block, Buffer, For, If, Let, Statement, Store, While, expressions_of, leaving


class _Digit(NamedTuple):
    """Digit of a loop variable: `variable // divisor % extent`."""

    variable: int
    divisor: int
    extent: int


class _Sum(NamedTuple):
    """Constant plus digits with their factors, in order."""

    constant: int
    terms: tuple[tuple[_Digit, int], ...] = ()

    @classmethod
    def of(cls, constant: int, terms: Iterable[tuple[_Digit, int]]) -> _Sum:
        factors: dict[_Digit, int] = {}
        for digit, factor in terms:
            factors[digit] = factors.get(digit, 0) + factor
        return cls(constant, tuple(sorted((digit, factor) for digit, factor in factors.items() if factor)))

    def plus(self, other: _Sum) -> _Sum:
        return _Sum.of(self.constant + other.constant, (*self.terms, *other.terms))

    def times(self, number: int) -> _Sum:
        return _Sum.of(self.constant * number, ((digit, factor * number) for digit, factor in self.terms))

    def divided(self, number: int) -> tuple[_Sum, _Sum] | None:
        """Return the quotient and the remainder, or None if they are not sums of digits."""
        above: list[tuple[_Digit, int]] = []
        below: list[tuple[_Digit, int]] = []
        for digit, factor in self.terms:
            steps, rest = divmod(number, factor) if factor > 0 else (0, 1)
            if factor % number == 0:
                above.append((digit, factor // number))
            elif rest:
                return None
            elif digit.extent <= steps:
                below.append((digit, factor))
            elif digit.extent % steps:
                return None
            else:
                below.append((digit._replace(extent=steps), factor))
                above.append((digit._replace(divisor=digit.divisor * steps, extent=digit.extent // steps), 1))
        quotient, remainder = (
            _Sum.of(each, terms) for each, terms in zip(divmod(self.constant, number), (above, below), strict=True)
        )
        return (quotient, remainder) if remainder.bounds[1] < number else None

    @property
    def bounds(self) -> tuple[int, int]:
        ends = [factor * (digit.extent - 1) for digit, factor in self.terms]
        return self.constant + sum(min(end, 0) for end in ends), self.constant + sum(max(end, 0) for end in ends)

    @property
    def is_contiguous(self) -> bool:
        """Check whether the sum takes all values between its bounds."""
        reached = 0
        for factor, extent in sorted((abs(factor), digit.extent) for digit, factor in self.terms):
            if factor > reached + 1:
                return False
            reached += factor * (extent - 1)
        return True


def _are_apart(digits: Iterable[_Digit]) -> bool:
    """Check whether each digit takes all of its values for any values of the others."""
    return all(
        one.variable != other.variable or one.divisor * one.extent <= other.divisor
        for one, other in pairwise(sorted(digits))
    )


class _Unproven(Exception):
    """The program may read unwritten elements, or its form is not supported by the analysis."""


class _At(NamedTuple):
    """State of the analysis at a statement."""

    values: Mapping[str, _Sum | None]
    #: Elements that were written in the same iteration of all enclosing loops.
    written: set[tuple[_Sum, ...]]
    #: True if the statement runs in each iteration.
    is_sure: bool = True
    #: Upper limits of indices: the statement runs only where each index is less than its limit.
    guards: Mapping[_Sum, int] = {}

    def knowing(self, name: str, value: _Sum | None) -> _At:
        return self._replace(values={**self.values, name: value})


def is_written_first(names: Names, body: Sequence[Statement], buffer: Buffer, shape: Sequence[int | None]) -> bool:
    """Check whether the program writes each element and reads none before it is written."""
    known = [size for size in shape if size is not None]
    return len(known) == len(shape) and _Coverage(names, buffer, known).shows(body)


class _Coverage:
    def __init__(self, names: Names, buffer: Buffer, shape: Sequence[int]):
        self._names, self._buffer, self._shape = names, buffer, shape
        self._variables = count()
        self._is_covered = False

    def shows(self, body: Sequence[Statement]) -> bool:
        at = _At({}, set())
        try:
            for statement in body:
                at = self._statement(statement, at)
                if self._is_covered:
                    return True  # later statements only read written elements
        except _Unproven:
            return False
        return False

    def _statements(self, body: Sequence[Statement], at: _At) -> None:
        for statement in body:
            at = self._statement(statement, at)

    def _statement(self, statement: Statement, at: _At) -> _At:
        for node in () if isinstance(statement, Block) else expressions_of(statement):
            self._read(node, at)
        if isinstance(statement, Let):
            return at.knowing(statement.name, self._sum(statement.value, at))
        if isinstance(statement, Store):
            self._store(statement, at)
        elif isinstance(statement, If):
            for side in (statement.then, statement.otherwise):
                self._statements(side, at._replace(written=set(at.written), is_sure=False))
        elif isinstance(statement, While):
            self._statements(statement.body, at._replace(written=set(at.written), is_sure=False))
        elif isinstance(statement, For):
            self._for(statement, at)
        elif isinstance(statement, Block):
            self._block(statement, at)
        return at

    def _store(self, statement: Store, at: _At) -> None:
        if statement.buffer is not self._buffer:
            return
        indices = [self._sum(index, at) for index in statement.indices]
        place = tuple(index for index in indices if index is not None)
        if len(place) == len(indices):
            at.written.add(place)
            self._is_covered |= at.is_sure and self._covers(place, at.guards)

    def _covers(self, place: Sequence[_Sum], guards: Mapping[_Sum, int]) -> bool:
        if not _are_apart([digit for each in place for digit, _ in each.terms]):
            return False
        return all(index in place for index in guards) and all(
            self._goes_through(index, size, guards.get(index)) for index, size in zip(place, self._shape, strict=True)
        )

    @staticmethod
    def _goes_through(index: _Sum, size: int, guard: int | None) -> bool:
        """Check whether an index, where it is below the guard, takes exactly the values from 0 to size - 1."""
        smallest, largest = index.bounds
        last = largest if guard is None else min(largest, guard - 1)
        return index.is_contiguous and smallest == 0 and last == size - 1

    def _for(self, statement: For, at: _At) -> None:
        if leaving(statement.body):
            raise _Unproven
        for loop in statement.loops:
            start, stop = self._sum(loop.start or ast.Constant(0), at), self._sum(loop.stop, at)
            if start is None or stop is None or start.terms or stop.terms or stop.constant <= start.constant:
                at = at.knowing(loop.name, None)._replace(written=set(at.written), is_sure=False)
                continue
            digit = _Digit(next(self._variables), 1, stop.constant - start.constant)
            at = at.knowing(loop.name, _Sum.of(start.constant, [(digit, 1)] if digit.extent > 1 else []))
        self._statements(statement.body, at)

    def _block(self, block: Block, at: _At) -> None:
        for axis in block.axes:
            self._read(axis.binding, at)
            at = at.knowing(axis.name, self._sum(axis.binding, at))
        if block.where:
            at = at._replace(written=set(at.written), guards={**at.guards, **dict(self._guards(block, at))})
        first = at if self._is_init_first(block, at) else at._replace(written=set(at.written), is_sure=False)
        for axis in (each for each in block.axes if each.kind == REDUCE):
            first = first.knowing(axis.name, self._sum(axis.start or ast.Constant(0), at))
        self._statements(block.init, first)
        self._statements(block.body, at)

    def _guards(self, block: Block, at: _At) -> Iterator[tuple[_Sum, int]]:
        for condition in block.where:
            self._read(condition, at)
            sign, operands = operation_of(condition)
            if sign != "<":
                raise _Unproven
            index, limit = (self._sum(operand, at) for operand in operands)
            if index is None or limit is None or limit.terms:
                raise _Unproven
            yield index, limit.constant

    def _is_init_first(self, block: Block, at: _At) -> bool:
        """Check whether the first iteration at an element is the one of init: the reduction variables are at their
        start."""
        digits: list[_Digit] = []
        for axis in block.axes:
            value, start = at.values[axis.name], self._sum(axis.start or ast.Constant(0), at)
            if (
                value is None
                or axis.kind == REDUCE
                and (start is None or start.terms or value.constant != start.constant)
            ):
                return False
            digits += [digit for digit, _ in value.terms]
        return _are_apart(digits)

    def _read(self, node: ast.expr, at: _At) -> None:
        """Raise _Unproven if the expression reads an element that was not written in the same iteration."""
        bases = set()
        for part in ast.walk(node):
            if (
                isinstance(part, ast.Subscript)
                and isinstance(part.value, ast.Name)
                and part.value.id == self._buffer.name
            ):
                if tuple(self._sum(index, at) for index in indices_of(part)) not in at.written:
                    raise _Unproven
                bases.add(part.value)
            elif isinstance(part, ast.Name) and part.id == self._buffer.name and part not in bases:
                raise _Unproven

    def _sum(self, node: ast.expr, at: _At) -> _Sum | None:
        return folded(node, operation_of, lambda each: self._leaf(each, at), _computed)

    def _leaf(self, node: ast.expr, at: _At) -> _Sum | None:
        if isinstance(node, ast.Name) and node.id in at.values:
            return at.values[node.id]
        try:
            value = worked_out(self._names, node, {})
        except Unknown:
            return None
        return _Sum(value) if isinstance(value, int) else None


def _computed(sign: str, parts: Sequence[_Sum]) -> _Sum | None:
    left, right = parts[0], parts[-1]
    if len(parts) == 1:
        return left.times(-1) if sign == "-" else None
    if sign in ("+", "-"):
        return left.plus(right if sign == "+" else right.times(-1))
    if sign == "*" and not (left.terms and right.terms):
        return left.times(right.constant) if not right.terms else right.times(left.constant)
    if right.terms or right.constant <= 0 or sign not in ("//", "%"):
        return None
    found = left.divided(right.constant)
    return None if found is None else found[sign == "%"]
