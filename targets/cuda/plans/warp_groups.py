# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of narrow numbers by groups of four warps from shared memory, with wgmma (sm_90a)."""

from __future__ import annotations

from dataclasses import replace

from ....bindings.rewriting import Decline
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.plan import Plan
from ...core.machine import Machine
from ...gpu.planned.product_kernels import find_instruction
from ...gpu.plans.product import BlockShape, Sides, best_shape, check_reduction, loop_size, plan_of_shape, sides_of
from ..objects.arch import WGMMA
from ..planned.warp_groups import GroupKernel

#: A lane has two adjacent elements.
_LANES = 2
#: Two groups of 64 rows or one. The instruction determines the depth, which is a line.
_SHAPES = (
    BlockShape(2, 32, 64, 4, 1, 1.0),
    BlockShape(2, 16, 64, 4, 1, 0.85),
    BlockShape(2, 8, 64, 4, 1, 0.6),
    BlockShape(2, 16, 32, 4, 1, 0.6),
    BlockShape(2, 8, 32, 4, 1, 0.45),
)
_MOST_STAGES = 4
_PIECE_BYTES = 16
#: Smaller products leave more than half of the smallest rectangle, or of a block's steps, empty.
_LEAST = 33


def plan_warp_groups(op: StructuredOp, machine: Machine) -> Plan:
    check_reduction(op)
    sides = sides_of(op)
    kernel = _kernel(op, sides, machine)
    few = next((side for side in (sides.rows, sides.columns) if loop_size(op, side) < _LEAST), None)
    if few is not None or loop_size(op, sides.steps) <= kernel.depth() // 2:
        raise Decline("rectangles of 64 rows and columns, and blocks of steps, would be mostly empty")
    if not all(_has_pieces(op, sides, operand) for operand in sides.inputs):
        raise Decline("copies of single elements are slower than the products of groups of warps")
    shape, parts = best_shape(op, sides, _SHAPES, _LANES, machine, kernel.steps)
    plan = plan_of_shape(op, sides, shape._replace(depth=kernel.depth()), _LANES, parts)
    columns = shape.columns_of_vectors * _LANES
    element = op.element(sides.inputs[0]).width // 8
    stages = machine.shared_bytes // ((shape.height + columns) * kernel.depth() * element)
    name = f"wgmma_m64n{columns}k{kernel.steps}"
    return replace(plan, instruction=name, stages=max(1, min(stages, _MOST_STAGES)))


def _has_pieces(op: StructuredOp, sides: Sides, operand: int) -> bool:
    """Check whether 16 bytes of an input can be copied at once, contiguous in both memories."""
    last, bytes_ = op.last_dim(operand), op.element(operand).width // 8
    size = None if last is None else op.sizes[last]
    return size is not None and size * bytes_ % _PIECE_BYTES == 0 and (bytes_ > 1 or last in sides.steps)


def _kernel(op: StructuredOp, sides: Sides, machine: Machine) -> type[GroupKernel]:
    """Return the kernel for the body. Raises Decline if the machine has none."""
    reason = "the machine has no products by groups of warps"
    for name in [instruction for instruction in machine.instructions if instruction in WGMMA]:
        kernel = find_instruction(name)
        assert issubclass(kernel, GroupKernel)
        try:
            kernel.factors(op, sides.inputs)
            return kernel
        except Decline as decline:
            reason = decline.reason
    raise Decline(reason)
