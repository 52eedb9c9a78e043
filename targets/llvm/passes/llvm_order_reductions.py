# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order of floating-point reductions, as the attribute `tir.order`.

The order follows only from the operation. So all CPUs with a fused multiply-add compute the same bits.
"""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import string_array
from ....bindings.navigation import symbol_name, text_in
from ....bindings.rewriting import Decline, located_error
from ....dialects.core.ir_attributes import NUMERICS, OPERATOR, ORDER, SCHEDULE
from ....dialects.tir.prim_func import prim_funcs_in
from ....emit.reduction_order import ReductionOrder, set_order
from ....emit.structured import StructuredOp, analyze, structured_ops, with_open_units
from ....passes.core.registry import register_pass
from ....passes.kernels.schedule.dots import instructions_for
from ....passes.kernels.schedule.loop_collapsing import join, joinable
from ....passes.kernels.schedule.reduction_order import depends_on_order, lanes_of_accumulator
from ....passes.kernels.schedule.vector_body import check_body
from ....support.errors import RelaxError
from ...core.machine import Machine
from ...core.machine_pass import MachinePass
from ..plans.matmul import check_contraction, check_product
from ..plans.reduction import IN_FLIGHT, reduction_order, vector_across, vector_along


@register_pass
class OrderReductions(MachinePass):
    """State the order of floating-point reductions. Plans and schedules keep it."""

    name: ClassVar[str] = "llvm-order-reductions"
    anchor: ClassVar[str] = "builtin.module"

    def run(self, op: Operation) -> None:
        free = [symbol_name(func) for func in prim_funcs_in(op) if self._state(func)] if self.keeps_bits else []
        with op.context:
            op.attributes[NUMERICS] = string_array(["same" if self.keeps_bits else "fast", *free])

    def _state(self, function: Operation) -> bool:
        """State the orders of a PrimFunc's reductions. Return True if one keeps the order of the CPU's instructions."""
        is_strict, is_free = self.chosen.option("numerics") == "same", False
        for operation in structured_ops(function):
            if (order := _order(operation, has_open_units=is_strict)) is None:
                continue
            if SCHEDULE in function.attributes:
                # The loops of a schedule have no lanes. tir-apply-schedule compares their order.
                is_free |= order.lanes > 1
                if is_strict and order.lanes > 1:
                    raise _make_error(function, operation, order)
                set_order(operation, order)
            elif not is_strict and _is_for_instructions(analyze(operation), self.machine):
                is_free = True
            else:
                set_order(operation, order)
        return is_free


def _order(operation: Operation, *, has_open_units: bool) -> ReductionOrder | None:
    """Return the order of a reduction, or None if it is free or stated, or if no plan supports the operation.

    `has_open_units`: loops of one step have the order of dynamic ones.
    """
    with suppress(Decline):
        op = analyze(operation)
        check_body(op)
        if depends_on_order(op) and ORDER not in operation.attributes:
            seen = with_open_units(op) if has_open_units else op
            loops = joinable(seen)
            order = canonical_order(join(seen, loops))
            chains = tuple(tuple(loops[dim]) for (dim,) in order.loops)
            return ReductionOrder(chains, order.lanes, order.accumulators)
    return None


def _make_error(function: Operation, operation: Operation, order: ReductionOrder) -> RelaxError:
    name = f"@{symbol_name(function)} ({text_in(function, OPERATOR) or 'a PrimFunc'})"
    return located_error(
        f"the schedule of {name} adds in the order of its loops, and without it the sum has the order {order}",
        operation.location,
        notes=["numerics=same has the same bits with any schedule; leave it out, or take numerics=fast"],
    )


def canonical_order(op: StructuredOp) -> ReductionOrder:
    """Return the order of a reduction with joined loops."""
    dims = reduction_order(op)
    along = vector_along(op) if vector_across(op) is None else None
    if along is None:
        return ReductionOrder(tuple((dim,) for dim in dims))
    loops = tuple((dim,) for dim in (*(number for number in dims if number != along), along))
    return ReductionOrder(loops, lanes_of_accumulator(op), 1 if _is_product(op) else IN_FLIGHT)


def _is_product(op: StructuredOp) -> bool:
    """Check whether tiles of results keep the adders busy, so that one accumulator for each is enough."""
    with suppress(Decline):
        check_product(op)
        return True
    return False


def _is_for_instructions(op: StructuredOp, machine: Machine) -> bool:
    """Check whether the machine has dot products for the operation's types, which add in an order of their own."""
    for rows in {dot.rows for dot in machine.dots}:
        with suppress(Decline):
            check_contraction(op)
            return bool(instructions_for(op, machine, rows=rows))
    return False
