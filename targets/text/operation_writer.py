# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes operations one after the other, each by a rule of its name; what has none is refused, with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from ...bindings.ir import Block, Operation, Value
from ...bindings.navigation import operations_of
from ...bindings.rewriting import located_error
from ...support.errors import RefusalError, RelaxError

#: What a value is in what is written: a name, lanes, an expression, a view of memory.
Held = TypeVar("Held")


class OperationWriter(Generic[Held]):
    target: ClassVar[str]
    #: Why an operation without a rule is refused.
    unknown: ClassVar[str]
    #: What helps against any refusal.
    hints: ClassVar[tuple[str, ...]] = ()

    def __init__(self, rules: Mapping[str, Callable[[Any, Operation], None]], where: str) -> None:
        self._rules, self._where = rules, where
        self._known: dict[Value, Held] = {}

    # ---- values ----

    def know(self, value: Value, held: Held) -> None:
        self._known[value] = held

    def know_all(self, values: Iterable[Value], helds: Iterable[Held | None]) -> None:
        """None stands for what is unused."""
        for value, held in zip(values, helds, strict=True):
            if held is not None:
                self.know(value, held)

    def held(self, value: Value) -> Held:
        if value not in self._known:
            raise RefusalError(f"it reads a {value.type}, which has no value here")
        return self._known[value]

    # ---- operations ----

    def block(self, block: Block) -> Operation:
        """All but the last operation, which it returns."""
        *ops, end = operations_of(block)
        self.operations(ops)
        return end

    def operations(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            self.operation(op)

    def operation(self, op: Operation) -> None:
        rule = self._rules.get(op.name)
        try:
            if rule is None:
                raise RefusalError(self.unknown)
            rule(self, op)
        except RelaxError as error:
            if error.location:
                raise
            raise self.refusal(op, error.message, *error.notes) from None

    def refusal(self, op: Operation, reason: str, *notes: str) -> RelaxError:
        text = f"target '{self.target}' cannot write '{op.name}' op {self._where}: {reason}"
        return located_error(text, op.location, [*notes, *self.hints])
