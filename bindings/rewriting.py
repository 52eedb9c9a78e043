# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What conversions and pattern drivers share: how a pattern is called, what it may return.

A pattern's operations are made in a block of their own and moved before the matched operation when the pattern has
succeeded. So a pattern that gives up or raises leaves nothing behind, and the C++ drivers never see half of one. It
also means that a pattern finds the function around through `op`, not through the insertion point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from ..support.blaming import blaming
from ..support.callbacks import fragile
from ..support.errors import RefusalError, RelaxError
from .diagnostics import error_at
from .erasing import detach, erase, erasing_by
from .ir import Context, Location, Operation, OperationBase, Type, Value
from .mlir import ir, is_several
from .navigation import ancestors, operations_in, outermost

#: Called with a context before patterns are made for it: a dialect that is loaded later would crash the driver.
before_rewriting: list[Callable[[Context], None]] = []
# The outermost operations of the runs that are under way in this thread.
_being_rewritten: ContextVar[tuple[Operation, ...]] = ContextVar("being_rewritten", default=())
_at_block_begin = ir.InsertionPoint.at_block_begin


def is_rewriting() -> bool:
    """Whether a driver runs in this thread."""
    return bool(_being_rewritten.get())


class Decline(Exception):
    """A pattern does not apply, and why. Patterns raise or return it; whatever they have made is thrown away."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


class _Updated:
    """The type of UPDATED."""

    def __repr__(self) -> str:
        return "UPDATED"


#: What a pattern returns when it has changed the matched operation in place.
UPDATED = _Updated()
#: What replaces an operation's results, or UPDATED, or None where a pattern does not apply.
Outcome = Value | OperationBase | Sequence[Value | OperationBase] | _Updated | None


class PatternCall:
    """Calls pattern functions; one object serves a whole run of a driver, `with` it."""

    def __init__(self, root: Operation):
        if not is_rewriting():
            for prepare in before_rewriting:
                prepare(root.context)
        self._outermost = outermost(root)
        self._module = ir.Module.create(ir.Location.unknown(root.context))
        self._block = self._module.body
        self._made = self._block.operations
        self._insertion_point = ir.InsertionPoint(self._block)
        #: Erases an unused operation that the pattern has not made, if it does not wait.
        self.erase_other: Callable[[Operation], None] | None = None
        self._entered = ExitStack()
        self._buried: set[Operation] = set()
        self._burials: list[Operation] = []
        #: What patterns are called for, its location, and the name of the pattern that runs.
        self.matched: Any = None
        self.location: Any = None
        self.pattern = ""

    @fragile
    def __enter__(self) -> PatternCall:
        if self._outermost in _being_rewritten.get():
            raise RelaxError("a pattern cannot rewrite what it is called in: return values, another round comes by")
        with ExitStack() as stack:
            token = _being_rewritten.set((*_being_rewritten.get(), self._outermost))
            stack.callback(_being_rewritten.reset, token)
            # A pattern's operations are made here.
            stack.enter_context(self._insertion_point)
            stack.enter_context(erasing_by(self.erase))
            self._entered = stack.pop_all()
        return self

    @fragile
    def __exit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._entered.__exit__(kind, exception, traceback)
        burials, self._burials, self._buried = self._burials, [], set()
        # In the order of burial, in which users come first.
        used = [operation for operation in burials if not self._lay_to_rest(operation)]
        if used and exception is None:
            raise pattern_error(self.pattern, used[0], "uses a value of an operation that was erased")

    @fragile
    def _lay_to_rest(self, operation: Operation) -> bool:
        for result in operation.results:
            for use in result.uses:
                # Somebody has kept a value of it: back among the living, so that memory stays sound.
                ir.InsertionPoint(use.owner).insert(operation)
                return False
        erase(operation)
        return True

    def start(self, op: OperationBase) -> Location:
        """Begins with an operation; its location is to be entered while patterns are called for it."""
        self.matched = op.operation
        self.location = self.matched.location
        return self.location

    def _first_made(self) -> OperationBase | None:
        # A new insertion point each time: one at a block's begin remembers the operation that was there.
        return _at_block_begin(self._block).ref_operation

    @fragile
    def place(self) -> list[str]:
        """Moves what has been made before the matched operation; gives the names of it and of what is inside."""
        names: list[str] = []
        made = self._first_made()
        while made is not None:
            names.append(made.name)
            if len(made.regions):
                names += [inside.name for inside in operations_in(made)]
            made.move_before(self.matched)
            made = self._first_made()
        return names

    @fragile
    def discard(self) -> None:
        """Erases what has been made; what somebody uses already is placed before the matched operation instead."""
        if not len(self._made):
            return
        leftover = [made.operation for made in self._made]
        for made in reversed(leftover):
            if not self._is_used(made):
                self._bury(made)
        self.place()

    def erase(self, operation: Operation) -> None:
        """What `operation.erase()` does in a pattern. Raises RelaxError where it would break the driver or the IR."""
        if self._is_used(operation):
            raise pattern_error(self.pattern, operation, "erases it although its results are used")
        if self.is_around_match(operation):
            raise pattern_error(self.pattern, operation, "erases what it was called for: return the values instead")
        if self.erase_other is None or outermost(operation) == self._module.operation:
            self._bury(operation)
        else:
            self.erase_other(operation)

    @fragile
    def bury_replaced(self, replaced: Iterable[Operation]) -> None:
        """As `bury`, what was replaced, users first: they may use what patterns have erased before.

        What is unused goes at once: nothing is asked any more about what is replaced.
        """
        earlier, self._burials = self._burials, []
        for operation in replaced:
            if is_used(operation):
                self._bury(operation)
            else:
                erase(operation)
        self._burials += earlier

    @fragile
    def _bury(self, operation: Operation) -> None:
        """Takes an operation out of its block, and keeps it in memory until the end: others may still know of it."""
        detach(operation)
        self._buried.add(operation)
        self._burials.append(operation)

    def is_buried(self, operation: Operation) -> bool:
        return operation in self._buried

    def _is_used(self, operation: Operation) -> bool:
        users = (use.owner.operation for result in operation.results for use in result.uses)
        return any(outermost(user) not in self._buried for user in users)

    def is_around_match(self, operation: Operation) -> bool:
        """Whether it is the matched operation or has it inside."""
        return self.matched is not None and operation in (self.matched, *ancestors(self.matched))


def made_again(op: Operation, operands: Sequence[Value], results: Sequence[Type], name: str = "") -> Operation:
    """The operation on other operands, or one of another name with its attributes, with results of these types."""
    attributes = dict(op.attributes.items())
    return ir.Operation.create(name or op.name, results, operands, attributes)


def replace_op(op: Operation, values: Iterable[Value]) -> None:
    """Who uses what an operation gives gets these values; the operation goes."""
    for result, value in zip(list(op.results), values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def copy_operation(op: Operation, made: dict[Value, Value]) -> None:
    """An operation once more, at the insertion point, on what `made` says of values; its results are added to it."""
    copied = op.clone()
    for position, operand in enumerate(op.operands):
        copied.operands[position] = made[operand]
    for inside in operations_in(copied) if len(op.regions) else ():
        for position, operand in enumerate(inside.operands):
            if operand in made:
                inside.operands[position] = made[operand]
    made.update(zip(op.results, copied.results, strict=True))


def use_instead(operation: Operation, others: Mapping[Value, Value]) -> None:
    """Has an operation use other values in the place of those that are named."""
    for position, operand in enumerate(operation.operands):
        if operand in others:
            operation.operands[position] = others[operand]


def is_used(operation: Operation) -> bool:
    return are_used(operation.results)


def are_used(values: Iterable[Value]) -> bool:
    """Whether anybody uses any of these."""
    for value in values:
        for _ in value.uses:
            return True
    return False


def replacement(outcome: object, types: Sequence[Type], name: str, operation: Operation) -> list[Value]:
    """The values that a pattern returned for an operation's results, which must have these types.

    Raises RelaxError for anything else.
    """
    if isinstance(outcome, ir.Value):
        values = [outcome]
    elif isinstance(outcome, (ir.Operation, ir.OpView)):
        values = list(outcome.operation.results)
    elif is_several(outcome):
        values = [_single_value(item, name, operation) for item in outcome]
    else:
        expected = "the values that replace its results (a value, an operation, a list; () where there are none)"
        raise pattern_error(name, operation, f"returned {_shown(outcome)}: expected {expected} or UPDATED")
    if len(values) != len(types):
        raise pattern_error(name, operation, f"returned {len(values)} values for {len(types)} results")
    for index, value in enumerate(values):
        if value.context is not operation.context:
            raise pattern_error(name, operation, f"returned a value of another context for result #{index}")
        if value.type != types[index]:
            problem = f"returned a value of type {value.type} for result #{index}, but {types[index]} is needed"
            raise pattern_error(name, operation, problem)
        if value in operation.results:
            raise pattern_error(name, operation, "returned the operation's own result (UPDATED says: changed in place)")
    return values


def pattern_error(name: str, operation: Operation, problem: str) -> RelaxError:
    """What is wrong with a pattern, at the location of the operation that showed it."""
    return located_error(f"pattern '{name}' for '{operation.name}' {problem}", operation.location)


def located_error(message: str, location: Location, notes: Sequence[str] = ()) -> RelaxError:
    """An error at a location, for the tool to print there."""
    diagnostic = error_at(location, message, notes)
    return RefusalError(message, location=diagnostic.place, notes=notes, diagnostics=[diagnostic])


def blaming_at(
    what: str | Callable[[], str], function: object, op: OperationBase, *answers: type[Exception]
) -> blaming:
    """`blaming` for a function of somebody else's that is called for an operation: its location is reported."""
    return blaming(what, function, lambda message: located_error(message, op.operation.location), answers)


def function_name(function: object) -> str:
    """How a pattern without a name of its own is called in messages."""
    return getattr(function, "__name__", type(function).__name__)


def op_name(op: object) -> str:
    """The name for an operation's class, definition or name itself. Raises RelaxError for anything else."""
    name = op if isinstance(op, str) else getattr(op, "OPERATION_NAME", None) or getattr(op, "full_name", None)
    if not isinstance(name, str) or "." not in name:
        raise RelaxError(f"{op!r} names no operation: expected a name like 'relax.add' or an operation's class")
    return name


def _single_value(item: object, name: str, operation: Operation) -> Value:
    if isinstance(item, ir.Value):
        return item
    if isinstance(item, (ir.Operation, ir.OpView)) and len(item.operation.results) == 1:
        return item.operation.results[0]
    raise pattern_error(name, operation, f"returned {_shown(item)} where a value is expected")


def _shown(item: object) -> str:
    if item is None or isinstance(item, (bool, int, str)):
        return repr(item)
    return f"a {type(item).__name__}"
