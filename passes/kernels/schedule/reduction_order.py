# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of floats, and the check that plans keep their order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from ....bindings.mlir import ir
from ....bindings.rewriting import Decline
from ....dialects.core.ir_attributes import ORDER
from ....emit.collapse import Groups
from ....emit.reduction_order import ReductionOrder, order_of
from ....emit.structured import StructuredOp
from .plan import Plan
from .vector_body import usual_bits

#: Bits of one accumulator: a vector of AVX-512. Accumulators take several shorter vectors.
_LANE_BITS = 512


def depends_on_order(op: StructuredOp) -> bool:
    """Check whether another order of the steps may change the bits: floats are rounded, and 0 is as large as -0."""
    return bool(op.reductions) and any(isinstance(op.element(output), ir.FloatType) for output in _outputs(op))


def _outputs(op: StructuredOp) -> range:
    return range(op.output_start, len(op.operands))


def stated_reductions(op: StructuredOp) -> list[int] | None:
    """Return the reductions in the order that the operation states, or None if the order is free."""
    if (order := order_of(op.operation)) is None:
        return None
    place = {dim: position for position, dim in enumerate(order.flat)}
    return sorted(op.reductions, key=lambda dim: place.get(op.chain(dim)[0], -1))


def kept_apart(op: StructuredOp, loops: Groups) -> tuple[tuple[int, ...], ...]:
    """Return joined loops without reductions that the stated order keeps apart: its lanes are along the last one."""
    order = order_of(op.operation)
    place = {} if order is None else {dim: number for number, chain in enumerate(order.loops) for dim in chain}
    return tuple(sorted(tuple(part) for chain in loops for _, part in itertools.groupby(chain, key=place.get)))


def lanes_of_accumulator(op: StructuredOp) -> int:
    """Return the virtual lanes of one accumulator of an operation."""
    return _LANE_BITS // max(usual_bits(op), 32)


def check_order(op: StructuredOp, plan: Plan) -> None:
    """Check that a plan keeps the order that the operation states. Raises Decline."""
    if (order := order_of(op.operation)) is None:
        return
    planned, stated = _reductions(op, plan), [dim for dim in order.flat if op.sizes[dim] != 1]
    if planned != stated:
        raise Decline(f"its reductions run in the order {_listed(planned)}, and '{ORDER}' states {_listed(stated)}")
    reduced = [dim for dim in _long(op, plan.joined[plan.vector]) if dim in op.reductions]
    has_lanes = order.lanes > 1 and bool(_long(op, order.loops[-1]))
    if has_lanes != bool(reduced):
        lanes = f"{order.lanes} lanes along a reduction" if order.lanes > 1 else "no lanes"
        raise Decline(f"'{ORDER}' states {lanes}, and its vectors are along loop {plan.joined[plan.vector][0]}")
    if has_lanes:
        _check_partial_results(op, plan, order)
    _check_steps(op, plan)
    if plan.dot is not None:
        check_free(op)


def _check_partial_results(op: StructuredOp, plan: Plan, order: ReductionOrder) -> None:
    """Check the steps that are dealt to lanes, and the number of partial results."""
    along, stated = _long(op, plan.joined[plan.vector]), _long(op, order.loops[-1])
    if along != stated:
        raise Decline(f"it has lanes along {_listed(along)}, and '{ORDER}' states lanes along {_listed(stated)}")
    steps = _steps(op, stated)
    tile = plan.tile.get(plan.vector, 1)
    most = order.lanes * order.accumulators
    least = math.prod(order.partial_results(steps))
    if plan.lanes > order.lanes or plan.lanes * tile not in (least, most):
        expected = f"{least}" if least == most else f"{least} or {most}"
        raise Decline(
            f"it has {plan.lanes * tile} partial results, {tile} vectors of {plan.lanes} lanes, and '{ORDER}' states "
            f"'{order}': expected {expected}, in vectors of at most {order.lanes} lanes"
        )


def _check_steps(op: StructuredOp, plan: Plan) -> None:
    """Check that tiles and blocks of the reductions keep the order of their steps."""
    name = {dim: plan.joined[dim][0] for dim in plan.order}
    loops = [dim for dim in plan.order if any(number in op.reductions for number in _long(op, plan.joined[dim]))]
    for dim in loops[:-1]:
        if plan.tile.get(dim, 1) > 1:
            raise Decline(
                f"a step has {plan.tile[dim]} points of loop {name[dim]}, and '{ORDER}' states the loop "
                f"{name[loops[-1]]} inside of it: expected 1 point"
            )
    for dim, _ in plan.blocks:
        if dim in loops[1:] or (dim in loops and dim == plan.vector):
            expected = "no blocks of lanes" if dim == plan.vector else f"blocks of loop {name[loops[0]]} only"
            raise Decline(f"it has blocks of loop {name[dim]}, and '{ORDER}' states its steps at once: {expected}")


def _reductions(op: StructuredOp, plan: Plan) -> list[int]:
    """Return the reductions of more than one step, in the plan's order."""
    return [dim for each in plan.order for dim in _long(op, plan.joined[each]) if dim in op.reductions]


def _long(op: StructuredOp, dims: Iterable[int]) -> list[int]:
    """Return the loops of more than one step."""
    return [dim for dim in dims if op.sizes[dim] != 1]


def _steps(op: StructuredOp, dims: Iterable[int]) -> int | None:
    """Return the number of steps of loops that run as one, or None if it is dynamic."""
    sizes = [op.sizes[dim] for dim in dims]
    known = [size for size in sizes if size is not None]
    return math.prod(known) if len(known) == len(sizes) else None


def check_free(op: StructuredOp) -> None:
    """Check that no order is stated. Raises Decline."""
    if ORDER in op.operation.attributes:
        raise Decline(f"instructions for dot products of floats add in an order of their own, and '{ORDER}' states one")


def _listed(dims: list[int]) -> str:
    return " ".join(map(str, dims)) or "of one step"
