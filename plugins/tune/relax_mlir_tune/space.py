# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Space of a kernel: plans that differ from the plans of the target's rules, and fit the operation and the machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar, Protocol

import relax_mlir as rx
from relax_mlir.bindings.rewriting import Decline
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.emit.structured import StructuredOp, analyze, structured_ops
from relax_mlir.passes.kernels.schedule.fitting import check_plan
from relax_mlir.passes.kernels.schedule.plan import Parallel, parse_plan
from relax_mlir.passes.kernels.schedule.tuned_plans import check_plans, plans_of
from relax_mlir.rewriting import Operation
from relax_mlir.schedules import Plan
from relax_mlir.targets.core.registry import parse_target

#: Points per step. More than this many vectors leave registers, and each point is code.
_POINTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 28)
_LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
#: Operations with less than this share of the kernel's steps keep their plans.
_LEAST_SHARE = 0.02
#: Draws of a mutation before a plan counts as one without neighbours.
_DRAWS = 40
_ORDINARY_SIZE = 512

#: Plans of all operations of a kernel, as text, or the decisions of its rule (decisions.py).
Plans = tuple[str, ...]


class SearchSpace(Protocol):
    """Points that a search tries for a kernel."""

    default: Plans

    @property
    def machine(self) -> rx.Machine:
        """Return the machine that runs the kernel."""

    @property
    def choices(self) -> Sequence[object]:
        """Return what differs between the points, or nothing."""

    def neighbour(self, plans: Plans, random: Random) -> Plans | None:
        """Return a point near another one, or None if there is none."""

    def crossed(self, one: Plans, other: Plans, random: Random) -> Plans:
        """Return a point that combines two others."""

    def features(self, plans: Plans) -> list[float]:
        """Return numbers that describe a point, for a model of its time."""


@dataclass(frozen=True)
class PlanChoice:
    """Operation with a plan that may change."""

    place: int
    op: StructuredOp


class Space:
    """Plans of a kernel, beginning with the plans of the target's rules."""

    #: True if plans of kernels with the same operations at other sizes are worth a trial.
    fits_neighbours: ClassVar[bool] = True

    def __init__(self, kernel: rx.Module, target: str):
        """Take a module with one PrimFunc, which has plans."""
        self._kernel = kernel  # keeps the operations alive
        self._machine = machine_of(target)
        (function,) = prim_funcs_in(kernel.operation)
        operations = self._operations = structured_ops(function)
        self.default: Plans = plans_of(function)
        works = [
            _steps(analyze(operation)) if text else 0.0
            for operation, text in zip(operations, self.default, strict=True)
        ]
        self.choices = [
            PlanChoice(place, analyze(operation))
            for place, (operation, text) in enumerate(zip(operations, self.default, strict=True))
            if works[place] >= _LEAST_SHARE * sum(works) and self._has_plan(operation, text)
        ]

    def _has_plan(self, operation: Operation, text: str) -> bool:
        """Check that an operation has a plan that this space can change."""
        plan = _parse_optional_plan(text)
        try:
            return isinstance(plan, Plan) and self.can_change(analyze(operation), plan)
        except Decline:
            return False

    def can_change(self, op: StructuredOp, plan: Plan) -> bool:
        """Check for a plan of loops for CPUs. Raise Decline for others."""
        return bool(check_plan(op, plan, self._machine))

    @property
    def machine(self) -> rx.Machine:
        return self._machine

    def neighbour(self, plans: Plans, random: Random) -> Plans | None:
        """Return plans with a changed operation, or None if no change fits."""
        for _ in range(_DRAWS):
            choice = random.choice(self.choices)
            plan = _parse_optional_plan(plans[choice.place])
            assert isinstance(plan, Plan)
            try:
                plan = self.changed(choice.op, plan, random)
            except Decline:
                continue
            changed = (*plans[: choice.place], str(replace(plan, rule="tuned")), *plans[choice.place + 1 :])
            if changed != plans and self.fits(changed):
                return changed
        return None

    def changed(self, op: StructuredOp, plan: Plan, random: Random) -> Plan:
        """Return a plan with one to three changes. Raise Decline if it does not fit."""
        joined, _ = check_plan(op, plan, self._machine)
        for _ in range(random.choice((1, 1, 2, 3))):
            plan = random.choice(_MUTATIONS)(plan, joined, self._machine, random)
        check_plan(op, plan, self._machine)
        return plan

    def fits(self, plans: Sequence[str]) -> bool:
        """Check that plans fit the operations and each other."""
        try:
            return bool(check_plans(self._operations, plans, self._machine))
        except Decline:
            return False

    def crossed(self, one: Plans, other: Plans, random: Random) -> Plans:
        """Return plans that take each operation's from one of two."""
        return tuple(random.choice(pair) for pair in zip(one, other, strict=True))

    def features(self, plans: Plans) -> list[float]:
        """Return numbers that describe plans, for a model of their times."""
        found: list[float] = []
        for choice in self.choices:
            plan = _parse_optional_plan(plans[choice.place])
            assert isinstance(plan, Plan)
            found += self.numbers(choice.op, plan)
        return found

    def numbers(self, op: StructuredOp, plan: Plan) -> list[float]:
        """Return numbers that describe a plan."""
        found: list[float] = []
        joined, _ = check_plan(op, plan, self._machine)
        places = {dim: plan.order.index(dim) for dim in joined.dims}
        blocks = dict(plan.blocks)
        for dim in joined.dims:
            points, size = plan.tile.get(dim, 1), joined.sizes[dim] or _ORDINARY_SIZE
            rest = size / (points * (plan.lanes if dim == plan.vector else 1))
            found += [math.log2(points), places[dim], math.log2(blocks.get(dim, size) or 1), rest - math.floor(rest)]
        registers = math.prod(points for dim, points in plan.tile.items() if dim not in joined.reductions)
        found += [
            *(math.log2(max(registers, 1)), max(0.0, registers - self._machine.registers)),
            *(math.log2(plan.lanes), plan.carried, math.log2(plan.panel.length if plan.panel else 1)),
            math.log2((plan.parallel.grain or 1) if plan.parallel else 1),
        ]
        return found


def machine_of(target: str) -> rx.Machine:
    """Return the machine of a target with options."""
    chosen = parse_target(target)
    return rx.find_backend(chosen.name).machine(chosen)


def _parse_optional_plan(text: str) -> object:
    return parse_plan(text) if text else None


def _steps(op: StructuredOp) -> float:
    return math.prod(float(size or _ORDINARY_SIZE) for size in op.sizes)


# ---- mutations: a plan, the operation with joined loops, the machine and a random generator -> another plan ----

Mutation = Callable[[Plan, StructuredOp, rx.Machine, Random], Plan]


def _tile(plan: Plan, op: StructuredOp, machine: rx.Machine, random: Random) -> Plan:
    """Change the points of a step."""
    if not (dims := [dim for dim in op.dims if op.sizes[dim] != 1 and dim != plan.square]):
        return plan
    dim = random.choice(dims)
    now = plan.tile.get(dim, 1)
    size = op.sizes[dim] or _ORDINARY_SIZE
    steps = -(-size // (plan.lanes if dim == plan.vector else 1))
    near = (now - 1, now + 1, now * 2, now // 2)
    exact = [points for points in range(1, 33) if steps % points == 0]
    points = random.choice((*near, *exact, random.choice(_POINTS)))
    return replace(plan, tile={**plan.tile, dim: min(max(points, 1), steps)})


def _trade(plan: Plan, op: StructuredOp, machine: rx.Machine, random: Random) -> Plan:
    """Double the points of a loop and halve the points of another."""
    dims = [dim for dim in op.dims if op.sizes[dim] != 1 and dim not in op.reductions]
    if len(dims) < 2:
        return plan
    more, less = random.sample(dims, 2)
    tile = {**plan.tile, more: plan.tile.get(more, 1) * 2, less: max(plan.tile.get(less, 1) // 2, 1)}
    return replace(plan, tile=tile)


def _swap(plan: Plan, op: StructuredOp, machine: rx.Machine, random: Random) -> Plan:
    """Swap two loops of the order. Two reductions keep theirs, which the sum's order fixes."""
    if len(plan.order) < 2:
        return plan
    order = list(plan.order)
    one, other = random.sample(range(len(order)), 2)
    order[one], order[other] = order[other], order[one]
    sums = [dim for dim in order if dim in op.reductions]
    kept = iter(dim for dim in plan.order if dim in op.reductions)
    order = [next(kept) if dim in op.reductions else dim for dim in order]
    assert len(sums) == len(op.reductions)
    return replace(plan, order=tuple(order))


def _carry(plan: Plan, op: StructuredOp, machine: rx.Machine, random: Random) -> Plan:
    """Change how many reductions keep their results in registers."""
    return replace(plan, carried=random.randint(0, len(op.reductions)))


def _block(plan: Plan, op: StructuredOp, machine: rx.Machine, random: Random) -> Plan:
    """Add, remove or change a loop over blocks."""
    blocks = dict(plan.blocks)
    if not (dims := [dim for dim in op.dims if (op.sizes[dim] or _ORDINARY_SIZE) > _LENGTHS[0]]):
        return plan
    if (dim := random.choice(dims)) in blocks and random.random() < 0.4:
        del blocks[dim]
    else:
        step = plan.tile.get(dim, 1) * (plan.lanes if dim == plan.vector else 1)
        blocks[dim] = max(random.choice(_LENGTHS) // step, 1) * step
    pairs = list(blocks.items())
    random.shuffle(pairs)
    return replace(plan, blocks=tuple(pairs))


def _lanes(plan: Plan, op: StructuredOp, machine: rx.Machine, random: Random) -> Plan:
    return replace(plan, lanes=max(random.choice((plan.lanes * 2, plan.lanes // 2)), 1))


def _panel(plan: Plan, op: StructuredOp, machine: rx.Machine, random: Random) -> Plan:
    """Change the length of a panel, with the blocks that go with it, or remove the panel."""
    if plan.panel is None:
        return plan
    others = tuple(pair for pair in plan.blocks if pair[0] != plan.panel.dim)
    if random.random() < 0.3:
        return replace(plan, panel=None, blocks=others)
    length = random.choice(_LENGTHS)
    return replace(plan, panel=plan.panel._replace(length=length), blocks=(*others, (plan.panel.dim, length)))


def _parallel(plan: Plan, op: StructuredOp, machine: rx.Machine, random: Random) -> Plan:
    """Change the loop that threads share, or its grain."""
    if plan.parallel is None:
        return plan
    dim = random.choice([plan.parallel.dim, *op.parallels])
    size = op.sizes[dim] or _ORDINARY_SIZE
    return replace(plan, parallel=Parallel(dim, max(size // random.choice((2, 4, 6, 8, 16, 32)), 1)))


_MUTATIONS: Sequence[Mutation] = (_tile, _tile, _tile, _trade, _swap, _carry, _block, _block, _lanes, _panel, _parallel)
