# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packing at compile time: constant matrices that plans copy to panels are stored as panels, no call copies them again.

A PrimFunc takes the panels (passes/schedule/packing.py) in place of the matrix that every caller gives as a constant,
and its plan says `packed`. Where it is not planned after all, it unpacks them.
"""

from __future__ import annotations

from typing import ClassVar

from ..bindings.ir import Operation, Value
from ..bindings.mlir import ir
from ..bindings.navigation import body_of, function_type_of, use_count
from ..dialects.core.ir_attributes import PLAN
from ..emit.structured import analyze, structured_ops
from .core.base import Pass
from .core.registry import register_pass
from .schedule.constant_arguments import Callers, callers_in
from .schedule.packed_plans import Packing, packing_of
from .schedule.plan import Plan, plan_of, set_plan


@register_pass
class PackConstants(Pass):
    """Packs constant matrices as the plans of products read them."""

    name: ClassVar[str] = "tir-pack-constants"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "linalg", "tensor")

    def run(self, op: Operation) -> None:
        with op.context:
            for callers in callers_in(op).values():
                if callers.calls:
                    _pack(callers)


def _pack(callers: Callers) -> None:
    function = callers.function
    for operation in structured_ops(function):
        constants = {place for place, value in enumerate(operation.operands) if _is_constant(value, callers)}
        plan = plan_of(operation) if constants and PLAN in operation.attributes else None
        packing = packing_of(analyze(operation), plan) if isinstance(plan, Plan) else None
        if packing is None or packing.operand not in constants:
            continue
        weights = operation.operands[packing.operand]
        callers.pack(weights.arg_number, packing.pack)
        _take_packed(function, weights, packing)
        set_plan(operation, packing.plan)


def _is_constant(value: Value, callers: Callers) -> bool:
    """Whether it is a parameter with one user for which all callers give constants."""
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
