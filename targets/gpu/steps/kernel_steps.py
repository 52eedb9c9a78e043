# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The schedule that a PrimFunc's kernels stand for: each kernel, of the form that it would have, as steps.

Forms are chosen by what chooses them for kernels: plans, and what gpu-outline-kernels asks of operations on memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from ....bindings.ir import Module as MlirModule
from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, constant_of, operations_of, symbol_name
from ....bindings.rewriting import Decline
from ....dialects.core.ir_attributes import ROW_LOOPS, UNPLANNED
from ....emit.numbers import as_index
from ....passes.loops.buffer_allocation import places_of
from ....passes.loops.bufferized import Scratch, over_memory
from ....passes.loops.memory_scopes import BLOCKS, THREADS, Sharing
from ....passes.loops.schedule import Schedule
from ....passes.loops.tree import SPATIAL, Block, Loop, Tree, loops_in
from ....passes.rows.row_groups import rows_in
from ....passes.rows.writing import is_worth_it, write
from ....passes.schedule.plan_steps import operations_of_blocks
from ....passes.schedule.planning import plan_each
from ....passes.schedule.registry import ScheduleContext
from ....targets.core.backend import Machine
from ..emit.threads import usual_threads
from ..kernels.fused import Fused, fused_in
from ..parallel_work import is_shared
from ..unplanned.collapse import collapse_loops, joined_loops
from ..unplanned.points import Points
from ..unplanned.reduce import is_combined, shape_of_row
from ..unplanned.rows import rows_of
from ..unplanned.split import count_of_parts
from ..unplanned.teams import TeamShape, steps_of
from ..unplanned.transpose import turned
from ..unplanned.vectors import lanes_of
from .point_steps import schedule_points, schedule_turned
from .product_steps import schedule_product
from .row_steps import Member, schedule_parts, schedule_rows


def schedule_of_kernels(function: Operation, context: ScheduleContext) -> Schedule:
    """What a PrimFunc's kernels do as a schedule of it. Raises Decline with the reason where steps cannot say it."""
    with function.context:
        teams = _mark_rows(function, context.machine)
        plan_each(function, context)
    sch = Schedule(function)
    _, tree = sch.scratch_of(symbol_name(function))
    # Loops of operations are joined where forms are asked for.
    copy = Scratch(function)
    with copy.function.context:
        _Kernels(sch, tree, copy.function, context.machine).schedule(teams)
    _check_kernels(sch.trees()[0])
    return sch


# ---- loops over rows ----


def _mark_rows(function: Operation, machine: Machine) -> list[tuple[TeamShape, int]]:
    """Says of operations which rows they go through together; for each loop over rows how these are shared."""
    found = [each for each in rows_in(body_of(function)) if is_worth_it(each, machine)]
    if not found:
        return []
    teams = _teams(function, machine)
    for number, rows in enumerate(found):
        for place, op in enumerate(rows.ops):
            dims = [loop[place] for loop in rows.loops]
            op.operation.attributes[ROW_LOOPS] = ir.DenseI64ArrayAttr.get([number, *dims])
            op.operation.attributes[UNPLANNED] = ir.StringAttr.get("it is done row by row")
    return teams


def _teams(function: Operation, machine: Machine) -> list[tuple[TeamShape, int]]:
    """For each loop over rows the team of threads for one, and how many teams are in a block."""
    module = MlirModule.create(function.location)
    copy = function.clone(ip=ir.InsertionPoint(module.body)).operation
    for rows in [each for each in rows_in(body_of(copy)) if is_worth_it(each, machine)]:
        write(rows, machine)
    loops = [op for op in operations_of(body_of(over_memory(module, symbol_name(function)))) if is_shared(op)]
    return [_team(loop, machine.block_threads) for loop in loops]


def _team(loop: Operation, most: int) -> tuple[TeamShape, int]:
    with loop.location, ir.InsertionPoint(loop):
        steps = steps_of(loop)
    rows = rows_of(loop)
    if rows is None:
        return TeamShape(usual_threads(most), 1, 0), 1
    shape = rows.shape().within(most)
    return shape, shape.teams(steps if isinstance(steps, int) else -1)


# ---- kernels ----


@dataclass(frozen=True)
class _Kernels:
    sch: Schedule
    tree: Tree
    function: Operation
    machine: Machine

    @property
    def threads(self) -> int:
        """Of a block, where nothing says how many."""
        return usual_threads(self.machine.block_threads)

    def schedule(self, teams: Sequence[tuple[TeamShape, int]]) -> None:
        body = body_of(self.function)
        pairs = [(block, op) for block, op in operations_of_blocks(self.tree, self.function) if op is not None]
        for block, _ in pairs:
            if len(self.tree.around(block.name)) != len(block.iters) or len(self.tree.body) != len(self.tree.blocks()):
                raise Decline(f"'{block.name}' has other loops in its text than its kernel is about")
        together = fused_in(body)
        found: list[tuple[Fused, Block, list[Block]]] = []
        for number, members in groupby(pairs, key=lambda pair: _row_number(pair[1])):
            if number is not None:
                self._rows(list(members), teams[number])
                continue
            for block, op in members:
                if all(op not in each.epilogues for each in together):
                    fused = next((each for each in together if each.main == op), Fused((), op))
                    found.append((fused, block, [each for each, op in pairs if op in fused.epilogues]))
        for each in found:  # operations are others from here on
            self._kernel(*each)

    def _rows(self, members: Sequence[tuple[Block, Operation]], team: tuple[TeamShape, int]) -> None:
        rows = [Member(block, tuple(op.attributes[ROW_LOOPS])[1:]) for block, op in members]
        schedule_rows(self.sch, rows, *team)

    def _kernel(self, fused: Fused, block: Block, epilogues: Sequence[Block]) -> None:
        if fused.plan is not None:
            schedule_product(self.sch, block, epilogues, fused.planned(), self.threads)
            return
        points = Points(fused.main)
        with fused.main.location, ir.InsertionPoint(fused.main):
            parts = count_of_parts(points)
        if isinstance(parts, int):  # else sizes tell at run time, and there is one
            shape = shape_of_row(points).within(self.threads) if points.reduces_rows() else None
            schedule_parts(self.sch, block, epilogues, parts, shape, self.threads)
            return
        chains = joined_loops(fused.main)
        main, others = collapse_loops(fused.main), [collapse_loops(op) for op in fused.epilogues]
        points = Points(main)
        if points.reduces_rows() and is_combined(points):
            shape = shape_of_row(points).within(self.threads)
            with main.location, ir.InsertionPoint(main):
                rows = constant_of(as_index(points.count()))
            member = Member(block, tuple(n for n, each in enumerate(block.iters) if each.kind == SPATIAL))
            schedule_rows(self.sch, [member], shape, shape.teams(-1 if rows is None else rows), epilogues)
            return
        tile = None if others else turned(points, self.machine.shared_bytes)
        if tile is not None:
            schedule_turned(self.sch, block, tile, chains, self.threads)
            return
        lanes = lanes_of(points, [Points(each) for each in others])
        schedule_points(self.sch, block, epilogues, lanes, self.threads)


def _row_number(op: Operation) -> int | None:
    return op.attributes[ROW_LOOPS][0] if ROW_LOOPS in op.attributes else None


def _check_kernels(tree: Tree) -> None:
    """Raises RelaxError for nests that could be no kernels."""
    places = places_of(tree)
    for node in tree.body:
        if isinstance(node, Loop) and any(each.kind in (*BLOCKS, *THREADS) for each in loops_in([node])):
            Sharing(tree, node, places)
