# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The schedule of every PrimFunc on a CPU: each of its operations becomes the loops that the first fitting plan says.

The plans are in schedule_matmul.py, schedule_conv.py, schedule_reduction.py and schedule_elementwise.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...bindings.mlir import ir
from ...bindings.pass_manager import run_upstream
from ...bindings.rewriting import Decline
from ...dialects.tir.prim_func import OpPattern
from ...passes.schedule.registry import ScheduleContext, register_schedule
from .combiner import allow_fused_multiply_add, combiners
from .machine import Machine, machine_for
from .schedule_conv import plan_conv
from .schedule_elementwise import in_place, plan_elementwise
from .schedule_matmul import plan_matmul
from .schedule_reduction import plan_reduction
from .structured import StructuredOp, analyze, collapse, structured_ops
from .vector_body import check_body
from .vector_nest import Nest, Plan

#: On an operation that becomes plain loops: why no plan fits.
UNSCHEDULED = "tir.unscheduled"

_PLANS = (plan_matmul, plan_conv, plan_reduction, plan_elementwise)


@register_schedule([pattern for pattern in OpPattern if pattern is not OpPattern.TUPLE], target="llvm")
def vectorize_each(function: Any, context: ScheduleContext) -> Any:
    """Tiles and vectorizes each structured operation of the function; what fits no plan becomes plain loops."""
    if not _is_on_tensors(function):
        return context.decline("it is not on tensors")
    if not structured_ops(function, named=True):
        return context.decline("it has no structured operations")
    with function.context, function.location:
        run_upstream(function, ["linalg-generalize-named-ops"])
        machine = machine_for(context.vector_bytes)
        pending = structured_ops(function)
        # Consumers first: they take in what fills their outputs.
        while pending:
            _schedule_operation(pending.pop(), machine, pending)
    return None


def _is_on_tensors(function: Any) -> bool:
    return any(isinstance(argument.type, ir.RankedTensorType) for argument in function.regions[0].blocks[0].arguments)


def _schedule_operation(operation: Any, machine: Machine, pending: list[Any]) -> None:
    """Replaces the operation by loops, or notes on it why not. What else is erased is taken out of `pending`."""
    try:
        op = analyze(operation)
        check_body(op)
        with ir.InsertionPoint(operation):
            plan = _plan_for_collapsed(op, machine)
    except Decline as decline:
        operation.attributes[UNSCHEDULED] = ir.StringAttr.get(decline.reason)
        return
    with ir.InsertionPoint(operation):
        op, fills, initial = _without_fills(in_place(op), plan)
        collapsed = collapse(op)
        allow_fused_multiply_add(collapsed.op)
        reduces_lanes = plan.vector in collapsed.op.reductions
        nest = Nest(collapsed.op, plan, initial, combiners(collapsed.op) if reduces_lanes else [])
        results = collapsed.restore(nest.emit())
    for old, new in zip(operation.results, results, strict=True):
        old.replace_all_uses_with(new)
    pending[:] = [each for each in pending if each not in fills]
    for each in (operation, *fills):
        each.erase()


def _plan_for_collapsed(op: StructuredOp, machine: Machine) -> Plan:
    """The plan for the operation with neighbouring loops as one, leaving nothing behind."""
    collapsed = collapse(op)
    try:
        return _plan(collapsed.op, machine)
    finally:
        collapsed.discard()


def _plan(op: StructuredOp, machine: Machine) -> Plan:
    """The first plan that fits. Raises Decline with what the last one says."""
    reasons = []
    for plan in _PLANS:
        try:
            return plan(op, machine)
        except Decline as decline:
            reasons.append(decline.reason)
    raise Decline("; ".join(dict.fromkeys(reasons)))


def _without_fills(op: StructuredOp, plan: Plan) -> tuple[StructuredOp, list[Any], list[Any]]:
    """A reduction in registers writes over what its outputs are filled with: it starts from the number instead."""
    operands, fills, initial = list(op.operands), [], []
    is_in_registers = len(op.reductions) == plan.carried > 0 and not plan.blocks
    for output, value in enumerate(op.outputs):
        fill = _fill_of(value) if is_in_registers else None
        initial.append(None if fill is None else _filled_with(fill))
        if fill is not None:
            operands[op.input_count + output] = fill.operands[len(fill.operands) - 1]
            fills.append(fill)
    return replace(op, operands=tuple(operands)), fills, initial


def _fill_of(value: Any) -> Any:
    """The operation that fills a tensor with one number for this use only; None where there is none."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "linalg.generic" or sum(1 for _ in value.uses) != 1:
        return None
    fill = owner.operation
    is_plain = len(fill.results) == 1 and len(list(fill.regions[0].blocks[0].operations)) == 1
    return fill if is_plain and _filled_with(fill) is not None else None


def _filled_with(fill: Any) -> Any:
    """The scalar in every element, if it is one from outside of the operation."""
    block = fill.regions[0].blocks[0]
    yielded = next(iter(block.operations)).operation.operands[0]
    arguments: Sequence[Any] = list(block.arguments)
    if yielded not in arguments:
        return yielded
    place = arguments.index(yielded)
    given = fill.operands[place]
    return None if isinstance(given.type, ir.RankedTensorType) else given
