# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reindex_cache_write: staging of a block's output, as a map of its iters says."""

from __future__ import annotations

from ..loops.handles import BlockRV, IndexMap
from ..loops.primitives import Edit, register_primitive
from .reindex import staged_by_map


@register_primitive
def reindex_cache_write(
    edit: Edit, block: BlockRV, write_buffer_index: int, storage_scope: str, index_map: IndexMap
) -> BlockRV:
    """Has a block write to memory of a scope, at the indices that a map makes of its iters: the block that copies it to
    where it belongs."""
    return staged_by_map(edit, block, "write", write_buffer_index, storage_scope, index_map)
