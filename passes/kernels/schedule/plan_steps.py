# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules that are equivalent to a target's choices or to plans, as steps to be read, changed and replayed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import operations_named, symbol_name, use_count
from ....bindings.rewriting import Decline
from ....dialects.core.symbols_expr import make_variable, variables_of
from ....dialects.tir.prim_func import schedule_lines
from ....emit.generic import GenericOp
from ....emit.linalg import REDUCTION
from ....emit.structured import analyze
from ....support.errors import RelaxError
from ..loops.bufferized import copied, find
from ..loops.handles import BlockRV, IndexMap, LoopRV
from ..loops.schedule import Schedule
from ..loops.tree import GRAIN, REDUCE, Block, Tree
from .dot_intrins import dot_intrin
from .packed_plans import packing_of
from .plan import AnyPlan, EpilogueOf, Plan, group_of, panel_form, plan_of
from .registry import ScheduleContext, steps_rules

#: Clauses of plans that schedule steps cannot express yet.
_WITHOUT_STEPS = ("tiles", "threads", "shared", "instruction", "parts")
#: Prefix of the line with the reason why there are no steps.
REASON = "# "


def chosen_steps(
    function: Operation, context: ScheduleContext, constants: Set[int] = frozenset(), known: Sequence[str] = ()
) -> list[str]:
    """Return a target's choices for a PrimFunc as lines of a schedule, or a comment with the reason for none.

    A schedule that the PrimFunc has is returned as it is. `constants` are the parameters for which all callers pass
    constants. `known` is the comment of an earlier pass, if any. A target's own reason comes first.
    """
    rules = steps_rules(context.target)
    try:
        if schedule_lines(function) is not None:
            sch = Schedule(function)
        elif rules:
            module = copied([function])
            sch = rules[0].function(find(module, symbol_name(function)), context)
        elif not known:
            sch = schedule_of_plans(function, context, constants)
        if known:
            return list(known)
        if len(sch.trace.splitlines()) < 2:  # gives the reader names to start from
            for block in sch.scratch_of(symbol_name(function))[1].blocks():
                sch.get_loops(sch.get_block(block.name))
    except RelaxError as error:
        return [f"{REASON}{error.message}"]
    except Decline as decline:
        return [f"{REASON}{decline.reason}"]
    return sch.trace.splitlines()[1:]


def schedule_of_plans(function: Operation, context: ScheduleContext, constants: Set[int] = frozenset()) -> Schedule:
    """Return the schedule that does what a PrimFunc's plans do. Raises Decline if steps cannot express the plans."""
    sch = Schedule(function)
    for planned in _planned(sch, function, context, constants):
        planned.schedule(sch)
    return sch


def operations_of_blocks(tree: Tree, function: Operation) -> Iterator[tuple[Block, Operation | None]]:
    """Yield the blocks of a PrimFunc over memory, in program order, with their original operations."""
    operations = iter(operations_named(function, "linalg.generic"))
    for block in tree.blocks():
        op = next(operations, None)
        while block.inits is not None and op is not None and REDUCTION not in GenericOp(op).kinds:
            op = next(operations, None)  # this operation fills an output, and has become the block's init
        yield block, op


def _planned(sch: Schedule, function: Operation, context: ScheduleContext, constants: Set[int]) -> list[_Planned]:
    """Return the blocks with plans for their loops, in program order."""
    scratch, tree = sch.scratch_of(symbol_name(function))
    blocks = list(operations_of_blocks(tree, scratch.function))
    pairs = [(block, None if op is None else _packed(op, plan_of(op), constants)) for block, op in blocks]
    found = []
    for (block, op), (_, plan) in zip(blocks, pairs, strict=True):
        if not isinstance(plan, Plan) or op is None:
            continue
        if (said := next((clause for clause in _WITHOUT_STEPS if getattr(plan, clause)), None)) is not None:
            raise Decline(f"'{block.name}' has '{said}' in its plan, which no schedule step can express")
        if len(tree.around(block.name)) != len(block.iters):
            raise Decline(f"'{block.name}' has other loops in its text than in its plan")
        intrin = None if plan.dot is None else dot_intrin(op, plan, context)
        found.append(_Planned(block, plan, _epilogue(block, pairs), intrin))
    return found


def _packed(op: Operation, plan: AnyPlan | None, constants: Set[int]) -> AnyPlan | None:
    """Return the plan with a constant matrix packed, as tir-pack-constants would pack it."""
    packing = packing_of(analyze(op, on_memrefs=True), plan) if constants and isinstance(plan, Plan) else None
    if packing is None or (packing.plan.panel is None and packing.plan.dot is None):
        return plan
    weights = op.operands[packing.operand]
    is_known = isinstance(weights, ir.BlockArgument) and weights.arg_number in constants and use_count(weights) == 1
    return packing.plan if is_known else plan


def _epilogue(block: Block, pairs: Sequence[tuple[Block, AnyPlan | None]]) -> Block | None:
    """Return the block that works on the results of a reduction before they leave registers."""
    buffer = block.writes[0].buffer
    each = (other for other, plan in pairs if isinstance(plan, EpilogueOf) and buffer in other.buffers)
    return next(each, None)


class _Split(NamedTuple):
    """Loops that a loop is split into.

    The new loops run over blocks of its steps, steps, points of a step, and lanes. Unneeded loops are None.
    """

    blocks: LoopRV | None
    steps: LoopRV
    points: LoopRV | None
    lanes: LoopRV | None


class _Planned(NamedTuple):
    block: Block
    plan: Plan
    epilogue: Block | None
    #: Tensor intrinsic that sums the products of groups.
    dot: str | None

    def schedule(self, sch: Schedule) -> None:
        plan, block = self.plan, sch.get_block(self.block.name)
        if any(self._is_reduced(dim) for dim, _ in plan.blocks):
            self._schedule_blocks(sch, block)
            return
        if self._is_reduced(plan.vector):
            self._schedule_partial_sums(sch, block)
            return
        finish = self._finish(sch, block)
        splits = [self._split(sch, dim, loop) for dim, loop in enumerate(self._joined(sch, block))]
        blocks = [splits[dim].blocks for dim, _ in plan.blocks]
        order = [each for each in blocks if each is not None] + [splits[dim].steps for dim in plan.order]
        points = [each for dim in self._point_order() if (each := splits[dim].points) is not None]
        lanes = [each for dim in self._lane_dims() if (each := splits[dim].lanes) is not None]
        sch.reorder(*order, *points, *lanes)
        self._share(sch, splits)
        kept = [block]
        around = len(order) - plan.carried
        if finish is not None and around:
            sch.reverse_compute_at(finish, order[around - 1])
            if inner := sch.get_loops(finish)[around:]:
                sch.vectorize(sch.split(inner[-1], [None, plan.lanes])[1])
        self._pack(sch, block, splits[plan.vector].steps)
        if plan.square is not None:
            self._transpose(sch, block, plan.square, splits[plan.square].steps)
        if plan.carried:
            kept.append(sch.decompose_reduction(block, order[around]))
        if self.dot is not None:
            sch.tensorize(lanes[0], self.dot)
            unrolled(sch, sch.get_loops(block)[len(order) :][: len(points)])
            kept.remove(block)
        for one in kept:
            in_registers(sch, one, len(points), bool(lanes))

    def _lane_dims(self) -> list[int]:
        """Return the innermost loops: lanes, and inside of them a group of a reduction's steps."""
        return [self.plan.vector] if self.plan.dot is None else [self.plan.vector, self.plan.dot.dim]

    def _is_reduced(self, dim: int) -> bool:
        return all(self.block.iters[each].kind == REDUCE for each in self.plan.joined[dim])

    def _transpose(self, sch: Schedule, block: BlockRV, square: int, steps: LoopRV) -> None:
        """Load inputs across the lanes to registers as squares, by vectors along their own rows."""
        names = [{self.block.iters[each].name for each in self.plan.joined[dim]} for dim in (self.plan.vector, square)]
        for number, read in enumerate(self.block.reads):
            used = [_names([index]) for index in read.indices]
            if all(each.isdisjoint(names[0]) for each in used[:-1]) or used[-1].isdisjoint(names[1]):
                continue
            copy = sch.cache_read(block, number, "local")
            sch.compute_at(copy, steps)
            *_, rows, columns = sch.get_loops(copy)
            sch.vectorize(columns)
            sch.unroll(rows)

    def _pack(self, sch: Schedule, block: BlockRV, vectors: LoopRV) -> None:
        """Pack the columns of a matrix for the vectors of a step, one after the other."""
        panel = self.plan.panel
        if self.plan.dot is not None:
            self._pack_groups(sch, block)
            return
        if panel is None:
            return
        packed = sch.cache_read(block, self.block.reads[panel.operand].buffer.name, "global")
        if panel.is_packed:  # packed at compile time: only the layout matters
            width = panel_form(self.plan, panel).width
            sch.transform_layout(packed, ("write", 0), lambda row, column: (column // width, row, column % width))
            return
        sch.compute_at(packed, vectors)
        sch.vectorize(sch.split(sch.get_loops(packed)[-1], [None, self.plan.lanes])[1])

    def _pack_groups(self, sch: Schedule, block: BlockRV) -> None:
        """Pack the groups of columns of a step, one after the other, at compile time."""
        plan = self.plan
        assert plan.dot is not None
        group = plan.dot.group
        lanes = {self.block.iters[each].name for each in plan.joined[plan.vector]}
        columns = next(read for read in self.block.reads if not lanes.isdisjoint(_names(read.indices)))
        packed = sch.cache_read(block, columns.buffer.name, "global")
        *outer, row, column = map(make_variable, names := [f"v{place}" for place in range(len(columns.indices))])
        grouped = [*outer, row // group, column, row % group]
        if plan.panel is not None:
            width = panel_form(plan, plan.panel).width
            grouped = [column // width, row // group, column % width, row % group]
        sch.transform_layout(packed, ("write", 0), IndexMap(tuple(names), tuple(grouped)))

    def _schedule_blocks(self, sch: Schedule, block: BlockRV) -> None:
        """Schedule a reduction by blocks: sums of one block's steps, in registers, are added to memory."""
        plan = self.plan
        cut, length = plan.blocks[0]
        if len(plan.blocks) > 1 or len(plan.joined[cut]) > 1 or plan.carried > 1:
            raise Decline(
                f"'{self.block.name}' reduces block by block along several loops, which no schedule step can express"
            )
        blocks, _ = sch.split(sch.get_loops(block)[plan.joined[cut][0]], [None, length])
        sums = sch.rfactor(blocks, 0)
        sch.set_scope(sums, 0, "local")
        *spatial, blocks = sch.get_loops(block)
        dims = [dim for dim, iter_ in enumerate(self.block.iters) if iter_.kind != REDUCE]
        columns, step = self._tile_around_blocks(sch, block, dict(zip(dims, spatial, strict=True)), blocks)
        if self.epilogue is not None:
            finish = sch.get_block(self.epilogue.name)
            sch.reverse_compute_at(finish, columns)
            sch.vectorize(sch.split(sch.get_loops(finish)[-1], [None, plan.lanes])[1])
        sch.compute_at(sums, step, preserve_unit_loops=True)
        sch.decompose_reduction(block, blocks)
        self._pack(sch, sums, blocks)
        self._sum_in_registers(sch, sums, dims)

    def _tiled(self, sch: Schedule, loops: Mapping[int, LoopRV]) -> tuple[dict[int, _Split], list[list[LoopRV]]]:
        """Split the loops over results into steps and points.

        Return the splits by loop number, and the loops over steps in the plan's order, each after the loops that are
        joined with it.
        """
        splits, order = dict[int, _Split](), list[list[LoopRV]]()
        for dim in (each for each in self.plan.order if not self._is_reduced(each)):
            *outer, last = (loops[each] for each in self.plan.joined[dim])
            splits[dim] = self._split(sch, dim, last)
            order.append([*outer, splits[dim].steps])
        return splits, order

    def _tile_around_blocks(
        self, sch: Schedule, block: BlockRV, loops: Mapping[int, LoopRV], blocks: LoopRV
    ) -> tuple[LoopRV, LoopRV]:
        """Schedule the block that adds the sums of a reduction block to memory, in registers.

        Return the loop over vectors, which is around the loop over blocks, and the innermost loop around a step.
        """
        plan = self.plan
        splits, order = self._tiled(sch, loops)
        outer = [[*each, *([blocks] if dim == plan.vector else [])] for dim, each in zip(splits, order, strict=True)]
        points = [each for dim in self._point_order() if dim in splits and (each := splits[dim].points) is not None]
        lanes = splits[plan.vector].lanes
        sch.reorder(*(loop for loop_rvs in outer for loop in loop_rvs), *points, *([] if lanes is None else [lanes]))
        self._share_outermost(sch, dict(zip(splits, order, strict=True)))
        in_registers(sch, block, len(points), lanes is not None)
        return splits[plan.vector].steps, outer[-1][-1]

    def _share_outermost(self, sch: Schedule, order: Mapping[int, Sequence[LoopRV]]) -> None:
        if self.plan.parallel is not None:
            self._parallel(sch, order[self.plan.parallel.dim][0])

    def _points(self, loops: Mapping[int, LoopRV]) -> tuple[list[LoopRV], list[LoopRV]]:
        """Return the loops over a step's results that have one point, and the loops over points without lanes."""
        plan, rest = self.plan, dict(loops)
        tiled = {dim: rest.pop(plan.joined[dim][-1]) for dim in plan.order if not self._is_reduced(dim)}
        return list(rest.values()), [tiled[dim] for dim in self._point_order() if dim in tiled and dim != plan.vector]

    def _sum_in_registers(self, sch: Schedule, sums: BlockRV, dims: Sequence[int]) -> None:
        """Schedule a block of steps of a reduction.

        The loops around it are loops over results, one loop over blocks, and one loop over steps.
        """
        *inside, blocks, steps = sch.get_loops(sums)[-len(dims) - 2 :]
        results = dict(zip(dims, inside, strict=True))
        others, points = self._points(results)
        vectors = sch.split(results[self.plan.joined[self.plan.vector][-1]], [None, self.plan.lanes])
        sch.reorder(*others, blocks, steps, *points, *vectors)
        for part in (sums, sch.decompose_reduction(sums, steps)):
            in_registers(sch, part, len(points) + 1, has_lanes=True)

    def _schedule_partial_sums(self, sch: Schedule, block: BlockRV) -> None:
        """Schedule a reduction along vectors: each lane has a sum of its own, and the sums are added at the end."""
        plan = self.plan
        loops = self._joined(sch, block)
        steps, inner = sch.split(loops[plan.vector], [None, plan.tile.get(plan.vector, 1) * plan.lanes])
        sch.reorder(*(loops[dim] for dim in plan.order if dim != plan.vector), steps, inner)
        sums = sch.rfactor(inner, len(self.block.writes[0].indices))
        *spatial, _ = sch.get_loops(block)
        dims = [dim for dim, iter_ in enumerate(self.block.iters) if iter_.kind != REDUCE]
        splits, order = self._tiled(sch, dict(zip(dims, spatial, strict=True)))
        others, points = list[LoopRV](), list[LoopRV]()
        if order:
            outer = [loop for each in order for loop in each]
            sch.reorder(*outer, *(split.points for split in splits.values() if split.points is not None))
            sch.compute_at(sums, outer[-1], preserve_unit_loops=True)
            if self.epilogue is not None:
                sch.reverse_compute_at(sch.get_block(self.epilogue.name), outer[-1])
            inside = sch.get_loops(sums)[len(outer) :]
            others, points = self._points(dict(zip(dims, inside, strict=False)))
            lanes, *reduced = inside[len(dims) :]
        else:
            *reduced, lanes = sch.get_loops(sums)
        self._share_outermost(sch, dict(zip(splits, order, strict=True)))
        sch.reorder(*others, *reduced, *points, lanes)
        sch.split(lanes, [None, plan.lanes])
        for part in (sums, sch.decompose_reduction(sums, reduced[0])):
            in_registers(sch, part, len(points) + 1, has_lanes=True)

    def _finish(self, sch: Schedule, block: BlockRV) -> BlockRV | None:
        """Return the block that takes a reduction's results out of registers: its epilogue, or a copy."""
        if self.epilogue is not None:
            return sch.get_block(self.epilogue.name)
        return sch.cache_write(block, 0, "local") if self.plan.carried else None

    def _joined(self, sch: Schedule, block: BlockRV) -> list[LoopRV]:
        """Return the block's loops, after joining."""
        loops = sch.get_loops(block)
        chains = [self.plan.joined[dim] for dim in self.plan.order]
        flat = [loops[dim] for chain in chains for dim in chain]
        if any(len(chain) > 1 for chain in chains) and flat != loops:
            sch.reorder(*flat)
        joined = ([loops[dim] for dim in chain] for chain in self.plan.joined)
        return [fused(sch, loop_rvs) for loop_rvs in joined]

    def _split(self, sch: Schedule, dim: int, loop: LoopRV) -> _Split:
        plan = self.plan
        points, lanes = plan.tile.get(dim, 1), plan.lanes if dim == plan.vector else group_of(plan, dim)
        length = dict(plan.blocks).get(dim)
        factors: list[int | None] = [None]
        factors += [] if length is None else [-(-length // (points * lanes))]
        factors += [count for count in (points, lanes) if count > 1]
        parts = iter(sch.split(loop, factors) if len(factors) > 1 else [loop])
        blocks = None if length is None else next(parts)
        steps = next(parts)
        return _Split(blocks, steps, next(parts) if points > 1 else None, next(parts) if lanes > 1 else None)

    def _point_order(self) -> list[int]:
        """Return the loops in the order for a step's points.

        Loops are last if their points read different vectors: results stay in registers.
        """
        names = [{self.block.iters[each].name for each in chain} for chain in self.plan.joined]
        lanes = names[self.plan.vector]
        vectors = [used for access in self.block.reads if not (used := _names(access.indices)).isdisjoint(lanes)]
        return sorted(range(len(names)), key=lambda dim: any(not names[dim].isdisjoint(used) for used in vectors))

    def _share(self, sch: Schedule, splits: Sequence[_Split]) -> None:
        if (shared := self.plan.parallel) is None:
            return
        of_blocks = splits[shared.dim].blocks
        self._parallel(sch, splits[shared.dim].steps if of_blocks is None else of_blocks)

    def _parallel(self, sch: Schedule, loop: LoopRV) -> None:
        sch.parallel(loop)
        shared = self.plan.parallel
        if shared is not None and shared.grain is not None:
            sch.annotate(loop, GRAIN, max(shared.grain // self._points_of(shared.dim), 1))

    def _points_of(self, dim: int) -> int:
        """Return the number of points in one step of the parallel loop."""
        plan = self.plan
        return dict(plan.blocks).get(dim, plan.tile.get(dim, 1) * (plan.lanes if dim == plan.vector else 1))


def fused(sch: Schedule, loops: Sequence[LoopRV]) -> LoopRV:
    fused_loop: LoopRV = sch.fuse(*loops) if len(loops) > 1 else loops[0]
    return fused_loop


def in_registers(sch: Schedule, block: BlockRV, points: int, has_lanes: bool) -> None:
    """Unroll a step's points, which are the last loops around a block, and vectorize its lanes."""
    loops = sch.get_loops(block)
    if has_lanes:
        sch.vectorize(loops.pop())
    unrolled(sch, loops[len(loops) - points :] if points else [])


def unrolled(sch: Schedule, loops: Sequence[LoopRV]) -> None:
    for loop in reversed(loops):
        sch.unroll(loop)


def _names(indices: Sequence[object]) -> set[str]:
    return {str(name) for index in indices for name in variables_of(index)}  # type: ignore[arg-type]
