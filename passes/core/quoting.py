# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single operations as lines of a script, for people: what they use has a name, whether it is shown or not."""

from __future__ import annotations

from collections.abc import Mapping

from ...bindings.ir import BlockArgument, Operation, Value
from ...bindings.mlir import ir
from ...dialects.script import print_script  # noqa: F401  # the printer's rules register
from ...dialects.script.expr import as_name
from ...dialects.script.printer import Printer, Unwritable
from ...dialects.script.resources import Resources

_MOST_CHARACTERS = 600


class Quoter:
    """Operations of one function, in their order."""

    def __init__(self, arguments: Mapping[Value, str]) -> None:
        self._printer = Printer(Resources(elide=True))
        self._printer.named_by_location = True
        for value, name in arguments.items():
            self._printer.bind(value, self._printer.names.exact(as_name(name) or "arg"))

    def quote(self, operation: Operation) -> str:
        """The operation's lines, cut where they are many; empty where it has no form as a script."""
        with operation.context, ir.Location.unknown():
            try:
                self._prepare(operation)
                before = len(self._printer.writer.lines)
                self._write(operation)
            except Unwritable:
                self._printer.forget_waiting()
                return ""
        text = "\n".join(self._printer.writer.lines[before:])
        return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."

    def _prepare(self, operation: Operation) -> None:
        """Gives what an operation uses a name, or a text where that is short."""
        for operand in operation.operands:
            if self._printer.text_of(operand) or self._printer.is_waiting(operand):
                continue
            if isinstance(operand, BlockArgument):
                self._printer.bind(operand, self._printer.names.numbered("arg"))
                continue
            maker = operand.owner.operation
            self._prepare(maker)
            self._write(maker)

    def _write(self, operation: Operation) -> None:
        self._printer.operation(operation)
        self._printer.flush()
