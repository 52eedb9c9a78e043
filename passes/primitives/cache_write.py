# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive cache_write: staging of a block's output in another buffer."""

from __future__ import annotations

from collections.abc import Sequence

from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import Block, Buffer, blocks_in, exchanged
from .caching import buffer_of, check_scope, copying, staged_buffer
from .code_motion import plain_iter


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
    place = edit.tree.nest_of(found)
    nest = blocks_in([edit.tree.body[place]])
    apart = [each.name for each in writers if each not in nest]
    if apart:
        edit.refuse(f"'{apart[0]}' writes '{buffer.name}', too")
    near = [each.name for each in edit.tree.readers(buffer) if each in nest]
    if near:
        edit.refuse(f"'{near[0]}' reads '{buffer.name}' in the same loops: cache it before they are one")
    _check_whole(edit, writers[0], buffer)
    consumers = [edit.block(each) for each in consumer_blocks or ()]
    cached = staged_buffer(edit, buffer, storage_scope)
    name = edit.new_name(cached.name)
    node = copying(edit, name, cached, buffer)
    edit.tree = edit.tree.mapped(
        lambda each: exchanged(each, buffer, cached) if each in writers or each in consumers else each
    )
    edit.insert(place + 1, node)
    edit.tree = edit.tree.with_buffer(cached)
    return edit.handle(edit.tree.block(name))


def _check_whole(edit: Edit, first: Block, buffer: Buffer) -> None:
    """What is copied over the buffer in the end has to be all of it, made from nothing of what it held."""
    writes = first.writes_of(buffer)
    if first.inits is None and buffer in (
        access.buffer for n, access in enumerate(first.writes) if first.reads_output(n)
    ):
        edit.refuse(f"'{first.name}' goes on with what '{buffer.name}' holds")
    iters = [plain_iter(first, index) for index in writes[0].indices]
    sizes = [None if each is None else each.extent for each in iters]
    known = [each.name for each in iters if each is not None]
    is_whole = all(own == size or index == 0 == size - 1
                   for own, size, index in zip(sizes, buffer.shape, writes[0].indices, strict=True))  # fmt: skip
    if buffer.is_given and not (is_whole and len(set(known)) == len(known)):
        edit.refuse(f"'{first.name}' writes a part of '{buffer.name}' only: the rest is what it was")
