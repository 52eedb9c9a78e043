# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant matrices that plans copy to panels lie as panels from the start: no call copies them again.

A PrimFunc takes the panels (passes/schedule/packing.py) in place of the matrix that every caller gives as a constant,
and its plan says `packed`. Where it is not planned after all, it unpacks them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ..bindings.ir import Operation, Value
from ..bindings.mlir import ir
from ..bindings.navigation import body_of, function_type_of, operations_in, symbol_name, use_count
from ..bindings.rewriting import is_used
from ..dialects.tir.prim_func import prim_funcs_in
from ..emit.structured import analyze, structured_ops
from .canonicalize.constants import elements_of
from .core.base import Pass
from .core.registry import register_pass
from .fold.constant_graph import CALL_TIR
from .inline.call_graph import references_of
from .layout.conversion import constant_like
from .schedule.fitting import points_of_step
from .schedule.packing import packed_type, unpacked
from .schedule.plan import PLAN, Plan, plan_of, set_plan
from .schedule.vector_body import widening_of

if TYPE_CHECKING:
    from numpy import ndarray


@register_pass
@dataclass(frozen=True)
class PackConstants(Pass):
    """Packs constant matrices as the plans of products read them."""

    name: ClassVar[str] = "tir-pack-constants"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "linalg", "tensor")

    def run(self, op: Operation) -> None:
        calls: dict[str, list[Operation]] = defaultdict(list)
        others: set[str] = set()
        for each in operations_in(op):
            if each.name == CALL_TIR:
                calls[str(each.attributes["func"].value)].append(each)
            else:
                others.update(references_of(each))
        with op.context:
            for function in prim_funcs_in(op):
                name = symbol_name(function)
                if calls[name] and name not in others:
                    _pack(function, calls[name])


def _pack(function: Operation, calls: Sequence[Operation]) -> None:
    for operation in structured_ops(function):
        plan = plan_of(operation) if PLAN in operation.attributes else None
        if not isinstance(plan, Plan) or plan.panel is None or plan.panel.is_packed:
            continue
        matrix = operation.operands[plan.panel.operand]
        is_alone = isinstance(matrix, ir.BlockArgument) and matrix.owner == body_of(function) and use_count(matrix) == 1
        if not is_alone or not _is_matrix(matrix) or widening_of(analyze(operation), plan.panel.operand) is not None:
            continue
        place = matrix.arg_number
        known = [elements_of(call.operands[place]) for call in calls]
        if any(each is None for each in known) or any(call.operands[place].type != matrix.type for call in calls):
            continue
        width = points_of_step(plan, plan.vector)
        for call in calls:
            _give_panels(call, place, width)
        _take_panels(function, matrix, width)
        set_plan(operation, replace(plan, panel=plan.panel._replace(is_packed=True)))


def _is_matrix(value: Value) -> bool:
    return value.type.rank == 2 and value.type.has_static_shape and all(value.type.shape)


def _give_panels(call: Operation, place: int, width: int) -> None:
    constant = call.operands[place]
    elements = elements_of(constant)
    assert elements is not None
    with call.location, ir.InsertionPoint(call):
        call.operands[place] = constant_like(constant, packed(elements, width))
    maker = constant.owner.operation
    if not is_used(maker):
        maker.erase()


def packed(matrix: ndarray, width: int) -> ndarray:
    """[N / width][K][width] of a matrix [K][N]."""
    import numpy

    rows, columns = matrix.shape
    count = -(-columns // width)
    if columns != count * width:
        matrix = numpy.pad(matrix, ((0, 0), (0, count * width - columns)))
    return matrix.reshape(rows, count, width).transpose(1, 0, 2)


def _take_panels(function: Operation, matrix: Value, width: int) -> None:
    block, type_ = body_of(function), matrix.type
    with function.location, ir.InsertionPoint.at_block_begin(block):
        users = list(matrix.uses)
        matrix.set_type(packed_type(type_, width))
        made = unpacked(matrix, type_.shape[1])
        for use in users:
            use.owner.operation.operands[use.operand_number] = made
    results = function_type_of(function).results
    new = ir.FunctionType.get([argument.type for argument in block.arguments], results)
    function.attributes["function_type"] = ir.TypeAttr.get(new)
