# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reindex_cache_read: staging of a buffer that a block reads, as a map of its iters says."""

from __future__ import annotations

from ..loops.handles import BlockRV, IndexMap
from ..loops.primitives import Edit, register_primitive
from .reindex import staged_by_map


@register_primitive
def reindex_cache_read(
    edit: Edit, block: BlockRV, read_buffer_index: int, storage_scope: str, index_map: IndexMap
) -> BlockRV:
    """Copies what a block reads to memory of a scope, at the indices that a map makes of the block's iters: the block
    that copies."""
    return staged_by_map(edit, block, "read", read_buffer_index, storage_scope, index_map)
