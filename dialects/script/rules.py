# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How operations are written: rules by name, which the files beside this one declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...bindings.ir import Operation

if TYPE_CHECKING:
    from .expr import Expr

# Called with the printer (printer.Printer) and the operation.
ExpressionWriter = Callable[[Any, Operation], "Expr | None"]
StatementWriter = Callable[[Any, Operation], bool]


class ExpressionRule(NamedTuple):
    """`write` gives the text of the operation's one result, or None where it has no form for it."""

    write: ExpressionWriter
    #: Attributes that the text shows.
    shown: frozenset[str]
    #: The operation looks at memory.
    reads: bool
    #: The text stands wherever the result is used, however often.
    always: bool


class StatementRule(NamedTuple):
    """`write` writes lines and tells whether it did."""

    write: StatementWriter
    shown: frozenset[str]


EXPRESSIONS: dict[str, ExpressionRule] = {}
STATEMENTS: dict[str, StatementRule] = {}
#: By dialect: for operations without a rule of their own; "" for those that are still left.
DIALECTS: dict[str, StatementWriter] = {}


def expression(
    *names: str, shown: str = "", reads: bool = False, always: bool = False
) -> Callable[[ExpressionWriter], ExpressionWriter]:
    """Declares how these operations are written: as an expression that may stand inside of others."""

    def declare(write: ExpressionWriter) -> ExpressionWriter:
        for name in names:
            EXPRESSIONS[name] = ExpressionRule(write, frozenset(shown.split()), reads, always)
        return write

    return declare


def statement(*names: str, shown: str = "") -> Callable[[StatementWriter], StatementWriter]:
    """Declares how these operations are written: as lines of their own."""

    def declare(write: StatementWriter) -> StatementWriter:
        for name in names:
            STATEMENTS[name] = StatementRule(write, frozenset(shown.split()))
        return write

    return declare
