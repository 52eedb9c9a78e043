# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of which a team of threads does each, as steps: reductions in parts, whose sums are in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....passes.loops.handles import BlockRV, LoopRV
from ....passes.loops.schedule import Schedule
from ....passes.loops.tree import REDUCE, Block
from ..unplanned.teams import TeamShape
from .points import fused, in_registers, schedule_points


class Member(NamedTuple):
    """A block that works on rows, and which of its loops these are."""

    block: Block
    rows: tuple[int, ...]


class _Nest(NamedTuple):
    """What is done of a row in one nest: a reduction's parts, or all there is along the row; or what is one number."""

    handle: BlockRV
    row: LoopRV
    is_part: bool = False
    is_along: bool = False


def schedule_rows(
    sch: Schedule, members: Sequence[Member], shape: TeamShape, teams: int, epilogues: Sequence[Block] = ()
) -> None:
    """All blocks row by row, as many rows in a block of threads as there are teams."""
    nests = [nest for member in members for nest in _nests(sch, member, shape)]
    nests += [_Nest(each, _row(sch, each, range(len(sch.get_loops(each)))))
              for each in (sch.get_block(epilogue.name) for epilogue in epilogues)]  # fmt: skip
    row = sch.merge(*(nest.row for nest in nests)) if len(nests) > 1 else nests[0].row
    if teams > 1:
        row, team = sch.split(row, [None, teams])
        sch.bind(team, "threadIdx.y")
    sch.bind(row, "blockIdx.x")
    for nest in nests:
        if nest.is_part:
            _bind_part(sch, nest.handle, shape)
        elif nest.is_along:
            _, thread, *lane = sch.split(sch.get_loops(nest.handle)[-1], _factors(shape))
            sch.bind(thread, "threadIdx.x")
            if lane:
                sch.vectorize(lane[0])


def _factors(shape: TeamShape) -> list[int | None]:
    return [None, shape.threads, *([shape.lanes] if shape.lanes > 1 else [])]


def _nests(sch: Schedule, member: Member, shape: TeamShape) -> list[_Nest]:
    block, handle = member.block, sch.get_block(member.block.name)
    loops = sch.get_loops(handle)
    rows = [loops[number] for number in member.rows]
    along = [loop for loop in loops if loop not in rows]
    if not along:
        return [_Nest(handle, _row(sch, handle, member.rows))]
    if [*rows, *along] != loops:
        sch.reorder(*rows, *along)
    line = fused(sch, along)
    if not block.is_reduction:
        return [_Nest(handle, _row(sch, handle, range(len(rows))), is_along=True)]
    outer, thread, *lane = sch.split(line, _factors(shape))
    sch.reorder(thread, outer, *lane)
    part = sch.rfactor(thread, len(block.writes[0].indices))
    # What adds up has loops of its own, in the order of the block's iters.
    kept = sorted(member.rows)
    order = [kept.index(number) for number in member.rows]
    return [_Nest(part, _row(sch, part, range(len(rows))), is_part=True), _Nest(handle, _row(sch, handle, order))]


def _row(sch: Schedule, handle: BlockRV, numbers: Sequence[int]) -> LoopRV:
    """One loop over all rows, around a block."""
    loops = sch.get_loops(handle)
    rows = [loops[number] for number in numbers]
    if not rows:
        made: LoopRV = sch.add_unit_loop(loops[0] if loops else handle)
        return made
    if rows != loops[: len(rows)]:
        sch.reorder(*rows, *(loop for loop in loops if loop not in rows))
    return fused(sch, rows)


def _bind_part(sch: Schedule, part: BlockRV, shape: TeamShape) -> None:
    """What a thread sums, in a register."""
    lanes = int(shape.lanes > 1)
    loops = sch.get_loops(part)
    thread, steps = loops[-2 - lanes], loops[-1 - lanes]
    copy = sch.cache_write(part, 0, "local")
    sch.reverse_compute_at(copy, thread)
    sch.bind(thread, "threadIdx.x")
    sch.decompose_reduction(part, steps)
    if lanes:
        sch.unroll(loops[-1])


def schedule_parts(
    sch: Schedule, block: Block, epilogues: Sequence[Block], parts: int, shape: TeamShape | None
) -> None:
    """A reduction in parts, each by a block of threads or by a thread; what adds them up is another kernel."""
    raise NotImplementedError
