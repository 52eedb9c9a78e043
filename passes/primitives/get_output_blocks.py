# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive get_output_blocks: the blocks that write a PrimFunc's parameters."""

from __future__ import annotations

from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive


@register_primitive
def get_output_blocks(edit: Edit, func_name: str | None = None) -> list[BlockRV]:
    """The blocks that write parameters, in the order in which they run."""
    del func_name  # which PrimFunc it is has been told by it
    return [edit.handle(each) for each in edit.tree.blocks() if any(access.buffer.is_given for access in each.writes)]
