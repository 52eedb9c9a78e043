# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive get_output_blocks: the blocks that write a PrimFunc's parameters."""

from __future__ import annotations

from relax_mlir.passes.kernels.loops.handles import BlockRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.schedules import register_primitive


@register_primitive
def get_output_blocks(edit: Edit, func_name: str | None = None) -> list[BlockRV]:
    """Return the blocks that write parameters, in program order."""
    del func_name  # has already selected the PrimFunc
    return [
        edit.handle(block) for block in edit.tree.blocks() if any(access.buffer.is_given for access in block.writes)
    ]
