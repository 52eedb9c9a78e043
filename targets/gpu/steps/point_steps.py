# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule steps that assign adjacent points to each thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....dialects.core.symbols_expr import Size, variables_of
from ....passes.loops.handles import BlockRV, IndexMap, LoopRV
from ....passes.loops.schedule import Schedule
from ....passes.loops.tree import REDUCE, SPATIAL, Block, iter_variable, variable
from ....passes.schedule.plan_steps import fused
from ..emit.threads import WARP
from ..unplanned.transpose import Turned


def schedule_points(sch: Schedule, block: Block, epilogues: Sequence[Block], lanes: int, threads: int) -> None:
    """Assign `lanes` adjacent output elements to each thread, `threads` threads per block. Sums stay in registers."""
    handle = sch.get_block(block.name)
    loops = sch.get_loops(handle)
    parallel, reduced = (by_kind(block, loops, kind) for kind in (SPATIAL, REDUCE))
    if not parallel:
        parallel = [sch.add_unit_loop(loops[0] if loops else handle)]
    elif [*parallel, *reduced] != loops:
        sch.reorder(*parallel, *reduced)
    _, thread, *lane = _bound(sch, fused(sch, parallel), lanes, threads)
    if reduced and lane:
        sch.reorder(*reduced, *lane)
    kept = [handle]
    if reduced:
        kept += in_registers(sch, handle, block, epilogues, thread)
        if block.inits is not None:
            kept.append(sch.decompose_reduction(handle, reduced[0]))
    for each in kept if lane else []:
        sch.vectorize(sch.get_loops(each)[-1])


def _bound(sch: Schedule, loop: LoopRV, lanes: int, threads: int) -> list[LoopRV]:
    """Bind a loop to blocks and threads. Return these loops, and the lane loop if `lanes` exceeds 1."""
    made: list[LoopRV] = sch.split(loop, [None, threads, *([lanes] if lanes > 1 else [])])
    sch.bind(made[0], "blockIdx.x")
    sch.bind(made[1], "threadIdx.x")
    return made


def by_kind(block: Block, loops: Sequence[LoopRV], kind: str) -> list[LoopRV]:
    """Return a block's loops of a kind. Loops that index the output come in the order of elements in memory."""
    indices = list(block.writes[0].indices)
    numbers = [number for number, each in enumerate(block.iters) if each.kind == kind]
    places = [iter_variable(each) for each in block.iters]
    return [loops[n] for n in sorted(numbers, key=lambda n: indices.index(places[n]) if places[n] in indices else -1)]


def in_registers(
    sch: Schedule, handle: BlockRV, block: Block, epilogues: Sequence[Block], loop: LoopRV
) -> list[BlockRV]:
    """Keep a reduction's results in registers inside a loop. Return the blocks that read them: epilogues or copies."""
    if not epilogues:
        if block.inits is None:
            return []
        copies = [sch.cache_write(handle, number, "local") for number in range(len(block.writes))]
        for copy in copies:
            sch.reverse_compute_at(copy, loop)
        return copies
    maker, found = handle, []
    for epilogue in epilogues:
        each = sch.get_block(epilogue.name)
        sch.reverse_compute_at(each, loop)
        sch.set_scope(maker, 0, "local")
        maker = each
        found.append(each)
    return found


def block_of(sch: Schedule, handle: BlockRV) -> Block:
    """Return the current text of a block."""
    _, tree = sch.read_of(handle.function)
    return tree.block(handle.name)


def schedule_turned(sch: Schedule, block: Block, tile: Turned, chains: Sequence[Sequence[int]], threads: int) -> None:
    """Schedule a transposition: a block of threads per tile, which reads along one loop and writes along the other."""
    handle = sch.get_block(block.name)
    if any(len(chain) > 1 for chain in chains) or len(chains) < len(block.iters):
        names = [each.name for each in block.iters]
        sch.transform_block_layout(handle, joined_map(block, names, dict(enumerate(names)), chains))
    block = block_of(sch, handle)
    copies = [_turned_copy(sch, handle, block, number, tile) for number in _reads(tile)]
    loops = sch.get_loops(handle)
    inside, rows = sch.split(loops[tile.inside], [None, tile.width])
    outside, columns = sch.split(loops[tile.outside], [None, tile.width])
    others = [loop for number, loop in enumerate(loops) if number not in (tile.inside, tile.outside)]
    sch.reorder(*others, inside, outside, rows, columns)
    sch.bind(outside, "blockIdx.x")
    sch.bind(fused(sch, [*others, inside]), "blockIdx.y")
    for copy in copies:
        sch.compute_at(copy, outside)
        *_, first, second = sch.get_loops(copy)
        along = (first, second) if tile.outside < tile.inside else (second, first)
        _share_tile(sch, along[0], along[1], tile.lanes, threads)
    _share_tile(sch, rows, columns, tile.lanes, threads)


def _reads(tile: Turned) -> list[int]:
    """Return the numbers of the transposed reads. Scalars are not reads."""
    operands = tile.points.operands
    return [sum(hasattr(operands[each].type, "shape") for each in range(place)) for place in tile.places]


def _turned_copy(sch: Schedule, handle: BlockRV, block: Block, number: int, tile: Turned) -> BlockRV:
    """Stage an input's tiles in shared memory, padded so that the elements of a column are in different banks."""
    used = {name for index in block.reads[number].indices for name in variables_of(index)}
    names = [each.name for each in block.iters]
    last = [tile.outside, tile.inside]
    order = [*(n for n, name in enumerate(names) if name in used and n not in last), *last]
    places = tuple(variable(names[n], block.iters[n].extent) for n in order)
    copy: BlockRV = sch.reindex_cache_read(handle, number, "shared", IndexMap(tuple(names), places))
    sch.storage_align(copy, 0, len(order) - 2, tile.width, 1)
    return copy


def _share_tile(sch: Schedule, rows: LoopRV, columns: LoopRV, lanes: int, threads: int) -> None:
    """Assign rows of a tile to warps, and adjacent columns to their threads."""
    _, warp = sch.split(rows, [None, threads // WARP])
    _, thread, *lane = sch.split(columns, [None, WARP, *([lanes] if lanes > 1 else [])])
    sch.bind(warp, "threadIdx.y")
    sch.bind(thread, "threadIdx.x")
    for each in lane:
        sch.vectorize(each)


def joined_map(block: Block, names: Sequence[str], of: Mapping[int, str], chains: Sequence[Sequence[int]]) -> IndexMap:
    """Return the index map that joins a block's loops to chains. A loop without a name has a single step."""
    found: list[Size] = []
    for chain in chains:
        index: Size = 0
        for dim in chain:
            extent = block.iters[dim].extent
            index = index * extent + (variable(of[dim], extent) if dim in of else 0)
        found.append(index)
    return IndexMap(tuple(names), tuple(found))
