# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive add_unit_loop: a loop of one step around a block or a loop."""

from __future__ import annotations

from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import Loop


@register_primitive
def add_unit_loop(edit: Edit, block_or_loop: BlockRV | LoopRV) -> LoopRV:
    """Add a loop of one step around a block or a loop."""
    node = edit.node(block_or_loop)
    name = edit.new_name("u")
    edit.replace(node.name, [Loop(name, 1, (node,))])
    return edit.handle(name)
