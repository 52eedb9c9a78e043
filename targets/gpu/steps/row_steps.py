# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule steps of rows with a team of threads each: reductions in parts, with partial sums in shared memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.rewriting import Decline
from ....passes.loops.handles import BlockRV, LoopRV
from ....passes.loops.lanes import LaneLoop, is_row_of, moves_of
from ....passes.loops.schedule import Schedule
from ....passes.loops.tree import REDUCE, SPATIAL, Block
from ....passes.schedule.plan_steps import fused
from ..unplanned.reduce import FOR_REDUCTIONS, shape_for
from ..unplanned.row_teams import TeamShape
from .point_steps import block_of, by_kind, schedule_points

#: For the sum of parts: elements that a thread reads at once, and the bytes of an element.
_LANES, _BYTES = 4, 4


class Member(NamedTuple):
    """Block that works on rows, and the numbers of its row loops."""

    block: Block
    rows: tuple[int, ...]


class _Nest(NamedTuple):
    """Loop nest of a row: partial reduction (`is_part`), elementwise work (`is_along`), or a scalar computation."""

    handle: BlockRV
    rows: list[LoopRV]
    is_part: bool = False
    is_along: bool = False


def schedule_rows(
    sch: Schedule, members: Sequence[Member], shape: TeamShape, teams: int, epilogues: Sequence[Block] = ()
) -> None:
    """Schedule all blocks row by row, with `teams` rows per block of threads."""
    inlined = _inlined(sch, members, shape)
    nests = [nest for member in members if member.block not in inlined for nest in _nests(sch, member, shape)]
    for epilogue in epilogues:
        handle = sch.get_block(epilogue.name)
        nests.append(_Nest(handle, _rows(sch, handle, range(len(epilogue.iters)))))
    if len(nests) > 1:
        sch.merge(*(nest.rows[-1] for nest in nests))
    count = len(nests[0].rows)
    row = fused(sch, sch.get_loops(nests[0].handle)[:count])
    if teams > 1 and members[0].rows:
        row, team = sch.split(row, [None, teams])
        sch.bind(row, "blockIdx.x")
        sch.bind(team, "threadIdx.y")
    else:
        sch.bind(row, "blockIdx.x")
    for nest in nests:
        if nest.is_part:
            _bind_part(sch, nest.handle, shape)
        elif nest.is_along:
            _, thread, *lane = sch.split(sch.get_loops(nest.handle)[-1], _factors(shape))
            sch.bind(thread, "threadIdx.x")
            if lane:
                sch.vectorize(lane[0])


def _inlined(sch: Schedule, members: Sequence[Member], shape: TeamShape) -> list[Block]:
    """Inline elementwise blocks of long or dynamic rows, because registers have no room for them.

    Return these blocks.
    """
    found = []
    for member in members:
        (made, *others) = member.block.writes
        along = [each for number, each in enumerate(member.block.iters) if number not in member.rows]
        is_long = not shape.chunks or any(not isinstance(each.extent, int) for each in along)
        is_own = not others and not made.buffer.is_given
        if along and is_long and is_own and not member.block.is_reduction:
            sch.compute_inline(sch.get_block(member.block.name))
            found.append(member.block)
    return found


def _factors(shape: TeamShape) -> list[int | None]:
    return [None, shape.threads, *([shape.lanes] if shape.lanes > 1 else [])]


def _nests(sch: Schedule, member: Member, shape: TeamShape) -> list[_Nest]:
    block, handle = member.block, sch.get_block(member.block.name)
    loops = sch.get_loops(handle)
    along = [loop for number, loop in enumerate(loops) if number not in member.rows]
    rows = _rows(sch, handle, member.rows)
    if not along:
        return [_Nest(handle, rows)]
    if block.is_reduction and any(each.kind == SPATIAL for n, each in enumerate(block.iters) if n not in member.rows):
        raise Decline(f"'{block.name}' reduces each row to more than one number, which no step expresses")
    line = fused(sch, along)
    if not block.is_reduction:
        return [_Nest(handle, rows, is_along=True)]
    outer, thread, *lane = sch.split(line, _factors(shape))
    sch.reorder(thread, outer, *lane)
    part = sch.rfactor(thread, len(block.writes[0].indices))
    # The adding block has its own loops, in the order of the block's iters.
    kept = sorted(member.rows)
    return [_Nest(part, rows, is_part=True), _Nest(handle, _rows(sch, handle, [kept.index(n) for n in member.rows]))]


def _rows(sch: Schedule, handle: BlockRV, numbers: Sequence[int]) -> list[LoopRV]:
    """Return the loops over rows, moved outermost around the block."""
    loops = sch.get_loops(handle)
    rows = [loops[number] for number in numbers]
    if not rows:
        return [sch.add_unit_loop(loops[0] if loops else handle)]
    if rows != loops[: len(rows)]:
        sch.reorder(*rows, *(loop for loop in loops if loop not in rows))
    return rows


def _bind_part(sch: Schedule, part: BlockRV, shape: TeamShape) -> None:
    """Bind a partial reduction to threads, with the sum in a register."""
    lanes = int(shape.lanes > 1)
    loops = sch.get_loops(part)
    thread, steps = loops[-2 - lanes], loops[-1 - lanes]
    copy = sch.cache_write(part, 0, "local")
    sch.reverse_compute_at(copy, thread)
    sch.bind(thread, "threadIdx.x")
    sch.decompose_reduction(part, steps)
    if lanes:
        _read_vectors(sch, part, steps, loops[-1], shape.lanes)
        sch.unroll(loops[-1])


def _read_vectors(sch: Schedule, part: BlockRV, steps: LoopRV, lane: LoopRV, count: int) -> None:
    """Load the elements of a thread's lanes into registers as vectors."""
    lanes, block = LaneLoop(lane.name, count), block_of(sch, part)
    for number, access in enumerate(block.reads):
        is_once = sum(each.buffer is access.buffer for each in block.accesses) == 1
        if is_once and is_row_of(moves_of(block.placed(access), lanes)):
            copy = sch.cache_read(part, number, "local", consumer_blocks=[part])
            sch.compute_at(copy, steps)
            sch.vectorize(sch.get_loops(copy)[-1])


def schedule_parts(
    sch: Schedule, block: Block, epilogues: Sequence[Block], parts: int, shape: TeamShape | None, threads: int
) -> None:
    """Schedule a reduction in parts, with a block of threads or a thread per part. Another kernel adds the parts."""
    handle = sch.get_block(block.name)
    loops = sch.get_loops(handle)
    spatial, reduced = (by_kind(block, loops, kind) for kind in (SPATIAL, REDUCE))
    if [*spatial, *reduced] != loops:
        sch.reorder(*spatial, *reduced)
    line = fused(sch, reduced)
    if shape is None:
        steps, part = sch.split(line, [None, parts])
        sch.reorder(part, steps)
        sums = block_of(sch, sch.rfactor(part, 0))
        schedule_points(sch, sums, [], 1, threads)
        schedule_points(sch, block_of(sch, handle), epilogues, 1, threads)
        return
    steps, part, inner = sch.split(line, [None, parts, shape.threads * shape.lanes])
    sch.reorder(part, steps, inner)
    sums = block_of(sch, sch.rfactor(part, len(spatial)))
    schedule_rows(sch, [Member(sums, tuple(range(len(spatial) + 1)))], shape, 1)
    lanes = math.gcd(parts, _LANES)
    team = shape_for(parts, lanes, _BYTES, FOR_REDUCTIONS).within(threads)
    counts = [each.extent for each in block.iters if each.kind == SPATIAL]
    known = [count for count in counts if isinstance(count, int)]
    rows = math.prod(known) if len(known) == len(counts) else -1
    schedule_rows(sch, [Member(block_of(sch, handle), tuple(range(len(spatial))))], team, team.teams(rows), epilogues)
