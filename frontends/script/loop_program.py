# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of a program as loops over memrefs, in program order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial

from ...bindings.ir import Value
from ...dialects.script.syntax import parts_within
from ...dialects.tir import dialect as tir
from ...emit import linalg, loops
from ...emit.arithmetic import element
from ...emit.numbers import Number, Size, as_index
from .names import TIR
from .program import (
    REDUCE,
    Allocate,
    Assert,
    Block,
    Buffer,
    Evaluate,
    For,
    If,
    Leave,
    Let,
    Loop,
    Statement,
    Store,
    While,
    leaving,
)
from .scalar_types import typed
from .scalars import Scalars

#: State of an iteration: it continues, it skips to the next iteration, or it leaves the loop.
_GOES_ON, _NEXT, _LEFT = 0, 1, 2


class Memrefs:
    """Memory of the buffers."""

    def __init__(self, memrefs: dict[Buffer, Value]):
        self.memrefs = memrefs

    def load(self, scalars: Scalars, node: ast.expr, buffer: Buffer, indices: tuple[ast.expr, ...]) -> Number:
        memref = self.memory(scalars, node, buffer)
        return typed(loops.load(memref, *self.places(scalars, node, buffer, indices)), buffer.dtype)

    def memory(self, scalars: Scalars, node: ast.AST, buffer: Buffer) -> Value:
        if buffer not in self.memrefs:
            raise scalars.source.problem(node, f"buffer '{buffer.name}' is used before it is allocated")
        return self.memrefs[buffer]

    def is_safe(self, scalars: Scalars, node: ast.expr) -> bool:
        return not any(isinstance(expr, ast.Subscript) for expr in parts_within(node))

    def places(self, scalars: Scalars, node: ast.AST, buffer: Buffer, indices: Sequence[ast.expr]) -> list[Size]:
        """Return the indices of an element, with a check if the access is not proven in bounds."""
        places = [scalars.index(index) for index in indices]
        for axis, place in enumerate(places if node not in scalars.inside else ()):
            size, index = linalg.size(self.memrefs[buffer], axis), as_index(place)
            message = f"index {{}} is out of range for '{buffer.name}', which has {{}} elements along dimension {axis}"
            loops.require((index >= 0) & (index < size), "IndexError", message, index, size)
        return places


class LoopProgram:
    """Emission of statements."""

    def __init__(self, scalars: Scalars, memory: Memrefs):
        self.scalars, self.memory = scalars, memory
        #: State variable of the enclosing loop if a statement in the loop leaves it.
        self._state: Value | None = None

    def emit(self, statements: Sequence[Statement]) -> None:
        """Emit the statements. Buffers that they allocate live until the end of the last statement."""
        outer = self.scalars.env
        self.scalars.env = dict(outer)
        self._from(statements, 0)
        self.scalars.env = outer

    def _from(self, statements: Sequence[Statement], start: int) -> None:
        for position in range(start, len(statements)):
            statement = statements[position]
            with self.scalars.source.location(statement.node):
                if isinstance(statement, Allocate):
                    self._allocate(statement.buffer, partial(self._from, statements, position + 1))
                    return
                _WRITERS[type(statement)](self, statement)
                if self._state is not None and leaving([statement]):
                    if not isinstance(statement, Leave):
                        loops.when(self._fate() == _GOES_ON, partial(self._from, statements, position + 1))
                    return

    def _allocate(self, buffer: Buffer, then: Callable[[], None]) -> None:
        sizes: list[Size] = [self.scalars.index(size) for size in buffer.sizes]

        def use(memref: Value) -> None:
            self.memory.memrefs[buffer] = memref
            self.scalars.env[buffer.name] = buffer
            then()

        loops.scratch(sizes, element(buffer.dtype), use)

    # ---- statements ----

    def _store(self, statement: Store) -> None:
        node, buffer = statement.node, statement.buffer
        value = self.scalars.number(statement.value, buffer.dtype)
        memref = self.memory.memory(self.scalars, node, buffer)
        loops.store(value, memref, *self.memory.places(self.scalars, node, buffer, statement.indices))

    def _evaluate(self, statement: Evaluate) -> None:
        if self.scalars.names.word(statement.call) == (TIR, "tvm_storage_sync"):
            message = "threads run as sequential loops here, so that none can wait for others"
            raise self.scalars.source.problem(statement.node, message)
        self.scalars.value(statement.call)

    def _assert(self, statement: Assert) -> None:
        if isinstance(condition := self.scalars.truth(statement.condition), bool):
            if condition:
                return
            condition = self.scalars.cast(statement.node, False, "i1")
        # Unescaped braces would be a placeholder for a number.
        tir.ops["assert"](condition, [], kind="AssertionError", message=statement.message.replace("{}", "{ }"))

    def _when(self, condition: bool | Number, then: Sequence[Statement], otherwise: Sequence[Statement] = ()) -> None:
        if isinstance(condition, bool):
            self.emit(then if condition else otherwise)
            return
        loops.when(condition, lambda: self.emit(then), (lambda: self.emit(otherwise)) if otherwise else None)

    def _while(self, statement: While) -> None:
        def condition() -> Number:
            truth = self.scalars.truth(statement.condition)
            return self.scalars.cast(statement.node, truth, "i1") if isinstance(truth, bool) else truth

        def repeat(once: Callable[[], None], is_left: bool) -> None:
            going = (lambda: loops.and_then(self._fate() != _LEFT, condition)) if is_left else condition
            loops.repeat_while([], going, once)

        self._repeat(statement.body, repeat)

    def _for(self, statement: For) -> None:
        def repeat(once: Callable[[], None], is_left: bool) -> None:
            def unless_left() -> None:
                loops.when(self._fate() != _LEFT, once)

            self._over(statement.loops, unless_left if is_left else once)

        self._repeat(statement.body, repeat)

    def _repeat(self, body: Sequence[Statement], repeat: Callable[[Callable[[], None], bool], None]) -> None:
        """Emit a loop with `repeat(once, is_left)`. The state is kept in memory, and later statements test it."""
        outer, found = self._state, leaving(body)

        def run(state: Value | None) -> None:
            self._state = state
            if state is not None:
                loops.store(_GOES_ON, state)
            repeat(once, any(each.is_break for each in found))

        def once() -> None:
            if self._state is not None:
                loops.store(_GOES_ON, self._state)
            self.emit(body)

        if found:
            loops.scratch([], element("i8"), run)
        else:
            run(None)
        self._state = outer

    def _fate(self) -> Number:
        assert self._state is not None
        return loops.load(self._state)

    def _leave(self, statement: Leave) -> None:
        assert self._state is not None
        loops.store(_LEFT if statement.is_break else _NEXT, self._state)

    def _over(self, rest: Sequence[Loop], body: Callable[[], None]) -> None:
        if not rest:
            body()
            return
        loop, *inner = rest
        start: Size = 0 if loop.start is None else self.scalars.index(loop.start)
        stop = self.scalars.index(loop.stop)
        for node, bound in ((loop.start, start), (loop.stop, stop)):
            if isinstance(bound, int) and node is not None and not -(1 << 62) <= bound < 1 << 62:
                raise self.scalars.source.problem(node, f"the loop bound {bound} is out of range")

        def once(index: Number) -> None:
            outer = self.scalars.env
            self.scalars.env = {**outer, loop.name: index}
            self._over(inner, body)
            self.scalars.env = outer

        is_shared = loop.kind == "parallel" and self._state is None
        if is_shared is not (loop.kind == "parallel"):
            self.scalars.source.warn(loop.node, f"'{loop.name}' runs in order, not in parallel: `continue` skips steps")
        loops.for_range(start, stop, once, grain=0 if is_shared else None)

    # ---- blocks ----

    def _block(self, block: Block) -> None:
        outer = self.scalars.env
        self.scalars.env = dict(outer)
        firsts = []
        for axis in block.axes:
            index = as_index(self.scalars.index(axis.binding))
            self.scalars.env[axis.name] = index
            if axis.kind == REDUCE:
                firsts.append(index == (0 if axis.start is None else as_index(self.scalars.index(axis.start))))
        where = self.scalars.logical(True, [self.scalars.truth(each) for each in block.where])

        def run() -> None:
            if block.init:
                self._when(self.scalars.logical(True, firsts), block.init)
            self.emit(block.body)

        if isinstance(where, bool):
            if where:
                run()
        else:
            loops.when(where, run)
        self.scalars.env = outer


_WRITERS: dict[type, Callable[..., None]] = {
    Store: LoopProgram._store,
    Let: lambda program, let: program.scalars.define(let),
    Evaluate: LoopProgram._evaluate,
    Assert: LoopProgram._assert,
    If: lambda program, each: program._when(program.scalars.truth(each.condition), each.then, each.otherwise),
    While: LoopProgram._while,
    For: LoopProgram._for,
    Leave: LoopProgram._leave,
    Block: LoopProgram._block,
}
