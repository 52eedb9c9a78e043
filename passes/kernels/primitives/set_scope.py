# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive set_scope: a buffer's memory scope."""

from __future__ import annotations

from ....support.replacing import replace
from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive
from .caching import check_scope, own_buffer


@register_primitive
def set_scope(edit: Edit, block: BlockRV, buffer_index: int | str, storage_scope: str) -> None:
    """Set the scope of a buffer that a block writes: "global", "local", or "shared" on a GPU."""
    found = edit.block(block)
    check_scope(edit, storage_scope)
    buffer = own_buffer(edit, found, buffer_index)
    edit.tree = edit.tree.exchanged(buffer, replace(buffer, scope=storage_scope))
