# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second plan for products with a dynamic number of rows: decoding steps have one row, a prompt has many.

The second plan computes few rows as strips. For the first plan, quantized weights would be dequantized for absent rows,
too.
"""

from __future__ import annotations

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.rewriting import Decline
from ....dialects.core.ir_attributes import FEW_ROWS, PLAN
from ....emit.structured import StructuredOp, analyze, structured_ops
from ....passes.kernels.schedule.plan import Plan, plan_of
from ....passes.kernels.schedule.planning import first_plan
from ....passes.kernels.schedule.registry import PlanRule
from ...core.machine import Machine
from ..planned.dequantized_operand import made_of
from .product import check_reduction, sides_of
from .strip import strip_of

#: Most rows for the second plan.
MOST_ROWS = 4


def plan_few_rows(op: StructuredOp, machine: Machine) -> Plan:
    check_reduction(op)
    sides = sides_of(op)
    if all(op.sizes[dim] is not None for dim in sides.rows):
        raise Decline("its number of rows is static")
    if not any(made_of(op, input_) for input_ in sides.inputs):
        raise Decline("it has no dequantized weights")
    return strip_of(op, sides._replace(batches=tuple(sorted((*sides.batches, *sides.rows))), rows=()), machine)


_RULE = PlanRule("gpu", "few_rows", plan_few_rows, __name__)


def plan_for_few(function: Operation, machine: Machine) -> None:
    """Add the second plan to the planned products of a function."""
    for operation in structured_ops(function):
        if PLAN not in operation.attributes or not isinstance(plan_of(operation), Plan):
            continue
        try:
            _, plan = first_plan(analyze(operation), [_RULE], machine)
        except Decline:
            continue
        operation.attributes[FEW_ROWS] = ir.StringAttr.get(str(plan))
