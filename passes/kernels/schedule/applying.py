# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering by plan: replaces a PrimFunc's structured operations by the loops that their plans describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import made_by, operations_of, symbol_name, use_count
from ....bindings.rewriting import Decline, located_error
from ....dialects.core.ir_attributes import PLAN
from ....emit.arithmetic import shared_constants
from ....emit.combiner import allow_fused_multiply_add, combiners, forget_signs_of_zeros, fuse_multiply_add
from ....emit.groups import fill_of, filled_with
from ....emit.structured import StructuredOp, analyze
from ....targets.core.machine import Machine
from .dots import Dots, packed_operand
from .epilogue import Epilogue, check_lanes, keeps_results, with_epilogue
from .fitting import check_plan
from .loop_collapsing import Joined, fold_reshapes
from .loop_notes import note_loops, note_unplanned
from .packing import unpacking
from .plan import EpilogueOf, Plan, Start, plan_of
from .tile_nest import TileNest
from .unplanned import share_unplanned
from .vector_body import check_body
from .vector_nest import VectorNest


def apply_plans(function: Operation, operations: Sequence[Operation], machine: Machine) -> None:
    """Replace a function's operations that have a plan. Raises RelaxError for a plan that does not fit."""
    pending = list(operations)
    with function.context, function.location:
        # Consumers first: a consumer absorbs the operations that fill its outputs.
        while pending:
            operation = pending.pop()
            if (plan := plan_of(operation)) is None:
                note_unplanned(operation)
                share_unplanned(operation, machine)
                continue
            try:
                with ir.InsertionPoint(operation):
                    gone = _apply(operation, plan, machine)
            except Decline as decline:
                text = string_value(operation.attributes[PLAN])
                problem = f'{PLAN} "{text}" does not fit the operation: {decline.reason}'
                raise located_error(f"PrimFunc @{symbol_name(function)}: {problem}", operation.location) from None
            pending[:] = [each for each in pending if each not in gone]
            for each in gone:
                each.erase()
        fold_reshapes(function)


def _apply(operation: Operation, plan: Plan | EpilogueOf | Start, machine: Machine) -> list[Operation]:
    """Write the loops, and return the operations that are dead afterwards, users first."""
    if operation.name != "linalg.generic":
        raise Decline(f"plans need 'linalg.generic'; linalg-generalize-named-ops converts '{operation.name}'")
    if isinstance(plan, Start):
        raise Decline("it initializes no reduction that keeps its results in registers")
    op = analyze(operation)
    check_body(op)
    if isinstance(plan, EpilogueOf):
        return _apply_with_producer(op, plan.operand, machine)
    _, dots = check_plan(op, plan, machine)
    op, fills, initial = _without_fills(_in_place(op), plan)
    _write(op, plan, operation, initial, dots, machine)
    return [operation, *fills, *_no_longer_unpacked(op, plan, dots)]


def _apply_with_producer(consumer: StructuredOp, operand: int, machine: Machine) -> list[Operation]:
    op, epilogue = with_epilogue(consumer, operand)
    if not isinstance(plan := plan_of(op.operation), Plan):
        raise Decline(f"operand {operand} is the result of an operation without a plan for loops")
    try:
        joined, dots = check_plan(op, plan, machine)
        check_lanes(joined, plan.vector)
    except Decline as decline:
        raise Decline(f'of the reduction\'s plan "{plan}": {decline.reason}') from None
    fill = _start_of(op.operation.operands[op.input_count])
    if not keeps_results(op, plan) or fill is None:
        raise Decline("the reduction's results are not in registers when they are complete")
    _write(op, plan, consumer.operation, [filled_with(fill)], dots, machine, epilogue)
    return [consumer.operation, op.operation, fill, *_no_longer_unpacked(op, plan, dots)]


def _no_longer_unpacked(op: StructuredOp, plan: Plan, dots: Dots | None) -> list[Operation]:
    """Return the operations that unpack a matrix which the loops read in packed form."""
    packed = packed_operand(plan, dots)
    return [] if packed is None else unpacking(op.operands[packed])


def _write(
    op: StructuredOp,
    plan: Plan,
    operation: Operation,
    initial: Sequence[Value | None],
    dots: Dots | None,
    machine: Machine,
    epilogue: Epilogue | None = None,
) -> None:
    """Write the loops in place of the operation."""
    joined = Joined.create(op, plan.joined)
    allow_fused_multiply_add(joined.op)
    forget_signs_of_zeros(joined.op)
    note_loops(joined.op, plan, None if epilogue is None else operation)
    found = combiners(joined.op) if plan.vector in joined.op.reductions else []
    if dots is None and machine.has_fused_multiply_add:
        fuse_multiply_add(operations_of(joined.op.block))
    nest = VectorNest if plan.tiles is None else TileNest
    with shared_constants(joined.op.operation.block):
        loops = nest(joined.op, plan, initial, found, epilogue, dots, machine.caches[0] if machine.caches else 0)
        joined.replace(operation.results, loops.emit())


def _start_of(value: Value) -> Operation | None:
    """Return the operation that fills a tensor, if a reduction may start from its number instead."""
    fill = fill_of(value)
    return fill if fill is not None and plan_of(fill) == Start() else None


def _without_fills(op: StructuredOp, plan: Plan) -> tuple[StructuredOp, list[Operation], list[Value | None]]:
    """Remove the fills of a reduction's outputs if it stays in registers: it starts from the number instead."""
    operands, fills, initial = list(op.operands), [], []
    keeps = keeps_results(op, plan)
    for output, value in enumerate(op.outputs):
        fill = _start_of(value) if keeps else None
        initial.append(None if fill is None else filled_with(fill))
        if fill is not None:
            operands[op.output_start + output] = fill.operands[len(fill.operands) - 1]
            fills.append(fill)
    return replace(op, operands=tuple(operands)), fills, initial


def _in_place(op: StructuredOp) -> StructuredOp:
    """Write the output over a dead input that has the output's memory anyway.

    Loops that read one tensor and write another into the same memory would get a copy of it.
    """
    if op.reductions or len(op.outputs) != 1 or op.reads_output(0):
        return op
    output = op.outputs[0]
    for operand in range(op.input_count):
        value = op.operands[operand]
        if op.accesses[operand] != op.accesses[-1] or value.type != output.type or use_count(value) != 1:
            continue
        place, wanted = _destination(value), _destination(output)
        if place is not None and wanted is not None and place == wanted:
            return replace(op, operands=(*op.operands[:-1], value))
    return op


def _destination(value: Value) -> Value | None:
    """Return the parameter with the memory that a value will use, traced through structured operations."""
    while (producer := made_by(value)) is not None:
        if producer.name != "linalg.generic":
            return None
        value = producer.operands[len(producer.operands) - len(producer.results) + value.result_number]
    return value
