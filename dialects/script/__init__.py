# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR as TVMScript: what frontends/script reads back as the same IR."""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir
from . import arithmetic, buffers, calls, control, functions, nests, operators  # noqa: F401  # their rules register
from .functions import HEADER
from .outline import outline, signature
from .printer import Printer
from .resources import Resources

__all__ = ["outline", "print_script", "signature"]


def print_script(operation: Any, *, elide: bool = False) -> str:
    """A module, or any other operation, as a script. `elide` leaves out large constants' elements: for people only."""
    printer = Printer(Resources(elide=elide))
    op = operation.operation
    if op.name == "builtin.module":
        printer.writer.line(HEADER)
    with op.context, ir.Location.unknown():
        printer.operation(op)
        printer.flush()
    return "\n".join(printer.writer.lines).rstrip("\n") + "\n"
