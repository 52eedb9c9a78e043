# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive write_at: staging of an output at a loop."""

from __future__ import annotations

from relax_mlir.passes.kernels.loops.handles import BlockRV, LoopRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.tree import blocks_in
from relax_mlir.passes.kernels.primitives.cache_write import cache_write
from relax_mlir.passes.kernels.primitives.reverse_compute_at import reverse_compute_at
from relax_mlir.schedules import register_primitive


@register_primitive
def write_at(edit: Edit, loop: LoopRV, block: BlockRV, write_buffer_index: int | str, storage_scope: str) -> BlockRV:
    """Let a block write to memory of a scope, and copy the result of each step of a loop.

    Return the block that copies.
    """
    around = edit.loop(loop)
    if (found := edit.block(block)) not in blocks_in([around]):
        edit.refuse(f"'{found.name}' is not in '{around.name}'")
    cached = cache_write(edit, block, write_buffer_index, storage_scope)
    reverse_compute_at(edit, cached, loop)
    return cached
