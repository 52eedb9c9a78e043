# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Aliases and side effects, from operators' rows: the memory of a value, and the operands that an operation writes."""

from __future__ import annotations

from collections.abc import Iterable

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in
from .dialect import row_of
from .ir_attributes import COPIED


def viewed(value: Value) -> Value | None:
    """Return the operand that a value is a plain view of (the same elements in the same order), or None."""
    row = None if isinstance(value.owner, ir.Block) else row_of(value.owner)
    return getattr(value.owner.opview, row.view) if row is not None and row.is_plain_view else None


def root_of(value: Value) -> Value:
    """Return the value behind a chain of plain views."""
    while (source := viewed(value)) is not None:
        value = source
    return value


def aliases(op: Operation) -> list[Value | None]:
    """Return, for each result of an operation, the operand that shares its memory, or None for memory of its own."""
    if (row := row_of(op)) is not None and row.view:
        return [getattr(op.opview, row.view)]
    if row is not None and row.inplace:
        copied = op.attributes.get(COPIED, ())
        indices = getattr(op.opview, row.inplace)
        return [op.operands[index] if index >= 0 and index not in copied else None for index in indices]
    return [None] * len(op.results)


def written_by(op: Operation) -> list[Value]:
    """Return the operands that an operation may write to."""
    row = row_of(op)
    if row is None or not (row.writes or row.inplace):
        return []
    held = [getattr(op.opview, name) for name in row.writes]
    written = [value for each in held for value in (each if isinstance(each, list) else [each]) if value is not None]
    return [*written, *(value for value in aliases(op) if value is not None)] if row.inplace else written


def mutated_values(operations: Iterable[Operation]) -> set[Value]:
    """Return the values that operations, or operations in their regions, overwrite after creation.

    Views count as their roots.
    """
    values: set[Value] = set()
    for op in operations:
        for inside in (op, *(operations_in(op) if len(op.regions) else ())):
            values.update(map(root_of, written_by(inside)))
    return values
