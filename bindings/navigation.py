# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ways through IR: into operations, out of them, from values to users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .ir import Operation
from .mlir import ir, string_value


def parent_of(operation: Operation) -> Operation | None:
    """The operation around an operation; None for the outermost one."""
    # The handle that owns an outermost operation raises when it is asked for its parent.
    parent = operation.parent if operation.attached else None
    return None if parent is None else parent.operation


def ancestors(operation: Operation) -> Iterator[Operation]:
    """The operations around one, from the inside out."""
    while (around := parent_of(operation)) is not None:
        yield around
        operation = around


def outermost(operation: Operation) -> Operation:
    for around in ancestors(operation):
        operation = around
    return operation


def enclosing(operation: Operation, name: str) -> Operation | None:
    """The nearest operation of this name around one."""
    return next((around for around in ancestors(operation) if around.name == name), None)


def body_of(op: Any) -> Any:
    """The first block of an operation: a module's, a function's, a loop's."""
    return op.regions[0].blocks[0]


def operations_of(block: Any) -> list[Any]:
    """The operations of a block, as they are now: who goes through them may change it."""
    return [view.operation for view in block.operations]


def last_of(block: Any) -> Any:
    return block.operations[len(block.operations) - 1].operation


def users_of(value: Any) -> list[Any]:
    """The operations that use a value, once for each use."""
    return [use.owner.operation for use in value.uses]


def innermost(op: Any, name: str) -> Any:
    """The operation itself or the nearest one around it of this name; None where there is none."""
    found = op.operation
    while found is not None and found.name != name:
        found = parent_of(found)
    return found


def functions_in(module: Any) -> Iterator[Any]:
    """The functions of a module, those of modules inside it left out."""
    return (op for op in operations_of(body_of(module)) if op.name == "func.func")


def symbol_name(op: Any) -> str:
    """The name of a function, a global or another symbol; empty for what has none."""
    attributes = op.attributes
    return string_value(attributes["sym_name"]) if "sym_name" in attributes else ""


def callee_of(call: Any) -> str:
    """The name of the function that a call is of."""
    return str(call.attributes["callee"].value)


def function_type_of(function: Any) -> Any:
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def is_private(op: Any) -> bool:
    attributes = op.attributes
    return "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"
