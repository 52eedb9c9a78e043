# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Common parts of conversions and pattern drivers: pattern calls and their return values.

A pattern's operations are created in a separate block, and moved before the matched operation after the pattern has
succeeded. Therefore a pattern that declines or raises leaves nothing behind, and C++ drivers never see partial
results. Patterns must find the enclosing function through `op`, not through the insertion point.
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

#: Functions called with a context before patterns are created: loading a dialect later would crash the driver.
before_rewriting: list[Callable[[Context], None]] = []
# Outermost operations of the active runs in this thread.
_being_rewritten: ContextVar[tuple[Operation, ...]] = ContextVar("being_rewritten", default=())
_at_block_begin = ir.InsertionPoint.at_block_begin


def is_rewriting() -> bool:
    """Check whether a driver is running in this thread."""
    return bool(_being_rewritten.get())


class Decline(Exception):
    """Reason why a pattern does not apply. Patterns raise or return it, and their new operations are discarded."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


class _Updated:
    """Type of UPDATED."""

    def __repr__(self) -> str:
        return "UPDATED"


#: Return value of a pattern that has changed the matched operation in place.
UPDATED = _Updated()
#: Return type of patterns: the replacement of the results, UPDATED, or None for a pattern that does not apply.
Outcome = Value | OperationBase | Sequence[Value | OperationBase] | _Updated | None


class PatternCall:
    """Context manager for the pattern calls of one driver run."""

    def __init__(self, root: Operation):
        if not is_rewriting():
            for prepare in before_rewriting:
                prepare(root.context)
        self._outermost = outermost(root)
        self._module = ir.Module.create(ir.Location.unknown(root.context))
        self._block = self._module.body
        self._made = self._block.operations
        self._insertion_point = ir.InsertionPoint(self._block)
        #: Erases an unused existing operation immediately, or None if the erasure is deferred.
        self.erase_other: Callable[[Operation], None] | None = None
        self._entered = ExitStack()
        self._buried: set[Operation] = set()
        self._burials: list[Operation] = []
        #: The matched operation, its location, and the name of the running pattern.
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
            # Insertion point of the pattern's operations.
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
        # In burial order, users first.
        used = [operation for operation in burials if not self._lay_to_rest(operation)]
        if used and exception is None:
            raise pattern_error(self.pattern, used[0], "uses a value of an operation that was erased")

    @fragile
    def _lay_to_rest(self, operation: Operation) -> bool:
        for result in operation.results:
            for use in result.uses:
                # A user remains: insert the operation again so that memory stays valid.
                ir.InsertionPoint(use.owner).insert(operation)
                return False
        erase(operation)
        return True

    def start(self, op: OperationBase) -> Location:
        """Begin with a matched operation. Return its location, to be entered while its patterns run."""
        self.matched = op.operation
        self.location = self.matched.location
        return self.location

    def _first_made(self) -> OperationBase | None:
        # Create a new insertion point each time: an insertion point at a block's begin caches the first operation.
        return _at_block_begin(self._block).ref_operation

    @fragile
    def place(self) -> list[str]:
        """Move the created operations before the matched operation.

        Return the names of all moved and nested operations.
        """
        names: list[str] = []
        base = self._first_made()
        while base is not None:
            names.append(base.name)
            if len(base.regions):
                names += [inside.name for inside in operations_in(base)]
            base.move_before(self.matched)
            base = self._first_made()
        return names

    @fragile
    def discard(self) -> None:
        """Erase the created operations. Operations that are already used are moved before the matched operation."""
        if not len(self._made):
            return
        leftover = [made.operation for made in self._made]
        for made in reversed(leftover):
            if not self._is_used(made):
                self._bury(made)
        self.place()

    def erase(self, operation: Operation) -> None:
        """Implement `operation.erase()` for patterns. Raise RelaxError if erasure would break the driver or the IR."""
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
        """Erase replaced operations, or bury them if they are used, users first: operations erased earlier may use
        them.

        Unused operations are erased at once, as nothing refers to a replaced operation any more.
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
        """Detach an operation but keep its memory until the end of the run, as handles may exist."""
        detach(operation)
        self._buried.add(operation)
        self._burials.append(operation)

    def is_buried(self, operation: Operation) -> bool:
        return operation in self._buried

    def _is_used(self, operation: Operation) -> bool:
        users = (use.owner.operation for result in operation.results for use in result.uses)
        return any(outermost(user) not in self._buried for user in users)

    def is_around_match(self, operation: Operation) -> bool:
        """Check whether an operation is or contains the matched operation."""
        return self.matched is not None and operation in (self.matched, *ancestors(self.matched))


def made_again(op: Operation, operands: Sequence[Value], results: Sequence[Type], name: str = "") -> Operation:
    """Create a copy of an operation with other operands and result types, and optionally another name."""
    attributes = dict(op.attributes.items())
    return ir.Operation.create(name or op.name, results, operands, attributes)


def replace_op(op: Operation, values: Iterable[Value]) -> None:
    """Replace the uses of an operation's results, and erase the operation."""
    for result, value in zip(list(op.results), values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def copy_operation(op: Operation, values: dict[Value, Value]) -> None:
    """Clone an operation at the insertion point with operands mapped by `made`, and add its results to `made`."""
    copied = op.clone()
    for position, operand in enumerate(op.operands):
        copied.operands[position] = values[operand]
    for inside in operations_in(copied) if len(op.regions) else ():
        for position, operand in enumerate(inside.operands):
            if operand in values:
                inside.operands[position] = values[operand]
    values.update(zip(op.results, copied.results, strict=True))


def use_instead(operation: Operation, others: Mapping[Value, Value]) -> None:
    """Replace operands of an operation according to a mapping."""
    for position, operand in enumerate(operation.operands):
        if operand in others:
            operation.operands[position] = others[operand]


def is_used(operation: Operation) -> bool:
    return are_used(operation.results)


def are_used(values: Iterable[Value]) -> bool:
    """Check whether any of the values has a user."""
    for value in values:
        for _ in value.uses:
            return True
    return False


def replacement(outcome: object, types: Sequence[Type], name: str, operation: Operation) -> list[Value]:
    """Convert a pattern's return value to the replacement values, and check their number and types.

    Raises RelaxError for invalid return values.
    """
    if isinstance(outcome, ir.Value):
        values = [outcome]
    elif isinstance(outcome, (ir.Operation, ir.OpView)):
        values = list(outcome.operation.results)
    elif is_several(outcome):
        values = [_single_value(item, name, operation) for item in outcome]
    else:
        expected = "the values that replace its results (a value, an operation, a list; () where there are none)"
        raise pattern_error(name, operation, f"returned {_describe(outcome)}: expected {expected} or UPDATED")
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
    """Return an error about a pattern at the location of the matched operation."""
    return located_error(f"pattern '{name}' for '{operation.name}' {problem}", operation.location)


def located_error(message: str, location: Location, notes: Sequence[str] = ()) -> RelaxError:
    """Return an error with a diagnostic at a location."""
    diagnostic = error_at(location, message, notes)
    return RefusalError(message, location=diagnostic.place, notes=notes, diagnostics=[diagnostic])


def blaming_at(
    what: str | Callable[[], str], function: object, op: OperationBase, *answers: type[Exception]
) -> blaming:
    """Return a `blaming` context for a foreign function called for an operation, whose location is reported."""
    return blaming(what, function, lambda message: located_error(message, op.operation.location), answers)


def function_name(function: object) -> str:
    """Return the name of a function for messages."""
    return getattr(function, "__name__", type(function).__name__)


def op_name(op: object) -> str:
    """Return the operation name of a class, a definition or a name. Raise RelaxError for other objects."""
    name = op if isinstance(op, str) else getattr(op, "OPERATION_NAME", None) or getattr(op, "full_name", None)
    if not isinstance(name, str) or "." not in name:
        raise RelaxError(f"{op!r} names no operation: expected a name like 'relax.add' or an operation's class")
    return name


def _single_value(item: object, name: str, operation: Operation) -> Value:
    if isinstance(item, ir.Value):
        return item
    if isinstance(item, (ir.Operation, ir.OpView)) and len(item.operation.results) == 1:
        return item.operation.results[0]
    raise pattern_error(name, operation, f"returned {_describe(item)} where a value is expected")


def _describe(item: object) -> str:
    return repr(item) if item is None or isinstance(item, (bool, int, str)) else f"a {type(item).__name__}"
