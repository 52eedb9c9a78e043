# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive rolling_buffer: reuse of the previous steps' results in a circular buffer."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from relax_mlir.dialects.core.indices import is_never_negative
from relax_mlir.dialects.core.symbols_expr import extremum, variables_of
from relax_mlir.passes.kernels.loops.boxes import box_of
from relax_mlir.passes.kernels.loops.handles import BlockRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.ranges import Range, factor_of, ranges_of
from relax_mlir.passes.kernels.loops.tree import SERIAL, Access, Block, Loop, around_all, blocks_in, variable
from relax_mlir.passes.kernels.loops.tree_buffers import Buffer
from relax_mlir.passes.kernels.primitives.caching import own_buffer
from relax_mlir.schedules import register_primitive


class _Rolling(NamedTuple):
    """Overlap of a loop's steps.

    The dimension, the range that one step needs along it, and the length of the overlap.
    """

    loop: Loop
    dim: int
    reached: Range
    overlap: int


@register_primitive
def rolling_buffer(edit: Edit, block: BlockRV, write_buffer_index: int | str) -> None:
    """Let a block in a loop with overlapping steps compute only elements that no earlier step has computed.

    The buffer keeps earlier elements. It is circular along the outermost loop that slides over it.
    """
    found = edit.block(block)
    buffer = own_buffer(edit, found, write_buffer_index)
    _check(edit, found, buffer)
    users = [each for each in edit.tree.blocks() if buffer in each.buffers]
    shared = around_all([edit.tree.around(user.name) for user in users])
    rolling = next((each for loop in shared if (each := _overlap(edit, found, buffer, users, loop)) is not None), None)
    if rolling is None:
        edit.refuse(f"no loop around '{found.name}' and what reads '{buffer.name}' slides over it by overlapping steps")
    loop, dim, reached, overlap = rolling
    path = [each.name for each in (*edit.tree.around(loop.name), loop)]
    shape = (*buffer.shape[:dim], reached.extent, *buffer.shape[dim + 1 :])
    new = replace(buffer.laid_out(shape), rolling=tuple(path))
    (target,) = found.writes_of(buffer)
    made = extremum("min", [variable(loop.name, loop.extent), 1]) * overlap + reached.start
    where = (*found.where, (made - found.placed(target).indices[dim], 1))

    def circular(access: Access) -> Access:
        if access.buffer is not buffer:
            return access
        indices = list(access.indices)
        indices[dim] = indices[dim] % reached.extent
        return Access(new, tuple(indices))

    def change(block: Block) -> Block:
        moved = block.with_accesses(circular)
        return replace(moved, where=where) if block is found else moved

    edit.tree = edit.tree.mapped(change).redeclared(buffer, new)


def _check(edit: Edit, found: Block, buffer: Buffer) -> None:
    if buffer.rolling:
        edit.refuse(f"'{buffer.name}' is already circular")
    writers = edit.tree.writers(buffer)
    if len(writers) > 1 or len(found.writes_of(buffer)) > 1:
        edit.refuse(f"'{buffer.name}' is written by '{writers[-1].name}', too")
    if found.is_reduction and found.inits is None:
        edit.refuse(
            f"'{found.name}' depends on previous values of '{buffer.name}': roll it before its reduction is decomposed"
        )
    if len(found.writes) > 1:
        edit.refuse(f"'{found.name}' has {len(found.writes)} outputs: a rolling buffer needs a block with one output")
    if any(buffer in block.loaded for block in edit.tree.blocks()):
        edit.refuse(f"'{buffer.name}' is read at computed indices")


def _overlap(edit: Edit, block: Block, buffer: Buffer, users: list[Block], loop: Loop) -> _Rolling | None:
    """Return the overlap of a loop's steps, or None if they do not overlap so that each continues the last one."""
    inner = loop.inner_extents()
    read = ranges_of([place for user in users for place in user.read_places(buffer)], inner, buffer.shape)
    written = ranges_of([place for user in users for place in user.places(buffer)], inner, buffer.shape)
    moving = [dim for dim, range_ in enumerate(written) if loop.name in variables_of(range_.start)]
    if loop.kind != SERIAL or len(moving) != 1 or read != written:
        return None
    (dim,) = moving
    by, extent = factor_of(written[dim].start, loop.name), written[dim].extent
    if by is None or not isinstance(extent, int) or not 0 < by < extent:
        return None
    if any(loop.name in variables_of(index) for index, _ in block.where):
        return None
    (target,) = block.writes_of(buffer)
    if box_of(block.placed(target), inner) is None:  # may not have written elements that the next step needs
        return None
    if not all(_is_made(block, source, loop) for source in {each.buffer for each in block.reads}):
        return None
    return _Rolling(loop, dim, written[dim], extent - by)


def _is_made(found: Block, source: Buffer, loop: Loop) -> bool:
    """Return True if no later step writes what a step reads of a buffer."""
    writers = [block for block in blocks_in([loop]) if block is not found and block.writes_of(source)]
    if not writers:
        return True
    inner = loop.inner_extents()
    read = ranges_of(found.read_places(source), inner, source.shape)
    written = ranges_of(
        [writer.placed(access).indices for writer in writers for access in writer.writes_of(source)],
        inner,
        source.shape,
    )
    return all(
        is_never_negative(range_.start + range_.extent - needed.start - needed.extent)
        for needed, range_ in zip(read, written, strict=True)
    )
