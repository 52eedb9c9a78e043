# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which loop of an operation threads share, and in which grains: none, where waking a thread takes as long as the work.

Grains depend on the operation and the machine alone, so that results are the same for any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...bindings.mlir import ir
from ...bindings.navigation import operations_of
from ...dialects.core.infos import bit_width
from ...emit.structured import StructuredOp
from ...targets.core.backend import Machine
from .fitting import can_be_shared, points_of_step
from .plan import Parallel, Plan

#: Nanoseconds. With less in all, threads would mostly wait for each other; with less in a grain, for the counter.
_LEAST_WORK, _LEAST_GRAIN = 20_000, 5_000
#: Grains: so many for each core that a busy one leaves most of its share to others, so many steps in the end.
_GRAINS_OF_CORE, _FEWEST_GRAINS = 8, 32
#: What a core does: operations on vectors and bytes from memory in a nanosecond.
_OPERATIONS, _BYTES = 6, 16
#: What is assumed of a loop whose size is not known.
_ORDINARY_SIZE = 128


def with_threads(op: StructuredOp, plan: Plan, machine: Machine) -> Plan:
    """The plan, with the loop that threads share where that is worth it."""
    if machine.cores == 1:
        return plan
    shares = [share for dim in plan.order if (share := _share(op, plan, dim, machine)) is not None]
    # As a rule the outermost loop: the fewest regions. An inner one where that has hardly more steps than threads.
    return max(shares, key=lambda share: min(share[0], 4 * machine.cores), default=(0, plan))[1]


def _share(op: StructuredOp, plan: Plan, dim: int, machine: Machine) -> tuple[int, Plan] | None:
    """How many grains there are, and the plan, if threads share a loop; None where that is not worth it."""
    if not can_be_shared(op, dim) or dim in dict(plan.blocks):
        return None
    around = plan.order[: plan.order.index(dim)]
    step = points_of_step(plan, dim)
    if around and op.reductions.issuperset(around):
        # Steps of a reduction would be as many regions: a loop around them is shared instead.
        around = ()
        is_cut = True
    else:
        is_cut = False
    outer = [size_of(op, each) / points_of_step(plan, each) for each in around]
    outer += [] if is_cut else [size_of(op, each) / block for each, block in plan.blocks]
    work = nanoseconds(op, plan) / max(math.prod(map(math.ceil, outer)), 1)
    steps = size_of(op, dim) // step
    if work < _LEAST_WORK or steps < 2:
        return None
    most = max(_FEWEST_GRAINS, _GRAINS_OF_CORE * machine.cores)
    grain = max(math.ceil(_LEAST_GRAIN * steps / work), math.ceil(steps / most))
    grains = math.ceil(steps / grain)
    if grains < 2:
        return None
    points = grain * step
    blocks = ((dim, points), *plan.blocks) if is_cut else plan.blocks
    return grains, replace(plan, blocks=blocks, parallel=Parallel(dim, points))


def size_of(op: StructuredOp, dim: int) -> int:
    """A loop's size, or what is assumed of it."""
    size = op.sizes[dim]
    return _ORDINARY_SIZE if size is None else size


def nanoseconds(op: StructuredOp, plan: Plan) -> float:
    """About how long one thread takes."""
    points = math.prod(size_of(op, dim) for dim in op.dims)
    computing = points * len(operations_of(op.block)) / plan.lanes / _OPERATIONS
    return max(computing, sum(_bytes(op, operand) for operand in range(len(op.operands))) / _BYTES)


def _bytes(op: StructuredOp, operand: int) -> float:
    shape: Sequence[int] = op.shapes[operand]
    sizes = [_ORDINARY_SIZE if size < 0 else size for size in shape]
    element = op.element(operand)
    return math.prod(sizes) * (8 if isinstance(element, ir.IndexType) else bit_width(str(element)) / 8)
