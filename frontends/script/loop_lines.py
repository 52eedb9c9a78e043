# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that a script writes around its blocks, as lines for schedules: tiles, orders, several blocks in a loop.

Nests on tensors have one loop per block variable, and the compiler chooses how these loops run. A request for a
schedule returns the loops of the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ...dialects.tir.prim_func import LOOPS_HEADER, lines_without_loops
from .names import Names
from .nest_reader import Nest
from .program import Allocate, Block, For, Loop, Statement, Store

_INDENT = "    "


def loop_lines(body: Sequence[Statement], steps: Sequence[Nest | Allocate], names: Names) -> list[str]:
    """Return the lines for statements that are these nests. Empty if the loops are the block variables in order."""
    nests = [step for step in steps if isinstance(step, Nest)]
    if all(map(_is_plain, nests)) and not any(map(_is_more, body)):
        return []
    try:
        return [LOOPS_HEADER, *_LoopLines(nests, names).of(body, "", ())]
    except _NoLines as reason:
        node, text = reason.args
        lost = [loop for nest in nests for loop in nest.loops if loop.kind != "serial"]
        text = "".join(f"{loop.kind} of '{loop.name}' is dropped, " for loop in lost) + text
        return lines_without_loops(names.source.place_text(lost[0].node if lost else node), text)


def _is_plain(nest: Nest) -> bool:
    bound = [axis.binding.id if isinstance(axis.binding, ast.Name) else "" for axis in nest.axes]
    scopes = {each.buffer.scope for each in nest.body if isinstance(each, Store)}
    is_bound = not nest.name or bound == [loop.name for loop in nest.loops]
    is_serial = all(loop.is_plain for loop in nest.loops)
    return is_serial and is_bound and not nest.where and not nest.annotations and scopes == {"global"}


def _is_more(statement: Statement) -> bool:
    """Check whether a loop encloses several blocks, or a block that encloses others."""
    if isinstance(statement, Block):
        return any(map(_is_more, statement.body))
    if not isinstance(statement, For):
        return False
    inner = [part for part in statement.body if isinstance(part, (For, Block))]
    is_around = any(isinstance(part, Block) and part.is_around for part in inner)
    return is_around or len(statement.body) > len(inner[:1]) > 0 or any(map(_is_more, inner))


class _NoLines(Exception):
    """Syntax node of loops that schedule lines cannot express, and the reason."""


class _LoopLines:
    def __init__(self, nests: Sequence[Nest], names: Names):
        self._names, self._nests = names, dict[str, Nest]()
        for nest in nests:
            if not nest.name or nest.name in self._nests:
                raise _NoLines(nest.node, f"blocks need names that differ, this one has '{nest.name}'")
            self._nests[nest.name] = nest

    def of(self, statements: Sequence[Statement], indent: str, around: Sequence[str]) -> Iterator[str]:
        for statement in statements:
            if isinstance(statement, For):
                yield from self._loops(statement, indent, around)
            elif isinstance(statement, Block) and statement.is_plain and not (around and statement.name):
                yield from self.of(statement.body, indent, around)
            elif isinstance(statement, Block) and statement.is_around:
                yield f'{indent}for {statement.name or "block"} in loop(1, "block"{self._notes(statement)}):'
                yield from self.of([*statement.init, *statement.body], indent + _INDENT, around)
            elif isinstance(statement, Block):
                yield indent + self._block(statement, around)
            elif not isinstance(statement, Allocate):
                raise _NoLines(statement.node, "it is no loop and no block")

    def _loops(self, statement: For, indent: str, around: Sequence[str]) -> Iterator[str]:
        for loop in statement.loops:
            extent = self._names.found(loop.stop)
            size = extent if type(extent) is int else self._axis(loop)
            kind = "" if loop.is_plain else f", {loop.kind!r}{self._notes(loop)}"
            yield f"{indent}for {loop.name} in loop({size}{kind}):"
            indent += _INDENT
            around = (*around, loop.name)
        yield from self.of(statement.body, indent, around)

    def _axis(self, loop: Loop) -> tuple[str, int]:
        """Return the block variable that equals the variable of a loop with a dynamic extent."""
        for name, nest in self._nests.items():
            for number, axis in enumerate(nest.axes):
                if loop in nest.loops and isinstance(axis.binding, ast.Name) and axis.binding.id == loop.name:
                    return name, number
        raise _NoLines(loop.node, f"no block has a variable of the dynamic extent of '{loop.name}'")

    def _block(self, block: Block, around: Sequence[str]) -> str:
        if (nest := self._nests.get(block.name)) is None:
            raise _NoLines(block.node, "a block needs a name")
        bindings = ", ".join(self._text(axis.binding, around) for axis in nest.axes)
        stored = list(dict.fromkeys(each.buffer for each in nest.body if isinstance(each, Store)))
        memory = [(each.name, each.scope) for each in stored]
        pairs = ", ".join(f"({self._text(at, around)}, {limit})" for at, limit in self._limits(nest.where))
        where = f", where=[{pairs}]" if pairs else ""
        notes = f", notes=[{self._notes(block)[2:]}]" if block.annotations else ""
        return f'block("{block.name}", [{bindings}], {memory}{where}{notes})'

    def _notes(self, node: Loop | Block) -> str:
        """Return the place of a loop or block, and its annotations, as arguments."""
        notes = f", {node.annotations!r}" if node.annotations else ""
        return f", {self._names.source.place_text(node.node)!r}{notes}"

    def _limits(self, conditions: Sequence[ast.expr]) -> Iterator[tuple[ast.expr, int]]:
        """Yield each condition as an index and its exclusive upper limit."""
        for condition in conditions:
            sign, operands = self._names.operation(condition)
            if sign == "and":
                yield from self._limits(operands)
                continue
            limit = self._names.found(operands[1]) if len(operands) == 2 else None
            if sign not in ("<", "<=") or type(limit) is not int:
                raise _NoLines(condition, "a condition of T.where must be an index below a number")
            yield operands[0], limit + (sign == "<=")

    def _text(self, node: ast.expr, around: Sequence[str]) -> str:
        known = self._names.found(node)
        if type(known) is int:
            return str(known)
        if isinstance(node, ast.Name) and node.id in around:
            return node.id
        sign, operands = self._names.operation(node)
        if len(operands) != 2 or sign not in ("+", "-", "*", "//", "%"):
            raise _NoLines(node, "an index must be arithmetic of loop variables and numbers")
        return f"({f' {sign} '.join(self._text(operand, around) for operand in operands)})"
