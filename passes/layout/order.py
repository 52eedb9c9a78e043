# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations in an order in which each comes behind those whose results it uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...bindings.ir import Block, Operation, OperationBase
from ...bindings.navigation import last_of, operations_of


def in_order(root: OperationBase) -> Iterator[tuple[Operation, bool]]:
    """The operations in an operation, and whether anything comes to them: blocks that nobody jumps to have no order."""
    stack = [_inside(root, True)]
    while stack:
        operation, is_reached = next(stack[-1], (None, False))
        if operation is None:
            stack.pop()
            continue
        yield operation, is_reached
        if len(operation.regions):
            stack.append(_inside(operation, is_reached))


def _inside(op: OperationBase, is_reached: bool) -> Iterator[tuple[Operation, bool]]:
    for region in op.regions:
        blocks = list(region.blocks)
        reached = _reached(blocks)
        for block in reached:
            yield from ((operation, is_reached) for operation in operations_of(block))
        for block in blocks if len(blocks) > len(reached) else ():
            if block not in reached:
                yield from ((operation, False) for operation in operations_of(block))


def _reached(blocks: Sequence[Block]) -> Sequence[Block]:
    """Blocks in reverse postorder, in which those that dominate others come first."""
    if len(blocks) < 2:
        return blocks
    done: list[Block] = []
    seen = {blocks[0]}
    path = [(blocks[0], iter(last_of(blocks[0]).successors))]
    while path:
        block, successors = path[-1]
        following = next((each for each in successors if each not in seen), None)
        if following is None:
            done.append(block)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(last_of(following).successors)))
    return done[::-1]
