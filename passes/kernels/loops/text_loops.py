# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of a text around a tree's blocks: lines of the attribute `tir.loops`.

# loops 1
for i_0 in loop(8):
    for i_1 in loop(16, "parallel"):
        block("C", [i_0 * 16 + i_1], [("C", "global")], where=[(i_0 * 16 + i_1, 100)])

A loop with the extent ("C", 0) has the extent of iter 0 of block C.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from ....dialects.core.indices import is_below, is_never_negative, regrouped
from ....dialects.core.symbols_expr import Size, substituted
from ....dialects.script.syntax import parsed
from ....support.replacing import replace
from .boxes import box_of
from .handles import LoopRV, size_of
from .memories import COMMON, find_memory
from .primitives import Edit, Refused, find_primitive
from .ranges import Range, guards, ranges_of
from .size import MOST_OPERATIONS, code_size
from .tree import AROUND, REDUCE, Block, Loop, Node, Tree, around_all, iter_variable, loops_of, unique, variable
from .tree_buffers import Buffer

#: First line of the text. Its number changes when the meaning of lines changes.
HEADER = "# loops 1"
_KINDS = {"parallel": "parallel", "vectorized": "vectorize", "unrolled": "unroll"}


def block_names(lines: Sequence[str]) -> set[str]:
    return {call.args[0].value for call in _calls(lines, "block") if isinstance(call.args[0], ast.Constant)}  # type: ignore[misc]


def with_text_loops(tree: Tree, lines: Sequence[str]) -> Tree:
    """Return a tree with the text's loops.

    The tree stays as it is if its blocks or their buffers differ from the text's: a pass has changed the function
    since.
    """
    reader = _LinesReader(tree)
    try:
        body = reader.nodes(parsed("\n".join(lines)).body, {})
    except _Changed:
        return tree
    made = replace(tree, body=body)
    if reader.left or not _has_memory_of(tree, reader.memory) or not _lives_in_steps(made):
        return tree
    return _with_kinds(_with_memory(made, reader.memory), reader.kinds)


def _calls(lines: Sequence[str], word: str) -> list[ast.Call]:
    nodes = ast.walk(parsed("\n".join(lines))) if lines else ()
    return [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == word]


class _Changed(Exception):
    """Difference between the tree and the text."""


class _LinesReader:
    def __init__(self, tree: Tree):
        self.left = {block.name: block for block in tree.blocks()}
        self._known = dict(self.left)
        self._taken = set(self.left)
        #: Kinds of the loops that are not serial, by name.
        self.kinds: list[tuple[str, str]] = []
        #: Buffers that each block of the text writes, with their scopes.
        self.memory: dict[str, list[tuple[str, str]]] = {}

    def nodes(self, statements: Sequence[ast.stmt], around: Mapping[str, Size]) -> tuple[Node, ...]:
        found: list[Node] = []
        for statement in statements:
            node = self._loop(statement, around) if isinstance(statement, ast.For) else self._block(statement, around)
            found += [] if node is None else [node]
        return tuple(found)

    def _loop(self, statement: ast.For, around: Mapping[str, Size]) -> Loop | None:
        assert isinstance(statement.target, ast.Name) and isinstance(statement.iter, ast.Call)
        extent, *kind = map(ast.literal_eval, statement.iter.args)
        name = unique(statement.target.id, self._taken)
        self._taken.add(name)
        size = self._extent(*extent) if isinstance(extent, tuple) else extent
        body = self.nodes(statement.body, {**around, statement.target.id: variable(name, size)})
        if kind == [AROUND]:
            return Loop(name, 1, body, AROUND) if body else None
        self.kinds += [(name, each) for each in kind]
        return Loop(name, size, body) if body else None

    def _extent(self, block: str, number: int) -> Size:
        if block not in self._known or len(self._known[block].iters) <= number:
            raise _Changed
        return self._known[block].iters[number].extent

    def _block(self, statement: ast.stmt, around: Mapping[str, Size]) -> Block | None:
        assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        name, bindings, memory = statement.value.args
        if (block := self.left.pop(ast.literal_eval(name), None)) is None:  # the block is dead
            return None
        assert isinstance(bindings, ast.List)
        if len(bindings.elts) != len(block.iters):
            raise _Changed
        self.memory[block.name] = ast.literal_eval(memory)
        where: list[tuple[Size, Size]] = []
        for keyword in statement.value.keywords:
            where += [(self._size(index, around), limit) for index, limit in _pairs(keyword.value)]
        block = replace(block, bindings=tuple(self._size(each, around) for each in bindings.elts))
        return replace(block, where=tuple(sizes for sizes in where if not _is_extent(block, *sizes)))

    @staticmethod
    def _size(node: ast.expr, around: Mapping[str, Size]) -> Size:
        return regrouped(substituted(size_of(node, list(around)), around))


def _pairs(node: ast.expr) -> list[tuple[ast.expr, int]]:
    assert isinstance(node, ast.List)
    return [(pair.elts[0], ast.literal_eval(pair.elts[1])) for pair in node.elts if isinstance(pair, ast.Tuple)]


def _is_extent(block: Block, index: Size, limit: Size) -> bool:
    """Return True if a condition only repeats the extent of an iter, which is checked anyway."""
    for iter_, binding in zip(block.iters, block.bindings, strict=True):
        if not isinstance(iter_.extent, int) or not isinstance(limit, int):
            continue
        by = limit // iter_.extent if iter_.extent and limit % iter_.extent == 0 else 0
        if by and regrouped(index // by) == binding:
            return True
    return False


# ---- memory ----


def _has_memory_of(tree: Tree, memory: Mapping[str, Sequence[tuple[str, str]]]) -> bool:
    """Return True if two blocks write to the same buffer exactly if they do so in the text."""
    buffers: dict[str, Buffer] = {}
    for block in tree.blocks():
        names = [name for name, _ in memory[block.name]]
        if len(names) != len(block.writes):
            return False
        for name, access in zip(names, block.writes, strict=True):
            if buffers.setdefault(name, access.buffer) is not access.buffer:
                return False
    return len(set(map(id, buffers.values()))) == len(buffers)


def _with_memory(tree: Tree, memory: Mapping[str, Sequence[tuple[str, str]]]) -> Tree:
    """Return the tree with the text's buffer names and scopes."""
    found: dict[Buffer, tuple[str, str]] = {}
    for block in tree.blocks():
        found |= {access.buffer: names for access, names in zip(block.writes, memory[block.name], strict=True)}
    for buffer, (name, scope) in found.items():
        if not buffer.is_given:
            others = {each.name for each in tree.buffers if each is not buffer}
            known = scope if scope in COMMON or find_memory(scope) is not None else buffer.scope
            tree = tree.exchanged(buffer, replace(buffer, name=unique(name, others), scope=known))
    return tree


def _lives_in_steps(tree: Tree) -> bool:
    """Return True if each step of the loops around a buffer's users first writes all elements that it reads.

    The buffer then lives as long as the step.
    """
    for buffer in tree.buffers:
        users = [block for block in tree.blocks() if buffer in block.buffers]
        shared = [] if buffer.is_given or len(users) < 2 else around_all([tree.around(block.name) for block in users])
        if shared and not _is_step_whole(tree, buffer, users, shared):
            return False
    return True


def _is_step_whole(tree: Tree, buffer: Buffer, users: Sequence[Block], shared: Sequence[Loop]) -> bool:
    around = {loop.name for loop in shared}
    inner = {name: extent for name, extent in tree.extents().items() if name not in around}
    first = users[0]
    if not first.writes_of(buffer) or first.reads_output(0) is not (first.inits is not None) or first.where:
        return False
    for block in users:
        if block.writes_of(buffer) and not loops_of(block, REDUCE).isdisjoint(around):
            return False
    written = [first.placed(access) for access in first.writes_of(buffer)]
    if len(written) != 1 or box_of(written[0], inner) is None or not _goes_to_the_end(tree, first, buffer):
        return False
    ranges = ranges_of([written[0].indices], inner, buffer.shape)
    for block in users:
        if not all(map(_contains, ranges, ranges_of(block.places(buffer), _within(block, inner), buffer.shape))):
            return False
    return True


def _within(block: Block, inner: Mapping[str, Size]) -> dict[str, Size]:
    """Return the extents of the loops, limited to steps in which the block has points."""
    limits = {str(index): limit for index, limit in block.where}
    return {
        name: min(extent, limit) if isinstance(extent, int) and isinstance(limit := limits.get(name), int) else extent
        for name, extent in inner.items()
    }


def _contains(whole: Range, part: Range) -> bool:
    offset = part.start - whole.start
    return part == whole or (is_never_negative(offset) and is_below(offset + part.extent, whole.extent + 1))


def _goes_to_the_end(tree: Tree, block: Block, buffer: Buffer) -> bool:
    """Return True if the points that guards leave out are outside of the buffer."""
    if not guards(block, tree.extents()):
        return True
    (access,) = block.writes_of(buffer)
    extents = {str(iter_variable(iter_)): iter_.extent for iter_ in block.iters}
    return all(extents.get(str(index)) == size for index, size in zip(access.indices, buffer.shape, strict=True))


# ---- kinds of loops ----


def _with_kinds(tree: Tree, kinds: Sequence[tuple[str, str]]) -> Tree:
    """Return the tree with loops that do not run in order, where that provably changes no result."""
    for name, kind in reversed(kinds):
        if all(loop.name != name for loop in tree.loops()):
            continue
        edit = Edit(tree, {}, Random(0))
        primitive = find_primitive(_KINDS.get(kind, "bind"))
        more: list[Any] = [] if kind in _KINDS else [kind]
        try:
            primitive.function(edit, LoopRV(tree.name, name), *more)
        except Refused:
            continue
        if code_size(edit.tree) <= MOST_OPERATIONS:
            tree = edit.tree
    return tree
