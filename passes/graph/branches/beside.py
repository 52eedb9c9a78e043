# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Independent calls as a parallel loop with one call per step, distributed over threads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....bindings.ir import Block, Operation
from ....bindings.mlir import ir
from ....bindings.navigation import operations_named, operations_of
from ....dialects.core.ir_attributes import CONCURRENT
from ....emit.loops import for_range, when
from ....emit.numbers import Number

#: Operations allowed between the calls, and moved before them: result memory, and checks of sizes.
_BETWEEN = frozenset(
    "memref.alloc memref.cast memref.collapse_shape memref.dim memref.expand_shape memref.get_global "
    "memref.reinterpret_cast memref.subview memref.view builtin.unrealized_conversion_cast tir.assert".split()
)


def share_calls(function: Operation) -> None:
    """Turn adjacent calls that are marked as concurrent into parallel loops. Other marked calls stay plain calls."""
    calls = [op for op in operations_named(function, "func.call") if CONCURRENT in op.attributes]
    rows: dict[tuple[Block, int], list[Operation]] = {}
    for call in calls:
        rows.setdefault((call.block, call.attributes[CONCURRENT].value), []).append(call)
        del call.attributes[CONCURRENT]
    for row in rows.values():
        if len(row) > 1 and _gather(row):
            _share(row)


def _gather(calls: Sequence[Operation]) -> bool:
    """Move the calls next to each other. Return False if an operation between them cannot be moved."""
    first, last = calls[0], calls[-1]
    operations = operations_of(first.block)
    others = [op for op in operations[operations.index(first) + 1 : operations.index(last)] if op not in calls]
    ends = [op for op in others if op.name == "memref.dealloc"]
    before = [op for op in others if op not in ends]
    if not all(op.name in _BETWEEN or op.name.startswith("arith.") for op in before):
        return False
    for op in before:
        op.move_before(first)
    for op in reversed(ends):
        op.move_after(last)
    return True


def _share(calls: Sequence[Operation]) -> None:
    def step(number: Number) -> None:
        for place, call in enumerate(calls):
            when(number == place, partial(_again, call))

    with calls[0].location, ir.InsertionPoint(calls[0]):
        for_range(0, len(calls), step, grain=1)
    for call in calls:
        call.erase()


def _again(call: Operation) -> None:
    call.clone()
