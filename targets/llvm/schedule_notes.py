# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is told a journal of the loops that a kernel's operations become."""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import string_value
from ...passes.core.facts import LoopsFact
from ...passes.core.journal import Journal
from .structured import StructuredOp
from .vector_nest import Plan

# They move or name numbers, or are counted as a part of others.
_NO_WORK = frozenset("arith.constant arith.index_cast arith.extf arith.truncf arith.bitcast linalg.yield".split())


def note_loops(op: StructuredOp, plan: Plan, epilogue: Any) -> None:
    """Tells which plan an operation's loops follow, where somebody listens. Before the operation is replaced.

    `epilogue` is the operation that goes on with its results, or None.
    """
    journal = Journal.active()
    if journal is None:
        return
    journal.add(
        LoopsFact(
            _kernel_of(op.operation),
            plan.name,
            op.sizes,
            sorted(op.reductions),
            plan.order,
            plan.vector,
            plan.lanes,
            {str(dim): points for dim, points in plan.tile.items()},
            plan.blocks,
            plan.panel is not None,
            None if epilogue is None else _work(epilogue),
            _work(op.operation),
        )
    )


def note_unscheduled(operation: Any, reason: str) -> None:
    """Tells why an operation becomes plain loops, where somebody listens."""
    journal = Journal.active()
    if journal is not None:
        journal.add(LoopsFact(_kernel_of(operation), "", [], reason=reason))


def _kernel_of(operation: Any) -> str:
    around = operation.parent.operation
    while around.name != "func.func":
        around = around.parent.operation
    return string_value(around.attributes["sym_name"])


def _work(operation: Any) -> int:
    """Operations on numbers for one point of the loops."""
    names = [view.operation.name for view in operation.regions[0].blocks[0].operations]
    return sum(name.startswith(("arith.", "math.")) and name not in _NO_WORK for name in names)
