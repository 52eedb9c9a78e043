# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive cache_read: staging of a buffer that blocks read in a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import Block, Buffer, blocks_in
from .caching import buffer_of, check_scope, copying, staged_buffer
from .code_motion import order_of


@register_primitive
def cache_read(
    edit: Edit,
    block: BlockRV,
    read_buffer_index: int | str,
    storage_scope: str,
    consumer_blocks: Sequence[BlockRV] | None = None,
) -> BlockRV:
    """Copies a buffer to memory of a scope, from where these blocks read it then, all that read it where none is named;
    the block that copies, which compute_at puts where it is needed."""
    found = edit.block(block)
    check_scope(edit, storage_scope)
    buffer = buffer_of(edit, found, found.reads, read_buffer_index, "reads")
    consumers = [edit.block(each) for each in consumer_blocks] if consumer_blocks else edit.tree.readers(buffer)
    place = place_of(edit, buffer, consumers)
    cached = staged_buffer(edit, buffer, storage_scope)
    name = edit.new_name(cached.name)
    node = copying(edit, name, buffer, cached)
    edit.tree = edit.tree.mapped(lambda each: _reading(each, buffer, cached) if each in consumers else each)
    edit.insert(place, node)
    edit.tree = edit.tree.with_buffer(cached)
    return edit.handle(edit.tree.block(name))


def place_of(edit: Edit, buffer: Buffer, consumers: Sequence[Block]) -> int:
    """Before the outermost loop around the first of these, behind what writes it."""
    order, body = order_of(edit), edit.tree.body
    first = min(consumers, key=lambda each: order[each.name])
    place = edit.tree.nest_of(first)
    late = [each for each in edit.tree.writers(buffer) if each in blocks_in(body[place:])]
    if late:
        problem = f"'{late[0].name}' writes '{buffer.name}' in the same loops, or behind"
        edit.refuse(f"{problem}: cache it before they are one")
    return place


def _reading(block: Block, old: Buffer, new: Buffer) -> Block:
    """With what it reads, but not what it writes, from another buffer."""
    reads = tuple(replace(access, buffer=new) if access.buffer is old else access for access in block.reads)
    results = tuple(expr.with_buffers({old: new}) for expr in block.results)
    said = tuple(
        replace(each, buffer=new) if each.buffer is old and not each.is_written else each for each in block.regions
    )
    return replace(block, reads=reads, results=results, regions=said)
