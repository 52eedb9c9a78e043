# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which operations may stay after a conversion, and what to say about those that may not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .diagnostics import Diagnostic, locate
from .ir import Attribute, Operation
from .mlir import ir
from .rewriting import op_name

CAST = "builtin.unrealized_conversion_cast"
#: Whether operations of a kind may stay: always, never, or as a function of the operation says.
Rule = bool | Callable[[Any], bool]

# Longer attributes are cut in messages.
_MOST_TEXT = 80


class Legality:
    """Rules by operation and by dialect: an operation's own rule goes before its dialect's, then comes the default."""

    def __init__(self, default: bool | None):
        """`default` is for what no rule is about; None: it may stay, but patterns may convert it."""
        self.default = default
        self._ops: dict[str, Rule] = {CAST: False}
        self._dialects: dict[str, Rule] = {}
        self._found: dict[str, Rule | None] = {}

    def set(self, names: Sequence[Any], rule: Rule) -> None:
        """Dialects ("arith") and operations ("arith.addi", or their classes). The last rule for a name holds."""
        self._found.clear()
        for name in names:
            if isinstance(name, str) and "." not in name:
                self._dialects[name] = rule
            else:
                self._ops[op_name(name)] = rule

    def rule(self, name: str) -> Rule | None:
        """The rule for operations of this name."""
        if name not in self._found:
            dialect_rule = self._dialects.get(name.partition(".")[0], self.default)
            self._found[name] = self._ops.get(name, dialect_rule)
        return self._found[name]

    def is_legal(self, operation: Operation) -> bool:
        rule = self.rule(operation.name)
        return bool(rule(operation.opview)) if callable(rule) else rule is not False


def operations_in(root: Any, is_opaque: Callable[[Any], bool] | None = None) -> list[Operation]:
    """The operations in an operation, itself left out, outer ones first; nothing that lies in an opaque one."""
    found: list[Operation] = []
    advance, skip = ir.WalkResult.ADVANCE, ir.WalkResult.SKIP

    def visit(operation: Operation) -> Any:
        found.append(operation)
        # The first is the root.
        return skip if is_opaque is not None and len(found) > 1 and is_opaque(operation) else advance

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found[1:]


def illegal_diagnostic(
    operation: Operation, what: str, reasons: Sequence[tuple[str, str]], advice: str = ""
) -> Diagnostic:
    """The error for an operation that is left: what it is, and why each pattern did not convert it.

    `advice` says where there is none what would give one; `{}` in it stands for the operation's name.
    """
    file, line, column, name = locate(operation.location)
    if operation.name == CAST:
        message = f"{what} leaves a cast: {_describe_cast(operation)}"
    else:
        message = f"{what} cannot convert '{operation.name}' op ({describe_operation(operation)})"
    notes = [f"pattern '{pattern}' declined: {reason}" for pattern, reason in reasons]
    if not reasons and operation.name != CAST:
        hint = f": {advice.format(operation.name)}" if advice else ""
        notes = [f"no pattern is registered for this operation{hint}"]
    as_notes = tuple(Diagnostic("note", note, file, line, column) for note in notes)
    return Diagnostic("error", message, file, line, column, name, as_notes)


def describe_operation(operation: Operation) -> str:
    """Operand types and attributes, cut where they are long."""
    types = ", ".join(str(value.type) for value in operation.operands) or "no operands"
    attributes = [f"{name} = {_shorten(value)}" for name, value in operation.attributes.items()]
    return types + (f"; {', '.join(attributes)}" if attributes else "")


def _shorten(attribute: Attribute) -> str:
    if isinstance(attribute, (ir.DenseElementsAttr, ir.DenseResourceElementsAttr)):
        # As text such an attribute can be as large as the model.
        return f"dense<...> : {attribute.type}"
    text = str(attribute)
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 3] + "..."


def _describe_cast(operation: Operation) -> str:
    source = ", ".join(str(value.type) for value in operation.operands)
    target = ", ".join(str(value.type) for value in operation.results)
    users = sorted({use.owner.operation.name for result in operation.results for use in result.uses})
    return f"{source} is still needed as {target} by {', '.join(users) or 'nobody'}"
