# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The body of a function as text: lines, braces, and the variables that loops and branches assign to."""

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
    """How a language says what structured_control.py writes is up to subclasses. Variables are what holds values."""

    #: The head of a loop without an end.
    endless: ClassVar[str]

    def __init__(
        self, rules: Mapping[str, Callable[[Any, Operation], None]], where: str, first_number: int = 0
    ) -> None:
        super().__init__(rules, where)
        self.lines: list[str] = []
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
        """Declares what a loop begins with, and knows the arguments by it. None stands for what is unused."""

    @abstractmethod
    def leave(self, op: Operation, wanted: str, arguments: Sequence[Value] = ()) -> Sequence[Held | None]:
        """Declares what an operation leaves, and hands to arguments of a region of its own."""

    @abstractmethod
    def assigned(self, variable: Held, value: Value) -> Iterable[tuple[str, str, str]]:
        """The names that are assigned to, what, of which type."""

    @abstractmethod
    def keep(self, name: str, text: str, type_: str) -> str:
        """A constant for what is to become of a variable."""

    def is_changed(self, text: str, names: Sequence[str]) -> bool:
        """Whether a text is another one when variables have changed."""
        return text in names

    def assign(self, variables: Sequence[Held | None], values: Sequence[Value]) -> None:
        """All at once: what one of them was before, another may become."""
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
        """The braces of a loop that counts, with its counter known."""

    @abstractmethod
    def condition(self, op: Operation, value: Value, *, is_negated: bool = False) -> str:
        """What an operation's branches, or its end, depend on."""
