# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multi-versioned kernels: two versions of the work in branches, chosen by dynamic sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ....bindings.ir import Attribute, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import operations_in
from ....bindings.rewriting import use_instead
from ....dialects.core.ir_attributes import FEW_ROWS, PLAN
from ....emit import memrefs
from ....emit.loops import when
from ....emit.numbers import Number, as_index
from ..planned.group import Tile
from ..planned.index_arithmetic import Loops
from ..plans.few_rows import MOST_ROWS
from .fused import Fused, erase_deallocations


def by_rows(groups: Sequence[Fused]) -> bool:
    """Emit a branch on the row count for operations with a second plan for few rows.

    Return True if there is such an operation.
    """
    chosen = [group for group in groups if group.plan is not None and FEW_ROWS in group.main.attributes]
    for fused in chosen:
        assert fused.plan is not None
        few = fused.main.attributes[FEW_ROWS]
        del fused.main.attributes[FEW_ROWS]
        with fused.main.location, ir.InsertionPoint(fused.ops[0]):
            rows = as_index(Loops(fused.planned().op, fused.plan.joined).size(Tile(fused.plan).rows))
            are_few = rows <= MOST_ROWS
        in_branches(fused, are_few, partial(_set_plan, few), lambda _: None)
    return bool(chosen)


def _set_plan(plan: Attribute, fused: Fused) -> None:
    fused.main.attributes[PLAN] = plan


def in_branches(fused: Fused, condition: Number, one: Callable[[Fused], None], other: Callable[[Fused], None]) -> None:
    """Copy the operations into two branches, each with its own memory, and call `one` and `other` on the copies."""
    own = fused.memory_between()
    with fused.main.location, ir.InsertionPoint(fused.ops[-1]):
        when(condition, lambda: one(_copy(fused, own)), lambda: other(_copy(fused, own)))
    for memory in own:
        erase_deallocations(memory)
    for op in [*reversed(fused.ops), *own]:
        op.erase()


def _copy(fused: Fused, own: list[Operation]) -> Fused:
    """Clone the operations, with their own memory."""
    values: dict[Value, Value] = {memory.results[0]: memory.clone().operation.results[0] for memory in own}
    copies = [op.clone().operation for op in fused.ops]
    for copy in copies:
        for operation in (copy, *operations_in(copy)):
            use_instead(operation, values)
    for memory in values.values():
        memrefs.deallocate(memory)
    place = len(fused.starts)
    return Fused(tuple(copies[:place]), copies[place], tuple(copies[place + 1 :]), fused.plan)
