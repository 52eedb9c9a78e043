# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive get_block: look-up of a block by name."""

from __future__ import annotations

from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive


@register_primitive
def get_block(edit: Edit, name: str, func_name: str | None = None) -> BlockRV:
    """Return the block of a name. `func_name` selects the PrimFunc if several have such a block."""
    known = edit.tree.block_names()
    # TVM appends "_update" to the block that decompose_reduction leaves.
    name = next((text for text in (name, name.removesuffix("_update")) if text in known), name)
    return edit.handle(edit.any_block(BlockRV(edit.tree.name, name)))
