# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data structures of a `@T.prim_func`: buffers, loops, blocks, stores. Expressions stay syntax until emission."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...dialects.core.symbols import Dim
from ...dialects.script.syntax import indices_of
from ...support.suggest import counted
from .common.source import Source

SPATIAL, REDUCE, OPAQUE = "spatial", "reduce", "opaque"


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory with a shape: a parameter, or a buffer that the program allocates."""

    node: ast.AST
    name: str
    #: Sizes as syntax, and as dimensions as far as they are known.
    sizes: tuple[ast.expr, ...]
    dims: tuple[Dim, ...]
    dtype: str
    scope: str = "global"


@dataclass(frozen=True, eq=False)
class Scalar:
    """Scalar parameter."""

    node: ast.AST
    name: str
    dtype: str


@dataclass(frozen=True, eq=False)
class Statement:
    node: ast.AST


@dataclass(frozen=True, eq=False)
class Allocate(Statement):
    buffer: Buffer


@dataclass(frozen=True, eq=False)
class Store(Statement):
    buffer: Buffer
    indices: tuple[ast.expr, ...]
    value: ast.expr


@dataclass(frozen=True, eq=False)
class Let(Statement):
    """Definition of a number's name, valid to the end of the enclosing statements."""

    name: str
    value: ast.expr
    dtype: str | None = None


@dataclass(frozen=True, eq=False)
class Evaluate(Statement):
    """Call for its side effect."""

    call: ast.Call


@dataclass(frozen=True, eq=False)
class Assert(Statement):
    condition: ast.expr
    message: str


@dataclass(frozen=True, eq=False)
class If(Statement):
    condition: ast.expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class While(Statement):
    condition: ast.expr
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Leave(Statement):
    """Statement `break` or `continue`."""

    is_break: bool


class Loop(NamedTuple):
    """One variable of a `for`. `kind` is serial, parallel, vectorized, unrolled, or the thread's name."""

    node: ast.AST
    name: str
    start: ast.expr | None
    stop: ast.expr
    kind: str = "serial"
    annotations: Mapping[str, object] = {}

    @property
    def is_plain(self) -> bool:
        return self.kind == "serial" and not self.annotations


@dataclass(frozen=True, eq=False)
class For(Statement):
    loops: tuple[Loop, ...]
    body: tuple[Statement, ...]


class BlockAxis(NamedTuple):
    """Variable of a block: its range, and its value in terms of the enclosing loops."""

    node: ast.AST
    name: str
    kind: str
    start: ast.expr | None
    stop: ast.expr | None
    binding: ast.expr


@dataclass(frozen=True, eq=False)
class Block(Statement):
    name: str
    axes: tuple[BlockAxis, ...]
    #: The block runs only where all conditions are true.
    where: tuple[ast.expr, ...]
    init: tuple[Statement, ...]
    body: tuple[Statement, ...]
    annotations: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_around(self) -> bool:
        """Check whether the block contains loops or blocks."""
        return any(isinstance(each, (For, Block)) for each in self.body)

    @property
    def is_plain(self) -> bool:
        """Check whether the block only groups statements, like the block around a whole function."""
        return not (self.axes or self.where or self.init or any(isinstance(each, Store) for each in self.body))


class Program(NamedTuple):
    """Function. `symbols` are sizes of its buffers."""

    node: ast.FunctionDef
    name: str
    parameters: tuple[Buffer | Scalar, ...]
    body: tuple[Statement, ...]
    attributes: Mapping[str, object]
    #: The last parameter if it is a number that the function returns.
    returned: Buffer | None = None

    @property
    def written(self) -> list[Buffer]:
        """Return the parameters that are written to, in order."""
        stored = {id(each.buffer) for each in every(self.body) if isinstance(each, Store)}
        return [parameter for parameter in self.parameters if isinstance(parameter, Buffer) and id(parameter) in stored]


def every(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Yield the statements and all nested statements, in order."""
    for statement in statements:
        yield statement
        if isinstance(statement, Block):
            yield from every(statement.init)
        if isinstance(statement, (For, While, Block)):
            yield from every(statement.body)
        if isinstance(statement, If):
            yield from every(statement.then)
            yield from every(statement.otherwise)


def expressions_of(statement: Statement) -> Sequence[ast.expr]:
    """Return the expressions of a statement, without nested statements."""
    if isinstance(statement, Store):
        return (*statement.indices, statement.value)
    if isinstance(statement, Let):
        return (statement.value,)
    if isinstance(statement, Evaluate):
        return (statement.call,)
    if isinstance(statement, (Assert, If, While)):
        return (statement.condition,)
    if isinstance(statement, For):
        return [node for loop in statement.loops for node in (loop.start, loop.stop) if node is not None]
    if isinstance(statement, Block):
        return [*(axis.binding for axis in statement.axes), *statement.where]
    assert isinstance(statement, (Allocate, Statement))
    return ()


def leaving(statements: Sequence[Statement]) -> list[Leave]:
    """Return the statements that leave the enclosing loop or its current iteration."""
    leaves: list[Leave] = []
    for statement in statements:
        if isinstance(statement, Leave):
            leaves.append(statement)
        elif isinstance(statement, Block):
            leaves += leaving(statement.body)
        elif isinstance(statement, If):
            leaves += leaving((*statement.then, *statement.otherwise))
    return leaves


def place_of(indices: Sequence[ast.expr]) -> list[str]:
    """Return the texts of the indices, which distinguish the elements of a buffer."""
    return [index.id if isinstance(index, ast.Name) else ast.dump(index) for index in indices]


#: Syntax that denotes several elements of a buffer.
_NO_ELEMENTS = frozenset({ast.Slice, ast.Starred})


def element_of(source: Source, node: ast.Subscript, scope: Mapping[str, object]) -> tuple[Buffer, tuple[ast.expr, ...]]:
    """Return the buffer and the indices of `A[i, j]`. Raises ScriptError."""
    base = node.value
    buffer = scope.get(base.id) if isinstance(base, ast.Name) else None
    if not isinstance(buffer, Buffer):
        known = [name for name, value in scope.items() if isinstance(value, Buffer)]
        shown = ast.unparse(base)
        raise source.problem(base, f"there is no buffer '{shown}' here", known, shown)
    items = tuple(indices_of(node))
    if not _NO_ELEMENTS.isdisjoint(map(type, items)):
        raise source.problem(node, "parts of buffers must be read and written element by element, in loops")
    if len(items) != len(buffer.dims):
        count = counted(len(buffer.dims), "dimension")
        raise source.problem(node, f"'{buffer.name}' has {count}, not {len(items)}")
    return buffer, items
