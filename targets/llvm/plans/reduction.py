# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions: vectors across adjacent outputs if the input is contiguous there, else partial results."""

from __future__ import annotations

from collections.abc import Iterable

from ....bindings.rewriting import Decline
from ....emit.combiner import combiners
from ....emit.reduction_order import ReductionOrder, order_of
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.fitting import check_reads_outputs
from ....passes.kernels.schedule.plan import Plan
from ....passes.kernels.schedule.reduction_order import stated_reductions
from ....passes.kernels.schedule.vector_access import is_lanewise
from ....passes.kernels.schedule.vector_body import runs_on_whole_vectors, usual_bits
from ...core.machine import Machine
from .elementwise import MOST_LANES_ONE_BY_ONE, fitting_lanes, fitting_tile, outer_loops, output_order, output_vector

#: Independent vector accumulators: an addition takes several cycles, and two can start per cycle.
IN_FLIGHT = 4
#: Number of steps from which a reduction is worth more than one pass over its results, and the tile of a pass.
_LONG, _ROWS, _COLUMNS = 32, 8, 2


def plan_reduction(op: StructuredOp, machine: Machine) -> Plan:
    if not op.reductions:
        raise Decline("it reduces nothing")
    check_reads_outputs(op)
    bits = usual_bits(op)
    if (across := vector_across(op)) is not None:
        return _plan_across(op, across, machine.lanes(bits))
    if (along := vector_along(op)) is not None:
        return _plan_along(op, along, machine.lanes(bits))
    # Scattered elements are loaded one by one, but the arithmetic on them is still vectorized.
    return _plan_across(op, _any_output(op), min(machine.lanes(bits), MOST_LANES_ONE_BY_ONE), tile=1)


def _any_output(op: StructuredOp) -> int:
    """Return the outputs' last loop, or one of a single step if the steps of a single result follow each other."""
    order = order_of(op.operation)
    units = [dim for dim in op.parallels if op.sizes[dim] == 1]
    is_single = bool(units) and len(units) == len(op.parallels)
    return units[-1] if is_single and order is not None and order.lanes == 1 else output_vector(op)


def vector_across(op: StructuredOp) -> int | None:
    """Return the outputs' last loop, or None unless an input is contiguous there and no input is scattered.

    Return None as well if the operation states lanes along a reduction.
    """
    if (order := order_of(op.operation)) is not None and order.lanes > 1:
        return None
    try:
        vector = output_vector(op)
    except Decline:
        return None
    inputs = range(op.input_count)
    is_used = any(op.is_contiguous(operand, vector, factor) for operand in inputs for factor in (1, 2))
    return vector if is_used and not _is_scattered(op, vector, range(len(op.operands))) else None


def vector_along(op: StructuredOp) -> int | None:
    """Return a reduction along which the inputs are contiguous, or None unless its order is free or states lanes."""
    if (order := order_of(op.operation)) is not None and order.lanes == 1:
        return None
    try:
        combiners(op)
    except Decline:
        return None
    if runs_on_whole_vectors(op):
        return None
    inputs = range(op.input_count)
    for dim in sorted(op.reductions, reverse=True) if order is None else reduction_order(op)[-1:]:
        is_used = any(op.is_contiguous(operand, dim) for operand in inputs)
        if is_used and op.sizes[dim] != 1 and not _is_scattered(op, dim, inputs):
            return dim
    return None


def _is_scattered(op: StructuredOp, dim: int, operands: Iterable[int]) -> bool:
    return any(is_lanewise(op, dim, operand) for operand in operands)


def _plan_across(op: StructuredOp, vector: int, lanes: int, tile: int = IN_FLIGHT) -> Plan:
    lanes = fitting_lanes(lanes, op.sizes[vector])
    *others, innermost = reduction_order(op)
    if tile > 1 and is_over(op.sizes[innermost], _LONG) and is_over(op.sizes[vector], lanes * tile):
        # Some whole rows at a time are added to results in the cache: columns would be read with a stride.
        order = (*output_order(op, vector)[:-1], *others, innermost, vector)
        return Plan(order=order, vector=vector, lanes=lanes, tile={innermost: _ROWS, vector: _COLUMNS})
    order = (*output_order(op, vector), *reduction_order(op))
    tiles = {vector: fitting_tile(tile, lanes, op.sizes[vector])}
    return Plan(order=order, carried=len(op.reductions), vector=vector, lanes=lanes, tile=tiles)


def is_over(size: int | None, limit: int) -> bool:
    return size is None or size > limit


def _plan_along(op: StructuredOp, vector: int, lanes: int) -> Plan:
    lanes, tile = partial_results(op, vector, lanes, IN_FLIGHT)
    order = (*outer_loops(op), *(dim for dim in reduction_order(op) if dim != vector), vector)
    return Plan(order=order, carried=len(op.reductions), vector=vector, lanes=lanes, tile={vector: tile})


def partial_results(op: StructuredOp, vector: int, lanes: int, accumulators: int) -> tuple[int, int]:
    """Return the lanes, and the vectors of partial results per element, as the operation's order states.

    If none is stated, there are `accumulators` vectors.
    """
    order = order_of(op.operation) or ReductionOrder(((vector,),), lanes, accumulators)
    wide, several = order.partial_results(op.sizes[vector])
    lanes = min(lanes, wide)
    return lanes, several * wide // lanes


def reduction_order(op: StructuredOp) -> list[int]:
    """Return the reductions in the stated order.

    If none is stated: windows' taps, then the others in memory order of the first input that has them all. This order
    is the same for images of any layout.
    """
    if (stated := stated_reductions(op)) is not None:
        return stated
    taps = [dim for dim in sorted(op.reductions) if _is_tap(op, dim)]
    others = op.reductions.difference(taps)
    for operand in range(op.input_count):
        dims = [dim for index in op.accesses[operand] for dim, _ in index.factors if dim in others]
        if set(dims) == {dim for dim in others if op.sizes[dim] != 1}:
            return [*taps, *(dim for dim in sorted(others) if dim not in dims), *dict.fromkeys(dims)]
    return [*taps, *sorted(others)]


def _is_tap(op: StructuredOp, dim: int) -> bool:
    """Check whether a loop moves a window: an index is a sum with it."""
    return any(index.factor(dim) and len(index.factors) > 1 for access in op.accesses for index in access)
