# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access analysis by execution without data: where and when a tensor program accesses buffers of static sizes.

A loop runs for one iteration if its variable affects neither an index nor a condition. The other iterations repeat the
same accesses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...dialects.script.syntax import buffer_name, indices_of, names_within, parts_of, parts_within
from .names import Names
from .points import Array, Numbers, Unknown, worked_out
from .program import REDUCE, Block, Buffer, For, If, Let, Statement, Store, While, every, expressions_of, leaving

#: More points would take seconds.
_MOST_POINTS = 1 << 22


class TooMany(Exception):
    """A program with more points than the analysis visits."""


class StatementAccess(NamedTuple):
    """Accesses of one expression or store to the buffer, at a number of points."""

    node: ast.AST
    is_store: bool
    points: int
    #: One index per dimension, a number or an array; None if dynamic.
    places: tuple[Numbers, ...] | None
    #: Loop counters that order the accesses: columns, the outer loops first.
    times: tuple[Numbers, ...]
    #: True if the access happens at all points; otherwise it may happen.
    is_sure: bool


class _At(NamedTuple):
    """Points at which a statement runs, with the values of the variables there."""

    values: Mapping[str, Numbers]
    points: int
    times: tuple[Numbers, ...]
    is_sure: bool

    def then(self, *times: Numbers) -> _At:
        return self._replace(times=(*self.times, *times))

    def unsure(self) -> _At:
        return self._replace(is_sure=False)

    def knowing(self, name: str, value: Numbers | None) -> _At:
        """Return the points with one more variable. None is a dynamic value."""
        values = {key: held for key, held in self.values.items() if key != name}
        return self._replace(values=values if value is None else {**values, name: value})

    def only(self, truth: Numbers | None) -> _At:
        """Return the points at which a condition is true. None is a dynamic condition."""
        import numpy

        if truth is None:
            return self.unsure()
        if numpy.ndim(truth) == 0:
            if truth:
                return self
            truth = numpy.zeros(self.points, bool)
        return self._picked(numpy.flatnonzero(truth))

    def _picked(self, points: Array) -> _At:
        def pick(numbers: Numbers) -> Numbers:
            return numbers if isinstance(numbers, int) or not numbers.ndim else numbers[points]

        values = {name: pick(value) for name, value in self.values.items()}
        return _At(values, len(points), tuple(map(pick, self.times)), self.is_sure)

    def along(self, name: str, start: Numbers, stop: Numbers) -> _At:
        """Return the points of a loop that runs at each of these points. Raises TooMany."""
        import numpy

        try:
            counts = numpy.broadcast_to(numpy.maximum(numpy.subtract(stop, start), 0), (self.points,))
        except OverflowError:  # a number of more than 64 bits
            raise TooMany from None
        # As a float: a sum of integers could wrap around.
        if counts.sum(dtype=float) > _MOST_POINTS:
            raise TooMany
        total = int(counts.sum())
        points = numpy.repeat(numpy.arange(self.points), counts)
        step = numpy.arange(total) - numpy.repeat(numpy.cumsum(counts) - counts, counts)
        inside = self._picked(points).then(1 + step)
        first = start if isinstance(start, int) or not start.ndim else start[points]
        return inside.knowing(name, first + step)


class Accesses:
    """Accesses of a program to one buffer. Every iteration of the `wanted` loops is visited."""

    def __init__(
        self,
        names: Names,
        body: Sequence[Statement],
        buffer: Buffer,
        sizes: Mapping[str, int],
        wanted: Iterable[str] = (),
    ):
        self._names, self._body, self._buffer = names, body, buffer
        self._sizes = sizes
        self._needed = self._deciding().union(wanted)

    def __iter__(self) -> Iterator[StatementAccess]:
        """Yield the accesses in no particular order. Raises TooMany."""
        return self._statements(self._body, _At(dict(self._sizes), 1, (), True))

    # ---- variables that indices and conditions depend on ----

    def _deciding(self) -> set[str]:
        """Return the variables that indices and conditions are computed from."""
        definitions: dict[str, list[ast.expr]] = {}
        waiting: list[ast.expr] = []
        for statement in every(self._body):
            waiting += self._conditions(statement)
            if isinstance(statement, Let):
                definitions.setdefault(statement.name, []).append(statement.value)
            elif isinstance(statement, Block):
                for axis in statement.axes:
                    definitions.setdefault(axis.name, []).append(axis.binding)
            elif isinstance(statement, For):
                for loop in statement.loops:
                    definitions.setdefault(loop.name, []).extend([loop.start or loop.stop, loop.stop])
            elif isinstance(statement, Store) and statement.buffer is self._buffer:
                waiting += statement.indices
            for node in (part for expression in expressions_of(statement) for part in parts_within(expression)):
                if isinstance(node, ast.Subscript) and self._is_element(node):
                    waiting += indices_of(node)
                elif (choice := self._names.choice(node)) is not None:
                    waiting.append(choice[0])
        found: set[str] = set()
        while waiting:
            for name in names_within(waiting.pop()):
                if name not in found:
                    found.add(name)
                    waiting += definitions.get(name, [])
        return found

    def _conditions(self, statement: Statement) -> Sequence[ast.expr]:
        """Return the conditions that decide whether the statement accesses the buffer."""
        if not isinstance(statement, (If, Block)) or not any(map(self._touches, every([statement]))):
            return ()
        return statement.where if isinstance(statement, Block) else (statement.condition,)

    def _touches(self, statement: Statement) -> bool:
        if isinstance(statement, Store) and statement.buffer is self._buffer:
            return True
        return any(
            self._is_element(part) for expression in expressions_of(statement) for part in parts_within(expression)
        )

    def _is_element(self, node: ast.expr) -> bool:
        return buffer_name(node) == self._buffer.name

    # ---- statements ----

    def _statements(self, body: Sequence[Statement], at: _At) -> Iterator[StatementAccess]:
        for position, statement in enumerate(body):
            if not at.points:
                return
            here = at.then(position)
            if isinstance(statement, Let):
                yield from self._reads(statement.value, here)
                at = at.knowing(statement.name, self._value(statement.value, at))
            elif isinstance(statement, Store):
                yield from self._store(statement, here)
            elif isinstance(statement, If):
                yield from self._if(statement, here)
            elif isinstance(statement, While):
                yield from self._reads(statement.condition, here.then(0))
                yield from self._statements(statement.body, here.then(1).unsure())
            elif isinstance(statement, For):
                yield from self._for(statement, here)
            elif isinstance(statement, Block):
                yield from self._block(statement, here)
            else:
                for node in expressions_of(statement):
                    yield from self._reads(node, here)

    def _store(self, statement: Store, at: _At) -> Iterator[StatementAccess]:
        for node in (*statement.indices, statement.value):
            yield from self._reads(node, at.then(0))
        if statement.buffer is self._buffer:
            yield self._access(statement.node, True, statement.indices, at.then(1))

    def _if(self, statement: If, at: _At) -> Iterator[StatementAccess]:
        yield from self._reads(statement.condition, at.then(0))
        truth = self._value(statement.condition, at)
        yield from self._statements(statement.then, at.then(1).only(truth))
        yield from self._statements(statement.otherwise, at.then(1).only(_negated(truth)))

    def _for(self, statement: For, at: _At) -> Iterator[StatementAccess]:
        inside = at.unsure() if leaving(statement.body) else at
        for loop in statement.loops:
            bounds = (loop.start or ast.Constant(0), loop.stop)
            for node in bounds:
                yield from self._reads(node, inside.then(0))
            start, stop = (self._value(node, inside) for node in bounds)
            if start is None or stop is None:
                inside = inside.then(1).knowing(loop.name, None).unsure()
            elif loop.name in self._needed:
                inside = inside.along(loop.name, start, stop)
            else:
                inside = inside.then(1).knowing(loop.name, start).only(start < stop)
        yield from self._statements(statement.body, inside)

    def _block(self, block: Block, at: _At) -> Iterator[StatementAccess]:
        for axis in block.axes:
            yield from self._reads(axis.binding, at.then(0))
            at = at.knowing(axis.name, self._value(axis.binding, at))
        for condition in block.where:
            yield from self._reads(condition, at.then(0))
            at = at.only(self._value(condition, at))
        first = at
        for axis in (each for each in block.axes if block.init and each.kind == REDUCE):
            value, start = at.values.get(axis.name), self._value(axis.start or ast.Constant(0), first)
            known = None if value is None or start is None else first.values[axis.name] == start
            first = first.only(known)
        yield from self._statements(block.init, first.then(1))
        yield from self._statements(block.body, at.then(2))

    # ---- expressions ----

    def _value(self, node: ast.expr, at: _At) -> Numbers | None:
        """Return the value of an expression, or None if it is dynamic."""
        try:
            return worked_out(self._names, node, at.values)
        except Unknown:
            return None

    def _access(self, node: ast.AST, is_store: bool, indices: Sequence[ast.expr] | None, at: _At) -> StatementAccess:
        found = [] if indices is None else [self._value(index, at) for index in indices]
        known = tuple(each for each in found if each is not None)
        places = None if indices is None or len(known) < len(found) else known
        return StatementAccess(node, is_store, at.points, places, at.times, at.is_sure and places is not None)

    def _reads(self, node: ast.expr, at: _At) -> Iterator[StatementAccess]:
        """Yield the reads of the buffer in an expression, each at the points at which it is computed."""
        if not at.points:
            return
        if (choice := self._names.choice(node)) is not None:
            condition, yes, no = choice
            yield from self._reads(condition, at)
            truth = self._value(condition, at)
            yield from self._reads(yes, at.only(truth))
            yield from self._reads(no, at.only(_negated(truth)))
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                yield from self._reads(value, at)
                truth = self._value(value, at)
                at = at.only(truth if isinstance(node.op, ast.And) else _negated(truth))
        else:
            for part in parts_of(node):
                yield from self._reads(part, at)
            if self._is_element(node):
                assert isinstance(node, ast.Subscript)
                yield self._access(node, False, indices_of(node), at)
            elif isinstance(node, ast.Call) and any(map(self._is_whole, node.args)):
                yield self._access(node, False, None, at)

    def _is_whole(self, node: ast.expr) -> bool:
        """Check whether an argument is the buffer itself, which the called function may read at any index."""
        base = node.value if isinstance(node, ast.Attribute) else node
        return isinstance(base, ast.Name) and base.id == self._buffer.name


def _negated(truth: Numbers | None) -> Numbers | None:
    import numpy

    return None if truth is None else numpy.equal(truth, 0)
