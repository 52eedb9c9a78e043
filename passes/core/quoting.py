# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formatting of single operations as script lines. Operands have names even if their definitions are not shown."""

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
    """Formatter for the operations of one function, in order."""

    def __init__(self, arguments: Mapping[Value, str]) -> None:
        self._printer = Printer(Resources(elide=True))
        self._printer.named_by_location = True
        for value, name in arguments.items():
            self._printer.bind(value, self._printer.names.exact(as_name(name) or "arg"))

    def quote(self, operation: Operation) -> str:
        """Return an operation's lines, shortened if long, or an empty string if there is no script form."""
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
        """Give each operand a name, or an inline text if short."""
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
