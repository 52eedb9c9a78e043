# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive get_loops: the loops around a block."""

from __future__ import annotations

from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import AROUND


@register_primitive
def get_loops(edit: Edit, block: BlockRV) -> list[LoopRV]:
    """Return the loops around a block, outermost first. Inside of an outer block, loops start at that block."""
    around = edit.tree.around(edit.any_block(block).name)
    first = max((number + 1 for number, loop in enumerate(around) if loop.kind == AROUND), default=0)
    return [edit.handle(loop) for loop in around[first:]]
