# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In-place calls: ownership of the written arguments, and copies of values that are still needed.

The original program determines which arguments a call may overwrite. Passes may later find that `x + 0` is `x`, or
that two tensors are equal. A tensor owned by the graph stays owned. If the tensor has become the caller's memory, or
is read after the call, the call writes to a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Block, Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_named, operations_of, parent_of, users_of
from .aliases import aliases, root_of, viewed
from .dialect import all_ops, row_of
from .ir_attributes import COPIED, OWN_MEMORY


def mark_own_memory(within: Operation) -> None:
    """Mark the written arguments that the graph owns, before simplification. Existing marks stay."""
    for op in _calls(within):
        if OWN_MEMORY not in op.attributes:
            _set(op, OWN_MEMORY, [index for index in _inplace(op) if not _is_argument(_memory_of(op.operands[index]))])


def decide_copies(within: Operation) -> None:
    """Decide, on the final graph, which written arguments need a copy because their value is still needed."""
    for op in _calls(within):
        if OWN_MEMORY in op.attributes and COPIED not in op.attributes:
            _set(op, COPIED, [index for index in op.attributes[OWN_MEMORY] if _is_needed(op, index)])


def _calls(within: Operation) -> list[Operation]:
    return operations_named(within, *(row.full_name for row in all_ops() if row.inplace))


def _inplace(op: Operation) -> list[int]:
    row = row_of(op)
    assert row is not None
    return sorted(index for index in getattr(op.opview, row.inplace) if index >= 0)


def _set(op: Operation, name: str, indices: Sequence[int]) -> None:
    op.attributes[name] = ir.DenseI64ArrayAttr.get(indices, op.context)


def _is_argument(value: Value) -> bool:
    """Check whether a value is an argument: of a function (the caller's memory), or of a region (which holds a
    copy)."""
    return isinstance(value.owner, Block)


def _memory_of(value: Value) -> Value:
    """Return the value that owns the memory of an aliasing value."""
    while not isinstance(value.owner, Block):
        results = list(value.owner.operation.results)
        if (source := aliases(value.owner.operation)[results.index(value)]) is None:
            return value
        value = source
    return value


def _is_needed(op: Operation, index: int) -> bool:
    """Check by liveness whether an operand's value is read later or belongs to the caller."""
    value = op.operands[index]
    if _is_argument(_memory_of(value)):
        return True
    root = root_of(value)
    block = op.block
    if any(root_of(operand) == root for place, operand in enumerate(op.operands) if place != index):
        return True
    if isinstance(root.owner, Block) or root.owner.operation.block != block:
        return True  # each iteration of a loop may write to it
    order = {operation: place for place, operation in enumerate(operations_of(block))}
    users = [_block_ancestor(user, order) for view in _views(root) for user in users_of(view)]
    return any(order[user] > order[op] for user in users)


def _views(root: Value) -> list[Value]:
    """Return a value and all views of its elements."""
    views = [root]
    for value in views:  # the list grows during the loop
        shown = [(result, viewed(result)) for user in users_of(value) for result in user.results]
        views += [result for result, source in shown if source is not None and source == value]
    return views


def _block_ancestor(op: Operation, order: dict[Operation, int]) -> Operation:
    """Return the operation of a block that is or contains an operation."""
    while op not in order:
        parent = parent_of(op)
        assert parent is not None
        op = parent
    return op
