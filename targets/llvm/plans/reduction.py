# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions: vectors across adjacent outputs if the input is contiguous there, else partial results."""

from __future__ import annotations

from collections.abc import Iterable

from ....bindings.rewriting import Decline
from ....emit.combiner import combiners
from ....emit.structured import StructuredOp
from ....passes.schedule.fitting import check_reads_outputs
from ....passes.schedule.plan import Plan
from ....passes.schedule.vector_access import is_lanewise
from ....passes.schedule.vector_body import runs_on_whole_vectors, usual_bits
from ...core.backend import Machine
from .elementwise import MOST_LANES_ONE_BY_ONE, fitting_lanes, fitting_tile, outer_loops, output_order, output_vector

#: Independent vector accumulators: an addition takes several cycles, and two can start per cycle.
_IN_FLIGHT = 4
#: Number of steps from which a reduction is worth more than one pass over its results, and the tile of a pass.
_LONG, _ROWS, _COLUMNS = 32, 8, 2


def plan_reduction(op: StructuredOp, machine: Machine) -> Plan:
    if not op.reductions:
        raise Decline("it reduces nothing")
    check_reads_outputs(op)
    bits = usual_bits(op)
    across = vector_across(op)
    if across is not None:
        return _across(op, across, machine.lanes(bits))
    along = vector_along(op)
    if along is not None:
        return _along(op, along, machine.lanes(bits))
    # Scattered elements are loaded one by one, but the arithmetic on them is still vectorized.
    return _across(op, output_vector(op), min(machine.lanes(bits), MOST_LANES_ONE_BY_ONE), tile=1)


def vector_across(op: StructuredOp) -> int | None:
    """Return the outputs' last loop, or None unless an input is contiguous there and no input is scattered."""
    try:
        vector = output_vector(op)
    except Decline:
        return None
    inputs = range(op.input_count)
    is_used = any(op.is_contiguous(operand, vector, factor) for operand in inputs for factor in (1, 2))
    return vector if is_used and not _is_scattered(op, vector, range(len(op.operands))) else None


def vector_along(op: StructuredOp) -> int | None:
    """Return a reduction along which the inputs are contiguous, or None unless its order is free."""
    try:
        combiners(op)
    except Decline:
        return None
    if runs_on_whole_vectors(op):
        return None
    inputs = range(op.input_count)
    for dim in sorted(op.reductions, reverse=True):
        is_used = any(op.is_contiguous(operand, dim) for operand in inputs)
        if is_used and op.sizes[dim] != 1 and not _is_scattered(op, dim, inputs):
            return dim
    return None


def _is_scattered(op: StructuredOp, dim: int, operands: Iterable[int]) -> bool:
    return any(is_lanewise(op, dim, operand) for operand in operands)


def _across(op: StructuredOp, vector: int, lanes: int, tile: int = _IN_FLIGHT) -> Plan:
    lanes = fitting_lanes(lanes, op.sizes[vector])
    *others, innermost = reduction_order(op)
    if tile > 1 and is_over(op.sizes[innermost], _LONG) and is_over(op.sizes[vector], lanes * tile):
        # Some whole rows at a time are added to results in the cache: columns would be read with a stride.
        outer = output_order(op, vector)[:-1]
        order = (*outer, *others, innermost, vector)
        return Plan(order, 0, vector, lanes, {innermost: _ROWS, vector: _COLUMNS})
    order = (*output_order(op, vector), *reduction_order(op))
    return Plan(order, len(op.reductions), vector, lanes, {vector: fitting_tile(tile, lanes, op.sizes[vector])})


def is_over(size: int | None, limit: int) -> bool:
    return size is None or size > limit


def _along(op: StructuredOp, vector: int, lanes: int) -> Plan:
    lanes = fitting_lanes(lanes, op.sizes[vector])
    order = (*outer_loops(op), *(dim for dim in reduction_order(op) if dim != vector), vector)
    return Plan(order, len(op.reductions), vector, lanes, {vector: partial_results(lanes, op.sizes[vector])})


def partial_results(lanes: int, size: int | None) -> int:
    """Return the number of accumulators per element.

    The number is a power of two, because accumulators are merged in pairs.
    """
    tile = _IN_FLIGHT
    while size is not None and tile > 1 and tile * lanes > size:
        tile //= 2
    return tile


def reduction_order(op: StructuredOp, operands: Iterable[int] | None = None) -> list[int]:
    """Return the reductions in memory order of the first input that has them all, for contiguous reads."""
    for operand in range(op.input_count) if operands is None else operands:
        dims = [dim for index in op.accesses[operand] for dim, _ in index.factors if dim in op.reductions]
        if set(dims) == {dim for dim in op.reductions if op.sizes[dim] != 1}:
            return [*(dim for dim in sorted(op.reductions) if dim not in dims), *dict.fromkeys(dims)]
    return sorted(op.reductions)
