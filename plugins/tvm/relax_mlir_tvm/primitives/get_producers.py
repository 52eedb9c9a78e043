# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive get_producers: the blocks that write what a block reads."""

from __future__ import annotations

from relax_mlir.passes.kernels.loops.handles import BlockRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.schedules import register_primitive


@register_primitive
def get_producers(edit: Edit, block: BlockRV) -> list[BlockRV]:
    """Return the blocks that write what a block reads, in program order."""
    found = edit.block(block)
    read = [*(access.buffer for access in found.reads), *found.loaded]
    return [
        edit.handle(each)
        for each in edit.tree.blocks()
        if each is not found and any(access.buffer in read for access in each.writes)
    ]
