# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packing at compile time: constant matrices that plans copy to panels are stored as panels. No call copies them again.

A PrimFunc takes the panels (schedule/packing.py) instead of a matrix for which every caller passes a constant. Its plan
says `packed`. If the PrimFunc gets no plan after all, it unpacks the panels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, function_type_of, use_count
from ...dialects.core.ir_attributes import PLAN
from ...emit.structured import analyze, structured_ops
from ...targets.core.machine import Machine
from ...targets.core.machine_pass import MachinePass
from ..core.registry import register_pass
from .schedule.byte_pairs import in_byte_pairs
from .schedule.constant_arguments import Callers, callers_in
from .schedule.packed_plans import Packing, packing_of
from .schedule.plan import Plan, plan_of, set_plan


@register_pass
@dataclass(frozen=True)
class PackConstants(MachinePass):
    """Pack constant matrices into the panels that plans of products read."""

    name: ClassVar[str] = "tir-pack-constants"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "linalg", "tensor")

    def run(self, op: Operation) -> None:
        with op.context:
            for callers in callers_in(op).values():
                if callers.calls:
                    _pack(callers, self.machine)


def _pack(callers: Callers, machine: Machine) -> None:
    function = callers.function
    for operation in structured_ops(function):
        constants = {place for place, value in enumerate(operation.operands) if _is_constant(value, callers)}
        plan = plan_of(operation) if constants and PLAN in operation.attributes else None
        packing = packing_of(analyze(operation), plan) if isinstance(plan, Plan) else None
        if packing is None or packing.operand not in constants:
            continue
        weights = operation.operands[packing.operand]
        plain = callers.packed(weights.arg_number, packing.pack)
        packing, packed = in_byte_pairs(analyze(operation), packing, plain, machine)
        callers.replace(weights.arg_number, packed)
        _take_packed(function, weights, packing)
        set_plan(operation, packing.plan)


def _is_constant(value: Value, callers: Callers) -> bool:
    """Check whether a value is a parameter with one user, and all callers pass constants for it."""
    is_parameter = isinstance(value, ir.BlockArgument) and value.owner == body_of(callers.function)
    return is_parameter and use_count(value) == 1 and callers.give_constant(value.arg_number)


def _take_packed(function: Operation, matrix: Value, packing: Packing) -> None:
    block, type_ = body_of(function), matrix.type
    with function.location, ir.InsertionPoint.at_block_begin(block):
        users = list(matrix.uses)
        matrix.set_type(packing.type_of(type_))
        made = packing.unpack(matrix, type_)
        for use in users:
            use.owner.operation.operands[use.operand_number] = made
    results = function_type_of(function).results
    new = ir.FunctionType.get([argument.type for argument in block.arguments], results)
    function.attributes["function_type"] = ir.TypeAttr.get(new)
