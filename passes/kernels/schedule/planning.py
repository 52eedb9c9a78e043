# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choice of plans: each structured operation of a PrimFunc gets `tir.plan`, or `tir.unplanned` with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, innermost, symbol_name
from ....bindings.pass_manager import run_upstream
from ....bindings.rewriting import Decline, blaming_at, located_error
from ....dialects.core.ir_attributes import PLAN, UNPLANNED
from ....emit.groups import fill_of
from ....emit.structured import StructuredOp, analyze, structured_ops
from ....targets.core.machine import Machine
from ...core.facts import DeclinedPlansFact
from ...core.journal import Journal
from .epilogue import check_lanes, keeps_results, producer_of, with_epilogue
from .loop_collapsing import join, joinable
from .parallel_grain import with_threads
from .plan import EpilogueOf, Plan, Start, set_plan
from .reduction_order import check_order, kept_apart
from .registry import PlanRule, ScheduleContext, plan_rules
from .vector_body import check_body


def plan_each(function: Operation, context: ScheduleContext) -> Decline | None:
    """Plan the operations that have no plan yet, by the rules of the target.

    Declines if there are no such operations.
    """
    if not any(isinstance(argument.type, ir.RankedTensorType) for argument in body_of(function).arguments):
        return context.decline("it is not on tensors")
    if not (operations := structured_ops(function, named=True)):
        return context.decline("it has no structured operations")
    with function.context, function.location:
        if any(operation.name != "linalg.generic" for operation in operations):
            run_upstream(function, ["linalg-generalize-named-ops"])
        rules = plan_rules(context.target)
        # Consumers first: a consumer absorbs the operations that fill its outputs.
        for operation in reversed(structured_ops(function)):
            if not _is_planned(operation):
                _plan(operation, rules, context.machine)
    return None


def _is_planned(operation: Operation) -> bool:
    return PLAN in operation.attributes or UNPLANNED in operation.attributes


def _plan(operation: Operation, rules: Sequence[PlanRule], machine: Machine) -> None:
    try:
        op = analyze(operation)
        check_body(op)
        try:
            _plan_with_producer(op, rules, machine)
        except Decline:
            _, plan = first_plan(op, rules, machine)
            set_plan(op.operation, plan)
            fills = [fill_of(value) for value in op.outputs] if keeps_results(op, plan) else []
            for fill in fills:
                if fill is not None and not _is_planned(fill):
                    set_plan(fill, Start())
    except Decline as decline:
        operation.attributes[UNPLANNED] = ir.StringAttr.get(decline.reason)


def _plan_with_producer(consumer: StructuredOp, rules: Sequence[PlanRule], machine: Machine) -> None:
    """Plan the operation as an epilogue of the reduction before it. Raises Decline before it changes anything."""
    operand = producer_of(consumer)
    op, _ = with_epilogue(consumer, operand)
    fill = fill_of(op.operation.operands[op.input_count])
    if fill is None or _is_planned(fill) or _is_planned(op.operation):
        raise Decline("the results are not in registers when they are complete")
    joined, plan = first_plan(op, rules, machine)
    if not keeps_results(op, plan):
        raise Decline("the results are not in registers when they are complete")
    if not plan.threads:
        check_lanes(joined, plan.vector)
    set_plan(consumer.operation, EpilogueOf(operand))
    set_plan(op.operation, plan)
    set_plan(fill, Start())


def first_plan(op: StructuredOp, rules: Sequence[PlanRule], machine: Machine) -> tuple[StructuredOp, Plan]:
    """Return the operation with joined loops, and the first plan that fits.

    Raises Decline with the reasons of all rules.
    """
    loops = kept_apart(op, joinable(op))
    joined = join(op, loops)
    declined: list[dict[str, str]] = []
    for rule in rules:
        try:
            with blaming_at(f"the plan rule '{rule.name}'", rule.function, op.operation, Decline):
                plan = rule.function(joined, machine)
            plan = replace(plan, rule=rule.name, loops=_inlined(plan, loops))
            _require_order(op, plan, rule)
            is_shared = plan.parallel is not None or plan.threads
            if op.reductions and (journal := Journal.active()) is not None and journal.explains_schedules:
                kernel = symbol_name(innermost(op.operation, "func.func"))
                journal.add(DeclinedPlansFact(kernel, declined))
            return joined, plan if is_shared else with_threads(joined, plan, machine)
        except Decline as decline:
            declined.append({"schedule": f"plan {rule.name}", "reason": decline.reason})
    raise Decline("; ".join(dict.fromkeys(plan["reason"] for plan in declined)) or "the target has no plan rules")


def _require_order(op: StructuredOp, plan: Plan, rule: PlanRule) -> None:
    """Raise RelaxError for a rule that changes the order of a reduction: its results would have other bits."""
    try:
        check_order(op, plan)
    except Decline as decline:
        raise located_error(
            f"the plan rule '{rule.name}' ({rule.place}): {decline.reason}",
            op.operation.location,
            notes=["numerics=fast lets plans choose the order of sums"],
        ) from None


def _inlined(plan: Plan, loops: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the operation's loops in each loop of the plan.

    A rule may have joined more of the loops that it received.
    """
    return tuple(tuple(dim for joined in chain for dim in loops[joined]) for chain in plan.joined)
