# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive cache_inplace: staging of a buffer that a block updates in place."""

from __future__ import annotations

from relax_mlir.passes.kernels.loops.handles import BlockRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.tree import blocks_in, exchange_buffers
from relax_mlir.passes.kernels.primitives.caching import buffer_of, check_scope, make_copy_block, staged_buffer
from relax_mlir.schedules import register_primitive


@register_primitive
def cache_inplace(edit: Edit, block: BlockRV, read_buffer_index: int | str, storage_scope: str) -> list[BlockRV]:
    """Update a buffer in place in memory of another scope.

    Return the block that copies it there, and the one that copies it back.
    """
    found = edit.block(block)
    check_scope(edit, storage_scope)
    read = [access for access in found.accesses if found.reads_of(access.buffer)]
    buffer = buffer_of(edit, found, read, read_buffer_index, "reads")
    if not found.writes_of(buffer):
        edit.refuse(f"'{found.name}' does not write '{buffer.name}': use cache_read")
    if buffer in found.loaded:
        edit.refuse(f"'{buffer.name}' is read at computed indices")
    place = edit.tree.nest_of(found)
    nest = blocks_in([edit.tree.body[place]])
    if others := [each.name for each in nest if each is not found and buffer in each.buffers]:
        edit.refuse(
            f"'{others[0]}' uses '{buffer.name}' in the same loops: cache the buffer before the loops are merged"
        )
    cached = staged_buffer(edit, buffer, storage_scope)
    names = edit.new_names([cached.name, f"{buffer.name}_back"])
    edit.replace(found.name, [exchange_buffers(found, buffer, cached)])
    edit.insert(place, make_copy_block(edit, names[0], buffer, cached))
    edit.insert(place + 2, make_copy_block(edit, names[1], cached, buffer))
    edit.tree = edit.tree.with_buffer(cached)
    return [edit.handle(edit.tree.block(name)) for name in names]
