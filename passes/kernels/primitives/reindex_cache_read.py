# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reindex_cache_read: staging of an input, with indices by a map of the block's iters."""

from __future__ import annotations

from ..loops.handles import BlockRV, IndexMap
from ..loops.primitives import Edit, register_primitive
from .reindex import stage_by_map


@register_primitive
def reindex_cache_read(
    edit: Edit, block: BlockRV, read_buffer_index: int, storage_scope: str, index_map: IndexMap
) -> BlockRV:
    """Copy what a block reads to memory of a scope. Return the block that copies.

    The map goes from the block's iters to indices of the copy.
    """
    return stage_by_map(edit, block, "read", read_buffer_index, storage_scope, index_map)
