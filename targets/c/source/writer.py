# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the body of a function: values become parts of expressions where they are used once, else variables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, use_count
from ....support.errors import RefusalError
from ...text.text_writer import TextWriter
from .c_names import CNames
from .expressions import ATOM, Expression, binary, name
from .memref_views import MemrefView, dense
from .types import literal, scalar_type

if TYPE_CHECKING:
    from .program import Program

# Longer expressions become variables.
_MOST_CHARACTERS = 96
# Indices that are shorter are written again and again.
_SHORT = 16

#: Gives an operation's result from its operands.
ScalarRule = Callable[["FunctionWriter", Operation, list[Expression]], Expression]
#: Writes statements, and gives the writer the results.
Rule = Callable[["FunctionWriter", Operation], None]


class FunctionWriter(TextWriter[Expression | MemrefView]):
    """What is known while a function is written."""

    target, unknown, endless = "c", "it has no counterpart in C", "for (;;)"

    def __init__(self, program: Program, function: str, names: CNames, rules: dict[str, Rule]) -> None:
        super().__init__(rules, f"in @{function}")
        self.program = program
        #: As the module calls it.
        self.function = function
        self.names = names
        #: What may be unused, by the number of the line that declares it.
        self._needless: dict[int, str] = {}
        #: What stands nowhere yet, in its order.
        self._pending: dict[Value, Expression] = {}

    # ---- text ----

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
    def braces(self, head: str = "") -> Iterator[None]:
        self.settle()
        around = set(self._pending)
        with super().braces(head):
            yield
            # What is unused by now stays so.
            self._pending = {value: text for value, text in self._pending.items() if value in around}

    def otherwise(self) -> AbstractContextManager[None]:
        self.lines.pop()
        return self.braces("} else")

    def helper(self, function: str) -> str:
        """The name of a function of helpers.c, which the program has from here on."""
        self.program.helpers.add(function)
        return function

    # ---- values ----

    def view(self, value: Value) -> MemrefView:
        found = self.held(value)
        assert isinstance(found, MemrefView), value
        return found

    def held(self, value: Value) -> Expression | MemrefView:
        """A scalar's text is to be written into what comes next."""
        return self._pending.pop(value) if value in self._pending else super().held(value)

    def get(self, value: Value) -> Expression:
        found = self.held(value)
        assert isinstance(found, Expression), value
        return found

    def all(self, values: Sequence[Value]) -> list[Expression]:
        return [self.get(value) for value in values]

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

    # ---- variables ----

    def carry(self, op: Operation, values: Sequence[Value], arguments: Sequence[Value]) -> Sequence[_Variable]:
        left: list[Value | None] = [*op.results] if op.name == "scf.for" else [None] * len(arguments)
        variables = [
            self._handed_on(value.type, self.held(value), "carried") if _is_used(argument, result) else None
            for value, argument, result in zip(values, arguments, left, strict=True)
        ]
        self.know_all(arguments, variables)
        return variables

    def leave(self, op: Operation, wanted: str, arguments: Sequence[Value] = ()) -> Sequence[_Variable]:
        others: list[Value | None] = [*arguments] or [None] * len(op.results)
        return [
            self._handed_on(result.type, None, wanted) if _is_used(result, other) else None
            for result, other in zip(op.results, others, strict=True)
        ]

    def _handed_on(self, type_: Type, initial: Expression | MemrefView | None, wanted: str) -> Expression | MemrefView:
        if not isinstance(type_, ir.MemRefType):
            assert not isinstance(initial, MemrefView)
            zero = literal(0, "index" if isinstance(type_, ir.IndexType) else str(type_))
            return self.variable(scalar_type(type_), initial if initial is not None else zero, wanted)
        if not type_.has_static_shape:
            raise RefusalError(f"memory whose size may change ({type_}) is handed on by it")
        made = dense(name(self.names.fresh(wanted)), type_.element_type, list(type_.shape))
        start = initial.address().text if isinstance(initial, MemrefView) else "0"
        self.line(f"{made.memory_type} *{made.pointer.text} = {start};")
        return made

    def assigned(self, variable: Expression | MemrefView, value: Value) -> Iterable[tuple[str, str, str]]:
        given = self.held(value)
        if isinstance(variable, Expression):
            assert isinstance(given, Expression)
            return [(variable.text, given.text, f"const {scalar_type(value.type)} ")]
        assert isinstance(given, MemrefView)
        if not given.is_dense:
            raise RefusalError("it hands on memory that is a part of other memory")
        return [(variable.pointer.text, given.address().text, f"{variable.memory_type} *")]

    def keep(self, name: str, text: str, type_: str) -> str:
        chosen = self.names.fresh(f"next_{name}")
        self.line(f"{type_}{chosen} = {text};")
        return chosen

    def is_changed(self, text: str, names: Sequence[str]) -> bool:
        return len(names) > 1

    # ---- control ----

    def condition(self, op: Operation, value: Value, *, is_negated: bool = False) -> str:
        found = self.get(value)
        return f"!{found.atom}" if is_negated else found.text

    @contextmanager
    def steps(self, op: Operation) -> Iterator[None]:
        first, *others = self.all(op.operands[:3])
        counter = body_of(op).arguments[0]
        end, by = (self.atom(each, counter.type) for each in others)
        is_place = isinstance(counter.type, ir.IndexType)
        with self.counting(scalar_type(counter.type), first, end, by) as index:
            self.know(counter, name(index, is_place=is_place, is_natural=is_place and first.is_natural))
            yield

    @contextmanager
    def counting(self, type_: str, first: Expression, end: Expression, by: Expression) -> Iterator[str]:
        """A loop; gives its counter's name."""
        index = self.names.free(f"i{self._depth - 1}")
        move = f"{index}++" if by.number == 1 else f"{index} += {by.text}"
        with self.braces(f"for ({type_} {index} = {first.text}; {binary('<', name(index), end).text}; {move})"):
            yield index


#: None stands for one that is not used.
_Variable = Expression | MemrefView | None


def _is_used(*values: Value | None) -> bool:
    return any(value is not None and use_count(value) > 0 for value in values)


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
