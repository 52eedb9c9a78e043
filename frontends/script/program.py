# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `@T.prim_func` says, as data: buffers, loops, blocks, stores. Expressions stay syntax until they are emitted."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...dialects.core.symbols import Dim
from ...support.suggest import counted
from .common.source import Source

SPATIAL, REDUCE, OPAQUE = "spatial", "reduce", "opaque"


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory with a shape: a parameter's, or of the program's own."""

    node: ast.AST
    name: str
    #: As syntax, and as far as they are known.
    sizes: tuple[ast.expr, ...]
    dims: tuple[Dim, ...]
    dtype: str
    scope: str = "global"


@dataclass(frozen=True, eq=False)
class Scalar:
    """A number that is passed."""

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
    """A name for a number, from here to the end of what it stands in."""

    name: str
    value: ast.expr
    dtype: str | None = None


@dataclass(frozen=True, eq=False)
class Evaluate(Statement):
    """A call for its effect."""

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
    """`break`, or `continue`."""

    is_break: bool


class Loop(NamedTuple):
    """One variable of a `for`. `kind`: serial, parallel, vectorized, unrolled, or the thread's name."""

    node: ast.AST
    name: str
    start: ast.expr | None
    stop: ast.expr
    kind: str = "serial"


@dataclass(frozen=True, eq=False)
class For(Statement):
    loops: tuple[Loop, ...]
    body: tuple[Statement, ...]


class BlockAxis(NamedTuple):
    """A block's variable: how far it goes, and what it is in the loops around."""

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
    #: Only where it holds the block runs.
    where: tuple[ast.expr, ...]
    init: tuple[Statement, ...]
    body: tuple[Statement, ...]

    @property
    def is_around(self) -> bool:
        """Whether loops and blocks are in it."""
        return any(isinstance(each, (For, Block)) for each in self.body)

    @property
    def is_plain(self) -> bool:
        """Whether it only holds statements together, as the block around a whole function does."""
        return not (self.axes or self.where or self.init or any(isinstance(each, Store) for each in self.body))


class Program(NamedTuple):
    """A function. `symbols` are sizes that its buffers have."""

    node: ast.FunctionDef
    name: str
    parameters: tuple[Buffer | Scalar, ...]
    body: tuple[Statement, ...]
    attributes: Mapping[str, object]
    #: The last parameter, where it is a number that the function returns.
    returned: Buffer | None = None

    @property
    def written(self) -> list[Buffer]:
        """The parameters that are written to, in their order."""
        stored = {id(each.buffer) for each in every(self.body) if isinstance(each, Store)}
        return [each for each in self.parameters if isinstance(each, Buffer) and id(each) in stored]


def every(statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements and all inside of them, in their order."""
    for statement in statements:
        yield statement
        if isinstance(statement, Block):
            yield from every(statement.init)
        if isinstance(statement, (For, While, Block)):
            yield from every(statement.body)
        if isinstance(statement, If):
            yield from every(statement.then)
            yield from every(statement.otherwise)


def leaving(statements: Sequence[Statement]) -> list[Leave]:
    """What leaves the loop around the statements, or an iteration of it."""
    found: list[Leave] = []
    for statement in statements:
        if isinstance(statement, Leave):
            found.append(statement)
        elif isinstance(statement, Block):
            found += leaving(statement.body)
        elif isinstance(statement, If):
            found += leaving((*statement.then, *statement.otherwise))
    return found


_PARTS: dict[type, Callable[..., Sequence[ast.expr]]] = {
    ast.BinOp: lambda node: (node.left, node.right),
    ast.UnaryOp: lambda node: (node.operand,),
    ast.Call: lambda node: [*node.args, *[each.value for each in node.keywords]] if node.keywords else node.args,
    ast.Subscript: lambda node: indices_of(node),
    ast.Compare: lambda node: (node.left, *node.comparators),
    ast.BoolOp: lambda node: node.values,
    ast.IfExp: lambda node: (node.test, node.body, node.orelse),
    ast.Dict: lambda node: node.values,
    ast.Tuple: lambda node: node.elts,
    ast.List: lambda node: node.elts,
}


def parts_of(node: ast.expr) -> Sequence[ast.expr]:
    """The expressions that one consists of, without the names of functions and buffers."""
    read = _PARTS.get(type(node))
    return () if read is None else read(node)


def parts_within(node: ast.expr) -> list[ast.expr]:
    """An expression and all that it consists of."""
    found = [node]
    for part in found:  # which grows
        if (read := _PARTS.get(type(part))) is not None:
            found += read(part)
    return found


def indices_of(node: ast.Subscript) -> Sequence[ast.expr]:
    """What stands in the brackets: `A[i, j]` has two, `A[()]` none."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,)


def place_of(indices: Sequence[ast.expr]) -> list[str]:
    """What distinguishes places in a buffer: the indices' texts."""
    return [each.id if isinstance(each, ast.Name) else ast.dump(each) for each in indices]


#: What stands for several places in a buffer.
_NO_ELEMENTS = frozenset({ast.Slice, ast.Starred})


def element_of(source: Source, node: ast.Subscript, scope: Mapping[str, object]) -> tuple[Buffer, tuple[ast.expr, ...]]:
    """The buffer and the indices of `A[i, j]`. Raises ScriptError."""
    base = node.value
    buffer = scope.get(base.id) if isinstance(base, ast.Name) else None
    if not isinstance(buffer, Buffer):
        known = [name for name, held in scope.items() if isinstance(held, Buffer)]
        shown = ast.unparse(base)
        raise source.problem(base, f"there is no buffer '{shown}' here", known, shown)
    items = tuple(indices_of(node))
    if not _NO_ELEMENTS.isdisjoint(map(type, items)):
        raise source.problem(node, "parts of buffers are read and written element by element, in loops")
    if len(items) != len(buffer.dims):
        count = counted(len(buffer.dims), "dimension")
        raise source.problem(node, f"'{buffer.name}' has {count}, not {len(items)}")
    return buffer, items
