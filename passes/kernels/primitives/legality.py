# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Legality checks of loops that several primitives share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ....dialects.core.symbols_expr import variables_of
from ..loops.apart import keeps_apart
from ..loops.primitives import Edit
from ..loops.tree import AROUND, REDUCE, SERIAL, SPATIAL, VECTORIZED, Block, Loop, blocks_in, loops_of


def check_serial(edit: Edit, loops: Sequence[Loop]) -> None:
    for loop in loops:
        if loop.kind != SERIAL:
            edit.refuse(f"'{loop.name}' is already {loop.kind}")


def check_nested(edit: Edit, loops: Sequence[Loop]) -> None:
    """Check that each loop contains only the next one."""
    for outer, inner in pairwise(loops):
        if inner.name not in [node.name for node in outer.body]:
            edit.refuse(f"'{inner.name}' is not directly in '{outer.name}'")
        if len(outer.body) > 1:
            others = ", ".join(f"'{node.name}'" for node in outer.body if node.name != inner.name)
            edit.refuse(f"'{inner.name}' is not the only node in '{outer.name}': it also contains {others}")


def chain_of(edit: Edit, loops: Sequence[Loop]) -> list[Loop]:
    """Return all loops from the outermost to the innermost of some loops. Each must contain only the next one."""
    paths = {loop.name: [*edit.tree.around(loop.name), loop] for loop in loops}
    longest = max(paths.values(), key=len)
    names = [loop.name for loop in longest]
    if (outside := next((loop for loop in loops if loop.name not in names), None)) is not None:
        edit.refuse(f"'{outside.name}' and '{names[-1]}' are not nested")
    chain = longest[min(names.index(loop.name) for loop in loops) :]
    if (outer := next((loop for loop in chain if loop.kind == AROUND), None)) is not None:
        edit.refuse(f"block '{outer.name}' is between them: all loops must belong to one block")
    check_nested(edit, chain)
    return chain


def check_independent(edit: Edit, chain: Sequence[Loop]) -> None:
    """Check that no block needs the result of another step of these loops, so that they may run in any order."""
    blocks = blocks_in(chain[-1:])
    for block in blocks:
        _check_first(edit, block, chain)
    written = {buffer for block in blocks for buffer in block.buffers if block.writes_of(buffer)}
    for block in blocks:
        for buffer in (*(access.buffer for access in block.reads), *block.loaded):
            if buffer in written and not _is_made_before(blocks, block, buffer):
                edit.refuse(f"'{block.name}' reads '{buffer.name}', which is written in the same loops")


def _check_first(edit: Edit, block: Block, chain: Sequence[Loop]) -> None:
    """Check that the init of each element can run first: a reduction starts where all its iters are 0."""
    if block.inits is None:
        return
    along = loops_of(block, SPATIAL) & loops_of(block, REDUCE)
    if (both := next((loop.name for loop in chain if loop.name in along), None)) is not None:
        problem = f"'{both}' moves both the reduction and a spatial iter of '{block.name}'"
        edit.refuse(f"{problem}: decompose the reduction before its loops run in another order")


def _is_made_before(blocks: Sequence[Block], reader: Block, buffer: object) -> bool:
    """Return True if all writers of a buffer run before a block in each step."""
    place = blocks.index(reader)
    return all(number < place for number, block in enumerate(blocks) if any(a.buffer is buffer for a in block.writes))


def check_apart(edit: Edit, loop: Loop, what: str) -> None:
    """Check that each step of a loop writes elements of its own, so that steps may run at the same time."""
    inside = blocks_in([loop])
    for block in inside:
        for iter_, binding in zip(block.iters, block.bindings, strict=True):
            if iter_.kind == REDUCE and loop.name in variables_of(binding):
                hint = "use rfactor, which creates a loop that adds to separate elements, or choose another loop"
                problem = f"steps that are {what} would add to the same elements"
                edit.refuse(f"'{loop.name}' reduces in block '{block.name}' ({iter_.name}): {problem}; {hint}")
        if loop.name in loops_of(block, SPATIAL):
            continue
        for access in block.writes:
            if not _is_private(edit, inside, access.buffer):
                same = f"the same elements of '{access.buffer.name}' at each step of '{loop.name}'"
                edit.refuse(f"block '{block.name}' writes {same}")


def check_lanes(edit: Edit) -> None:
    """Check that lanes reduce into elements of their own: lanes alternate at each step of the inner loops."""
    for loop in edit.tree.loops():
        if loop.kind != VECTORIZED or loop.extent == 1:
            continue
        for block in blocks_in([loop]):
            around = edit.tree.around(block.name)
            inner = {each.name: each.extent for each in around[around.index(loop) + 1 :]}
            if block.is_reduction and not keeps_apart(block, loop, inner):
                edit.refuse(f"'{block.name}' adds to the same elements in several lanes of '{loop.name}'")


def _is_private(edit: Edit, inside: Sequence[Block], buffer: object) -> bool:
    """Return True if a buffer is no parameter and no block outside of a loop uses it."""
    users = [block for block in edit.tree.blocks() if any(each is buffer for each in block.buffers)]
    names = {block.name for block in inside}
    return not getattr(buffer, "is_given", True) and all(block.name in names for block in users)


def check_not_part(edit: Edit, block: Block) -> None:
    """Check that a block runs at all points of its iters.

    Copies of its result, and the sum of partial results, go over all.
    """
    if block.is_part:
        edit.refuse(f"'{block.name}' runs only at some of its points: a loop around it was partitioned or pipelined")


def plain_path(edit: Edit, block: Block, verb: str) -> list[Loop]:
    """Return the loops around a block if they are one per iter and contain nothing else."""
    path = edit.tree.around(block.name)
    plain = set(map(str, block.bindings))
    if (
        block.where
        or block.within
        or block.is_part
        or any(len(loop.body) > 1 or loop.name not in plain for loop in path)
    ):
        edit.refuse(f"'{block.name}' has been split or moved: {verb} it first")
    return path
