# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reorder_block_iter_var: permutes a block's iters."""

from __future__ import annotations

from collections.abc import Sequence

from ....support.replacing import replace
from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive


@register_primitive
def reorder_block_iter_var(edit: Edit, block: BlockRV, new_order: Sequence[int]) -> None:
    """Permute a block's iters: the new iter n is the old iter `new_order[n]`."""
    found = edit.block(block)
    if sorted(new_order) != list(range(len(found.iters))):
        edit.refuse(f"expected each of 0 to {len(found.iters) - 1} once, got {list(new_order)}")
    iters = tuple(found.iters[number] for number in new_order)
    bindings = tuple(found.bindings[number] for number in new_order)
    edit.replace(found.name, [replace(found, iters=iters, bindings=bindings)])
