# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What conversions and pattern drivers share: how a pattern is called, what it may return.

A pattern's operations are made in a block of their own and moved before the matched operation when the pattern has
succeeded. So a pattern that gives up or raises leaves nothing behind, and the C++ drivers never see half of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .diagnostics import Diagnostic, locate
from .errors import RelaxError
from .mlir import ir

_at_block_begin = ir.InsertionPoint.at_block_begin


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


class OperationErased(RelaxError):
    """A pattern erased the operation that it was called for: a C++ driver must stop at once."""


class PatternCall:
    """Calls pattern functions; one object serves a whole run of a driver."""

    def __init__(self, context: Any):
        self._module = ir.Module.create(ir.Location.unknown(context))
        self._block = self._module.body
        #: Enter it around a run: a pattern's operations are made here.
        self.insertion_point = ir.InsertionPoint(self._block)
        #: Of the operation matched last.
        self.location: Any = None

    def run(self, function: Any, name: str, op: Any, *arguments: Any) -> Any:
        """What the function returns. Raises OperationErased when it took the operation away."""
        operation = op.operation
        self.location = location = operation.location
        try:
            with location:
                return function(op, *arguments)
        finally:
            if is_erased(operation):
                raise OperationErased(
                    f"pattern '{name}' erased the operation that it was called for; a pattern returns the values that "
                    "replace it, () where there are none"
                )

    def _first_made(self) -> Any:
        # A new insertion point each time: one at a block's begin remembers the operation that was there.
        return _at_block_begin(self._block).ref_operation

    def place(self, operation: Any) -> list[str]:
        """Moves what has been made before the operation; tells the names of it."""
        names: list[str] = []
        made = self._first_made()
        while made is not None:
            names.append(made.name)
            made.move_before(operation)
            made = self._first_made()
        return names

    def discard(self, operation: Any) -> None:
        """Erases what has been made; what somebody uses already is placed before the operation instead."""
        if self._first_made() is None:
            return
        leftover = [made.operation for made in self._block.operations]
        for made in reversed(leftover):
            if not is_used(made):
                made.erase()
        self.place(operation)


def is_erased(operation: Any) -> bool:
    """Whether the operation was erased through this very handle; another handle's doing cannot be seen."""
    try:
        return not operation.name
    except RuntimeError:
        return True


def is_used(operation: Any) -> bool:
    return any(True for result in operation.results for _ in result.uses)


def replacement(outcome: Any, name: str, operation: Any) -> list[Any]:
    """The values that a pattern returned for an operation's results. Raises RelaxError for anything else."""
    if isinstance(outcome, ir.Value):
        values = [outcome]
    elif isinstance(outcome, (ir.Operation, ir.OpView)):
        values = list(outcome.operation.results)
    elif isinstance(outcome, (list, tuple)) or type(outcome).__name__ == "OpResultList":
        values = [_single_value(item, name, operation) for item in outcome]
    else:
        expected = "the values that replace its results (a value, an operation, a list; () where there are none)"
        raise pattern_error(name, operation, f"returned {_shown(outcome)}: expected {expected} or UPDATED")
    count = len(operation.results)
    if len(values) != count:
        raise pattern_error(name, operation, f"returned {len(values)} values for {count} results")
    return values


def check_types(values: Sequence[Any], types: Sequence[Any], name: str, operation: Any) -> None:
    """Refuses values of other types than the results need, and an operation as its own replacement."""
    for index, value in enumerate(values):
        if value.type != types[index]:
            problem = f"returned a value of type {value.type} for result #{index}, but {types[index]} is needed"
            raise pattern_error(name, operation, problem)
        if value in operation.results:
            raise pattern_error(name, operation, "returned the operation's own result (UPDATED says: changed in place)")


def pattern_error(name: str, operation: Any, problem: str) -> RelaxError:
    """What is wrong with a pattern, at the location of the operation that showed it."""
    message = f"pattern '{name}' for '{operation.name}' {problem}"
    file, line, column, node = locate(operation.location)
    diagnostic = Diagnostic("error", message, file, line, column, node)
    return RelaxError(message, location=diagnostic.place, diagnostics=[diagnostic])


def function_name(function: Any) -> str:
    """How a pattern without a name of its own is called in messages."""
    return getattr(function, "__name__", type(function).__name__)


def op_name(op: Any) -> str:
    """The name for an operation's class, definition or name itself. Raises RelaxError for anything else."""
    name = op if isinstance(op, str) else getattr(op, "OPERATION_NAME", None) or getattr(op, "full_name", None)
    if not isinstance(name, str) or "." not in name:
        raise RelaxError(f"{op!r} names no operation: expected a name like 'relax.add' or an operation's class")
    return name


def _single_value(item: Any, name: str, operation: Any) -> Any:
    if isinstance(item, ir.Value):
        return item
    if isinstance(item, (ir.Operation, ir.OpView)) and len(item.operation.results) == 1:
        return item.operation.results[0]
    raise pattern_error(name, operation, f"returned {_shown(item)} where a value is expected")


def _shown(item: Any) -> str:
    if item is None or isinstance(item, (bool, int, str)):
        return repr(item)
    return f"a {type(item).__name__}"
