# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planned products as steps: rectangles of the result in registers, blocks of what is read in shared memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....bindings.rewriting import Decline
from ....emit.memrefs import storage_bytes
from ....passes.loops.handles import BlockRV, LoopRV
from ....passes.loops.schedule import Schedule
from ....passes.loops.tree import Block
from ...core.backend import Machine
from ..planned.group import PlannedGroup, Tile
from ..planned.made import made_of
from .points import fused, in_registers

#: Rows that a thread has next to each other, as kernels have them.
_ROWS_TOGETHER = 4


def schedule_product(sch: Schedule, block: Block, epilogues: Sequence[Block], group: PlannedGroup) -> None:
    """Raises Decline where no steps say what the plan does."""
    op, plan, tile = group.op, group.plan, Tile(group.plan)
    if plan.instruction is not None:
        raise Decline(f"'{block.name}' is multiplied by {plan.instruction}, an instruction that is no intrinsic")
    if any(made_of(op, operand) for operand in range(op.input_count)):
        raise Decline(f"'{block.name}' makes its weights of codes for a thread's rows together, which no step says")
    if plan.parts is not None and plan.parts.steps is not None:
        raise Decline(f"in how many parts '{block.name}' is summed depends on sizes that are known at run time only")
    if tile.steps in dict(plan.threads) or plan.parts is not None:
        raise Decline(f"'{block.name}' strips")
    _Tiles(sch, block, epilogues, group).schedule()


class _Cut(NamedTuple):
    """A loop by blocks of threads, and of one of these what a thread has more than once, threads, points, lanes."""

    outer: LoopRV
    inner: Mapping[str, LoopRV]

    def of(self, *names: str) -> list[LoopRV]:
        return [self.inner[name] for name in names if name in self.inner]


def cut(sch: Schedule, loop: LoopRV, **factors: int) -> _Cut:
    """In these parts, outermost first; those of one step are left out."""
    kept = {name: count for name, count in factors.items() if count > 1}
    outer, *inner = sch.split(loop, [None, *kept.values()]) if kept else [loop]
    return _Cut(outer, dict(zip(kept, inner, strict=True)))


class _Tiles:
    def __init__(self, sch: Schedule, block: Block, epilogues: Sequence[Block], group: PlannedGroup):
        self._sch, self._block, self._epilogues, self._group = sch, block, epilogues, group
        self._tile = Tile(group.plan)
        self._handle: BlockRV = sch.get_block(block.name)

    def schedule(self) -> None:
        sch, tile, plan = self._sch, self._tile, self._group.plan
        loops = self._joined()
        together = _ROWS_TOGETHER
        while tile.rows_of_thread % together:
            together //= 2
        groups, lanes = tile.rows_of_thread // together, tile.lanes
        columns = cut(sch, loops[tile.columns], vectors=tile.vectors_of_thread,
                      threads=tile.threads_along(tile.columns), lanes=lanes)  # fmt: skip
        steps = cut(sch, loops[tile.steps], points=tile.depth)
        grid = [loops[dim] for dim in tile.batches]
        rows = _Cut(columns.outer, {})
        if tile.rows is not None:
            rows = cut(sch, loops[tile.rows], groups=groups, threads=tile.threads_along(tile.rows), points=together)
            grid.append(rows.outer)
        threads = [*rows.of("threads"), *columns.of("threads")]
        mine = [*rows.of("groups", "points"), *columns.of("vectors", "lanes")]
        sch.reorder(*grid, columns.outer, *threads, steps.outer, *steps.of("points"), *mine)
        for axis, loop in zip("xy", (columns.outer, *([fused(sch, grid)] if grid else [])), strict=False):
            sch.bind(loop, f"blockIdx.{axis}")
        for axis, each in (("y", rows), ("x", columns)):
            for loop in each.of("threads"):
                sch.bind(loop, f"threadIdx.{axis}")
        done = in_registers(sch, self._handle, self._block, self._epilogues, (threads or [columns.outer])[-1])
        for operand in plan.shared:
            self._share(operand, steps.outer)
        start = sch.decompose_reduction(self._handle, steps.outer)
        has_lanes = "lanes" in columns.inner
        for each in (self._handle, start, *done):
            self._unroll(each, len(mine), has_lanes)
        if plan.stages > 1:
            sch.pipeline(steps.outer, plan.stages)

    def _joined(self) -> list[LoopRV]:
        """The loops of the plan, those that run as one joined."""
        sch, plan = self._sch, self._group.plan
        loops = sch.get_loops(self._handle)
        flat = [loops[dim] for chain in plan.order for dim in plan.joined[chain]]
        if flat != loops:
            sch.reorder(*flat)
        return [fused(sch, [loops[dim] for dim in chain]) for chain in plan.joined]

    def _share(self, operand: int, loop: LoopRV) -> None:
        """Has all threads of a block fetch what a block of steps reads of an input."""
        sch, tile = self._sch, self._tile
        copy = sch.cache_read(self._handle, self._read(operand), "shared")
        sch.compute_at(copy, loop)
        around = len(sch.get_loops(self._handle)) - len(self._inside(loop))
        lanes = max(Machine.thread_bytes // storage_bytes(self._group.op.element(operand)), 1)
        of_copy = fused(sch, sch.get_loops(copy)[around:])
        parts = cut(sch, of_copy, y=tile.threads_along(tile.rows), x=tile.threads_along(tile.columns), lanes=lanes)
        for axis in ("y", "x"):
            for each in parts.of(axis):
                sch.bind(each, f"threadIdx.{axis}")
        for each in parts.of("lanes"):
            sch.vectorize(each)

    def _inside(self, loop: LoopRV) -> list[LoopRV]:
        loops: list[LoopRV] = self._sch.get_loops(self._handle)
        return loops[loops.index(loop) + 1 :]

    def _read(self, operand: int) -> int:
        """Which of the block's reads an input is: scalars are none."""
        op = self._group.op
        return sum(len(op.accesses[each]) > 0 or hasattr(op.operands[each].type, "shape") for each in range(operand))

    def _unroll(self, block: BlockRV, points: int, has_lanes: bool) -> None:
        loops = self._sch.get_loops(block)
        if has_lanes:
            self._sch.vectorize(loops[-1])
        for loop in reversed(loops[len(loops) - points : len(loops) - has_lanes]):
            self._sch.unroll(loop)
