# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Legality checks of loops that several primitives share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...dialects.core.symbols_expr import variables_of
from ..loops.apart import keeps_apart
from ..loops.primitives import Edit
from ..loops.tree import AROUND, REDUCE, SERIAL, SPATIAL, VECTORIZED, Block, Loop, blocks_in, loops_of


def check_serial(edit: Edit, loops: Sequence[Loop]) -> None:
    for loop in loops:
        if loop.kind != SERIAL:
            edit.refuse(f"'{loop.name}' is {loop.kind} already")


def check_nested(edit: Edit, loops: Sequence[Loop]) -> None:
    """Each loop must be all that is in the one before."""
    for outer, inner in pairwise(loops):
        if inner.name not in [node.name for node in outer.body]:
            edit.refuse(f"'{inner.name}' is not directly in '{outer.name}'")
        if len(outer.body) > 1:
            others = ", ".join(f"'{node.name}'" for node in outer.body if node.name != inner.name)
            edit.refuse(f"'{inner.name}' is not all that is in '{outer.name}': there is also {others}")


def chain_of(edit: Edit, loops: Sequence[Loop]) -> list[Loop]:
    """The loops from the outermost of some to the innermost, each all that is in the one before."""
    paths = {loop.name: [*edit.tree.around(loop.name), loop] for loop in loops}
    longest = max(paths.values(), key=len)
    names = [loop.name for loop in longest]
    outside = next((loop for loop in loops if loop.name not in names), None)
    if outside is not None:
        edit.refuse(f"'{outside.name}' and '{names[-1]}' are not in one another")
    first = min(names.index(loop.name) for loop in loops)
    chain = longest[first:]
    outer = next((loop for loop in chain if loop.kind == AROUND), None)
    if outer is not None:
        edit.refuse(f"block '{outer.name}' is between: loops of one block go together")
    check_nested(edit, chain)
    return chain


def check_independent(edit: Edit, chain: Sequence[Loop]) -> None:
    """Loops may run in any order where no block needs what another step of them has made."""
    blocks = blocks_in(chain[-1:])
    for block in blocks:
        _check_first(edit, block, chain)
    written = {buffer for block in blocks for buffer in block.buffers if block.writes_of(buffer)}
    for block in blocks:
        for buffer in (*(access.buffer for access in block.reads), *block.loaded):
            if buffer in written and not _is_made_before(blocks, block, buffer):
                edit.refuse(f"'{block.name}' reads '{buffer.name}', which is written in the same loops")


def _check_first(edit: Edit, block: Block, chain: Sequence[Loop]) -> None:
    """A reduction starts where all its iters are 0, which has to come first for each element."""
    if block.inits is None:
        return
    along = loops_of(block, SPATIAL) & loops_of(block, REDUCE)
    both = next((loop.name for loop in chain if loop.name in along), None)
    if both is not None:
        problem = f"'{both}' goes along the reduction of '{block.name}' and along an iter that is none"
        edit.refuse(f"{problem}: decompose the reduction before its loops run in another order")


def _is_made_before(blocks: Sequence[Block], reader: Block, buffer: object) -> bool:
    """Whether all that write a buffer run before a block, in each step."""
    place = blocks.index(reader)
    return all(number < place for number, block in enumerate(blocks) if any(a.buffer is buffer for a in block.writes))


def check_apart(edit: Edit, loop: Loop, what: str) -> None:
    """Steps of a loop may run at the same time where each writes elements of its own."""
    inside = blocks_in([loop])
    for block in inside:
        for each, binding in zip(block.iters, block.bindings, strict=True):
            if each.kind == REDUCE and loop.name in variables_of(binding):
                hint = "rfactor it, whose block has a loop that adds to elements of its own, or choose another loop"
                problem = f"steps that are {what} would add to the same elements"
                edit.refuse(f"'{loop.name}' reduces in block '{block.name}' ({each.name}): {problem}; {hint}")
        if loop.name in loops_of(block, SPATIAL):
            continue
        for access in block.writes:
            if not _is_private(edit, inside, access.buffer):
                same = f"the same elements of '{access.buffer.name}' at each step of '{loop.name}'"
                edit.refuse(f"block '{block.name}' writes {same}")


def check_lanes(edit: Edit) -> None:
    """Lanes add to sums of their own: they take turns at each step of the loops inside."""
    for loop in edit.tree.loops():
        if loop.kind != VECTORIZED or loop.extent == 1:
            continue
        for block in blocks_in([loop]):
            around = edit.tree.around(block.name)
            inner = {each.name: each.extent for each in around[around.index(loop) + 1 :]}
            if block.is_reduction and not keeps_apart(block, loop, inner):
                edit.refuse(f"'{block.name}' adds to the same elements in several lanes of '{loop.name}'")


def _is_private(edit: Edit, inside: Sequence[Block], buffer: object) -> bool:
    """Whether no block outside of a loop uses a buffer that is no parameter."""
    users = [block for block in edit.tree.blocks() if any(each is buffer for each in block.buffers)]
    names = {block.name for block in inside}
    return not getattr(buffer, "is_given", True) and all(block.name in names for block in users)


def check_not_part(edit: Edit, block: Block) -> None:
    """Copies of what a block makes, and what adds up its parts, go over all points of its iters."""
    if block.is_part:
        edit.refuse(f"'{block.name}' runs at some of its points only: a loop around it was partitioned or pipelined")


def plain_path(edit: Edit, block: Block, verb: str) -> list[Loop]:
    """The loops around a block that are one for each of its iters, and nothing else."""
    path = edit.tree.around(block.name)
    plain = set(map(str, block.bindings))
    if (
        block.where
        or block.within
        or block.is_part
        or any(len(loop.body) > 1 or loop.name not in plain for loop in path)
    ):
        edit.refuse(f"'{block.name}' has been split or moved: {verb} it before")
    return path
