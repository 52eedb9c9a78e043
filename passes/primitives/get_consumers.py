# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive get_consumers: the blocks that read what a block makes."""

from __future__ import annotations

from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive


@register_primitive
def get_consumers(edit: Edit, block: BlockRV) -> list[BlockRV]:
    """The blocks that read what a block writes, in the order in which they run."""
    found = edit.block(block)
    readers = [each for access in found.writes for each in edit.tree.readers(access.buffer)]
    return [edit.handle(each) for each in edit.tree.blocks() if each in readers and each is not found]
