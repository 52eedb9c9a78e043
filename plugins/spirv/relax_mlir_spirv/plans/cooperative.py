# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of narrow numbers by cooperative matrices: each subgroup of a block multiplies several of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from relax_mlir.bindings.rewriting import Decline
from relax_mlir.emit.structured import StructuredOp
from relax_mlir.passes.kernels.schedule.plan import Plan
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.gpu.planned.dequantized_operand import factor_of
from relax_mlir.targets.gpu.planned.mma_operands import factors_of
from relax_mlir.targets.gpu.plans.product import BlockShape, Sides, best_shape, check_reduction, plan_of_shape, sides_of
from relax_mlir.targets.gpu.plans.strip import is_few

from ..matrices import Matrices, matrices_of_instruction
from ..planned.cooperative import KINDS, result_bytes

#: Matrices of a subgroup, subgroups of a block (rows and columns of each), and the fraction of time spent on
#: multiplication. It grows with the reuse of each loaded matrix.
_SHAPES = (
    ((2, 4), (4, 2), 1.0),
    ((2, 2), (4, 2), 0.8),
    ((2, 2), (2, 2), 0.7),
    ((1, 2), (2, 2), 0.5),
    ((1, 1), (2, 2), 0.4),
    ((1, 1), (1, 2), 0.25),
)


def plan_cooperative(op: StructuredOp, machine: Machine) -> Plan:
    check_reduction(op)
    sides = sides_of(op)
    if is_few(op, sides.rows) or is_few(op, sides.columns):
        raise Decline("matrices would be mostly empty")
    matrices = _matrices(op, sides, machine)
    steps = math.prod(op.sizes[dim] or matrices.steps for dim in sides.steps)
    if steps < matrices.steps // 2:
        raise Decline(f"{steps} steps are too few for '{matrices}'")
    depth = matrices.steps * (2 if steps > matrices.steps else 1)
    element = factor_of(op, sides.inputs[0]).type.width // 8
    shapes = [
        shape
        for shape in _shapes(matrices, depth)
        if shape.threads <= machine.block_threads and _bytes(shape, matrices, element, 1) <= machine.shared_bytes
    ]
    if not shapes:
        raise Decline(f"a block of the device has no room for '{matrices}'")
    shape, parts = best_shape(op, sides, shapes, matrices.lanes, machine, matrices.steps)
    plan = plan_of_shape(op, sides, shape, matrices.lanes, parts)
    has_room = _bytes(shape, matrices, element, plan.stages) <= machine.shared_bytes
    return replace(plan, instruction=matrices.instruction, stages=plan.stages if has_room else 1)


def _matrices(op: StructuredOp, sides: Sides, machine: Machine) -> Matrices:
    """Return the matrices for the body. Raises Decline if the device has none."""
    reason = "the device has no cooperative matrices"
    for matrices in filter(None, map(matrices_of_instruction, machine.instructions)):
        try:
            factors_of(op, sides.inputs, [KINDS[matrices.factors]])
            return matrices
        except Decline as decline:
            reason = decline.reason
    raise Decline(reason)


def _shapes(matrices: Matrices, depth: int) -> Iterator[BlockShape]:
    for (rows, columns), (down, across), efficiency in _SHAPES:
        yield BlockShape(
            rows * matrices.rows_of_thread,
            columns,
            down * matrices.threads_down,
            across * matrices.threads_across,
            depth,
            efficiency,
        )


def _bytes(shape: BlockShape, matrices: Matrices, element: int, stages: int) -> int:
    """Return the bytes of shared memory for the inputs' blocks and the exchange of results."""
    subgroups = shape.threads // matrices.threads
    return stages * shape.stage_bytes(matrices.lanes, element) + subgroups * result_bytes(matrices)
