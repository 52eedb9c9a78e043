# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bounds check elimination for accesses that are proven in bounds.

Accesses that are proven out of bounds are errors. All other accesses are checked at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from ...dialects.core.intervals import OPERATIONS
from ...dialects.core.symbols import Dim, at_most, dim_max, dim_min, dim_sub
from ...dialects.script.syntax import buffer_name, folded, parts_within
from .accesses import Accesses, StatementAccess, TooMany
from .annotations import Annotations
from .common.source import ScriptError
from .program import Allocate, Block, Buffer, For, If, Let, Program, Statement, Store, While, element_of, expressions_of

#: Lowest and highest value of an integer, as expressions in the function's sizes.
Range = tuple[Dim, Dim]


def elements_inside(program: Program, annotations: Annotations) -> set[ast.AST]:
    """Return the subscripts, and the nodes of the store statements, that are in bounds. Raises ScriptError."""
    reader = _Ranges(program, annotations)
    reader.statements(program.body, {})
    for buffer in dict.fromkeys(reader.open.values()):
        nodes = [node for node, value in reader.open.items() if value is buffer]
        if all(isinstance(dim, int) for dim in buffer.dims):
            reader.inside.update(_gone_through(program, annotations, buffer, nodes))
    return reader.inside


class _Ranges:
    """Walk over a program with the ranges of its variables."""

    def __init__(self, program: Program, annotations: Annotations):
        self._annotations, self._names = annotations, annotations.names
        self._buffers = {parameter.name: parameter for parameter in program.parameters if isinstance(parameter, Buffer)}
        self.inside: set[ast.AST] = set()
        #: Accesses that are not proven in bounds, with their buffers.
        self.open: dict[ast.AST, Buffer] = {}

    def statements(self, body: Sequence[Statement], at: Mapping[str, Range | None]) -> None:
        at = dict(at)
        for statement in body:
            if isinstance(statement, Allocate):
                self._buffers[statement.buffer.name] = statement.buffer
            if isinstance(statement, Block):
                at_block = {**at, **{axis.name: self._range(axis.binding, at) for axis in statement.axes}}
                for axis in statement.axes:
                    self._expression(axis.binding, at)
                for node in statement.where:
                    self._expression(node, at_block)
                self.statements(statement.init, at_block)
                self.statements(statement.body, at_block)
                continue
            for node in expressions_of(statement):
                self._expression(node, at)
            if isinstance(statement, Store):
                self._element(statement.node, statement.buffer, statement.indices, at)
            elif isinstance(statement, Let):
                at[statement.name] = self._range(statement.value, at)
            elif isinstance(statement, For):
                self.statements(statement.body, self._within(statement, at))
            elif isinstance(statement, If):
                self.statements(statement.then, at)
                self.statements(statement.otherwise, at)
            elif isinstance(statement, While):
                self.statements(statement.body, at)

    def _within(self, statement: For, at: Mapping[str, Range | None]) -> dict[str, Range | None]:
        inside = dict(at)
        for loop in statement.loops:
            start = (0, 0) if loop.start is None else self._range(loop.start, inside)
            stop = self._range(loop.stop, inside)
            inside[loop.name] = None if start is None or stop is None else (start[0], dim_sub(stop[1], 1))
        return inside

    def _expression(self, node: ast.expr, at: Mapping[str, Range | None]) -> None:
        for part in parts_within(node):
            if isinstance(part, ast.Subscript) and buffer_name(part) in self._buffers:
                self._element(part, *element_of(self._names.source, part, self._buffers), at)

    def _element(
        self, node: ast.AST, buffer: Buffer, indices: Sequence[ast.expr], at: Mapping[str, Range | None]
    ) -> None:
        if all(map(self._is_inside, [self._range(index, at) for index in indices], buffer.dims)):
            self.inside.add(node)
        else:
            self.open[node] = buffer

    @staticmethod
    def _is_inside(held: Range | None, dim: Dim) -> bool:
        if held is None or dim is None:
            return False
        low, high = held
        return low is not None and high is not None and at_most(0, low) and at_most(high + 1, dim)

    def _range(self, node: ast.expr, at: Mapping[str, Range | None]) -> Range | None:
        """Return the range of an expression, or None if unknown."""
        return folded(node, self._names.operation, lambda each: self._leaf(each, at), self._computed)

    def _leaf(self, node: ast.expr, at: Mapping[str, Range | None]) -> Range | None:
        if isinstance(node, ast.Name) and node.id in at:
            return at[node.id]
        value = self._names.found(node)
        if type(value) is int:
            return value, value
        if isinstance(node, ast.Constant):
            return None
        try:
            size = self._annotations.dim(node)
        except ScriptError:
            return None
        return size, size

    @staticmethod
    def _computed(sign: str, parts: Sequence[Range]) -> Range | None:
        if len(parts) == 1:
            return OPERATIONS["-"]((0, 0), parts[0]) if sign == "-" else None
        return _ARITHMETIC[sign](parts[0], parts[-1]) if sign in _ARITHMETIC else None


_ARITHMETIC: dict[str, Callable[..., Range]] = {
    **OPERATIONS,
    "min": lambda left, right: (dim_min(left[0], right[0]), dim_min(left[1], right[1])),
    "max": lambda left, right: (dim_max(left[0], right[0]), dim_max(left[1], right[1])),
}


def _gone_through(program: Program, annotations: Annotations, buffer: Buffer, nodes: Sequence[ast.AST]) -> set[ast.AST]:
    """Return the accesses to a buffer that are in bounds at all points. Raises ScriptError if one is out of bounds."""
    inside = set(nodes)
    try:
        for access in Accesses(annotations.names, program.body, buffer, {}):
            if access.node in inside and not _is_within(access, buffer, annotations):
                inside.remove(access.node)
    except TooMany:
        return set()
    return inside


def _is_within(access: StatementAccess, buffer: Buffer, annotations: Annotations) -> bool:
    import numpy

    if access.places is None:
        return False
    for axis, (index, dim) in enumerate(zip(access.places, buffer.dims, strict=True)):
        low, high = (int(reduce(index)) for reduce in (numpy.min, numpy.max))
        assert isinstance(dim, int)
        if low >= 0 and high < dim:
            continue
        if not access.is_sure:
            return False
        raise annotations.names.source.problem(access.node, outside(buffer, axis, low, high))
    return True


def outside(buffer: Buffer, axis: int, low: int | None, high: int | None) -> str:
    """Return the error message for an index that is out of bounds."""
    reach = f"goes from {low} to {high}" if low != high else f"is {low}"
    return f"'{buffer.name}' has {buffer.dims[axis]} elements along dimension {axis}, but the index {reach}"
