# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of which each operator has one: its derivative, its definition by others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ...support.registry import Registry, names_of
from .dialect import find_op

Function = TypeVar("Function", bound=Callable[..., Any])


class OperatorRule(NamedTuple):
    """What is registered for an operator. `place` says where it is written."""

    op: str
    function: Callable[..., Any]
    place: str
    #: Whether types, attributes and known scalars alone decide what it does.
    by_types: bool = False

    def __str__(self) -> str:
        return f"{self.op} ({self.place})"


class OperatorRules(Registry[OperatorRule]):
    """Rules by operator; this project's are in the modules of a package."""

    def __init__(self, what: str, families: str):
        """`what` each operator can have one of, for messages: "a rule for its derivative"."""
        super().__init__(
            lambda rule: (rule.op,),
            lambda rule, taken: f"'{rule.op}' has {what} already: {taken.place}",
            families=families,
        )

    def register(self, op: str | Sequence[str], *, by_types: bool = False) -> Callable[[Function], Function]:
        """A decorator for the rule of an operator, or several. Refuses unknown operators, and a second rule of one."""

        def rules(function: Function, place: str) -> list[OperatorRule]:
            self.load()
            return [OperatorRule(find_op(name).full_name, function, place, by_types) for name in names_of(op)]

        return self.registering(rules)
