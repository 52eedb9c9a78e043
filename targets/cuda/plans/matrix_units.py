# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of narrow numbers by matrix units: warps multiply tiles while the next blocks are copied."""

from __future__ import annotations

import math
from dataclasses import replace

from ....bindings.rewriting import Decline
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.plan import Plan
from ...core.machine import Machine
from ...gpu.planned.dequantized_operand import factor_of, made_of
from ...gpu.plans.product import BlockShape, Sides, best_shape, check_reduction, plan_of_shape, sides_of
from ...gpu.plans.strip import is_few
from ..planned.matrix_units import BytesKernel, HalvesKernel, MatrixKernel
from ..planned.tensor_floats import TensorFloatsKernel

_KERNELS: dict[str, type[MatrixKernel]] = {
    "m16n8k8": TensorFloatsKernel,
    "m16n8k16": HalvesKernel,
    "m16n8k32": BytesKernel,
}
#: A lane has two adjacent elements.
_LANES = 2
#: The depth counts instructions. Blocks have two of them if the inputs' rows are aligned for vectors.
_SHAPES = (
    BlockShape(8, 4, 16, 16, 1, 1.0),
    BlockShape(4, 4, 32, 8, 1, 0.8),
    BlockShape(4, 4, 16, 16, 1, 0.8),
    BlockShape(4, 4, 16, 8, 1, 0.65),
    BlockShape(2, 4, 16, 8, 1, 0.4),
    BlockShape(2, 4, 8, 16, 1, 0.4),
)
_MOST_STAGES = 4


def plan_matrix_units(op: StructuredOp, machine: Machine) -> Plan:
    check_reduction(op)
    sides = sides_of(op)
    if is_few(op, sides.rows) or is_few(op, sides.columns):
        raise Decline("tiles would be mostly empty")
    name, kernel = _instruction(op, sides, machine)
    if (steps := math.prod(op.sizes[dim] or kernel.steps for dim in sides.steps)) < kernel.steps // 2:
        raise Decline(f"{steps} steps are too few for '{name}'")
    shape, parts = best_shape(op, sides, _SHAPES, _LANES, machine, kernel.steps)
    lasts = [side[-1] for side in (sides.rows, sides.columns, sides.steps)]
    depth = kernel.steps * (1 if any(op.sizes[dim] is None for dim in lasts[1:]) else 2)
    plan = plan_of_shape(op, sides, shape._replace(depth=depth), _LANES, parts)
    return replace(plan, instruction=name, stages=_stages(op, sides, shape, depth, machine))


def _instruction(op: StructuredOp, sides: Sides, machine: Machine) -> tuple[str, type[MatrixKernel]]:
    """Return the instruction for the body, with its kernel. Raises Decline if the machine has none."""
    reasons = []
    for name in [instruction for instruction in machine.instructions if instruction in _KERNELS]:
        try:
            _KERNELS[name].factors(op, sides.inputs)
            return name, _KERNELS[name]
        except Decline as decline:
            reasons.append(decline.reason)
    raise Decline(reasons[0] if reasons else "the machine has no matrix units")


def _stages(op: StructuredOp, sides: Sides, shape: BlockShape, depth: int, machine: Machine) -> int:
    """Return the most stages that fit.

    If three stages fit twice, two blocks share a core, so that one computes while the other waits.
    """
    element = factor_of(op, sides.inputs[0]).type.width // 8
    of_stage = shape._replace(depth=depth).stage_bytes(_LANES, element)
    most = 2 if any(made_of(op, input_) for input_ in sides.inputs) else _MOST_STAGES
    stages = machine.shared_bytes // 2 // of_stage
    return max(min(stages if stages > 2 else machine.shared_bytes // of_stage, most), 1)
