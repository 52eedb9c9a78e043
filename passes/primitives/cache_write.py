# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a block writes, elsewhere first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..loops.handles import BlockRV
from ..loops.tree import blocks_in, exchanged
from .caching import buffer_of, check_scope, copying
from .registry import Edit, register_primitive


@register_primitive
def cache_write(
    edit: Edit,
    block: BlockRV,
    write_buffer_index: int | str,
    storage_scope: str,
    consumer_blocks: Sequence[BlockRV] | None = None,
) -> BlockRV:
    """Has a block write to memory of a scope, from where a new block copies it, which reverse_compute_at puts where it
    is done; `consumer_blocks` read from there themselves."""
    found = edit.block(block)
    check_scope(edit, storage_scope)
    buffer = buffer_of(edit, found, found.writes, write_buffer_index, "writes")
    writers = edit.tree.writers(buffer)
    place = next(number for number, node in enumerate(edit.tree.body) if found in blocks_in([node]))
    nest = blocks_in([edit.tree.body[place]])
    apart = [each.name for each in writers if each not in nest]
    if apart:
        edit.refuse(f"'{apart[0]}' writes '{buffer.name}', too")
    near = [each.name for each in nest if any(access.buffer is buffer for access in each.reads)]
    if near:
        edit.refuse(f"'{near[0]}' reads '{buffer.name}' in the same loops: cache it before they are one")
    consumers = [edit.block(each) for each in consumer_blocks or ()]
    cached = replace(buffer, name=edit.tree.new_buffer_name(f"{buffer.name}_{storage_scope}"), scope=storage_scope,
                     is_given=False)  # fmt: skip
    name = edit.new_name(cached.name)
    node = copying(edit, name, cached, buffer)
    edit.tree = edit.tree.mapped(
        lambda each: exchanged(each, buffer, cached) if each in writers or each in consumers else each
    )
    edit.tree = replace(edit.tree, body=(*edit.tree.body[: place + 1], node, *edit.tree.body[place + 1 :]))
    edit.tree = edit.tree.with_buffer(cached)
    return edit.handle(edit.tree.block(name))
