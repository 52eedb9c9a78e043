# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In-place calls: which arguments that a call writes are the graph's own, and which are copied first.

What a call may write to is decided by the program as it was written, not by what passes made of it: one may find that
`x + 0` is `x`, or that two tensors are one. A tensor of the graph's own stays one: where it came to be the caller's
memory, or is read behind the call, the call writes into a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Block, Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_named, operations_of, parent_of, users_of
from ...dialects.core.aliases import aliases, root_of, viewed
from ...dialects.core.dialect import all_ops, row_of
from ...dialects.core.ir_attributes import COPIED, OWN_MEMORY


def mark_own_memory(within: Operation) -> None:
    """Before anything is simplified. What is marked already stays as it is."""
    for op in _calls(within):
        if OWN_MEMORY not in op.attributes:
            _set(op, OWN_MEMORY, [index for index in _written(op) if not _is_argument(_memory_of(op.operands[index]))])


def decide_copies(within: Operation) -> None:
    """When the graph stays as it is: calls that may write over what is still needed are given copies."""
    for op in _calls(within):
        if OWN_MEMORY in op.attributes and COPIED not in op.attributes:
            _set(op, COPIED, [index for index in op.attributes[OWN_MEMORY] if _is_needed(op, index)])


def _calls(within: Operation) -> list[Operation]:
    return operations_named(within, *(row.full_name for row in all_ops() if row.inplace))


def _written(op: Operation) -> list[int]:
    row = row_of(op)
    assert row is not None
    return sorted(index for index in getattr(op.opview, row.inplace) if index >= 0)


def _set(op: Operation, name: str, indices: Sequence[int]) -> None:
    op.attributes[name] = ir.DenseI64ArrayAttr.get(indices, op.context)


def _is_argument(value: Value) -> bool:
    """Of a function, which is its caller's; or of a region, into which copies go."""
    return isinstance(value.owner, Block)


def _memory_of(value: Value) -> Value:
    """The value whose memory another one is in."""
    while not isinstance(value.owner, Block):
        results = list(value.owner.operation.results)
        source = aliases(value.owner.operation)[results.index(value)]
        if source is None:
            return value
        value = source
    return value


def _is_needed(op: Operation, index: int) -> bool:
    """Liveness: whether an operand's present value is still read, or is the caller's."""
    value = op.operands[index]
    if _is_argument(_memory_of(value)):
        return True
    root = root_of(value)
    block = op.block
    if any(root_of(each) == root for place, each in enumerate(op.operands) if place != index):
        return True
    if isinstance(root.owner, Block) or root.owner.operation.block != block:
        return True  # each turn of a loop may write to it
    order = {each: place for place, each in enumerate(operations_of(block))}
    users = [_in_block(user, order) for each in _views(root) for user in users_of(each)]
    return any(order[user] > order[op] for user in users)


def _views(root: Value) -> list[Value]:
    """A value and what shows the same elements."""
    found = [root]
    for value in found:  # which grows
        shown = [(result, viewed(result)) for user in users_of(value) for result in user.results]
        found += [result for result, source in shown if source is not None and source == value]
    return found


def _in_block(op: Operation, order: dict[Operation, int]) -> Operation:
    """The operation of a block that another one is, or is in."""
    while op not in order:
        parent = parent_of(op)
        assert parent is not None
        op = parent
    return op
