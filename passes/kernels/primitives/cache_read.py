# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive cache_read: staging of a buffer that blocks read."""

from __future__ import annotations

from collections.abc import Sequence

from ....support.replacing import replace
from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import Block, Loop, blocks_in
from ..loops.tree_buffers import Buffer
from .caching import check_scope, level_of, make_copy_block, staged_block, staged_buffer
from .code_motion import in_loops, order_of
from .compute_at import needed_in


@register_primitive
def cache_read(
    edit: Edit,
    block: BlockRV,
    read_buffer_index: int | str,
    storage_scope: str,
    consumer_blocks: Sequence[BlockRV] | None = None,
) -> BlockRV:
    """Copy a buffer to memory of a scope, from which blocks then read. Return the block that copies.

    All readers use the copy, or only `consumer_blocks`. compute_at moves the copy to where it is needed.
    """
    check_scope(edit, storage_scope)
    found, buffer = staged_block(edit, block, read_buffer_index, "reads")
    consumers = (
        [edit.block(consumer_block) for consumer_block in consumer_blocks]
        if consumer_blocks
        else edit.tree.readers(buffer)
    )
    around, place = _place_in(edit, found, buffer, consumers)
    if around is not None:
        consumers = [consumer for consumer in consumers if consumer in blocks_in([around])]
    else:
        if not consumer_blocks:
            made = {edit.tree.nest_of(writer) for writer in edit.tree.writers(buffer)}
            consumers = [consumer for consumer in consumers if edit.tree.nest_of(consumer) not in made] or consumers
        place = place_of(edit, buffer, consumers)
    cached = staged_buffer(edit, buffer, storage_scope)
    name = edit.new_name(cached.name)
    node = make_copy_block(edit, name, buffer, cached)
    edit.tree = edit.tree.mapped(lambda each: _reading(each, buffer, cached) if each in consumers else each)
    edit.tree = edit.tree.with_buffer(cached)
    if around is not None:
        (copy,) = blocks_in([node])
        loop = edit.tree.loop(around.name)
        node = in_loops(edit, copy, needed_in(copy, loop, blocks_in([loop]), {}), keep_units=True)
    edit.insert(place, node, around)
    return edit.handle(edit.tree.block(name))


def _place_in(edit: Edit, block: Block, buffer: Buffer, consumers: Sequence[Block]) -> tuple[Loop | None, int]:
    """Return the loop that is also around the buffer's writers, with the index in it.

    (None, 0) is outside of all loops.
    """
    nest = blocks_in([edit.tree.body[edit.tree.nest_of(block)]])
    writers = [writer for writer in edit.tree.writers(buffer) if writer in nest]
    near = [consumer for consumer in consumers if consumer in nest]
    if not writers or not near or buffer.is_given:
        return None, 0
    order = order_of(edit)
    first = min(near, key=lambda each: order[each.name])
    around, place = level_of(edit, first, writers)
    late = next((writer for writer in writers if order[writer.name] > order[first.name]), None)
    return (None, 0) if late is not None else (around, place)


def place_of(edit: Edit, buffer: Buffer, consumers: Sequence[Block]) -> int:
    """Return the index of the nest of the first consumer. All writers must precede that nest."""
    order, body = order_of(edit), edit.tree.body
    place = edit.tree.nest_of(min(consumers, key=lambda consumer: order[consumer.name]))
    if late := [writer for writer in edit.tree.writers(buffer) if writer in blocks_in(body[place:])]:
        problem = f"'{late[0].name}' writes '{buffer.name}' in the same loops, or later"
        edit.refuse(f"{problem}: cache the buffer before the loops are merged")
    return place


def _reading(block: Block, old: Buffer, new: Buffer) -> Block:
    """Return the block with its reads from another buffer. Its writes stay."""
    reads = tuple(access._replace(buffer=new) if access.buffer is old else access for access in block.reads)
    results = tuple(expr.with_buffers({old: new}) for expr in block.results)
    said = tuple(
        replace(region, buffer=new) if region.buffer is old and not region.is_written else region
        for region in block.regions
    )
    return replace(block, reads=reads, results=results, regions=said)
