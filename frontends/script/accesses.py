# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses of a tensor program to its buffers, as relations over the loops around them."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from ...dialects.core.relation import (
    Array,
    Guard,
    Relation,
    RelationPoints,
    is_repeated,
    linear,
    range_of,
    variables_in,
)
from ...dialects.core.symbols_expr import Size, SymbolError, make_variable, substituted
from ...dialects.script.syntax import parts_of
from .annotations import Annotations
from .index_values import Guards, IndexReader, Values, at_first, negated
from .program import (
    REDUCE,
    Allocate,
    Block,
    Buffer,
    For,
    If,
    Let,
    Program,
    Statement,
    Store,
    While,
    element_of,
    every,
    expressions_of,
    leaving,
)


class ElementAccess(NamedTuple):
    """Accesses of one expression or store to a buffer."""

    node: ast.AST
    buffer: Buffer
    is_store: bool
    relation: Relation
    #: False if an index is dynamic: the relation has no indices then.
    is_placed: bool
    #: Position in the program: positions of statements and steps of loops, the outer ones first.
    times: tuple[Size, ...]
    #: Numbers of dynamic conditions on which the access depends.
    conditions: frozenset[int]

    @property
    def is_sure(self) -> bool:
        """Return True if the access happens at all points; otherwise it may happen."""
        return self.is_placed and not self.conditions

    def precedes(self, other: ElementAccess) -> bool:
        """Return True if an access before another one in the text happens before it, to the same element."""
        is_known = self.is_placed and other.is_placed and self.conditions <= other.conditions
        return is_known and self.relation.same_point(other.relation)


class ProgramAccesses:
    """Accesses of statements, in the order of the text, with size symbols or numbers for the sizes."""

    def __init__(
        self, program: Program, annotations: Annotations, body: Sequence[Statement] = (), *, is_nested: bool = False
    ):
        """`is_nested`: the program becomes nests, which begin their reductions even if these have no steps."""
        self.program, self.annotations, self.is_nested = program, annotations, is_nested
        self._body = body or program.body
        self._known: dict[tuple[tuple[str, Size], ...], list[ElementAccess]] = {}

    def of_sizes(self, sizes: Mapping[str, Size]) -> list[ElementAccess]:
        key = tuple(sizes.items())
        if key not in self._known:
            values = {**self.annotations.symbols, **sizes}
            self._known[key] = list(_AccessReader(self).statements(self._body, _At(values)))
        return self._known[key]


class _At(NamedTuple):
    """RelationPoints at which a statement runs, and the values of the variables there."""

    values: Values
    domain: Mapping[str, Size] = {}
    guards: Guards = ()
    times: tuple[Size, ...] = ()
    conditions: frozenset[int] = frozenset()

    def then(self, *times: Size) -> _At:
        return self._replace(times=(*self.times, *times))

    def knowing(self, name: str, value: Size | Guards | None) -> _At:
        return self._replace(values={**self.values, name: value})


class _AccessReader:
    def __init__(self, accesses: ProgramAccesses):
        self._names, self._is_nested = accesses.annotations.names, accesses.is_nested
        self._indices = IndexReader(self._names)
        buffers = [parameter for parameter in accesses.program.parameters if isinstance(parameter, Buffer)]
        buffers += [statement.buffer for statement in every(accesses.program.body) if isinstance(statement, Allocate)]
        self._buffers, self._numbers = {buffer.name: buffer for buffer in buffers}, count()

    def statements(self, body: Sequence[Statement], at: _At) -> Iterator[ElementAccess]:
        for position, statement in enumerate(body):
            here = at.then(position)
            if isinstance(statement, Allocate):
                self._buffers[statement.buffer.name] = statement.buffer
            elif isinstance(statement, Let):
                yield from self._reads(statement.value, here)
                at = at.knowing(statement.name, self._indices.value(statement.value, at.values))
            elif isinstance(statement, Store):
                for node in (*statement.indices, statement.value):
                    yield from self._reads(node, here.then(0))
                yield self._access(statement.node, statement.buffer, statement.indices, here.then(1), is_store=True)
            elif isinstance(statement, If):
                yield from self._reads(statement.condition, here.then(0))
                guards = self._indices.guards(statement.condition, at.values)
                yield from self.statements(statement.then, self._where(here.then(1), guards))
                yield from self.statements(statement.otherwise, self._where(here.then(1), negated(guards)))
            elif isinstance(statement, While):
                yield from self._reads(statement.condition, here.then(0))
                yield from self.statements(statement.body, self._where(here.then(1), None))
            elif isinstance(statement, For):
                yield from self._for(statement, here)
            elif isinstance(statement, Block):
                yield from self._block(statement, here)
            else:
                for node in expressions_of(statement):
                    yield from self._reads(node, here)

    def _where(self, at: _At, guards: Guards | None) -> _At:
        """Return the points at which guards hold. None is a dynamic condition."""
        if guards is None:
            return at._replace(conditions=at.conditions | {next(self._numbers)})
        return at._replace(guards=(*at.guards, *guards))

    def _for(self, statement: For, at: _At) -> Iterator[ElementAccess]:
        inside = self._where(at, None) if leaving(statement.body) else at
        for loop in statement.loops:
            ends = (loop.start or ast.Constant(0), loop.stop)
            for node in ends:
                yield from self._reads(node, inside.then(0))
            try:
                inside = self._along(inside, loop.name, *(self._indices.size(node, inside.values) for node in ends))
            except SymbolError:
                inside = self._where(inside.then(1).knowing(loop.name, None), None)
        yield from self.statements(statement.body, inside)

    def _along(self, at: _At, name: str, start: Size | None, stop: Size | None) -> _At:
        """Return the points of a loop that runs at each of these points."""
        low = None if start is None else range_of(start, at.domain)[0]
        high = None if stop is None else range_of(stop, at.domain)[1]
        if start is None or stop is None or low is None or high is None:
            return self._where(at.then(1).knowing(name, None), None)
        extent = high - low
        if extent == 1:
            value, at = low, at.then(1)
        else:
            highest = max(extent - 1, 0) if isinstance(extent, int) else None
            variable = make_variable(f"{name}#{next(self._numbers)}", highest)
            value = low + variable
            at = at._replace(domain={**at.domain, str(variable): extent}).then(1 + variable)
        guards: list[Guard] = [] if start == low else [(value - start,)]
        guards += [] if stop == high else [(stop - 1 - value,)]
        return self._where(at.knowing(name, value), tuple(guards))

    def _block(self, block: Block, at: _At) -> Iterator[ElementAccess]:
        for axis in block.axes:
            yield from self._reads(axis.binding, at.then(0))
            at = at.knowing(axis.name, self._indices.size(axis.binding, at.values))
        for condition in block.where:
            yield from self._reads(condition, at.then(0))
            at = self._where(at, self._indices.guards(condition, at.values))
        if block.init:
            yield from self.statements(block.init, self._first(block, at).then(1))
        yield from self.statements(block.body, at.then(2))

    def _first(self, block: Block, at: _At) -> _At:
        """Return the points at which the init runs: the reduction variables are at their start."""
        reductions = [axis for axis in block.axes if axis.kind == REDUCE]
        starts = {axis.name: self._indices.size(axis.start or ast.Constant(0), at.values) for axis in reductions}
        values = {axis.name: value for axis in block.axes if not isinstance(value := at.values[axis.name], tuple)}
        if (first := self._first_steps(at, values, starts)) is not None:
            return first
        for name, start in starts.items():
            value = values[name]
            guards = None if value is None or start is None else ((value - start,), (start - value,))
            at = self._where(at.knowing(name, start), guards)
        return at

    def _first_steps(self, at: _At, values: Mapping[str, Size | None], starts: Mapping[str, Size | None]) -> _At | None:
        """Return the points in the first steps of a reduction, or None if the init may run in other steps.

        The loops of the reduction must move no other variable, and only their first steps together reach the start.
        """
        known = {name: value for name, value in values.items() if value is not None}
        sums = Relation(at.domain, tuple(value for name, value in known.items() if name in starts))
        steps = {name: extent for name, extent in at.domain.items() if name in variables_in(sums.indices)}
        places = variables_in(value for name, value in known.items() if name not in starts)
        guards = at_first(at.guards, dict.fromkeys(steps, 0))
        if (
            len(known) < len(values)
            or not places.isdisjoint(steps)
            or not sums._replace(domain=steps).is_one_to_one
            or any(range_of(known[name], steps)[0] != start for name, start in starts.items())
            or not set(at.guards).issuperset(guards)
            or not (self._is_nested or all(map(is_repeated, steps.values())))  # nests begin sums without steps too
        ):
            return None
        first = dict.fromkeys(steps, 0)
        return _At(
            {name: at_first(value, first) for name, value in {**at.values, **starts}.items()},
            {name: extent for name, extent in at.domain.items() if name not in steps},
            guards,
            tuple(substituted(time, first) for time in at.times),
            at.conditions,
        )

    # ---- expressions ----

    def _access(
        self, node: ast.AST, buffer: Buffer, indices: Sequence[ast.expr], at: _At, *, is_store: bool = False
    ) -> ElementAccess:
        sizes = [self._indices.size(index, at.values) for index in indices]
        known = tuple(size for size in sizes if size is not None)
        is_placed = len(known) == len(buffer.dims)
        relation = Relation(at.domain, known if is_placed else (), at.guards)
        return ElementAccess(node, buffer, is_store, relation, is_placed, at.times, at.conditions)

    def _reads(self, node: ast.expr, at: _At) -> Iterator[ElementAccess]:
        """Yield the reads in an expression, each at the points at which it is computed."""
        if (choice := self._names.choice(node)) is not None:
            condition, yes, no = choice
            yield from self._reads(condition, at)
            guards = self._indices.guards(condition, at.values)
            yield from self._reads(yes, self._where(at, guards))
            yield from self._reads(no, self._where(at, negated(guards)))
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                yield from self._reads(value, at)
                guards = self._indices.guards(value, at.values)
                at = self._where(at, guards if isinstance(node.op, ast.And) else negated(guards))
        elif isinstance(node, (ast.Name, ast.Attribute)):
            base = node.value if isinstance(node, ast.Attribute) else node
            if isinstance(base, ast.Name) and (buffer := self._buffers.get(base.id)) is not None:
                yield self._access(node, buffer, (), at)  # a function may read any element
        else:
            for part in parts_of(node):
                yield from self._reads(part, at)
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in self._buffers:
                yield self._access(node, *element_of(self._names.source, node, self._buffers), at)


# ---- points ----


class Visited(NamedTuple):
    """Points of an access, visited one by one."""

    access: ElementAccess
    #: Number of the element at each point. None if it is dynamic, or out of bounds.
    places: Array | None
    times: Array


def visited(accesses: Sequence[ElementAccess], shape: Sequence[int], loops: Container[str] = ()) -> list[Visited]:
    """Return the points of accesses to a buffer of a shape, with comparable times. Leave out accesses without points.

    A loop that the access does not depend on has its first step only, unless it is one of `loops`.
    Raises TooMany.
    """
    found: list[tuple[ElementAccess, RelationPoints, list[Size]]] = []
    for access in accesses:
        domain = access.relation.domain
        points = RelationPoints(access.relation, [name for name in domain if name.partition("#")[0] in loops])
        first = {name: 0 for name in domain if name not in points.variables}
        if points.count:
            found.append((access, points, [substituted(time, first) for time in access.times]))
    last = [0] * max([len(times) for _, _, times in found], default=0)
    for _, points, times in found:
        for level, time in enumerate(times):
            last[level] = max(last[level], points.reach(time)[1])
    ends = [(0, highest) for highest in last]
    return [
        Visited(access, _places(access, points, shape), points(linear(times, ends))) for access, points, times in found
    ]


def _places(access: ElementAccess, points: RelationPoints, shape: Sequence[int]) -> Array | None:
    ends = [points.reach(index) for index in access.relation.indices]
    if not access.is_placed or any(low < 0 or high >= size for (low, high), size in zip(ends, shape, strict=True)):
        return None
    return points(linear(access.relation.indices, [(0, size - 1) for size in shape]))
