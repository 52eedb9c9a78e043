# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks operations in order; decides what becomes a line and what stands inside of an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...bindings.ir import Block, Operation, Region, Value
from ...bindings.mlir import ir
from .attributes import other_attributes
from .expr import Expr
from .rules import DIALECTS, EXPRESSIONS, STATEMENTS
from .types import is_scalar, type_text
from .values import Frame, ValueWriter, count_uses

#: A longer expression gets a line and a name of its own.
_MOST_INLINE = 72
#: Operations in which `A[0:4]` reads well; not those that go on to index it.
_TAKES_PARTS = frozenset(
    f"linalg.{name}" for name in "add batch_matmul broadcast copy fill map matmul matvec reduce transpose".split()
) | {"func.return", "memref.copy", "tensor.insert_slice", "tensor.parallel_insert_slice"}
#: Regions that nest deeper are left out: nobody could read them.
_MOST_DEPTH = 48


class Printer(ValueWriter):
    """Writes operations; the rules call it back for values, names, lines and regions."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    # ---- operations ----

    def operation(self, op: Operation) -> None:
        name = op.name
        rule = EXPRESSIONS.get(name)
        if rule is not None:
            expr = self.expression(rule, op)
            if expr is not None:
                self.define(op, expr, other_attributes(op, rule.shown), always=rule.always)
                return
        statement = STATEMENTS.get(name)
        if statement is not None and statement.write(self, op):
            return
        named = DIALECTS.get(name.partition(".")[0])
        if named is None or not named(self, op):
            DIALECTS[""](self, op)

    def define(self, op: Operation, expr: Expr, notes: str = "", *, always: bool = False) -> None:
        """Decides where the text of a result goes: on a line now, or to where the result is used."""
        result = op.results[0]
        uses = count_uses(result)
        named = self.names.get(result) is not None
        if always and uses and not notes:
            self.inline(result, expr)
        elif uses == 1 and not notes and not named and self._fits_inside(op, result, expr):
            self.frame.waiting[result] = (expr, op)
            if expr.reads:
                self.frame.reading[result] = None
        else:
            self._assign(op, expr, notes)

    @staticmethod
    def _fits_inside(op: Operation, result: Value, expr: Expr) -> bool:
        if len(expr.text) > _MOST_INLINE:
            return False
        (use,) = result.uses
        user = use.owner.operation
        if expr.part:
            return bool(user.block == op.block) and user.name in _TAKES_PARTS
        type_ = result.type
        return bool((is_scalar(type_) or isinstance(type_, ir.VectorType)) and user.block == op.block)

    # ---- regions ----

    def block(self, block: Block, end: Callable[[Operation], None] | None = None) -> None:
        """The operations of a block; `end` writes the last one."""
        outer, self.frame = self.frame, Frame()
        previous = None
        for op in block.operations:
            if previous is not None:
                self.operation(previous)
            previous = op.operation
        if previous is not None:
            (end or self.operation)(previous)
        for value in list(self.frame.waiting):
            self._flush(value)
        self.frame = outer

    def suite(self, region: Region, end: Callable[[Operation], None] | None = None) -> None:
        """An indented region. The arguments of its first block have been named."""
        with self._one_deeper() as readable:
            before = len(self.writer.lines)
            if readable:
                self._blocks(list(region.blocks), end)
            if len(self.writer.lines) == before:
                self.writer.line("pass" if readable else "...", "" if readable else "nested too deep to be shown")

    @contextmanager
    def _one_deeper(self) -> Iterator[bool]:
        self._depth += 1
        with self.writer.indented(), self.names.scope():
            yield self._depth <= _MOST_DEPTH
        self._depth -= 1

    def _blocks(self, blocks: Sequence[Block], end: Callable[[Operation], None] | None) -> None:
        if len(blocks) == 1:
            self.block(blocks[0], end)
            return
        for block in blocks:
            self.labels[block] = self.names.numbered("bb")
        for index, block in enumerate(blocks):
            arguments = f"({', '.join(self.parameters(block))})" if index and len(block.arguments) else ""
            self.writer.line(f"{self.labels[block]}{arguments}:")
            with self.writer.indented():
                self.block(block, end)

    def parameters(self, block: Block) -> list[str]:
        """A block's arguments with their types, given names now."""
        return [f"{self.argument_name(value)}: {type_text(value.type)}" for value in block.arguments]

    def argument_name(self, value: Value) -> str:
        known = self.names.get(value)
        return known if known is not None else self.bind(value, self.names.numbered("arg"))


def print_script(operation: Any) -> str:
    """A module, or any other operation, in a compact form like TVMScript."""
    printer = Printer()
    printer.operation(operation.operation)
    return "\n".join(printer.writer.lines).rstrip("\n") + "\n"
