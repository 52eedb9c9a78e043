# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive annotate_buffer_access: declares the part of a buffer that a block reads or writes."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir.dialects.core.indices import is_never_negative
from relax_mlir.dialects.core.symbols_expr import Size
from relax_mlir.passes.kernels.loops.handles import BlockRV, IndexMap
from relax_mlir.passes.kernels.loops.index_exprs import places_of_load
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.tree import Access, Block, Place, Region, iter_variable
from relax_mlir.passes.kernels.loops.tree_buffers import Buffer
from relax_mlir.passes.kernels.primitives.caching import buffer_of
from relax_mlir.schedules import register_primitive


@register_primitive
def annotate_buffer_access(
    edit: Edit, block: BlockRV, buffer_index: int | str, buf_type: str, gen_new_ranges: IndexMap
) -> None:
    """Declare the part of a buffer that a block reads or writes ("read" or "write").

    The map goes from the block's iters to the begin and the exclusive end along each dimension. Where indices are
    computed, compute_at relies on the declared part and computes no more.
    """
    found = edit.block(block)
    if buf_type not in ("read", "write"):
        edit.refuse(f"expected 'read' or 'write', got {buf_type!r}")
    is_written = buf_type == "write"
    read = [*found.reads, *(Access(loaded, ()) for loaded in found.loaded)]
    accesses = found.writes if is_written else read
    buffer = buffer_of(edit, found, accesses, buffer_index, f"{buf_type}s")
    if (count := len(gen_new_ranges.parameters)) != len(found.iters):
        edit.refuse(f"'{found.name}' has {len(found.iters)} iters, but the map of ranges takes {count}")
    starts, stops = _ends(edit, found, buffer, gen_new_ranges)
    for place in _places(found, buffer, is_written):
        for index, start, stop in zip(place, starts, stops, strict=True):
            if index is not None and not (is_never_negative(index - start) and is_never_negative(stop - 1 - index)):
                problem = f"'{found.name}' {buf_type}s '{buffer.name}' at {index}"
                edit.refuse(f"{problem}, which is outside of the range from {start} to {stop}")
    region = Region(buffer, starts, stops, is_written)
    others = tuple(each for each in found.regions if (each.buffer, each.is_written) != (buffer, is_written))
    edit.replace(found.name, [replace(found, regions=(*others, region))])


def _ends(edit: Edit, block: Block, buffer: Buffer, ranges: IndexMap) -> tuple[tuple[Size, ...], tuple[Size, ...]]:
    """Return the begins and the exclusive ends along each dimension."""
    ends = ranges.at(list(map(iter_variable, block.iters)))
    rank = len(buffer.shape)
    if len(ends) == rank:
        return ends, tuple(end + 1 for end in ends)
    if len(ends) != 2 * rank:
        expected = f"a begin and an end for each of the {rank} dimensions of '{buffer.name}'"
        edit.refuse(f"expected {expected}, got {len(ends)} numbers")
    return ends[::2], ends[1::2]


def _places(block: Block, buffer: Buffer, is_written: bool) -> list[Place]:
    """Return the indices at which a block accesses a buffer, in terms of its iters."""
    if is_written:
        return [access.indices for access in block.writes_of(buffer)]
    loads = [places_of_load(load) for load in block.loads if load.buffer is buffer]
    return [*(access.indices for access in block.reads_of(buffer)), *loads]
