# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive read_at: a buffer that is read is staged at a loop."""

from __future__ import annotations

from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import blocks_in
from .cache_read import cache_read
from .compute_at import compute_at


@register_primitive
def read_at(edit: Edit, loop: LoopRV, block: BlockRV, read_buffer_index: int | str, storage_scope: str) -> BlockRV:
    """Copies to memory of a scope, at each step of a loop, what that step's blocks read of a buffer: the block that
    copies."""
    around = edit.loop(loop)
    found = edit.block(block)
    if found not in blocks_in([around]):
        edit.refuse(f"'{found.name}' is not in '{around.name}'")
    cached = cache_read(edit, block, read_buffer_index, storage_scope, [block])
    compute_at(edit, cached, loop)
    return cached
