# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Body of a function as text: lines, braces, and the variables that loops and branches assign to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Any, ClassVar

from ...bindings.ir import Operation, Value
from .operation_writer import Held, OperationWriter

INDENT = "    "


class TextWriter(OperationWriter[Held], ABC):
    """Text writer. Subclasses define the syntax for structured_control.py. Variables hold values."""

    #: Head of an endless loop.
    endless: ClassVar[str]
    #: Lines of the text so far.
    lines: list[str]

    def __init__(
        self, rules: Mapping[str, Callable[[Any, Operation], None]], where: str, first_number: int = 0
    ) -> None:
        super().__init__(rules, where)
        self.lines = []
        self._depth = 1
        self._numbers = count(first_number)

    # ---- text ----

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self._depth + text if text else "")

    @contextmanager
    def braces(self, head: str = "") -> Iterator[None]:
        self.line(f"{head} {{".lstrip())
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    def otherwise(self) -> AbstractContextManager[None]:
        return self.braces("else")

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers)}"

    # ---- variables ----

    @abstractmethod
    def carry(self, op: Operation, values: Sequence[Value], arguments: Sequence[Value]) -> Sequence[Held | None]:
        """Declare the loop-carried variables and bind the arguments to them. None marks an unused one."""

    @abstractmethod
    def leave(self, op: Operation, wanted: str, arguments: Sequence[Value] = ()) -> Sequence[Held | None]:
        """Declare the variables for an operation's results, and bind arguments of its second region to them."""

    @abstractmethod
    def assigned(self, variable: Held, value: Value) -> Iterable[tuple[str, str, str]]:
        """Return (name, text, type) of each assignment of a value to a variable."""

    @abstractmethod
    def keep(self, name: str, text: str, type_: str) -> str:
        """Declare a constant for the next value of a variable."""

    def is_changed(self, text: str, names: Sequence[str]) -> bool:
        """Check whether a text depends on changed variables."""
        return text in names

    def assign(self, variables: Sequence[Held | None], values: Sequence[Value]) -> None:
        """Assign all variables simultaneously, because values may refer to the old variables."""
        found = [
            each
            for variable, value in zip(variables, values, strict=True)
            if variable is not None
            for each in self.assigned(variable, value)
            if each[0] != each[1]
        ]
        names = [name for name, _, _ in found]
        pairs = [(name, self.keep(name, text, type_) if self.is_changed(text, names) else text)
                 for name, text, type_ in found]  # fmt: skip
        for name, text in pairs:
            self.line(f"{name} = {text};")

    # ---- control ----

    @abstractmethod
    def steps(self, op: Operation) -> AbstractContextManager[None]:
        """Write the braces of a counting loop, with its counter bound."""

    @abstractmethod
    def condition(self, op: Operation, value: Value, *, is_negated: bool = False) -> str:
        """Return the condition of a branch or of a loop's end."""
