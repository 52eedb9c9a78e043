# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of a text around a tree's blocks: lines of the attribute `tir.loops`.

# loops 1
for i_0 in loop(8):
    for i_1 in loop(16, "parallel", "model.py:7:9", {"grain": 4}):
        block("C", [i_0 * 16 + i_1], [("C", "global")], where=[(i_0 * 16 + i_1, 100)])

A loop with the extent ("C", 0) has the extent of iter 0 of block C. `left_out("model.py:7:9", "reason")` replaces loops
that the lines cannot express.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from ....bindings.diagnostics import warn_at
from ....dialects.core.indices import is_below, is_never_negative, regrouped
from ....dialects.core.symbols_expr import Size, substituted
from ....dialects.script.syntax import parsed
from ....support.errors import RelaxError
from ....support.replacing import replace
from .boxes import box_of
from .handles import BlockRV, LoopRV, size_of
from .memories import COMMON, find_memory
from .primitives import Edit, Refused, find_primitive
from .ranges import Range, guards, ranges_of
from .size import MOST_OPERATIONS, code_size
from .tree import AROUND, REDUCE, SERIAL, Block, Loop, Node, Tree, around_all, iter_variable, loops_of, unique, variable
from .tree_buffers import Buffer

#: Primitives by kind. `bind` sets all other kinds.
_KINDS = {"parallel": "parallel", "vectorized": "vectorize", "unrolled": "unroll"}


def block_names(lines: Sequence[str]) -> set[str]:
    return {call.args[0].value for call in _calls(lines, "block") if isinstance(call.args[0], ast.Constant)}  # type: ignore[misc]


def with_text_loops(tree: Tree, lines: Sequence[str], place: str) -> Tree:
    """Return a tree with the text's loops.

    The tree stays as it is if its blocks or their buffers differ from the text's: a pass has changed the function
    since. Issue a warning for everything of the text that the tree does not have. `place` is the function's.
    """
    for call in _calls(lines, "left_out"):
        warn_at(ast.literal_eval(call.args[0]), f"@{tree.name}: {_LEFT_OUT}: {ast.literal_eval(call.args[1])}")
        return tree
    reader = _LinesReader(tree)
    try:
        changed = reader.read(lines)
        _check_lifetimes(changed)
    except _Changed as reason:
        notes = [(*map(ast.literal_eval, call.args[1:3]), place)[:2] for call in _calls(lines, "loop") if call.args[1:]]
        lost = [(kind, at) for kind, at in notes if kind not in (SERIAL, AROUND)]
        what = f"{_LEFT_OUT}, with {', '.join(kind for kind, _ in lost)}" if lost else _LEFT_OUT
        warn_at(lost[0][1] if lost else place, f"@{tree.name}: {what}: {reason}")
        return tree
    return _with_steps(_with_memory(changed, reader.memory, place), reader.steps)


_LEFT_OUT = "the schedule begins without the loops of the text"


def _parse(lines: Sequence[str]) -> ast.Module:
    try:
        return parsed("\n".join(lines))
    except SyntaxError as error:
        raise RelaxError(f"tir.loops cannot be read: line {error.lineno}: {error.msg}. Remove the attribute") from None


def _calls(lines: Sequence[str], word: str) -> list[ast.Call]:
    nodes = ast.walk(_parse(lines)) if lines else ()
    return [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == word]


class _Changed(Exception):
    """Difference between the tree and the text."""


class _LoopStep(NamedTuple):
    """Kind or annotation of a loop or block, which a primitive sets."""

    handle: LoopRV | BlockRV
    what: str
    place: str
    primitive: str
    arguments: Sequence[Any] = ()


class _LinesReader:
    def __init__(self, tree: Tree):
        self._tree = tree
        self._left = {block.name: block for block in tree.blocks()}
        self._known = dict(self._left)
        self._taken = set(self._left)
        #: Kinds of the loops that are not serial, and annotations.
        self.steps: list[_LoopStep] = []
        #: Buffers that each block of the text writes, with their scopes.
        self.memory: dict[str, list[tuple[str, str]]] = {}

    def read(self, lines: Sequence[str]) -> Tree:
        """Return the tree with the loops of the lines. Raise _Changed, or RelaxError for damaged lines."""
        try:
            body = self._nodes(_parse(lines).body, {})
        except (AssertionError, AttributeError, IndexError, TypeError, ValueError) as error:
            raise RelaxError(f"@{self._tree.name}: tir.loops cannot be read: {error}. Remove the attribute") from None
        if self._left:
            raise _Changed(f"the text has no block {', '.join(map(repr, self._left))}")
        _check_memory(self._tree, self.memory)
        return replace(self._tree, body=body)

    def _nodes(self, statements: Sequence[ast.stmt], around: Mapping[str, Size]) -> tuple[Node, ...]:
        found: list[Node] = []
        for statement in statements:
            node = self._loop(statement, around) if isinstance(statement, ast.For) else self._block(statement, around)
            found += [] if node is None else [node]
        return tuple(found)

    def _loop(self, statement: ast.For, around: Mapping[str, Size]) -> Loop | None:
        assert isinstance(statement.target, ast.Name) and isinstance(statement.iter, ast.Call)
        extent, *more = map(ast.literal_eval, statement.iter.args)
        defaults: tuple[Any, ...] = (SERIAL, "", {})
        kind, place, annotations = (*more, *defaults[len(more) :])
        if not isinstance(extent, (int, tuple)):
            raise ValueError(f"a loop has the extent {extent!r}")
        name = unique(statement.target.id, self._taken)
        self._taken.add(name)
        size = self._extent(*extent) if isinstance(extent, tuple) else extent
        handle = (BlockRV if kind == AROUND else LoopRV)(self._tree.name, name)
        if kind not in (SERIAL, AROUND):
            what = f"{kind} of '{statement.target.id}'"
            self.steps.append(
                _LoopStep(handle, what, place, _KINDS.get(kind, "bind"), () if kind in _KINDS else [kind])
            )
        self._annotate(handle, statement.target.id, place, annotations)
        body = self._nodes(statement.body, {**around, statement.target.id: variable(name, size)})
        if not body:
            return None
        return Loop(name, 1, body, AROUND) if kind == AROUND else Loop(name, size, body)

    def _annotate(self, handle: LoopRV | BlockRV, name: str, place: str, annotations: Mapping[str, Any]) -> None:
        for key, value in reversed(list(annotations.items())):
            self.steps.append(_LoopStep(handle, f"annotation '{key}' of '{name}'", place, "annotate", [key, value]))

    def _extent(self, block: str, number: int) -> Size:
        if block not in self._known or len(self._known[block].iters) <= number:
            raise _Changed(f"block '{block}' has no iter {number}")
        return self._known[block].iters[number].extent

    def _block(self, statement: ast.stmt, around: Mapping[str, Size]) -> Block | None:
        assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        name, bindings, memory = statement.value.args
        if (block := self._left.pop(ast.literal_eval(name), None)) is None:  # the block is dead
            return None
        assert isinstance(bindings, ast.List)
        if len(bindings.elts) != len(block.iters):
            raise _Changed(f"block '{block.name}' has {len(block.iters)} iters, not {len(bindings.elts)}")
        self.memory[block.name] = ast.literal_eval(memory)
        where: list[tuple[Size, Size]] = []
        keywords = {keyword.arg: keyword.value for keyword in statement.value.keywords}
        if "where" in keywords:
            where += [(self._size(index, around), limit) for index, limit in _pairs(keywords["where"])]
        if "notes" in keywords:
            self._annotate(BlockRV(self._tree.name, block.name), block.name, *ast.literal_eval(keywords["notes"]))
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


def _check_memory(tree: Tree, memory: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Raise _Changed unless two blocks write to the same buffer exactly if they do so in the text."""
    buffers: dict[str, Buffer] = {}
    for block in tree.blocks():
        names = [name for name, _ in memory[block.name]]
        written = [access.buffer for access in block.writes]
        if len(names) != len(written) or any(map(operator.is_not, map(buffers.setdefault, names, written), written)):
            raise _Changed(f"block '{block.name}' writes other buffers than {', '.join(names)}")
    if len(set(map(id, buffers.values()))) != len(buffers):
        raise _Changed(f"some of the buffers {', '.join(buffers)} share memory")


def _with_memory(tree: Tree, memory: Mapping[str, Sequence[tuple[str, str]]], place: str) -> Tree:
    """Return the tree with the text's buffer names and scopes. Warn about unknown scopes."""
    found: dict[Buffer, tuple[str, str]] = {}
    for block in tree.blocks():
        found |= {access.buffer: names for access, names in zip(block.writes, memory[block.name], strict=True)}
    for buffer, (name, scope) in found.items():
        if not buffer.is_given:
            others = {each.name for each in tree.buffers if each is not buffer}
            if scope not in COMMON and find_memory(scope) is None:
                warn_at(place, f"@{tree.name}: '{name}' is in '{buffer.scope}': its scope '{scope}' is unknown")
                scope = buffer.scope
            tree = tree.exchanged(buffer, replace(buffer, name=unique(name, others), scope=scope))
    return tree


def _check_lifetimes(tree: Tree) -> None:
    """Raise _Changed unless each step of the loops around a buffer's users first writes all elements that it reads.

    The buffer then lives as long as the step.
    """
    for buffer in tree.buffers:
        users = [block for block in tree.blocks() if buffer in block.buffers]
        shared = [] if buffer.is_given or len(users) < 2 else around_all([tree.around(block.name) for block in users])
        if shared and not _is_step_whole(tree, buffer, users, shared):
            raise _Changed(
                f"a step of '{shared[-1].name}' may read elements of '{buffer.name}' that the step does not write first"
            )


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


def _with_steps(tree: Tree, steps: Sequence[_LoopStep]) -> Tree:
    """Return the tree with kinds of loops, where they provably change no result, and annotations.

    Warn about all others.
    """
    for step in reversed(steps):
        edit = Edit(tree, {}, Random(0))
        try:
            if step.handle.name not in tree.names:
                edit.refuse("a pass has removed its blocks")
            find_primitive(step.primitive).function(edit, step.handle, *step.arguments)
            if (size := code_size(edit.tree)) > MOST_OPERATIONS:
                edit.refuse(f"the code would have {size:,} operations, more than {MOST_OPERATIONS:,}")
            tree = edit.tree
        except Refused as refusal:
            warn_at(step.place, f"@{tree.name}: {step.what} is dropped: {refusal.reason}")
    return tree
