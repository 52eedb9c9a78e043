# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order of operations in which each operation follows the operations that define its operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....bindings.ir import Block, Operation, OperationBase
from ....bindings.navigation import last_of, operations_of
from ....dialects.core.dialect import row_of


def in_order(root: OperationBase) -> Iterator[tuple[Operation, bool]]:
    """Yield the nested operations in order, each with True if it is reachable. Unreachable blocks have no order."""
    #: Cache by name: True if operations of this name may have regions. Few operations of a graph do.
    can_hold: dict[str, bool] = {}
    stack = [iter(_list_inside(root, True))]
    while stack:
        for operation, is_reached in stack[-1]:
            yield operation, is_reached
            if (name := operation.name) not in can_hold:
                can_hold[name] = name != "arith.constant" and row_of(operation) is None
            if can_hold[name] and len(operation.regions):
                stack.append(iter(_list_inside(operation, is_reached)))
                break
        else:
            stack.pop()


def _list_inside(op: OperationBase, is_reached: bool) -> list[tuple[Operation, bool]]:
    operations: list[tuple[Operation, bool]] = []
    for region in op.regions:
        blocks = list(region.blocks)
        reached = _order_reachable(blocks)
        for block in reached:
            operations += [(operation, is_reached) for operation in operations_of(block)]
        for block in blocks if len(blocks) > len(reached) else ():
            if block not in reached:
                operations += [(operation, False) for operation in operations_of(block)]
    return operations


def _order_reachable(blocks: Sequence[Block]) -> Sequence[Block]:
    """Return the reachable blocks in reverse postorder, in which dominating blocks come first."""
    if len(blocks) < 2:
        return blocks
    done: list[Block] = []
    seen = {blocks[0]}
    path = [(blocks[0], iter(last_of(blocks[0]).successors))]
    while path:
        block, successors = path[-1]
        if (following := next((successor for successor in successors if successor not in seen), None)) is None:
            done.append(block)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(last_of(following).successors)))
    return done[::-1]
