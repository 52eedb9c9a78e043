# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive get_block: the block of a name."""

from __future__ import annotations

from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive


@register_primitive
def get_block(edit: Edit, name: str, func_name: str | None = None) -> BlockRV:
    """The block of a name, of one PrimFunc where several have such a block."""
    known = edit.tree.block_names()
    # What decompose_reduction leaves of a block has another name in TVM.
    name = next((each for each in (name, name.removesuffix("_update")) if each in known), name)
    return edit.handle(edit.any_block(BlockRV(edit.tree.name, name)))
