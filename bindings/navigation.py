# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From an operation to those around it."""

from __future__ import annotations

from collections.abc import Iterator

from .ir import Operation


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
