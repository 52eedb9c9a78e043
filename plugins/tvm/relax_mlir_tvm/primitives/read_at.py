# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive read_at: staging of an input at a loop."""

from __future__ import annotations

from relax_mlir.passes.kernels.loops.handles import BlockRV, LoopRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.tree import blocks_in
from relax_mlir.passes.kernels.primitives.cache_read import cache_read
from relax_mlir.passes.kernels.primitives.compute_at import compute_at
from relax_mlir.schedules import register_primitive


@register_primitive
def read_at(edit: Edit, loop: LoopRV, block: BlockRV, read_buffer_index: int | str, storage_scope: str) -> BlockRV:
    """Copy the part of a buffer that each step of a loop reads to memory of a scope. Return the block that copies."""
    around = edit.loop(loop)
    if (found := edit.block(block)) not in blocks_in([around]):
        edit.refuse(f"'{found.name}' is not in '{around.name}'")
    cached = cache_read(edit, block, read_buffer_index, storage_scope, [block])
    compute_at(edit, cached, loop)
    return cached
