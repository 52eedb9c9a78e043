# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parallel loop and grain of an operation: none, where waking a thread takes as long as the work.

Grains depend on the operation and the machine alone, so that results are the same for any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...bindings.mlir import ir
from ...bindings.navigation import operations_of
from ...dialects.core.infos import bit_width
from ...emit.numbers import Number, Size, as_index, ceil_divided, maximum, minimum
from ...emit.parallel import FEWEST_GRAINS, LEAST_GRAIN, LEAST_WORK, MOST_WORK, UNIT, grain_of
from ...emit.structured import StructuredOp
from ...targets.core.backend import Machine
from .dynamic_slices import fills_border
from .fitting import can_be_shared
from .plan import Parallel, Plan, points_of_step

#: Grains for each core: a busy one leaves most of its share to others.
_GRAINS_OF_CORE = 8
#: What a core does: operations on vectors and bytes from memory in a nanosecond.
OPERATIONS, _BYTES = 6, 16
#: What is assumed of a loop whose size is not known: what is shared is looked at again at run time.
_ORDINARY_SIZE = 512


def with_threads(op: StructuredOp, plan: Plan, machine: Machine) -> Plan:
    """The plan, with the loop that threads share where that is worth it."""
    if machine.cores == 1:
        return plan
    shares = [(dim, share) for dim in plan.order if (share := _share(op, plan, dim, machine)) is not None]
    # As a rule the outermost loop: the fewest regions. An inner one where that has hardly more steps than threads, or
    # may have: sizes that are not known are often those of a batch of one.
    known, unknown = 4 * machine.cores, 2 * machine.cores
    found = [(min(grains, known if op.sizes[dim] is not None else unknown), new) for dim, (grains, new) in shares]
    return max(found, key=lambda each: each[0], default=(0, plan))[1]


def _share(op: StructuredOp, plan: Plan, dim: int, machine: Machine) -> tuple[int, Plan] | None:
    """How many grains there are, and the plan, if threads share a loop; None where that is not worth it."""
    if not can_be_shared(op, dim) or dim in dict(plan.blocks) or fills_border(op):
        return None
    around = [each for each in plan.order[: plan.order.index(dim)] if op.sizes[each] != 1]
    # Steps of a reduction would be as many regions: a loop around them is shared instead.
    is_cut = len(around) > 0 and op.reductions.issuperset(around)
    step = points_of_step(plan, dim)
    regions = 1 if is_cut else _regions(op, plan, around)
    work, steps = nanoseconds(op, _lanes(plan)) / regions, size_of(op, dim) // step
    if work < LEAST_WORK or steps < 2:
        return None
    most_grains = max(FEWEST_GRAINS, _GRAINS_OF_CORE * machine.cores)
    grain = max(math.ceil(LEAST_GRAIN * steps / work), math.ceil(steps / most_grains))
    if grain >= steps:
        return None
    grain = _even(steps, grain, machine)
    grains, points = math.ceil(steps / grain), grain * step
    if is_cut:
        return grains, replace(plan, blocks=((dim, points), *plan.blocks), parallel=Parallel(dim, points))
    is_known = all(op.sizes[each] is not None for each in plan.order[plan.order.index(dim) :])
    return grains, replace(plan, parallel=Parallel(dim, points if is_known else None))


def _even(steps: int, grain: int, machine: Machine) -> int:
    """A grain as large or larger, of which each core has as many: then threads end at once, and an operation's rows are
    where the next one has its own."""
    of_core = math.ceil(steps / grain) // machine.cores
    return math.ceil(steps / (of_core * machine.cores)) if of_core else grain


def _regions(op: StructuredOp, plan: Plan, around: Sequence[int]) -> int:
    """How often threads share what is inside of loops, those over blocks among them."""
    steps = [(size_of(op, dim), points_of_step(plan, dim)) for dim in around]
    steps += [(size_of(op, dim), block) for dim, block in plan.blocks]
    return math.prod(max(math.ceil(size / step), 1) for size, step in steps)


def size_of(op: StructuredOp, dim: int) -> int:
    """A loop's size, or what is assumed of it."""
    size = op.sizes[dim]
    return _ORDINARY_SIZE if size is None else size


def nanoseconds(op: StructuredOp, lanes: int) -> float:
    """About how long one thread takes."""
    return max(computing(op, lanes), sum(_bytes(op, operand) for operand in range(len(op.operands))) / _BYTES)


def computing(op: StructuredOp, lanes: int) -> float:
    """The same, of what is in the cache."""
    return math.prod(size_of(op, dim) for dim in op.dims) * _nanoseconds_of_point(op, lanes)


def _lanes(plan: Plan) -> int:
    """The points of a loop nest that an operation of a vector is for."""
    rows = 1 if plan.tiles is None else plan.tiles.size
    return plan.lanes * rows * (1 if plan.dot is None else plan.dot.group)


def _nanoseconds_of_point(op: StructuredOp, lanes: int) -> float:
    return len(operations_of(op.block)) / lanes / OPERATIONS


def _bytes(op: StructuredOp, operand: int) -> float:
    sizes = [_ORDINARY_SIZE if size < 0 else size for size in op.shapes[operand]]
    return math.prod(sizes) * _element_bytes(op, operand)


def bytes_of_point(op: StructuredOp) -> float:
    """What the elements that a point of the loops has for itself take, in nanoseconds."""
    streamed = [operand for operand in range(len(op.operands)) if all(op.uses(operand, each) for each in op.dims)]
    return sum(_element_bytes(op, operand) for operand in streamed) / _BYTES


def _element_bytes(op: StructuredOp, operand: int) -> float:
    element = op.element(operand)
    return 8 if isinstance(element, ir.IndexType) else bit_width(str(element)) / 8


# ---- at run time ----


def grain_by_work(op: StructuredOp, plan: Plan, sizes: Sequence[Size]) -> Number:
    """How many points of the loop that threads share make a grain, by the loops' sizes there.

    All of them where there is less work than it takes to share it.
    """
    assert plan.parallel is not None
    dim = plan.parallel.dim
    place = plan.order.index(dim)
    step = points_of_step(plan, dim)
    # Of the loops around, there is one step.
    points = math.prod(points_of_step(plan, each) for each in plan.order[: place + 1])
    of_point = max(_nanoseconds_of_point(op, _lanes(plan)), bytes_of_point(op))
    work: Number = as_index(max(round(of_point * points * UNIT), 1))
    for each in plan.order[place + 1 :]:
        work = minimum(maximum(work * as_index(sizes[each]), 1), MOST_WORK)
    steps = maximum(ceil_divided(as_index(sizes[dim]), step), 1)
    return grain_of(steps, work) * step
