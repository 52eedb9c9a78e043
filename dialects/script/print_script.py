# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printing of a module, or another operation, as a script."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.mlir import ir, is_not_utf8, print_asm
from ...bindings.navigation import Holder
from ...support.errors import RelaxError
from . import arithmetic, buffers, calls, control, functions, nests, operators  # noqa: F401  # their rules register
from .functions import header, write_alone
from .printer import Printer, Unwritable
from .resources import Resources


def print_script(operation: Holder, *, elide: bool = False) -> str:
    """Return a module, or another operation, as a script.

    `elide` omits the elements of large constants, for people only.
    """
    try:
        return _print(operation.operation, elide=elide)
    except (RuntimeError, UnicodeDecodeError) as error:
        if not is_not_utf8(error):
            raise
        raise RelaxError("a name that is not UTF-8 cannot stand in a script") from None
    except Unwritable as error:
        raise RelaxError(f"the module's attributes cannot stand in a script: {error}") from None


def _print(op: Operation, *, elide: bool) -> str:
    printer = Printer(Resources(elide=elide))
    with op.context, ir.Location.unknown():
        if op.name == "builtin.module":
            printer.operation(op)
            printer.writer.lines[:0] = [header(printer), ""]
        else:
            try:
                write_alone(printer, op)
            except Unwritable:
                return print_asm(op, assume_verified=True, large_elements_limit=16 if elide else None).rstrip() + "\n"
    return "\n".join(printer.writer.lines).rstrip("\n") + "\n"
