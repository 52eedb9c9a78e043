# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks operations in order; decides what becomes a line and what stands inside of an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...bindings.mlir import ir
from .attributes import annotations
from .generic import definition_of, generic_expression, result_prefix, write_generic
from .locations import location_name
from .names import Names
from .operators import operator_expression, write_operator
from .rules import DIALECTS, EXPRESSIONS, STATEMENTS, ExpressionRule
from .text import Expr, Level, shorten
from .types import is_scalar, is_tensor, type_text
from .writer import Writer

#: A longer expression gets a line and a name of its own.
_MOST_INLINE = 72
#: Regions that nest deeper are left out: nobody could read them.
_MOST_DEPTH = 48
_MOST_COMMENT = 160
_NOTHING: frozenset[str] = frozenset()


class _Frame:
    """Values of one block whose text is written where they are used: once, later in this block."""

    def __init__(self) -> None:
        self.waiting: dict[Any, tuple[Expr, Any]] = {}
        # Those of them that look at memory.
        self.reading: dict[Any, None] = {}


class Printer:
    """Writes operations; the rules call it back for values, names, lines and regions."""

    def __init__(self) -> None:
        self.writer = Writer()
        self.names = Names()
        #: What blocks that are jumped to are called.
        self.labels: dict[Any, str] = {}
        #: The indices of the loops that a linalg operation's block stands in.
        self.loops: dict[Any, list[str]] = {}
        #: Values that must not be written over: the arguments of functions with value semantics.
        self.fixed: set[Any] = set()
        self._inlined: dict[Any, Expr] = {}
        self._frame = _Frame()
        self._reads = False
        self._depth = 0

    # ---- values ----

    def value(self, value: Any) -> Expr:
        """The text of a value. Asking twice gives the same."""
        name = self.names.get(value)
        if name is not None:
            return Expr(name)
        waiting = self._frame.waiting.pop(value, None)
        if waiting is not None:
            self._frame.reading.pop(value, None)
            self._inlined[value] = waiting[0]
        found = self._inlined.get(value)
        if found is None:
            return self._before_definition(value)
        self._reads |= found.reads
        return found

    def text(self, value: Any) -> str:
        return self.value(value).text

    def texts(self, values: Sequence[Any]) -> list[str]:
        return [self.value(value).text for value in values]

    def atom(self, value: Any) -> str:
        """The text of a value where something follows: an index, an attribute."""
        return self.value(value).at(Level.ATOM)

    def inline(self, value: Any, expr: Expr) -> None:
        """Makes this text the value's, wherever it is used."""
        self._inlined[value] = expr

    def _before_definition(self, value: Any) -> Expr:
        """Blocks come in any order, so a use can come before the definition."""
        if isinstance(value.owner, ir.Block):
            name = self.names.numbered("arg", keep=True)
        else:
            operation = value.owner.operation
            rule = EXPRESSIONS.get(operation.name)
            if rule is not None and rule.always:
                expr, _ = self._expression(rule, operation)
                if expr is not None:
                    return expr
            name = self.names.numbered(result_prefix(operation, value.result_number, value.type), keep=True)
        self.names.bind(value, name)
        return Expr(name)

    # ---- names ----

    def result_names(self, op: Any) -> list[str]:
        """The names of an operation's results, given now where there are none yet."""
        return [self.result_name(op, result) for result in op.results]

    def result_name(self, op: Any, result: Any) -> str:
        name = self.names.get(result)
        if name is None:
            name = self.bind(result, self.names.numbered(result_prefix(op, result.result_number, result.type)))
        return name

    def targets(self, op: Any) -> str:
        """`a, b = ` for an operation with results."""
        names = self.result_names(op)
        return f"{', '.join(names)} = " if names else ""

    def bind(self, value: Any, name: str) -> str:
        self.names.bind(value, name)
        return name

    def destination(self, op: Any, initial: Any, result: Any) -> str:
        """The name of the result of an operation that overwrites a value: the value's own where that ends here."""
        if self.names.get(result) is None:
            return self.bind(result, self.started(op, initial, lambda: self.result_name(op, result)))
        name = self.result_name(op, result)
        self.emit(f"{name} = {self.owned(op, initial)}", effect=False)
        return name

    def started(self, op: Any, initial: Any, fresh: Callable[[], str]) -> str:
        """A name that is the initial value first and is assigned to later."""
        if is_tensor(initial.type) and self._ends_at(op, initial):
            return self.text(initial)
        text = self.owned(op, initial)
        name = fresh()
        self.emit(f"{name} = {text}", self.type_comment([initial]), effect=False)
        return name

    def owned(self, op: Any, value: Any) -> str:
        """The text of a value for a name that may be written over: tensors that others see are copied."""
        text = self.text(value)
        shared = is_tensor(value.type) and self.names.get(value) is not None and not self._ends_at(op, value)
        return f"copy({text})" if shared else text

    def _ends_at(self, op: Any, value: Any) -> bool:
        """Whether this operation, in the value's own block, is its only user."""
        if self.text(value) != self.names.get(value) or value in self.fixed or count_uses(value) != 1:
            return False
        owner = value.owner
        return bool((owner if isinstance(owner, ir.Block) else owner.operation.block) == op.block)

    # ---- lines ----

    def emit(self, text: str, comment: str = "", *, effect: bool = True) -> None:
        """A line. `effect`: it may write memory, so what reads it gets its own line before."""
        if effect:
            self.flush_reads()
        self.writer.line(text, comment)

    def emit_call(self, head: str, items: Sequence[str], tail: str, comment: str, *, effect: bool = True) -> None:
        if effect:
            self.flush_reads()
        self.writer.call(head, items, tail, comment)

    def flush_reads(self) -> None:
        for value in list(self._frame.reading):
            self._flush(value)

    def _flush(self, value: Any) -> None:
        expr, op = self._frame.waiting.pop(value)
        self._frame.reading.pop(value, None)
        self._assign(op, expr, "")

    def _assign(self, op: Any, expr: Expr, notes: str) -> None:
        definition = definition_of(op.name)
        types = definition is None or not definition.explicit
        self.writer.line(f"{self.targets(op)}{expr.text}{notes}", self.comment(op, types=types))

    def notes(self, op: Any) -> str:
        """The attributes that the rule for this operation does not show: ` {name=value}` or nothing."""
        rule = STATEMENTS.get(op.name) or EXPRESSIONS.get(op.name)
        return annotations(op, rule.shown if rule is not None else _NOTHING)

    def comment(self, op: Any, *, types: bool = True) -> str:
        """The types of an operation's results and the name in its location."""
        parts = [self.type_comment(list(op.results)) if types else "", location_name(op.location)]
        return "  # ".join(part for part in parts if part)

    def header_comment(self, op: Any) -> str:
        """For an operation that ends in a colon: its other attributes and the name in its location."""
        return "  # ".join(part for part in (self.notes(op).strip(), location_name(op.location)) if part)

    @staticmethod
    def type_comment(values: Sequence[Any]) -> str:
        if all(is_scalar(value.type) for value in values):
            return ""
        return shorten(", ".join(type_text(value.type) for value in values), _MOST_COMMENT)

    # ---- operations ----

    def operation(self, op: Any) -> None:
        name = op.name
        rule = EXPRESSIONS.get(name)
        if rule is not None:
            expr, reads = self._expression(rule, op)
            if expr is not None:
                self._define(op, expr._replace(reads=reads), rule.always, annotations(op, rule.shown))
                return
        statement = STATEMENTS.get(name)
        if statement is not None and statement.write(self, op):
            return
        named = DIALECTS.get(name.partition(".")[0])
        if named is not None and named(self, op):
            return
        definition = definition_of(name)
        if definition is not None:
            self._operator(definition, op)
            return
        expr = generic_expression(self, op)
        if expr is not None:
            self._define(op, expr, False, "")
        else:
            write_generic(self, op)

    def _operator(self, definition: Any, op: Any) -> None:
        self._reads = False
        expr = operator_expression(self, definition, op)
        if expr is None:
            write_operator(self, definition, op)
        else:
            self._define(op, expr._replace(reads=self._reads), False, "")

    def _expression(self, rule: ExpressionRule, op: Any) -> tuple[Expr | None, bool]:
        outer, self._reads = self._reads, False
        expr = rule.write(self, op)
        reads, self._reads = rule.reads or self._reads, outer
        return expr, reads

    def _define(self, op: Any, expr: Expr, always: bool, notes: str) -> None:
        """Decides where the text of a result goes: on a line now, or to where the result is used."""
        result = op.results[0]
        uses = count_uses(result)
        named = self.names.get(result) is not None
        if always and uses and not notes:
            self._inlined[result] = expr
        elif uses == 1 and not notes and not named and self._fits_inside(op, result, expr):
            self._frame.waiting[result] = (expr, op)
            if expr.reads:
                self._frame.reading[result] = None
        else:
            self._assign(op, expr, notes)

    @staticmethod
    def _fits_inside(op: Any, result: Any, expr: Expr) -> bool:
        if len(expr.text) > _MOST_INLINE:
            return False
        type_ = result.type
        if not is_scalar(type_) and not isinstance(type_, ir.VectorType):
            return False
        (use,) = result.uses
        return use.owner.operation.block == op.block

    # ---- regions ----

    def block(self, block: Any, end: Callable[[Any], None] | None = None) -> None:
        """The operations of a block; `end` writes the last one."""
        outer, self._frame = self._frame, _Frame()
        previous = None
        for op in block.operations:
            if previous is not None:
                self.operation(previous)
            previous = op.operation
        if previous is not None:
            (end or self.operation)(previous)
        for value in list(self._frame.waiting):
            self._flush(value)
        self._frame = outer

    def suite(self, region: Any, end: Callable[[Any], None] | None = None) -> None:
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

    def _blocks(self, blocks: Sequence[Any], end: Callable[[Any], None] | None) -> None:
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

    def parameters(self, block: Any) -> list[str]:
        """A block's arguments with their types, given names now."""
        return [f"{self.argument_name(value)}: {type_text(value.type)}" for value in block.arguments]

    def argument_name(self, value: Any) -> str:
        known = self.names.get(value)
        return known if known is not None else self.bind(value, self.names.numbered("arg"))


def count_uses(value: Any) -> int:
    """0, 1, or 2 for more."""
    uses = iter(value.uses)
    return sum(1 for _ in zip(uses, range(2)))  # noqa: B905  # it is the shorter one that counts


def print_script(operation: Any) -> str:
    """A module, or any other operation, in a compact form like TVMScript."""
    printer = Printer()
    printer.operation(operation.operation)
    return "\n".join(printer.writer.lines).rstrip("\n") + "\n"
