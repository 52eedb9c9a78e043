# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive sample_compute_location: draws a loop for compute_at."""

from __future__ import annotations

from relax_mlir.passes.kernels.loops.handles import BlockRV, LoopRV
from relax_mlir.passes.kernels.loops.primitives import Edit, Refused
from relax_mlir.passes.kernels.primitives.compute_at import compute_at
from relax_mlir.schedules import register_primitive


@register_primitive
def sample_compute_location(edit: Edit, block: BlockRV, decision: int | None = None) -> LoopRV:
    """Draw a loop around the first reader of a block's output to which `compute_at` can move the block.

    The decision is the index of the loop; the outermost loop is 0.
    """
    found = edit.block(block)
    if not (readers := [reader for access in found.writes for reader in edit.tree.readers(access.buffer)]):
        edit.refuse(f"nothing reads the result of '{found.name}'")
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
