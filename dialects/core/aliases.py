# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Aliases and side effects, by the rows of operators: whose memory a value is, and what an operation writes."""

from __future__ import annotations

from collections.abc import Iterable

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in
from .dialect import row_of
from .ir_attributes import COPIED


def viewed(value: Value) -> Value | None:
    """What a value is a view of, the same elements in the same order; None where it is none."""
    row = None if isinstance(value.owner, ir.Block) else row_of(value.owner)
    return getattr(value.owner.opview, row.view) if row is not None and row.is_plain_view else None


def root_of(value: Value) -> Value:
    """The value that a view, or a view of one, shows."""
    while (source := viewed(value)) is not None:
        value = source
    return value


def aliases(op: Operation) -> list[Value | None]:
    """For each result of an operation the operand whose memory it is; None for one of its own."""
    row = row_of(op)
    if row is not None and row.view:
        return [getattr(op.opview, row.view)]
    if row is not None and row.inplace:
        copied = op.attributes.get(COPIED, ())
        indices = getattr(op.opview, row.inplace)
        return [op.operands[index] if index >= 0 and index not in copied else None for index in indices]
    return [None] * len(op.results)


def written_by(op: Operation) -> list[Value]:
    """The operands that an operation may write to."""
    row = row_of(op)
    if row is None or not (row.writes or row.inplace):
        return []
    held = [getattr(op.opview, name) for name in row.writes]
    written = [value for each in held for value in (each if isinstance(each, list) else [each]) if value is not None]
    return [*written, *(value for value in aliases(op) if value is not None)] if row.inplace else written


def mutated_values(operations: Iterable[Operation]) -> set[Value]:
    """What is written over after it was made, by operations or in regions of theirs; of views what they show."""
    found: set[Value] = set()
    for op in operations:
        for inside in (op, *(operations_in(op) if len(op.regions) else ())):
            found.update(map(root_of, written_by(inside)))
    return found
