# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive sample_compute_location: a loop that a block can move to, drawn."""

from __future__ import annotations

from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, Refused, register_primitive
from .compute_at import compute_at


@register_primitive
def sample_compute_location(edit: Edit, block: BlockRV, decision: int | None = None) -> LoopRV:
    """Draws a loop around what reads a block's output, to which `compute_at` can move it; the decision is which of
    these loops, the outermost is 0."""
    found = edit.block(block)
    readers = [each for access in found.writes for each in edit.tree.readers(access.buffer)]
    if not readers:
        edit.refuse(f"nothing reads what '{found.name}' makes")
    loops = edit.tree.around(readers[0].name)
    possible = [number for number, loop in enumerate(loops) if _can_move(edit, block, edit.handle(loop))]
    if not possible:
        edit.refuse(f"'{found.name}' can move to no loop around '{readers[0].name}'")
    if decision is None:
        decision = edit.random.choice(possible)
    if decision not in possible:
        edit.refuse(f"the decision {decision} is none of the loops that '{found.name}' can move to: {possible}")
    edit.decided(decision)
    return edit.handle(loops[decision])


def _can_move(edit: Edit, block: BlockRV, loop: LoopRV) -> bool:
    before = edit.tree
    try:
        compute_at(edit, block, loop)
    except Refused:
        return False
    finally:
        edit.tree = before
    return True
