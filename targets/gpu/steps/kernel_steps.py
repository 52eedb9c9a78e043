# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule that reproduces the kernels of a PrimFunc, one kernel form after the other.

The functions that choose the forms of kernels choose them here, too: plans, and the table of forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from ....bindings.ir import Module as MlirModule
from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_of, symbol_name
from ....bindings.rewriting import Decline
from ....dialects.core.ir_attributes import ROW_LOOPS, UNPLANNED
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
from ....targets.core.machine import Machine
from ..forms.form import Collapsed, Limits, SharedLoop
from ..forms.points_form import PointsForm
from ..forms.rows_form import RowsForm
from ..forms.table import form_of
from ..forms.turned_form import TurnedForm
from ..kernels.fused import Fused, fused_in
from ..parallel_work import is_shared
from ..unplanned.collapse import joined_loops
from ..unplanned.points import Points
from ..unplanned.reduce import shape_of_row
from ..unplanned.row_teams import TeamShape
from ..unplanned.split import count_of_parts
from .point_steps import schedule_points, schedule_turned
from .product_decisions import decided_product
from .product_steps import schedule_product
from .row_steps import Member, schedule_parts, schedule_rows


def schedule_of_kernels(function: Operation, context: ScheduleContext) -> Schedule:
    """Return the schedule of a PrimFunc's kernels. Raises Decline with the reason if steps cannot express it."""
    with function.context:
        teams = _mark_rows(function, context.machine)
        plan_each(function, context)
    sch = context.schedule(function)
    _, tree = sch.scratch_of(symbol_name(function))
    # Querying a form collapses loops, so that this happens on a copy.
    copy = Scratch(function)
    with copy.function.context:
        _Kernels(sch, tree, copy.function, _limits(context.machine)).schedule(teams)
    _check_kernels(sch.trees()[0])
    return sch


def _limits(machine: Machine) -> Limits:
    return Limits(machine.block_threads, machine.shared_bytes)


# ---- loops over rows ----


def _mark_rows(function: Operation, machine: Machine) -> list[tuple[TeamShape, int]]:
    """Mark operations that share a loop over rows. Return each loop's team of threads and the teams per block."""
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
    """Return the team of threads per row and the number of teams per block, for each loop over rows."""
    module = MlirModule.create(function.location)
    copy = function.clone(ip=ir.InsertionPoint(module.body)).operation
    for rows in [each for each in rows_in(body_of(copy)) if is_worth_it(each, machine)]:
        write(rows, machine)
    loops = [op for op in operations_of(body_of(over_memory(module, symbol_name(function)))) if is_shared(op)]
    return [_team(loop, _limits(machine)) for loop in loops]


def _team(loop: Operation, limits: Limits) -> tuple[TeamShape, int]:
    with loop.location:
        form = form_of(SharedLoop.of(loop), limits)
    return (form.shape, form.teams) if isinstance(form, RowsForm) else (TeamShape(limits.threads, 1, 0), 1)


# ---- kernels ----


@dataclass(frozen=True)
class _Kernels:
    sch: Schedule
    tree: Tree
    function: Operation
    limits: Limits

    def schedule(self, teams: Sequence[tuple[TeamShape, int]]) -> None:
        body = body_of(self.function)
        pairs = [(block, op) for block, op in operations_of_blocks(self.tree, self.function) if op is not None]
        for block, _ in pairs:
            if len(self.tree.around(block.name)) != len(block.iters) or len(self.tree.body) != len(self.tree.blocks()):
                raise Decline(f"'{block.name}' has loops in its text that differ from its kernel's")
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
        for each in found:  # operations are replaced from here on
            self._kernel(*each)

    def _rows(self, members: Sequence[tuple[Block, Operation]], team: tuple[TeamShape, int]) -> None:
        rows = [Member(block, tuple(op.attributes[ROW_LOOPS])[1:]) for block, op in members]
        schedule_rows(self.sch, rows, *team)

    def _kernel(self, fused: Fused, block: Block, epilogues: Sequence[Block]) -> None:
        if fused.plan is not None:
            group = decided_product(self.sch, fused.planned())
            schedule_product(self.sch, block, epilogues, group, self.limits.threads)
            return
        points = Points(fused.main)
        with fused.main.location, ir.InsertionPoint(fused.main):
            parts = count_of_parts(points)
        if isinstance(parts, int):  # else the sizes decide at run time, and there is one kernel
            shape = shape_of_row(points).within(self.limits.threads) if points.reduces_rows() else None
            schedule_parts(self.sch, block, epilogues, parts, shape, self.limits.threads)
            return
        chains = joined_loops(fused.main)
        with fused.main.location:
            form = form_of(Collapsed.of(fused), self.limits)
        if isinstance(form, RowsForm):
            member = Member(block, tuple(n for n, each in enumerate(block.iters) if each.kind == SPATIAL))
            schedule_rows(self.sch, [member], form.shape, form.teams, epilogues)
        elif isinstance(form, TurnedForm):
            schedule_turned(self.sch, block, form.tile, chains, self.limits.threads)
        elif isinstance(form, PointsForm):
            schedule_points(self.sch, block, epilogues, form.lanes, self.limits.threads)


def _row_number(op: Operation) -> int | None:
    return op.attributes[ROW_LOOPS][0] if ROW_LOOPS in op.attributes else None


def _check_kernels(tree: Tree) -> None:
    """Raise RelaxError for loop nests that cannot be kernels."""
    places = places_of(tree)
    for node in tree.body:
        if isinstance(node, Loop) and any(each.kind in (*BLOCKS, *THREADS) for each in loops_in([node])):
            Sharing(tree, node, places)
