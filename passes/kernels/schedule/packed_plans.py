# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed forms of constant matrices: plans of products that read a matrix which is packed at compile time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ....bindings.ir import Type, Value
from ....emit.structured import StructuredOp
from .known_weights import with_panel
from .loop_collapsing import join
from .packing import grouped_type, panels_type, ungrouped, unpacked
from .plan import Panel, Plan, group_of, panel_form
from .vector_body import widening_of

if TYPE_CHECKING:
    from numpy import ndarray


class Packing(NamedTuple):
    """Packed layout of an input, and the plan that reads it."""

    operand: int
    plan: Plan
    pack: Callable[[ndarray], ndarray]
    type_of: Callable[[Type], Type]
    unpack: Callable[[Value, Type], Value]


def packing_of(op: StructuredOp, plan: Plan) -> Packing | None:
    """Return the packed form in which a plan can read weights.

    Return None if the weights are packed already or need no packing.
    """
    if plan.panel is not None:
        operand, group = plan.panel.operand, group_of(plan, plan.panel.dim)
        is_widened = group == 1 and widening_of(op, operand) is not None
        is_across = not join(op, plan.joined).is_contiguous(operand, plan.vector)
        is_done = plan.panel.is_packed or is_widened or is_across or not _is_static(op.operands[operand], 2)
        return None if is_done else _as_panels(operand, plan, plan.panel)
    joined = join(op, plan.joined)
    if plan.dot is None:
        paneled = with_panel(joined, plan)
        return None if paneled is None else packing_of(op, paneled)
    if plan.dot.is_packed:
        return None
    operands = [index for index in range(joined.input_count) if joined.uses(index, plan.vector)]
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
    group, lanes = plan.dot.group, plan.lanes
    return Packing(
        operand,
        replace(plan, dot=plan.dot._replace(is_packed=True)),
        lambda weights: grouped(weights, group, lanes),
        lambda type_: grouped_type(type_, group, lanes),
        lambda packed, type_: ungrouped(packed, type_, group),
    )


def _is_static(value: Value, rank: int) -> bool:
    return value.type.rank == rank and value.type.has_static_shape and all(value.type.shape)


def _as_panels(operand: int, plan: Plan, panel: Panel) -> Packing:
    form = panel_form(plan, panel)
    return Packing(
        operand,
        replace(plan, panel=panel._replace(is_packed=True)),
        lambda matrix: panels(matrix, *form),
        lambda type_: panels_type(type_, form),
        lambda packed, type_: unpacked(packed, type_, form.group),
    )


def panels(matrix: ndarray, width: int, group: int = 1, depth: int = 1) -> ndarray:
    """Return panels [N / width][K / group][width * group] of a matrix [K][N], with whole tiles of `depth` groups."""
    wide = grouped(matrix, group)
    steps, columns = -(-len(wide) // depth) * depth, matrix.shape[1]
    count = -(-columns // width)
    whole = _padded(_padded(wide.T, steps).T, count * width * group)
    return whole.reshape(steps, count, width * group).transpose(1, 0, 2)


def grouped(weights: ndarray, group: int, lanes: int = 1) -> ndarray:
    """Return weights [..., K, N] as [..., K / group, N * group], N padded to a multiple of `lanes`."""
    *outer, rows, columns = weights.shape
    steps, columns = -(-rows // group), -(-columns // lanes) * lanes
    whole = _padded(_padded(weights, columns).swapaxes(-1, -2), steps * group)
    apart = whole.reshape(*outer, columns, steps, group).swapaxes(-2, -3)
    return apart.reshape(*outer, steps, columns * group)


def _padded(array: ndarray, size: int) -> ndarray:
    """Pad the last dimension with zeros up to `size`."""
    import numpy

    missing = size - array.shape[-1]
    return numpy.pad(array, [*[(0, 0)] * (array.ndim - 1), (0, missing)]) if missing else array
