# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive write_at: a buffer that is written is staged at a loop."""

from __future__ import annotations

from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import blocks_in
from .cache_write import cache_write
from .reverse_compute_at import reverse_compute_at


@register_primitive
def write_at(edit: Edit, loop: LoopRV, block: BlockRV, write_buffer_index: int | str, storage_scope: str) -> BlockRV:
    """Has a block write to memory of a scope, from where each step of a loop copies what it has made: the block that
    copies."""
    around = edit.loop(loop)
    found = edit.block(block)
    if found not in blocks_in([around]):
        edit.refuse(f"'{found.name}' is not in '{around.name}'")
    cached = cache_write(edit, block, write_buffer_index, storage_scope)
    reverse_compute_at(edit, cached, loop)
    return cached
