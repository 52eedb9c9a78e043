# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Journal entries about a graph function's memory: the calls in order, and the place of each tensor."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir, string_value
from ....dialects.core.aliases import root_of
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.relax.known_constants import CONSTANTS
from ...core.facts import CallFact, MemoryFact, origins_of, type_text
from ...core.journal import Journal
from .memory_plan import MemoryPlan
from .planned_buffer import PlannedBuffer


def note_plan(function: str, inputs: Sequence[str], plan: MemoryPlan) -> None:
    """Record a function's plan if a journal is active. `inputs` are the names of its inputs."""
    if (journal := Journal.active()) is None:
        return
    numbers = {buffer: number for number, buffer in enumerate(plan.roots.values())}

    def place(value: Value) -> dict[str, object]:
        described: dict[str, object] = {"type": type_text(decode(value.type))}
        if value in plan.memory_of:
            return {**described, "buffer": numbers[plan.memory_of[value].root]}
        root = root_of(value)
        if isinstance(root.owner, ir.Block):
            is_input = root.owner.owner.operation.name == "func.func"
            return {**described, "input": inputs[root.arg_number] if is_input else ""}
        is_constant = root.owner.operation.name in CONSTANTS
        return {**described, "constant": True} if is_constant else described

    for position, op in filter(_is_call, plan.operations):
        places = [[place(value) for value in values] for values in (op.operands, op.results)]
        journal.add(CallFact(function, position, op.name, _callee(op), origins_of(op), *places))
    buffers = [_buffer(numbers[buffer], value, buffer) for value, buffer in plan.roots.items()]
    journal.add(MemoryFact(function, plan.fixed_bytes, list(map(str, plan.slots)), buffers))


def _is_call(seen: tuple[int, Operation]) -> bool:
    """Check whether an operation works on memory."""
    _, op = seen
    row = row_of(op)
    is_literal = row is not None and row.role == "literal"
    return not is_literal and not op.name.startswith(("arith.", "func.return", "scf."))


def _buffer(number: int, value: Value, buffer: PlannedBuffer) -> dict[str, object]:
    size = buffer.size
    return {
        "number": number,
        "type": type_text(buffer.info),
        "bytes": size if size is None or isinstance(size, int) else str(size),
        **{name: getattr(buffer, name) for name in ("first", "last", "offset", "slot", "output")},
        "shift": str(buffer.shift),
        "origins": origins_of(value.owner),
    }


def _callee(operation: Operation) -> str:
    """Return the name of an operation's callee, or ""."""
    if operation.name == "func.call":
        return str(operation.attributes["callee"].value)
    if "func" not in operation.attributes:
        return ""
    held = operation.attributes["func"]
    return string_value(held) if isinstance(held, ir.StringAttr) else operation.opview.func
