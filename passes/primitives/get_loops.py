# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive get_loops: the loops around a block."""

from __future__ import annotations

from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, register_primitive


@register_primitive
def get_loops(edit: Edit, block: BlockRV) -> list[LoopRV]:
    """The loops around a block, outermost first."""
    return [edit.handle(loop) for loop in edit.tree.around(edit.block(block).name)]
