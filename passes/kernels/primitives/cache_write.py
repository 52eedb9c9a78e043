# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive cache_write: staging of a block's output."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.symbols_expr import Size
from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import Block, Iter, Loop, blocks_in, exchange_buffers
from ..loops.tree_buffers import Buffer
from .caching import check_scope, level_of, make_copy_block, staged_block, staged_buffer
from .code_motion import in_loops, is_reduced_by, order_of, plain_iter
from .reverse_compute_at import made_in


@register_primitive
def cache_write(
    edit: Edit,
    block: BlockRV,
    write_buffer_index: int | str,
    storage_scope: str,
    consumer_blocks: Sequence[BlockRV] | None = None,
) -> BlockRV:
    """Let a block write to memory of a scope, and copy the result to the output. Return the block that copies.

    reverse_compute_at moves the copy to where the result is complete. `consumer_blocks` read the staging buffer
    directly.
    """
    check_scope(edit, storage_scope)
    found, buffer = staged_block(edit, block, write_buffer_index, "writes")
    writers = edit.tree.writers(buffer)
    place = edit.tree.nest_of(found)
    nest = blocks_in([edit.tree.body[place]])
    if apart := [writer.name for writer in writers if writer not in nest]:
        edit.refuse(f"'{apart[0]}' writes '{buffer.name}', too")
    near = [reader for reader in edit.tree.readers(buffer) if reader in nest]
    around = None
    if near:
        around, place = _place_in(edit, buffer, writers, near)
    _check_whole(edit, writers[0], buffer)
    consumers = [edit.block(consumer_block) for consumer_block in consumer_blocks or ()]
    cached = staged_buffer(edit, buffer, storage_scope)
    name = edit.new_name(cached.name)
    node = make_copy_block(edit, name, cached, buffer)
    edit.tree = edit.tree.mapped(
        lambda each: exchange_buffers(each, buffer, cached) if each in writers or each in consumers else each
    )
    edit.tree = edit.tree.with_buffer(cached)
    if around is not None:
        (copy,) = blocks_in([node])
        loop = edit.tree.loop(around.name)
        ranges, where = made_in(edit, copy, loop, blocks_in([loop]), [cached])
        node = in_loops(edit, copy, ranges, keep_units=True, where=where)
    edit.insert(place + 1, node, around)
    return edit.handle(edit.tree.block(name))


def _place_in(edit: Edit, buffer: Buffer, writers: Sequence[Block], near: Sequence[Block]) -> tuple[Loop | None, int]:
    """Return the place after the last writer, in the loops that are also around the nearby readers."""
    order = order_of(edit)
    last = max(writers, key=lambda writer: order[writer.name])
    around, place = level_of(edit, last, near)
    early = next((block.name for block in near if order[block.name] < order[last.name]), None)
    reducing = None if around is None else is_reduced_by(last, [*edit.tree.around(around.name), around])
    if (
        early is not None
        or reducing is not None
        or any(around is not None and writer not in blocks_in([around]) for writer in writers)
    ):
        edit.refuse(
            f"'{near[0].name}' reads '{buffer.name}' in the same loops: cache the buffer before the loops are merged"
        )
    return around, place


def _check_whole(edit: Edit, first: Block, buffer: Buffer) -> None:
    """Check that the block writes the whole buffer, without use of its previous values.

    The copy overwrites all of it.
    """
    writes = first.writes_of(buffer)
    if first.inits is None and buffer in (
        access.buffer for n, access in enumerate(first.writes) if first.reads_output(n)
    ):
        edit.refuse(f"'{first.name}' depends on previous values of '{buffer.name}'")
    iters = [plain_iter(first, index) for index in writes[0].indices]
    sizes = [None if iter_ is None else _reach(first, iter_) for iter_ in iters]
    known = [iter_.name for iter_ in iters if iter_ is not None]
    is_whole = all(own == size or index == 0 == size - 1
                   for own, size, index in zip(sizes, buffer.shape, writes[0].indices, strict=True))  # fmt: skip
    if buffer.is_given and not (is_whole and len(set(known)) == len(known)):
        edit.refuse(f"'{first.name}' writes only a part of '{buffer.name}', and the rest must keep its values")


def _reach(block: Block, iter_: Iter) -> Size:
    """Return the extent of an iter where the block has points."""
    at = block.point()[iter_.name]
    limits = [limit for index, limit in block.where if index == at and isinstance(limit, int)]
    return min([iter_.extent, *limits]) if isinstance(iter_.extent, int) else iter_.extent
