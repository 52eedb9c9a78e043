# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stands for a value: its name, or its text where it is used; and lines, in the order that memory needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...bindings.ir import Block, Operation, Value
from ...bindings.mlir import ir
from ..core.dialect import row_of
from .attributes import other_attributes
from .expr import Expr, Level, Writer, shorten
from .names import Names, location_name, result_prefix
from .rules import EXPRESSIONS, STATEMENTS, ExpressionRule
from .types import is_scalar, is_tensor, type_text

_MOST_COMMENT = 160
_MOST_USES = 8
_NOTHING: frozenset[str] = frozenset()


class Frame:
    """Values of one block whose text is written where they are used: once, later in this block."""

    def __init__(self) -> None:
        self.waiting: dict[Value, tuple[Expr, Operation]] = {}
        # Those of them that look at memory.
        self.reading: dict[Value, None] = {}


class ValueWriter:
    """Names and texts of values, and the lines that define them."""

    def __init__(self) -> None:
        self.writer = Writer()
        self.names = Names()
        #: What blocks that are jumped to are called.
        self.labels: dict[Block, str] = {}
        #: The indices of the loops that a linalg operation's block stands in.
        self.loops: dict[Block, list[str]] = {}
        #: Values that must not be written over: the arguments of functions with value semantics.
        self.fixed: set[Value] = set()
        self._inlined: dict[Value, Expr] = {}
        self.frame = Frame()
        self._reads = False

    # ---- values ----

    def value(self, value: Value) -> Expr:
        """The text of a value. Asking twice gives the same."""
        name = self.names.get(value)
        if name is not None:
            return Expr(name)
        waiting = self.frame.waiting.pop(value, None)
        if waiting is not None:
            self.frame.reading.pop(value, None)
            self._inlined[value] = waiting[0]
        found = self._inlined.get(value)
        if found is None:
            return self._before_definition(value)
        self._reads |= found.reads
        return found

    def text(self, value: Value) -> str:
        return self.value(value).text

    def texts(self, values: Sequence[Value]) -> list[str]:
        return [self.value(value).text for value in values]

    def atom(self, value: Value) -> str:
        """The text of a value where something follows: an index, an attribute."""
        return self.value(value).at(Level.ATOM)

    def inline(self, value: Value, expr: Expr) -> None:
        """Makes this text the value's, wherever it is used."""
        self._inlined[value] = expr

    def _before_definition(self, value: Value) -> Expr:
        """Blocks come in any order, so a use can come before the definition."""
        if isinstance(value.owner, ir.Block):
            name = self.names.numbered("arg", keep=True)
        else:
            operation = value.owner.operation
            constant = self._constant(operation)
            if constant is not None:
                return constant
            name = self.names.numbered(result_prefix(operation, value.result_number, value.type), keep=True)
        self.names.bind(value, name)
        return Expr(name)

    def _constant(self, op: Operation) -> Expr | None:
        rule = EXPRESSIONS.get(op.name)
        return self.expression(rule, op) if rule is not None and rule.always else None

    def expression(self, rule: ExpressionRule, op: Operation) -> Expr | None:
        expr = self.tracked(lambda: rule.write(self, op))
        return expr._replace(reads=True) if expr is not None and rule.reads else expr

    def tracked(self, write: Callable[[], Expr | None]) -> Expr | None:
        """What `write` gives, marked where an operand that it asks for looks at memory."""
        outer, self._reads = self._reads, False
        expr = write()
        reads, self._reads = self._reads, outer
        return expr._replace(reads=True) if expr is not None and reads else expr

    # ---- names ----

    def result_names(self, op: Operation) -> list[str]:
        """The names of an operation's results, given now where there are none yet."""
        return [self.result_name(op, result) for result in op.results]

    def result_name(self, op: Operation, result: Value) -> str:
        name = self.names.get(result)
        if name is None:
            name = self.bind(result, self.names.numbered(result_prefix(op, result.result_number, result.type)))
        return name

    def targets(self, op: Operation) -> str:
        """`a, b = ` for an operation with results."""
        names = self.result_names(op)
        return f"{', '.join(names)} = " if names else ""

    def bind(self, value: Value, name: str) -> str:
        self.names.bind(value, name)
        return name

    def destination(self, op: Operation, initial: Value, result: Value) -> str:
        """The name of the result of an operation that overwrites a value: the value's own where that ends here."""
        if self.names.get(result) is None:
            return self.bind(result, self.started(op, initial, lambda: self.result_name(op, result)))
        name = self.result_name(op, result)
        self.emit(f"{name} = {self.owned(op, initial)}", effect=False)
        return name

    def started(self, op: Operation, initial: Value, fresh: Callable[[], str]) -> str:
        """A name that is the initial value first and is assigned to later."""
        if is_tensor(initial.type) and self._ends_at(op, initial):
            return self.text(initial)
        text = self.owned(op, initial)
        name = fresh()
        self.emit(f"{name} = {text}", self.type_comment([initial]), effect=False)
        return name

    def owned(self, op: Operation, value: Value) -> str:
        """The text of a value for a name that may be written over: tensors that others see are copied."""
        expr = self.value(value)
        named = self.names.get(value) is not None
        shared = is_tensor(value.type) and (expr.part or named and not self._ends_at(op, value))
        return f"copy({expr.text})" if shared else expr.text

    def _ends_at(self, op: Operation, value: Value) -> bool:
        """Whether nobody looks at a named value after this operation, which stands in the value's own block."""
        if self.text(value) != self.names.get(value) or value in self.fixed:
            return False
        owner = value.owner
        if (owner if isinstance(owner, ir.Block) else owner.operation.block) != op.block:
            return False
        return is_last_user(op, value)

    # ---- lines ----

    def emit(self, text: str, comment: str = "", *, effect: bool = True) -> None:
        """A line. `effect`: it may write memory, so what reads it gets its own line before."""
        if effect:
            self.flush_reads()
        self.writer.line(text, comment)

    def emit_op(self, op: Operation, text: str, *, types: bool = True, effect: bool = True) -> bool:
        """The line of an operation, with what its text does not show; true, as rules say that they have written."""
        self.emit(f"{text}{self.notes(op)}", self.comment(op, types=types), effect=effect)
        return True

    def emit_definition(self, op: Operation, text: str) -> bool:
        """The line of an operation without effects whose text tells its type."""
        return self.emit_op(op, f"{self.targets(op)}{text}", types=False, effect=False)

    def emit_call(self, head: str, items: Sequence[str], tail: str, comment: str, *, effect: bool = True) -> None:
        if effect:
            self.flush_reads()
        self.writer.call(head, items, tail, comment)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """For an operation with a region, once its operands have been asked for: what is named inside ends there."""
        self.flush_reads()
        with self.names.scope():
            yield

    def flush_reads(self) -> None:
        for value in list(self.frame.reading):
            self._flush(value)

    def _flush(self, value: Value) -> None:
        expr, op = self.frame.waiting.pop(value)
        self.frame.reading.pop(value, None)
        self._assign(op, expr, "")

    def _assign(self, op: Operation, expr: Expr, notes: str) -> None:
        definition = row_of(op)
        types = definition is None or not definition.explicit
        # A part of an array is in Python a view of it; here it is a value of its own.
        text = f"copy({expr.text})" if expr.part and is_tensor(op.results[0].type) else expr.text
        self.writer.line(f"{self.targets(op)}{text}{notes}", self.comment(op, types=types))

    def notes(self, op: Operation) -> str:
        """The attributes that the rule for this operation does not show: ` {name=value}` or nothing."""
        rule = STATEMENTS.get(op.name) or EXPRESSIONS.get(op.name)
        return other_attributes(op, rule.shown if rule is not None else _NOTHING)

    def comment(self, op: Operation, *, types: bool = True) -> str:
        """The types of an operation's results and the name in its location."""
        parts = [self.type_comment(list(op.results)) if types else "", location_name(op.location)]
        return "  # ".join(part for part in parts if part)

    def header_comment(self, op: Operation) -> str:
        """For an operation that ends in a colon: its other attributes and the name in its location."""
        return "  # ".join(part for part in (self.notes(op).strip(), location_name(op.location)) if part)

    @staticmethod
    def type_comment(values: Sequence[Value]) -> str:
        if all(is_scalar(value.type) for value in values):
            return ""
        return shorten(", ".join(type_text(value.type) for value in values), _MOST_COMMENT)


def count_uses(value: Value) -> int:
    """0, 1, or 2 for more."""
    count = 0
    for _ in value.uses:
        count += 1
        if count == 2:
            break
    return count


def is_last_user(op: Operation, value: Value) -> bool:
    """Whether all other users of a value come before the operation in its block, or within what does."""
    around = op.block.owner.operation
    for number, use in enumerate(value.uses):
        if number >= _MOST_USES:
            return False
        user = use.owner.operation
        if user == op:
            continue
        while user.block != op.block:
            user = user.parent.operation
            if user == around:
                # In another block of the same region.
                return False
        if user == op or not user.is_before_in_block(op):
            return False
    return sum(operand == value for operand in op.operands) == 1
