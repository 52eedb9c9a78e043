# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule steps of planned products: rectangles of the result in registers, blocks of the inputs in shared memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....bindings.rewriting import Decline
from ....dialects.core.symbols_expr import variables_of
from ....emit.memrefs import storage_bytes
from ....passes.loops.handles import BlockRV, IndexMap, LoopRV
from ....passes.loops.schedule import Schedule
from ....passes.loops.tree import Access, Block, iter_variable, variable
from ....passes.schedule.plan_steps import fused, in_registers
from ...core.machine import Machine
from ..planned.dequantized_operand import made_of
from ..planned.group import PlannedGroup, Tile
from .point_steps import block_of, joined_map


def schedule_product(
    sch: Schedule, block: Block, epilogues: Sequence[Block], group: PlannedGroup, threads: int
) -> None:
    """Schedule a planned product.

    Raises Decline if no steps express the plan. If the number of parts is only known at run time, the schedule has one
    part. Kernels do the same if the threads of one block are enough.
    """
    op, plan = group.op, group.plan
    if plan.instruction is not None:
        raise Decline(f"'{block.name}' is multiplied by {plan.instruction}, an instruction without an intrinsic")
    if any(made_of(op, operand) for operand in range(op.input_count)):
        raise Decline(f"'{block.name}' dequantizes weights once for all rows of a thread, which no step expresses")
    is_strip = plan.order[-1] in dict(plan.threads)
    (_Strips if is_strip else _Tiles)(sch, group, block, epilogues, threads).schedule()


class _Cut(NamedTuple):
    """Loop over blocks of threads, and the named parts of the loop within a block."""

    outer: LoopRV
    inner: Mapping[str, LoopRV]

    def of(self, *names: str) -> list[LoopRV]:
        return [self.inner[name] for name in names if name in self.inner]


def _cut(sch: Schedule, loop: LoopRV, **factors: int) -> _Cut:
    """Split a loop into the named factors, outermost first. Factors of 1 are left out."""
    kept = {name: count for name, count in factors.items() if count > 1}
    outer, *inner = sch.split(loop, [None, *kept.values()]) if kept else [loop]
    return _Cut(outer, dict(zip(kept, inner, strict=True)))


def _places(block: Block, access: Access) -> list[int | None]:
    """Return, for each iter of a block, the dimension that it indexes; None for an iter of extent 1."""
    indices = list(access.indices)
    places = [iter_variable(each) for each in block.iters]
    return [indices.index(each) if each in indices else None for each in places]


class _Product:
    """Block that computes a product, and its loops. The loops of a plan's chain are fused."""

    def __init__(self, sch: Schedule, group: PlannedGroup, block: Block, epilogues: Sequence[Block], threads: int):
        #: Threads per block of the kernel that adds the parts.
        self._threads = threads
        self._sch, self._group, self._tile = sch, group, Tile(group.plan)
        self._whole: BlockRV = sch.get_block(block.name)
        #: Blocks that read the results from registers.
        self._done = [sch.get_block(each.name) for each in epilogues] or [sch.cache_write(self._whole, 0, "global")]
        plan = group.plan
        is_joined = any(len(chain) > 1 for chain in plan.joined)
        if is_joined:
            self._join()
        loops = sch.get_loops(self._whole)
        #: Loops of the block that sums. The combination of parts has loops of its own.
        self._loops = {chain: loops[chain if is_joined else dims[0]] for chain, dims in enumerate(plan.joined)}
        self._batches = [self._loops[chain] for chain in self._tile.batches]
        #: Copies of the inputs in shared memory.
        self._copies = [self._staged(operand, is_joined) for operand in plan.shared]

    def _join(self) -> None:
        """Fuse the block's iters to one per chain, and the dimensions of the results in registers accordingly."""
        sch, plan = self._sch, self._group.plan
        spatial = [chain for number, chain in enumerate(plan.joined) if number != plan.order[-1]]
        block = self._block(self._whole)
        dims = dict(enumerate(_places(block, block.writes[0])))
        makers = [self._whole, *self._done]
        readers = [self._block(each) for each in self._done]
        reads = [
            _places(each, each.reads_of(self._block(maker).writes[0].buffer)[0])
            for each, maker in zip(readers, makers, strict=False)
        ]
        names = [each.name for each in block.iters]
        sch.transform_block_layout(self._whole, joined_map(block, names, dict(enumerate(names)), plan.joined))
        own = [f"d{number}" for number in range(len(block.writes[0].indices))]
        of_dims = {dim: own[place] for dim, place in dims.items() if place is not None}
        for maker in makers[:-1]:
            sch.transform_layout(maker, ("write", 0), joined_map(block, own, of_dims, spatial))
        for handle, reader, places in zip(self._done, readers, reads, strict=True):
            names = [each.name for each in reader.iters]
            of_reader = {dim: names[places.index(place)] for dim, place in dims.items() if place is not None}
            sch.transform_block_layout(handle, joined_map(block, names, of_reader, spatial))

    def _staged(self, operand: int, is_joined: bool) -> BlockRV:
        """Return a copy in shared memory of the elements that the block reads of an input, indexed by its iters."""
        read = sum(hasattr(self._group.op.operands[each].type, "shape") for each in range(operand))  # without scalars
        if not is_joined:
            copy: BlockRV = self._sch.cache_read(self._whole, read, "shared")
            return copy
        block = self._block(self._whole)
        moving = {name for index in block.reads[read].indices for name in variables_of(index)}
        used = [each for each in block.iters if each.name in moving]
        names = [each.name for each in block.iters]
        index_map = IndexMap(tuple(names), tuple(variable(each.name, each.extent) for each in used))
        copy = self._sch.reindex_cache_read(self._whole, read, "shared", index_map)
        return copy

    def _block(self, handle: BlockRV) -> Block:
        return block_of(self._sch, handle)

    def _split_in_parts(self) -> None:
        """Split the reduction into parts. The original block adds the parts from then on."""
        parts, steps = self._group.plan.parts, self._tile.steps
        if parts is None or parts.steps is not None:
            self._sums = self._whole
            return
        part, self._loops[steps] = self._sch.split(self._loops[steps], [parts.number, None])
        self._sums = self._sch.rfactor(part, 0)
        self._batches.append(part)

    def _columns(self, loop: LoopRV) -> _Cut:
        tile = self._tile
        across = tile.threads_along(tile.columns)
        return _cut(self._sch, loop, vectors=tile.vectors_of_thread, threads=across, lanes=tile.lanes)

    def _bind_blocks(self, column: LoopRV, others: Sequence[LoopRV]) -> None:
        """Bind the block loops. Adjacent blocks of threads have adjacent columns."""
        self._sch.bind(column, "blockIdx.x")
        if others:
            self._sch.bind(fused(self._sch, others), "blockIdx.y")

    def _finish(self, sums: BlockRV, loop: LoopRV) -> list[BlockRV]:
        """Keep results in registers inside a loop.

        Return the blocks that read them: epilogues, or a copy for partial sums.
        """
        if self._sums is not self._whole and sums is self._sums:
            copy = self._sch.cache_write(sums, 0, "local")
            self._sch.reverse_compute_at(copy, loop)
            return [copy]
        for maker, each in zip([self._whole, *self._done], self._done, strict=False):
            self._sch.reverse_compute_at(each, loop)
            self._sch.set_scope(maker, 0, "local")
        return self._done

    def _add_up(self) -> None:
        """Schedule the kernel that adds the parts, with a thread for each result."""
        if self._sums is self._whole:
            return
        sch = self._sch
        loops = sch.get_loops(self._whole)
        block, thread = sch.split(fused(sch, loops[:-1]), [None, self._threads])
        sch.bind(block, "blockIdx.x")
        sch.bind(thread, "threadIdx.x")
        self._finish(self._whole, thread)
        sch.decompose_reduction(self._whole, loops[-1])


class _Tiles(_Product):
    """Product with threads that share rows and columns. Blocks of steps are staged in shared memory."""

    def schedule(self) -> None:
        self._split_in_parts()
        sch, tile, plan = self._sch, self._tile, self._group.plan
        columns = self._columns(self._loops[tile.columns])
        steps = _cut(sch, self._loops[tile.steps], points=tile.depth)
        rows, grid = _Cut(columns.outer, {}), list(self._batches)
        if tile.rows is not None:
            groups, across = tile.rows_of_thread // tile.rows_together, tile.threads_along(tile.rows)
            rows = _cut(sch, self._loops[tile.rows], groups=groups, threads=across, points=tile.rows_together)
            grid.append(rows.outer)
        threads = [*rows.of("threads"), *columns.of("threads")]
        mine = [*rows.of("groups", "points"), *columns.of("vectors", "lanes")]
        sch.reorder(*grid, columns.outer, *threads, steps.outer, *steps.of("points"), *mine)
        self._bind_blocks(columns.outer, grid)
        for axis, each in (("y", rows), ("x", columns)):
            for loop in each.of("threads"):
                sch.bind(loop, f"threadIdx.{axis}")
        done = self._finish(self._sums, (threads or [columns.outer])[-1])
        for operand, copy in zip(plan.shared, self._copies, strict=True):
            self._share(operand, copy, steps.outer)
        start = sch.decompose_reduction(self._sums, steps.outer)
        has_lanes = "lanes" in columns.inner
        for block in (self._sums, start, *done):
            in_registers(sch, block, len(mine) - has_lanes, has_lanes)
        if plan.stages > 1:
            sch.pipeline(steps.outer, plan.stages)
        self._add_up()

    def _share(self, operand: int, copy: BlockRV, loop: LoopRV) -> None:
        """Distribute the copy of an input's block of steps over all threads of a block."""
        sch, tile = self._sch, self._tile
        sch.compute_at(copy, loop)
        loops = sch.get_loops(copy)
        lanes = max(Machine.thread_bytes // storage_bytes(self._group.op.element(operand)), 1)
        line = fused(sch, loops[loops.index(loop) + 1 :])
        parts = _cut(sch, line, y=tile.threads_along(tile.rows), x=tile.threads_along(tile.columns), lanes=lanes)
        for axis in ("y", "x"):
            for each in parts.of(axis):
                sch.bind(each, f"threadIdx.{axis}")
        for each in parts.of("lanes"):
            sch.vectorize(each)


class _Strips(_Product):
    """Product with threads that share columns and steps, and add their sums at the end."""

    def schedule(self) -> None:
        self._split_in_parts()
        sch, tile, plan = self._sch, self._tile, self._group.plan
        steps = _cut(sch, self._loops[tile.steps], threads=tile.threads_along(tile.steps),
                     points=plan.tile.get(tile.steps, 1))  # fmt: skip
        if not steps.of("threads"):
            raise Decline(f"'{self._whole.name}' has few rows, and its steps are not shared by threads")
        own = sch.get_loops(self._sums)
        sch.reorder(*steps.of("threads"), steps.outer, *steps.of("points"))
        part = sch.rfactor(steps.inner["threads"], len(self._block(self._sums).writes[0].indices))
        # The adding block has its own loops in the same order; it is the second of each pair.
        of_whole = dict(zip([each.name for each in own], sch.get_loops(self._sums), strict=False))
        last = sch.get_loops(self._sums)[-1]
        sides = [lambda loop: loop, lambda loop: of_whole[loop.name]]
        cuts = [self._columns(side(self._loops[tile.columns])) for side in sides]
        rows = [[side(self._loops[tile.rows])] if tile.rows is not None else [] for side in sides]
        grid = [[side(each) for each in self._batches] for side in sides]
        threads = [*cuts[0].of("threads"), *steps.of("threads")]
        axes = "yx" if plan.threads[-1][0] == tile.steps else "xy"
        mine = [[*rows[n], *cuts[n].of("vectors", "lanes")] for n in range(2)]
        sch.reorder(*grid[0], cuts[0].outer, *threads, steps.outer, *steps.of("points"), *mine[0])
        sch.reorder(*grid[1], cuts[1].outer, *cuts[1].of("threads"), last, *mine[1])
        column = sch.merge(cuts[0].outer, cuts[1].outer)
        around = sch.get_loops(part)
        self._bind_blocks(column, around[: around.index(column)])
        of_columns = [*cuts[0].of("threads"), *cuts[1].of("threads")]
        for axis, bound in zip(axes, (of_columns, steps.of("threads")), strict=True):
            for loop in bound:
                sch.bind(loop, f"threadIdx.{axis}")
        stored = sch.cache_write(part, 0, "local")
        sch.reverse_compute_at(stored, threads[-1])
        done = self._finish(self._sums, (cuts[1].of("threads") or [column])[-1])
        has_lanes = "lanes" in cuts[0].inner
        for each in (part, sch.decompose_reduction(part, steps.outer), stored, self._sums, *done):
            in_registers(sch, each, len(mine[0]) - has_lanes, has_lanes)
        self._add_up()
