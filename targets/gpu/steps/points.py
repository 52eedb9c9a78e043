# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A thread for each of some adjacent points, as steps."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.rewriting import Decline
from ....passes.loops.handles import BlockRV, LoopRV
from ....passes.loops.schedule import Schedule
from ....passes.loops.tree import REDUCE, SPATIAL, Block, iter_variable
from ..unplanned.transpose import Turned

#: Threads of a block.
THREADS = 256


def schedule_points(sch: Schedule, block: Block, epilogues: Sequence[Block], lanes: int) -> None:
    """Threads compute `lanes` adjacent elements of the output each, whose sums stay in registers."""
    handle = sch.get_block(block.name)
    loops = sch.get_loops(handle)
    parallel, reduced = (by_kind(block, loops, kind) for kind in (SPATIAL, REDUCE))
    if not parallel:
        parallel = [sch.add_unit_loop(loops[0] if loops else handle)]
    elif [*parallel, *reduced] != loops:
        sch.reorder(*parallel, *reduced)
    _, thread, *lane = _bound(sch, fused(sch, parallel), lanes)
    if reduced and lane:
        sch.reorder(*reduced, *lane)
    kept = [handle]
    if reduced:
        kept += in_registers(sch, handle, block, epilogues, thread)
        if block.inits is not None:
            kept.append(sch.decompose_reduction(handle, reduced[0]))
    for each in kept if lane else []:
        sch.vectorize(sch.get_loops(each)[-1])


def _bound(sch: Schedule, loop: LoopRV, lanes: int) -> list[LoopRV]:
    """Blocks of threads, threads, and where there are several the lanes of a thread."""
    made: list[LoopRV] = sch.split(loop, [None, THREADS, *([lanes] if lanes > 1 else [])])
    sch.bind(made[0], "blockIdx.x")
    sch.bind(made[1], "threadIdx.x")
    return made


def by_kind(block: Block, loops: Sequence[LoopRV], kind: str) -> list[LoopRV]:
    """Those of a block's loops that are of a kind, those of its output in the order of elements in memory."""
    indices = list(block.writes[0].indices)
    numbers = [number for number, each in enumerate(block.iters) if each.kind == kind]
    places = [iter_variable(each) for each in block.iters]
    return [loops[n] for n in sorted(numbers, key=lambda n: indices.index(places[n]) if places[n] in indices else -1)]


def fused(sch: Schedule, loops: Sequence[LoopRV]) -> LoopRV:
    made: LoopRV = sch.fuse(*loops) if len(loops) > 1 else loops[0]
    return made


def in_registers(
    sch: Schedule, handle: BlockRV, block: Block, epilogues: Sequence[Block], loop: LoopRV
) -> list[BlockRV]:
    """What takes a reduction's results out of registers in a loop: what is done to each of them, or copies."""
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


def schedule_sum_of_parts(sch: Schedule, name: str, epilogues: Sequence[Block], lanes: int) -> None:
    """A thread for each result of what adds up a reduction's parts."""
    _, tree = sch.read_of(sch.trees()[0].name)
    schedule_points(sch, tree.block(name), epilogues, lanes)


def schedule_turned(sch: Schedule, block: Block, tile: Turned, chains: Sequence[Sequence[int]]) -> None:
    """A block of threads for each tile, which they read along the one loop and write along the other."""
    raise Decline(f"'{block.name}' is a transposition by tiles")
