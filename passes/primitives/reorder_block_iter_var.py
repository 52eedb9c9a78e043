# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reorder_block_iter_var: the order of a block's iters."""

from __future__ import annotations

from collections.abc import Sequence

from ...support.replacing import replace
from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive


@register_primitive
def reorder_block_iter_var(edit: Edit, block: BlockRV, new_order: Sequence[int]) -> None:
    """Lists a block's iters in another order: the n-th one will be the one that was at `new_order[n]`."""
    found = edit.block(block)
    if sorted(new_order) != list(range(len(found.iters))):
        edit.refuse(f"expected each of 0 to {len(found.iters) - 1} once, got {list(new_order)}")
    iters = tuple(found.iters[number] for number in new_order)
    bindings = tuple(found.bindings[number] for number in new_order)
    edit.replace(found.name, [replace(found, iters=iters, bindings=bindings)])
