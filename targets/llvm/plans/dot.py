# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of products of narrow numbers, by instructions that take groups of adjacent elements along a reduction."""

from __future__ import annotations

from dataclasses import replace

from ....bindings.rewriting import Decline
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.dots import dots_of, factor_kinds, instructions_for
from ....passes.kernels.schedule.plan import Dot, Plan
from ....passes.kernels.schedule.reduction_order import check_free
from ...core.machine import DotInstruction, Machine
from .conv import conv
from .elementwise import fitting_lanes
from .matmul import across, along, check_contraction
from .reduction import vector_across, vector_along

#: Registers that the halves of columns and rows take.
_HALVES = 4


def plan_dot(op: StructuredOp, machine: Machine) -> Plan:
    """Plan a contraction like products and convolutions, with one reduction point per group."""
    if not machine.dots:
        raise Decline("the machine has no instruction for sums of products of narrow numbers")
    check_contraction(op)
    kind = str(op.block.arguments[0].type)
    if "f" in kind and all(dot.left != kind for dot in machine.dots):  # floats without an instruction may state orders
        raise Decline(f"the machine has no instruction for sums of products of {kind}")
    check_free(op)
    instructions = instructions_for(op, machine)
    if instructions[0].by_halves:
        machine = replace(machine, registers=machine.registers - _HALVES)
    vector = vector_across(op)
    plan = _plan_along(op, instructions, machine) if vector is None else _plan_across(op, vector, instructions, machine)
    dots_of(op, plan, machine)
    return plan


def _plan_across(op: StructuredOp, vector: int, instructions: list[DotInstruction], machine: Machine) -> Plan:
    """Plan vectors along the columns of the result. The other input has contiguous elements in each group."""
    rows = [operand for operand in factor_kinds(op)[0] if not op.uses(operand, vector)]
    lanes, group = _lanes(instructions, op.sizes[vector]), instructions[0].group
    dim = _neighbours(op, rows[0], group) if len(rows) == 1 else None
    if dim is None:
        raise Decline("dot products need one input with contiguous elements along a reduction that vectors share")
    is_conv = any(len(index.factors) > 1 for access in op.accesses for index in access)
    plan = conv(op, vector, lanes, machine) if is_conv else across(op, vector, lanes, machine, group)
    return replace(plan, dot=Dot(dim, group))


def _neighbours(op: StructuredOp, rows: int, group: int) -> int | None:
    """Return the reduction along which an input is contiguous, or None.

    One example is a window that moves along an image row, if more than half of each padded group holds elements.
    """
    if (last := op.last_dim(rows)) is not None:
        return last if last in op.reductions else None
    near = [dim for dim in sorted(op.reductions) if op.is_contiguous(rows, dim)]
    sizes = [(dim, op.sizes[dim]) for dim in near]
    return next((dim for dim, size in sizes if size is not None and -(-size // group) * group < 2 * size), None)


def _plan_along(op: StructuredOp, instructions: list[DotInstruction], machine: Machine) -> Plan:
    """Plan vectors along the reduction, in both inputs."""
    if (vector := vector_along(op)) is None:
        raise Decline("no loop has the inputs' elements contiguous")
    size, group = op.sizes[vector], instructions[0].group
    lanes = _lanes(instructions, None if size is None else -(-size // group))
    return replace(along(op, vector, lanes, machine), dot=Dot(vector, group))


def _lanes(instructions: list[DotInstruction], size: int | None) -> int:
    """Return the smallest lane count that covers the size, or the largest available."""
    wanted = fitting_lanes(instructions[-1].lanes, size)
    return next(instruction.lanes for instruction in instructions if instruction.lanes >= wanted)
