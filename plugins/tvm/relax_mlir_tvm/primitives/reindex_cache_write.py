# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reindex_cache_write: staging of an output, with indices by a map of the block's iters."""

from __future__ import annotations

from relax_mlir.passes.kernels.loops.handles import BlockRV, IndexMap
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.primitives.reindex import stage_by_map
from relax_mlir.schedules import register_primitive


@register_primitive
def reindex_cache_write(
    edit: Edit, block: BlockRV, write_buffer_index: int, storage_scope: str, index_map: IndexMap
) -> BlockRV:
    """Let a block write to memory of a scope, and copy the result to the output. Return the block that copies.

    The map goes from the block's iters to indices of the staging buffer.
    """
    return stage_by_map(edit, block, "write", write_buffer_index, storage_scope, index_map)
