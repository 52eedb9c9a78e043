# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the body of a function: values become parts of expressions where they are used once, else variables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ....bindings.ir import Block, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import operations_of, use_count
from ....bindings.rewriting import located_error
from ....support.errors import RefusalError, RelaxError
from .c_names import CNames
from .expressions import ATOM, Expression, name
from .memref_views import MemrefView
from .types import scalar_type

if TYPE_CHECKING:
    from .program import Program

# Longer expressions become variables.
_MOST_CHARACTERS = 96
# Indices that are shorter are written again and again.
_SHORT = 16
_INDENT = "    "

#: Gives an operation's result from its operands.
ScalarRule = Callable[["FunctionWriter", Operation, list[Expression]], Expression]
#: Writes statements, and gives the writer the results.
Rule = Callable[["FunctionWriter", Operation], None]


class FunctionWriter:
    """What is known while a function is written."""

    def __init__(self, program: Program, function: str, names: CNames, rules: dict[str, Rule]) -> None:
        self.program = program
        #: As the module calls it.
        self.function = function
        self.names = names
        self._rules = rules
        self.lines: list[str] = []
        self._depth = 1
        self._known: dict[Value, Expression | MemrefView] = {}
        #: What may be unused, by the number of the line that declares it.
        self._needless: dict[int, str] = {}
        #: What stands nowhere yet, in its order.
        self._pending: dict[Value, Expression] = {}

    # ---- text ----

    def line(self, text: str) -> None:
        self.lines.append(_INDENT * self._depth + text if text else "")

    def pointer(self, chosen: str, c_type: str, address: str) -> None:
        """Declares a pointer."""
        self._needless[len(self.lines)] = chosen
        self.line(f"{c_type} *{chosen} = {address};")

    def finished(self) -> list[str]:
        """The lines, without unused declarations: of some memory only the size is asked for."""
        counts = words_in(self.lines)
        needless = set()
        for number, chosen in reversed(self._needless.items()):
            if counts[chosen] == 1:
                needless.add(number)
                counts.subtract(re.findall(r"\w+", self.lines[number]))
        return [line for number, line in enumerate(self.lines) if number not in needless]

    @property
    def depth(self) -> int:
        """How many braces are open."""
        return self._depth

    @contextmanager
    def braces(self, head: str = "", *, follows: bool = False) -> Iterator[None]:
        """A block. `follows`: an else behind its if."""
        self.settle()
        if follows:
            self.lines.pop()
            head = f"}} {head}"
        self.line(f"{head} {{".lstrip())
        self._depth += 1
        around = set(self._pending)
        yield
        # What is unused by now stays so.
        self._pending = {value: text for value, text in self._pending.items() if value in around}
        self._depth -= 1
        self.line("}")

    def helper(self, function: str) -> str:
        """The name of a function of helpers.c, which the program has from here on."""
        self.program.helpers.add(function)
        return function

    # ---- values ----

    def view(self, value: Value) -> MemrefView:
        found = self._known[value]
        assert isinstance(found, MemrefView), value
        return found

    def get(self, value: Value) -> Expression:
        """A scalar's text, to be written into what comes next."""
        if value in self._pending:
            return self._pending.pop(value)
        found = self._known[value]
        assert isinstance(found, Expression), value
        return found

    def all(self, values: Sequence[Value]) -> list[Expression]:
        return [self.get(value) for value in values]

    def know(self, value: Value, what: Expression | MemrefView) -> None:
        self._known[value] = what

    def define(self, value: Value, expression: Expression, wanted: str = "t") -> None:
        """A value that is computed: written where it is used, where that is one place in this block."""
        count = use_count(value)
        if count == 0:
            return
        is_short = expression.is_place and len(expression.text) <= _SHORT and "/" not in expression.text
        if is_short or (expression.level == ATOM and not expression.reads and "(" not in expression.text):
            self._known[value] = expression
        elif count == 1 and self._is_used_here(value, len(expression.text)):
            self._pending[value] = expression
        else:
            self._known[value] = self.declare(expression, value.type, wanted)

    def _is_used_here(self, value: Value, length: int) -> bool:
        """Whether it can stand where it is used."""
        user = next(iter(value.uses)).owner.operation
        block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
        most = _MOST_CHARACTERS * (2 if user.name == "memref.store" else 1)
        return bool(user.block == block) and length <= most

    def declare(self, expression: Expression, type_: Type, wanted: str = "t") -> Expression:
        """A variable with this value."""
        place = len(self.lines)
        made = self.variable(scalar_type(type_), expression, wanted, is_constant=True)
        self._needless[place] = made.text
        return made

    def variable(
        self, type_: str, expression: Expression, wanted: str = "t", *, is_constant: bool = False
    ) -> Expression:
        chosen = self.names.fresh(wanted)
        self.line(f"{'const ' if is_constant else ''}{type_} {chosen} = {expression.text};")
        return name(
            chosen,
            is_place=is_constant and expression.is_place,
            is_natural=is_constant and expression.is_natural,
        )

    def atom(self, expression: Expression, type_: Type) -> Expression:
        """What can stand twice."""
        is_plain = expression.level == ATOM and (expression.text.isidentifier() or not expression.reads)
        is_plain = is_plain and "(" not in expression.text
        return expression if is_plain or expression.number is not None else self.declare(expression, type_)

    def settle(self) -> None:
        """Reads memory for what is pending, before something writes."""
        for value, expression in [pair for pair in self._pending.items() if pair[1].reads]:
            del self._pending[value]
            self._known[value] = self.declare(expression, value.type)

    # ---- operations ----

    def block(self, block: Block) -> Operation:
        """Writes all but the terminator, which it gives."""
        *operations, end = operations_of(block)
        for op in operations:
            self.operation(op)
        return end

    def operation(self, op: Operation) -> None:
        rule = self._rules.get(op.name)
        if rule is None:
            raise self.refusal(op, "it has no counterpart in C")
        try:
            rule(self, op)
        except RelaxError as error:
            if error.location:
                raise
            raise self.refusal(op, error.message) from None

    def refusal(self, op: Operation, reason: str, *notes: str) -> RelaxError:
        message = f"target 'c' cannot write '{op.name}' op in @{self.function}: {reason}"
        error = located_error(message, op.location)
        return RefusalError(message, location=error.location, notes=notes, diagnostics=error.diagnostics)


def words_in(lines: Sequence[str]) -> Counter[str]:
    """Names and numbers of a text of C, and how often each stands there; comments say nothing."""
    return Counter(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", "\n".join(lines), flags=re.DOTALL)))


def scalar(rule: ScalarRule) -> Rule:
    """The rule of an operation that computes one scalar of others."""

    def write(writer: FunctionWriter, op: Operation) -> None:
        for type_ in (each.type for each in (*op.operands, *op.results)):
            if isinstance(type_, ir.ShapedType):
                raise RefusalError(f"it works on a {type_}, C on one number at a time")
        writer.define(op.results[0], rule(writer, op, writer.all(list(op.operands))))

    return write
