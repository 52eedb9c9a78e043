# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parallel loop and grain of an operation. An operation has none if waking a thread takes as long as the work.

Grains depend on the operation and the machine only, so that results are the same for any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ....bindings.mlir import ir
from ....bindings.navigation import operations_of
from ....dialects.core.infos import bit_width
from ....emit.numbers import Number, Size, as_index, ceil_divided, maximum, minimum
from ....emit.parallel import FEWEST_GRAINS, LEAST_GRAIN, LEAST_WORK, MOST_WORK, UNIT, grain_of
from ....emit.structured import StructuredOp
from ....targets.core.machine import Machine
from .dynamic_slices import fills_border
from .fitting import can_be_shared
from .plan import Parallel, Plan, points_of_step

#: Grains for each core: a busy core leaves most of its share to others.
_GRAINS_OF_CORE = 8
#: Time to share a loop among threads, in nanoseconds.
_REGION = 18_000
#: Throughput of a core per nanosecond: vector operations, and bytes from memory.
OPERATIONS, BYTES = 6, 16
#: Assumed size of a loop with a dynamic size. The decision to share a loop is made again at run time.
_ORDINARY_SIZE = 512


def with_threads(op: StructuredOp, plan: Plan, machine: Machine) -> Plan:
    """Add the parallel loop to a plan if sharing pays off."""
    if machine.cores == 1:
        return plan
    shares = [share for dim in plan.order if (share := _share(op, plan, dim, machine)) is not None]
    return min(shares, key=lambda share: share.nanoseconds, default=_Share(plan, 0.0)).plan


class _Share(NamedTuple):
    """Plan with a parallel loop, and its estimated time."""

    plan: Plan
    nanoseconds: float


def _share(op: StructuredOp, plan: Plan, dim: int, machine: Machine) -> _Share | None:
    """Return the plan in which threads share a loop, or None if sharing does not pay off."""
    if not can_be_shared(op, dim) or dim in dict(plan.blocks) or fills_border(op):
        return None
    around = [each for each in plan.order[: plan.order.index(dim)] if op.sizes[each] != 1]
    # Each step of a reduction around the loop would be a region of its own, so a new loop around the reduction is
    # shared.
    is_cut = len(around) > 0 and op.reductions.issuperset(around)
    step = points_of_step(plan, dim)
    regions = 1 if is_cut else _regions(op, plan, around)
    work, steps = nanoseconds(op, _lanes(plan)) / regions, size_of(op, dim) // step
    if work < LEAST_WORK or steps < 2:
        return None
    most_grains = max(FEWEST_GRAINS, _GRAINS_OF_CORE * machine.cores)
    if (grain := max(math.ceil(LEAST_GRAIN * steps / work), math.ceil(steps / most_grains))) >= steps:
        return None
    grain = _even(steps, grain, machine)
    points = grain * step
    # A batch of unknown size often has one element: its loop counts as two grains for each core.
    grains = min(math.ceil(steps / grain), most_grains if op.sizes[dim] is not None else 2 * machine.cores)
    time = regions * (_REGION + work * _busiest_share(grains, machine.cores))
    if is_cut:
        return _Share(replace(plan, blocks=((dim, points), *plan.blocks), parallel=Parallel(dim, points)), time)
    is_known = all(op.sizes[each] is not None for each in plan.order[plan.order.index(dim) :])
    return _Share(replace(plan, parallel=Parallel(dim, points if is_known else None)), time)


def _busiest_share(grains: int, cores: int) -> float:
    """Return the share of the work that the last thread to end does.

    With fewer grains, a thread that loses its core for a while leaves less to others.
    """
    return math.ceil(grains / cores) / grains * (1 + cores / (_GRAINS_OF_CORE * grains))


def _even(steps: int, grain: int, machine: Machine) -> int:
    """Return a grain at least as large, such that each core has equally many.

    Then threads end at once, and the next operation finds its rows on the same core.
    """
    of_core = math.ceil(steps / grain) // machine.cores
    return math.ceil(steps / (of_core * machine.cores)) if of_core else grain


def _regions(op: StructuredOp, plan: Plan, around: Sequence[int]) -> int:
    """Return how often threads share the loops inside of `around`, including the loops over blocks."""
    steps = [(size_of(op, dim), points_of_step(plan, dim)) for dim in around]
    steps += [(size_of(op, dim), block) for dim, block in plan.blocks]
    return math.prod(max(math.ceil(size / step), 1) for size, step in steps)


def size_of(op: StructuredOp, dim: int) -> int:
    """Return a loop's size, or the assumed size if it is unknown."""
    size = op.sizes[dim]
    return _ORDINARY_SIZE if size is None else size


def nanoseconds(op: StructuredOp, lanes: int) -> float:
    """Return the estimated time of one thread in nanoseconds."""
    return max(computing(op, lanes), sum(_bytes(op, operand) for operand in range(len(op.operands))) / BYTES)


def computing(op: StructuredOp, lanes: int) -> float:
    """Return the estimated time for operands in the cache, in nanoseconds."""
    return math.prod(size_of(op, dim) for dim in op.dims) * _nanoseconds_of_point(op, lanes)


def _lanes(plan: Plan) -> int:
    """Return the number of points that one vector operation computes."""
    rows = 1 if plan.tiles is None else plan.tiles.size
    return plan.lanes * rows * (1 if plan.dot is None else plan.dot.group)


def _nanoseconds_of_point(op: StructuredOp, lanes: int) -> float:
    return len(operations_of(op.block)) / lanes / OPERATIONS


def _bytes(op: StructuredOp, operand: int) -> float:
    sizes = [_ORDINARY_SIZE if size < 0 else size for size in op.shapes[operand]]
    return math.prod(sizes) * _element_bytes(op, operand)


def bytes_of_point(op: StructuredOp) -> float:
    """Return the time to load and store the elements that only one point of the loops uses, in nanoseconds."""
    streamed = [operand for operand in range(len(op.operands)) if all(op.uses(operand, dim) for dim in op.dims)]
    return sum(_element_bytes(op, operand) for operand in streamed) / BYTES


def _element_bytes(op: StructuredOp, operand: int) -> float:
    element = op.element(operand)
    return 8 if isinstance(element, ir.IndexType) else bit_width(str(element)) / 8


# ---- at run time ----


def grain_by_work(op: StructuredOp, plan: Plan, sizes: Sequence[Size]) -> Number:
    """Return the number of points of the parallel loop in a grain, by the loops' sizes at run time.

    A grain has all points if the work is less than the cost of sharing.
    """
    assert plan.parallel is not None
    dim = plan.parallel.dim
    place = plan.order.index(dim)
    step = points_of_step(plan, dim)
    # The loops around count as one step.
    points = math.prod(points_of_step(plan, each) for each in plan.order[: place + 1])
    of_point = max(_nanoseconds_of_point(op, _lanes(plan)), bytes_of_point(op))
    work: Number = as_index(max(round(of_point * points * UNIT), 1))
    for each in plan.order[place + 1 :]:
        work = minimum(maximum(work * as_index(sizes[each]), 1), MOST_WORK)
    return grain_of(maximum(ceil_divided(as_index(sizes[dim]), step), 1), work) * step
