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
from .epilogue import Epilogue, check_lanes, with_epilogue
from .machine import Machine, machine_for
from .reshapes import fold_reshapes
from .schedule_conv import plan_conv
from .schedule_elementwise import in_place, plan_elementwise
from .schedule_matmul import plan_matmul
from .schedule_notes import note_loops, note_unscheduled
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
    found = structured_ops(function, named=True)
    if not found:
        return context.decline("it has no structured operations")
    with function.context, function.location:
        if any(operation.name != "linalg.generic" for operation in found):
            run_upstream(function, ["linalg-generalize-named-ops"])
        machine = machine_for(context.vector_bytes)
        pending = structured_ops(function)
        # Consumers first: they take in what fills their outputs.
        while pending:
            _schedule_operation(pending.pop(), machine, pending)
        fold_reshapes(function)
    return None


def _is_on_tensors(function: Any) -> bool:
    return any(isinstance(argument.type, ir.RankedTensorType) for argument in function.regions[0].blocks[0].arguments)


def _schedule_operation(operation: Any, machine: Machine, pending: list[Any]) -> None:
    """Replaces the operation by loops, or notes on it why not. What else is erased is taken out of `pending`."""
    try:
        op = analyze(operation)
        check_body(op)
    except Decline as decline:
        _leave(operation, decline.reason)
        return
    with ir.InsertionPoint(operation):
        try:
            gone = _emit_with_producer(op, machine)
        except Decline:
            try:
                gone = _emit(in_place(op), _plan_for_collapsed(op, machine), operation)
            except Decline as decline:
                _leave(operation, decline.reason)
                return
    pending[:] = [each for each in pending if each not in gone]
    for each in gone:
        each.erase()


def _leave(operation: Any, reason: str) -> None:
    """Lets an operation become plain loops."""
    operation.attributes[UNSCHEDULED] = ir.StringAttr.get(reason)
    note_unscheduled(operation, reason)


def _emit_with_producer(consumer: StructuredOp, machine: Machine) -> list[Any]:
    """The operation as an epilogue of the reduction before it. Raises Decline, before anything is changed."""
    op, epilogue = with_epilogue(consumer)
    plan = _plan_for_collapsed(op, machine)
    with_fill = replace(op, operands=(*op.operands[:-1], op.operation.operands[op.input_count]))
    if not _is_in_registers(op, plan) or _fill_of(with_fill.outputs[0]) is None:
        raise Decline("the results are not in registers when they are done")
    fill = _fill_of(with_fill.outputs[0])
    collapsed = collapse(op)
    try:
        check_lanes(collapsed.op, plan.vector)
    except Decline:
        collapsed.discard()
        raise
    collapsed.discard()
    gone = _emit(op, plan, consumer.operation, epilogue, [_filled_with(fill)])
    return [*gone, op.operation, fill]


def _emit(
    op: StructuredOp,
    plan: Plan,
    operation: Any,
    epilogue: Epilogue | None = None,
    initial: Sequence[Any] = (),
) -> list[Any]:
    """Writes the loops in place of the operation; what nobody needs any more, users first."""
    fills: list[Any] = []
    if epilogue is None:
        op, fills, initial = _without_fills(op, plan)
    collapsed = collapse(op)
    allow_fused_multiply_add(collapsed.op)
    note_loops(collapsed.op, plan, None if epilogue is None else operation)
    reduces_lanes = plan.vector in collapsed.op.reductions
    found = combiners(collapsed.op) if reduces_lanes else []
    results = collapsed.restore(Nest(collapsed.op, plan, initial, found, epilogue).emit())
    for old, new in zip(operation.results, results, strict=True):
        old.replace_all_uses_with(new)
    return [operation, *fills]


def _is_in_registers(op: StructuredOp, plan: Plan) -> bool:
    """Whether nothing is written before a result is done."""
    return len(op.reductions) == plan.carried > 0 and not plan.blocks


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
            return replace(plan(op, machine), name=plan.__name__.removeprefix("plan_"))
        except Decline as decline:
            reasons.append(decline.reason)
    raise Decline("; ".join(dict.fromkeys(reasons)))


def _without_fills(op: StructuredOp, plan: Plan) -> tuple[StructuredOp, list[Any], list[Any]]:
    """A reduction in registers writes over what its outputs are filled with: it starts from the number instead."""
    operands, fills, initial = list(op.operands), [], []
    is_in_registers = _is_in_registers(op, plan)
    for output, value in enumerate(op.outputs):
        fill = _fill_of(value) if is_in_registers else None
        initial.append(None if fill is None else _filled_with(fill))
        if fill is not None:
            operands[op.output_start + output] = fill.operands[len(fill.operands) - 1]
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
