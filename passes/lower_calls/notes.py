# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is told a journal of a graph function's memory: the calls in their order, and where each tensor lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.mlir import ir, string_value
from ...dialects.core.aliases import root_of
from ...dialects.core.codec import decode
from ...dialects.core.dialect import row_of
from ..core.facts import CallFact, MemoryFact, origins_of, type_text
from ..core.journal import Journal
from .plan import Buffer, Plan


class PlanNotes:
    """The operations of a function as its plan is made."""

    def __init__(self, journal: Journal, name: str, inputs: Sequence[str]):
        self._journal = journal
        self._name = name
        self._inputs = inputs
        self._seen: list[tuple[int, Any]] = []
        self._numbers: dict[Buffer, int] = {}

    def see(self, position: int, operation: Any) -> None:
        """An operation at a position of the plan."""
        row = row_of(operation)
        is_literal = row is not None and row.role == "literal"
        if not is_literal and not operation.name.startswith(("arith.", "func.return", "scf.")):
            self._seen.append((position, operation))

    def tell(self, plan: Plan) -> None:
        """The plan, when it is done."""
        self._numbers = {buffer: number for number, buffer in enumerate(plan.buffers.values())}
        for position, operation in self._seen:
            inputs = [self._place(value, plan) for value in operation.operands]
            outputs = [self._place(value, plan) for value in operation.results]
            origins, callee = origins_of(operation), _callee(operation)
            fact = CallFact(self._name, position, operation.name, callee, origins, inputs, outputs)
            self._journal.add(fact)
        slots = [str(size) for size in plan.slots]
        buffers = [self._buffer(value, buffer) for value, buffer in plan.buffers.items()]
        self._journal.add(MemoryFact(self._name, plan.fixed_bytes, slots, buffers))

    def _buffer(self, value: Any, buffer: Buffer) -> dict[str, Any]:
        size = buffer.size
        return {
            "number": self._numbers[buffer],
            "type": type_text(buffer.info),
            "bytes": size if size is None or isinstance(size, int) else str(size),
            "first": buffer.first,
            "last": buffer.last,
            "offset": buffer.offset,
            "slot": buffer.slot,
            "output": buffer.output,
            "origins": origins_of(value.owner),
        }

    def _place(self, value: Any, plan: Plan) -> dict[str, Any]:
        described: dict[str, Any] = {"type": type_text(decode(value.type))}
        if value in plan.memory_of:
            described["buffer"] = self._numbers[plan.memory_of[value]]
            return described
        root = root_of(value)
        if isinstance(root.owner, ir.Block):
            is_input = root.owner.owner.operation.name == "func.func"
            described["input"] = self._inputs[root.arg_number] if is_input else ""
        elif root.owner.operation.name in ("arith.constant", "relax.constant"):
            described["constant"] = True
        return described


def _callee(operation: Any) -> str:
    """What an operation calls; empty where it calls nothing."""
    if operation.name == "func.call":
        return str(operation.attributes["callee"].value)
    if "func" not in operation.attributes:
        return ""
    held = operation.attributes["func"]
    return string_value(held) if isinstance(held, ir.StringAttr) else operation.opview.func
