# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planned group that becomes a kernel: a reduction with its epilogues, and its division among blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial

from ....bindings.ir import Value
from ....bindings.rewriting import Decline
from ....emit.combiner import combiners
from ....emit.memrefs import storage_bytes
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.fitting import check_loops, check_reads_outputs
from ....passes.kernels.schedule.loop_collapsing import asks_for_result
from ....passes.kernels.schedule.plan import Plan
from ...core.machine import Machine
from .dequantized_operand import factor_of
from .step_vectors import extents_of

#: Limits per block: threads, and bytes of shared memory. A device may have less memory (see gpu-place-shared).
_MOST_THREADS, _MOST_SHARED = Machine.block_threads, 227 << 10
#: Most adjacent rows of a thread.
_ROWS_TOGETHER = 4
#: Padding bytes between rows in shared memory, so that threads that write a column do not conflict in banks.
GAP_BYTES = 16


@dataclass(frozen=True)
class PlannedGroup:
    """A reduction on memrefs, and the operations that consume each of its results one after the other."""

    op: StructuredOp
    plan: Plan
    #: The scalar that each sum starts from; None if the sums start from the output.
    initial: Value | None = None
    #: Each reads the memref that the previous operation writes. Only the results of the last one are stored.
    epilogues: list[StructuredOp] = field(default_factory=list)


@dataclass(frozen=True)
class Tile:
    """Rectangle of the result that a block of threads computes. Loops are the plan's chains."""

    plan: Plan

    @property
    def columns(self) -> int:
        return self.plan.vector

    @property
    def steps(self) -> int:
        """Chain of all reduction loops."""
        return self.plan.order[-1]

    @cached_property
    def rows(self) -> int | None:
        """Chain of the rows, or None if each result has a column of its own."""
        return next((dim for dim, _ in self.plan.threads if dim not in (self.columns, self.steps)), None)

    @property
    def batches(self) -> list[int]:
        """Loops of which a block has one point, outermost first. They include the loop over the reduction's parts."""
        return [dim for dim in self.plan.order if dim not in (self.columns, self.rows, self.steps)]

    def threads_along(self, dim: int | None) -> int:
        return dict(self.plan.threads).get(-1 if dim is None else dim, 1)

    @property
    def threads(self) -> int:
        return math.prod(count for _, count in self.plan.threads)

    @property
    def lanes(self) -> int:
        return self.plan.lanes

    @property
    def rows_of_thread(self) -> int:
        return 1 if self.rows is None else self.plan.tile.get(self.rows, 1)

    @property
    def rows_together(self) -> int:
        """Number of adjacent rows of a thread."""
        return math.gcd(self.rows_of_thread, _ROWS_TOGETHER)

    @property
    def vectors_of_thread(self) -> int:
        return self.plan.tile.get(self.columns, 1)

    @cached_property
    def height(self) -> int:
        """Number of rows of a block."""
        return self.threads_along(self.rows) * self.rows_of_thread

    @cached_property
    def width(self) -> int:
        """Number of columns of a block."""
        return self.threads_along(self.columns) * self.vectors_of_thread * self.lanes

    @cached_property
    def depth(self) -> int:
        """Reduction steps that are in shared memory at once."""
        return dict(self.plan.blocks).get(self.steps, 1)

    def extent(self, dim: int | None) -> int:
        """Return the number of points of a chain per block."""
        return {self.rows: self.height, self.columns: self.width, self.steps: self.depth}.get(dim, 1)


def check_group(group: PlannedGroup) -> None:
    """Raise Decline with the reason if a plan does not fit."""
    op, plan = group.op, group.plan
    check_loops(op, plan)
    if not plan.threads:
        raise Decline("the plan has no 'threads', the loops that a block's threads share")
    if plan.carried != 1 or set(plan.joined[plan.order[-1]]) != op.reductions:
        raise Decline("the last loop of the order must be carried and contain all reductions")
    shared = [dim for dim, _ in plan.threads]
    if plan.vector not in shared or plan.vector in plan.order[-1:]:
        raise Decline("threads must share the loop of vectors, which must not be a reduction")
    if len([dim for dim in shared if dim != plan.order[-1]]) > 2:
        raise Decline("threads can share one loop of rows, the columns and the reduction only")
    if (wrong := next((dim for dim, _ in plan.blocks if dim != plan.order[-1]), None)) is not None:
        raise Decline(f"'blocks' must name the reduction, not loop {plan.joined[wrong][0]}")
    if plan.parts is not None and plan.parts.dim != plan.order[-1]:
        raise Decline(f"'parts' must name the reduction, not loop {plan.joined[plan.parts.dim][0]}")
    if any(clause is not None for clause in (plan.square, plan.panel, plan.parallel, plan.dot, plan.tiles)):
        raise Decline("'square', 'panel', 'parallel', 'dot' and 'tiles' are for CPUs")
    if plan.lanes & (plan.lanes - 1):
        raise Decline(f"{plan.lanes} lanes are not a power of two")
    if Tile(plan).threads > _MOST_THREADS:
        raise Decline(f"{Tile(plan).threads} threads are more than a block may have: {_MOST_THREADS}")
    (_check_strip if plan.order[-1] in shared else _check_tiles)(op, plan)
    check_reads_outputs(op)
    if len(combiners(op)) != 1 or asks_for_result(op):
        raise Decline("it reduces to several numbers, or its body uses the index of a result")
    tile = Tile(plan)
    for operand in plan.shared:
        if operand >= op.input_count or side_of(op, tile, operand) is None:
            raise Decline(
                f"operand {operand} cannot be shared by a block's threads: it needs rows or columns, but not both"
            )
    if (room := plan.stages * sum(map(partial(_room, op, tile), plan.shared))) > _MOST_SHARED:
        raise Decline(f"{room} bytes of shared memory are more than a block may have: {_MOST_SHARED}")


def part_loop(op: StructuredOp, plan: Plan) -> int | None:
    """Return the loop over the parts of a reduction, along which no input changes.

    None if the reduction is not split.
    """
    return next(iter(loops_of_no_input(op)), None) if plan.parts is not None else None


def loops_of_no_input(op: StructuredOp) -> list[int]:
    inputs = range(op.input_count)
    return [dim for dim in op.parallels if op.sizes[dim] != 1 and not any(op.uses(input_, dim) for input_ in inputs)]


def _check_tiles(_: StructuredOp, plan: Plan) -> None:
    if plan.order[-1] in plan.tile:
        raise Decline("the reduction cannot have a tile if threads share rows and columns only")


def _check_strip(op: StructuredOp, plan: Plan) -> None:
    if plan.shared or plan.blocks or plan.stages > 1 or plan.instruction is not None:
        raise Decline("'shared', 'blocks', 'stages' and 'instruction' require that threads do not share the reduction")
    parts = dict(plan.threads)[plan.order[-1]]
    if parts & (parts - 1):
        raise Decline(f"{parts} parts of the reduction are not a power of two")
    extents_of(op, plan.joined[plan.order[-1]], plan.tile.get(plan.order[-1], 1))


def _room(op: StructuredOp, tile: Tile, operand: int) -> int:
    """Return the bytes of an input's block in shared memory, whatever its layout there."""
    extent, depth = tile.extent(side_of(op, tile, operand)), tile.depth
    size = storage_bytes(factor_of(op, operand).type)
    gap = GAP_BYTES // size
    return max(extent * (depth + gap), depth * (extent + gap)) * size


def side_of(op: StructuredOp, tile: Tile, operand: int) -> int | None:
    """Return the chain, rows or columns, that indexes an input together with the reduction steps."""
    used = [
        dim
        for dim in (tile.rows, tile.columns, tile.steps)
        if dim is not None and any(op.uses(operand, each) for each in tile.plan.joined[dim])
    ]
    return used[0] if len(used) == 2 and used[1] == tile.steps else None
