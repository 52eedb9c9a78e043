# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packing at compile time: constant matrices that plans copy to panels are stored as panels, no call copies them again.

A PrimFunc takes the panels (passes/schedule/packing.py) in place of the matrix that every caller gives as a constant,
and its plan says `packed`. Where it is not planned after all, it unpacks them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..bindings.ir import Operation, Type, Value
from ..bindings.mlir import ir
from ..bindings.navigation import body_of, function_type_of, operations_in, symbol_name, use_count
from ..bindings.rewriting import is_used
from ..dialects.core.call_graph import references_of
from ..dialects.core.infos import signless
from ..dialects.core.ir_attributes import PLAN
from ..dialects.relax.known_constants import stored_elements
from ..dialects.tir.prim_func import prim_funcs_in
from ..emit.structured import StructuredOp, analyze, structured_ops
from .core.base import Pass
from .core.registry import register_pass
from .fold.constant_graph import CALL_TIR
from .layout.conversion import constant_like
from .schedule.known_weights import with_panel
from .schedule.loop_collapsing import join
from .schedule.packing import grouped_type, panels_type, ungrouped, unpacked
from .schedule.plan import Panel, Plan, group_of, panel_form, plan_of, set_plan
from .schedule.vector_body import widening_of

if TYPE_CHECKING:
    from numpy import ndarray


@register_pass
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


def _is_known(given: Value, type_: Type) -> bool:
    """Whether a caller gives a constant of a type, where signs are the operators' matter."""
    is_same = given.type.shape == type_.shape and signless(str(given.type.element_type)) == str(type_.element_type)
    return is_same and stored_elements(given) is not None


class _Packing(NamedTuple):
    """The packed layout of an input, and the plan that says so."""

    operand: int
    plan: Plan
    pack: Callable[[ndarray], ndarray]
    type_of: Callable[[Type], Type]
    unpack: Callable[[Value, Type], Value]


def _pack(function: Operation, calls: Sequence[Operation]) -> None:
    for operation in structured_ops(function):
        plan = plan_of(operation) if PLAN in operation.attributes else None
        packing = _packing(analyze(operation), plan) if isinstance(plan, Plan) else None
        if packing is None:
            continue
        weights = operation.operands[packing.operand]
        is_alone = isinstance(weights, ir.BlockArgument) and weights.owner == body_of(function)
        if not is_alone or use_count(weights) != 1:
            continue
        place = weights.arg_number
        if not all(_is_known(call.operands[place], weights.type) for call in calls):
            continue
        for call in calls:
            _give_packed(call, place, packing)
        _take_packed(function, weights, packing)
        set_plan(operation, packing.plan)


def _packing(op: StructuredOp, plan: Plan) -> _Packing | None:
    """The packed form in which a plan reads weights; None where they have it, or need it not."""
    if plan.panel is not None:
        operand, group = plan.panel.operand, group_of(plan, plan.panel.dim)
        is_widened = group == 1 and widening_of(op, operand) is not None
        is_across = not join(op, plan.joined).is_contiguous(operand, plan.vector)
        is_done = plan.panel.is_packed or is_widened or is_across or not _is_static(op.operands[operand], 2)
        return None if is_done else _as_panels(operand, plan, plan.panel)
    joined = join(op, plan.joined)
    if plan.dot is None:
        paneled = with_panel(joined, plan)
        return None if paneled is None else _packing(op, paneled)
    if plan.dot.is_packed:
        return None
    operands = [each for each in range(joined.input_count) if joined.uses(each, plan.vector)]
    if len(operands) != 1 or plan.vector == plan.dot.dim:
        return None
    (operand,) = operands
    access = joined.accesses[operand]
    is_last = len(access) > 1 and access[-2].dim == plan.dot.dim and access[-1].dim == plan.vector
    if not is_last or not _is_static(op.operands[operand], len(access)):
        return None
    if len(access) == 2:
        length = op.operands[operand].type.shape[0]
        return _as_panels(operand, plan, Panel(operand, plan.dot.dim, length))
    group = plan.dot.group
    return _Packing(
        operand,
        replace(plan, dot=plan.dot._replace(is_packed=True)),
        lambda weights: grouped(weights, group),
        lambda type_: grouped_type(type_, group),
        lambda packed, type_: ungrouped(packed, type_, group),
    )


def _is_static(value: Value, rank: int) -> bool:
    return value.type.rank == rank and value.type.has_static_shape and all(value.type.shape)


def _as_panels(operand: int, plan: Plan, panel: Panel) -> _Packing:
    form = panel_form(plan, panel)
    return _Packing(
        operand,
        replace(plan, panel=panel._replace(is_packed=True)),
        lambda matrix: panels(matrix, *form),
        lambda type_: panels_type(type_, form),
        lambda packed, type_: unpacked(packed, type_, form.group),
    )


def _give_packed(call: Operation, place: int, packing: _Packing) -> None:
    constant = call.operands[place]
    elements = stored_elements(constant)
    assert elements is not None
    with call.location, ir.InsertionPoint(call):
        call.operands[place] = constant_like(constant, packing.pack(elements))
    maker = constant.owner.operation
    if not is_used(maker):
        maker.erase()


def panels(matrix: ndarray, width: int, group: int = 1, depth: int = 1) -> ndarray:
    """[N / width][K / group][width * group] of a matrix [K][N], with whole tiles of `depth` groups."""
    wide = grouped(matrix, group)
    steps, columns = -(-len(wide) // depth) * depth, matrix.shape[1]
    count = -(-columns // width)
    whole = _padded(_padded(wide.T, steps).T, count * width * group)
    return whole.reshape(steps, count, width * group).transpose(1, 0, 2)


def grouped(weights: ndarray, group: int) -> ndarray:
    """[..., K / group, N * group] of weights [..., K, N]."""
    *outer, rows, columns = weights.shape
    if group == 1:
        return weights
    steps = -(-rows // group)
    whole = _padded(weights.swapaxes(-1, -2), steps * group)
    apart = whole.reshape(*outer, columns, steps, group).swapaxes(-2, -3)
    return apart.reshape(*outer, steps, columns * group)


def _padded(array: ndarray, size: int) -> ndarray:
    """With zeros behind the elements of the last dimension, up to `size`."""
    import numpy

    missing = size - array.shape[-1]
    return numpy.pad(array, [*[(0, 0)] * (array.ndim - 1), (0, missing)]) if missing else array


def _take_packed(function: Operation, matrix: Value, packing: _Packing) -> None:
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
