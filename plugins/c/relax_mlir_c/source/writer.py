# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writer of a function's body: values with a single use become parts of expressions, others become variables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, use_count
from relax_mlir.support.errors import RefusalError
from relax_mlir.targets.text.text_writer import TextWriter

from .c_names import CNames
from .expressions import ATOM, Expression, binary, name
from .memref_views import MemrefView, dense
from .program import LoweredProgram
from .types import literal, scalar_type

# Longer expressions become variables.
_MOST_CHARACTERS = 96
# Shorter index expressions are repeated instead of stored in variables.
_SHORT = 16

#: Returns the result of an operation for its operands as expressions.
ScalarRule = Callable[["FunctionWriter", Operation, list[Expression]], Expression]
#: Writes statements, and registers the results with the writer.
Rule = Callable[["FunctionWriter", Operation], None]


class FunctionWriter(TextWriter[Expression | MemrefView]):
    """State of a function while it is written."""

    target, unknown, endless = "c", "it has no counterpart in C", "for (;;)"

    def __init__(self, program: LoweredProgram, function: str, names: CNames, rules: dict[str, Rule]) -> None:
        super().__init__(rules, f"in @{function}")
        self.program = program
        #: Name in the module.
        self.function = function
        self.names = names
        #: Names of declarations that may be unused, by line number.
        self._needless: dict[int, str] = {}
        #: Expressions that are not written yet, in program order.
        self._pending: dict[Value, Expression] = {}

    # ---- text ----

    def pointer(self, chosen: str, c_type: str, address: str) -> None:
        """Declare a pointer."""
        self._needless[len(self.lines)] = chosen
        self.line(f"{c_type} *{chosen} = {address};")

    def finished(self) -> list[str]:
        """Return the lines without unused declarations, since some buffers are only used for their sizes."""
        counts = words_in(self.lines)
        needless = set()
        for number, chosen in reversed(self._needless.items()):
            if counts[chosen] == 1:
                needless.add(number)
                counts.subtract(re.findall(r"\w+", self.lines[number]))
        return [line for number, line in enumerate(self.lines) if number not in needless]

    @property
    def depth(self) -> int:
        """Number of open braces."""
        return self._depth

    @contextmanager
    def braces(self, head: str = "") -> Iterator[None]:
        self.settle()
        around = set(self._pending)
        with super().braces(head):
            yield
            # Pending values of the inner block cannot be used any more.
            self._pending = {value: text for value, text in self._pending.items() if value in around}

    def otherwise(self) -> AbstractContextManager[None]:
        self.lines.pop()
        return self.braces("} else")

    def helper(self, function: str) -> str:
        """Return the name of a function of helpers.c, and add the function to the program."""
        self.program.helpers.add(function)
        return function

    # ---- values ----

    def view(self, value: Value) -> MemrefView:
        found = self.held(value)
        assert isinstance(found, MemrefView), value
        return found

    def held(self, value: Value) -> Expression | MemrefView:
        """Return the text or view of a value. A pending expression counts as written from here on."""
        return self._pending.pop(value) if value in self._pending else super().held(value)

    def get(self, value: Value) -> Expression:
        found = self.held(value)
        assert isinstance(found, Expression), value
        return found

    def all(self, values: Sequence[Value]) -> list[Expression]:
        return [self.get(value) for value in values]

    def define(self, value: Value, expression: Expression, wanted: str = "t") -> None:
        """Define the result of an expression. With a single use in this block it is written at this use."""
        if (count := use_count(value)) == 0:
            return
        is_short = expression.is_place and len(expression.text) <= _SHORT and "/" not in expression.text
        if is_short or (expression.level == ATOM and not expression.reads and "(" not in expression.text):
            self._known[value] = expression
        elif count == 1 and self._is_used_here(value, len(expression.text)):
            self._pending[value] = expression
        else:
            self._known[value] = self.declare(expression, value.type, wanted)

    def _is_used_here(self, value: Value, length: int) -> bool:
        """Check whether an expression can be written at its use."""
        user = next(iter(value.uses)).owner.operation
        block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
        most = _MOST_CHARACTERS * (2 if user.name == "memref.store" else 1)
        return bool(user.block == block) and length <= most

    def declare(self, expression: Expression, type_: Type, wanted: str = "t") -> Expression:
        """Declare a variable with this value."""
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
            chosen, is_place=is_constant and expression.is_place, is_natural=is_constant and expression.is_natural
        )

    def atom(self, expression: Expression, type_: Type) -> Expression:
        """Return an expression that can be written twice without cost."""
        is_plain = expression.level == ATOM and (expression.text.isidentifier() or not expression.reads)
        is_plain = is_plain and "(" not in expression.text
        return expression if is_plain or expression.number is not None else self.declare(expression, type_)

    def settle(self) -> None:
        """Evaluate pending expressions that read memory, before a write."""
        for value, expression in [pair for pair in self._pending.items() if pair[1].reads]:
            del self._pending[value]
            self._known[value] = self.declare(expression, value.type)

    # ---- variables ----

    def carry(self, op: Operation, values: Sequence[Value], arguments: Sequence[Value]) -> Sequence[_Variable]:
        left: list[Value | None] = [*op.results] if op.name == "scf.for" else [None] * len(arguments)
        variables = [
            self._hand_on(value.type, self.held(value), "carried") if _is_used(argument, result) else None
            for value, argument, result in zip(values, arguments, left, strict=True)
        ]
        self.know_all(arguments, variables)
        return variables

    def leave(self, op: Operation, wanted: str, arguments: Sequence[Value] = ()) -> Sequence[_Variable]:
        others: list[Value | None] = [*arguments] or [None] * len(op.results)
        return [
            self._hand_on(result.type, None, wanted) if _is_used(result, other) else None
            for result, other in zip(op.results, others, strict=True)
        ]

    def _hand_on(self, type_: Type, initial: Expression | MemrefView | None, wanted: str) -> Expression | MemrefView:
        if not isinstance(type_, ir.MemRefType):
            assert not isinstance(initial, MemrefView)
            zero = literal(0, "index" if isinstance(type_, ir.IndexType) else str(type_))
            return self.variable(scalar_type(type_), initial if initial is not None else zero, wanted)
        if not type_.has_static_shape:
            raise RefusalError(f"it passes on memory of dynamic size ({type_})")
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
            raise RefusalError("it passes on memory that is not contiguous")
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
        """Write a loop, and yield the name of its counter."""
        index = self.names.free(f"i{self._depth - 1}")
        move = f"{index}++" if by.number == 1 else f"{index} += {by.text}"
        with self.braces(f"for ({type_} {index} = {first.text}; {binary('<', name(index), end).text}; {move})"):
            yield index


#: None represents an unused variable.
_Variable = Expression | MemrefView | None


def _is_used(*values: Value | None) -> bool:
    return any(value is not None and use_count(value) > 0 for value in values)


def words_in(lines: Sequence[str]) -> Counter[str]:
    """Count the identifiers and numbers in C text, without comments."""
    return Counter(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", "\n".join(lines), flags=re.DOTALL)))


def scalar(rule: ScalarRule) -> Rule:
    """Return the rule of an operation that computes a scalar from scalars."""

    def write(writer: FunctionWriter, op: Operation) -> None:
        for type_ in (operand.type for operand in (*op.operands, *op.results)):
            if isinstance(type_, ir.ShapedType):
                raise RefusalError(f"it computes with a {type_}, but C computes with single numbers")
        writer.define(op.results[0], rule(writer, op, writer.all(list(op.operands))))

    return write
