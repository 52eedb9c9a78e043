# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writer of operations in program order, each by the rule for its name. Operations without a rule are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from ...bindings.ir import Block, Operation, Value
from ...bindings.navigation import operations_of
from ...bindings.rewriting import located_error
from ...support.errors import RefusalError, RelaxError

#: Representation of a value in the text: a name, lanes, an expression, a view of memory.
Held = TypeVar("Held")


class OperationWriter(Generic[Held]):
    target: ClassVar[str]
    #: Reason given for refusing an operation without a rule.
    unknown: ClassVar[str]
    #: Notes for all refusals.
    hints: ClassVar[tuple[str, ...]] = ()

    def __init__(self, rules: Mapping[str, Callable[[Any, Operation], None]], where: str) -> None:
        self._rules, self._where = rules, where
        self._known: dict[Value, Held] = {}

    # ---- values ----

    def know(self, value: Value, held: Held) -> None:
        self._known[value] = held

    def know_all(self, values: Iterable[Value], helds: Iterable[Held | None]) -> None:
        """Register several values. None marks an unused one."""
        for value, held in zip(values, helds, strict=True):
            if held is not None:
                self.know(value, held)

    def held(self, value: Value) -> Held:
        if value not in self._known:
            raise RefusalError(f"it reads a {value.type}, which has no value here")
        return self._known[value]

    # ---- operations ----

    def block(self, block: Block) -> Operation:
        """Write all operations of a block except the last one, which is returned."""
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
