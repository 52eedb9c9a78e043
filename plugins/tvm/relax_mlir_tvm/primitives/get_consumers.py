# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive get_consumers: the blocks that read a block's results."""

from __future__ import annotations

from relax_mlir.passes.kernels.loops.handles import BlockRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.schedules import register_primitive


@register_primitive
def get_consumers(edit: Edit, block: BlockRV) -> list[BlockRV]:
    """Return the blocks that read a block's results, in program order."""
    found = edit.block(block)
    readers = [reader for access in found.writes for reader in edit.tree.readers(access.buffer)]
    return [edit.handle(each) for each in edit.tree.blocks() if each in readers and each is not found]
