# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of which each operator has one: its derivative, its definition by others, what it makes of known elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...support.blaming import is_ours
from ...support.registry import Registry, names_of
from .dialect import find_op


@dataclass(frozen=True)
class OperatorRule:
    """What is registered for an operator. `place` says where it is written."""

    op: str
    function: Callable[..., Any]
    place: str

    def __str__(self) -> str:
        return f"{self.op} ({self.place})"


@dataclass(frozen=True)
class RuleByTypes(OperatorRule):
    #: Whether types, attributes and known scalars alone decide what it does.
    by_types: bool = False


Function = TypeVar("Function", bound=Callable[..., object])
Rule = TypeVar("Rule", bound=OperatorRule)


class OperatorRules(Registry[Rule]):
    """Rules by operator; this project's are in the modules of a package."""

    def __init__(self, kind: type[Rule], what: str, families: str):
        """`what` each operator can have one of, for messages: "a rule for its derivative"."""
        self._kind = kind
        super().__init__(
            lambda rule: (rule.op,),
            lambda rule, taken: f"'{rule.op}' has {what} already: {taken.place}",
            families=families,
        )

    def register(self, op: str | Sequence[str], **options: bool) -> Callable[[Function], Function]:
        """A decorator for the rule of an operator, or several. Refuses unknown operators, and a second rule of one."""

        def rules(function: Function, place: str) -> list[Rule]:
            if not is_ours(function):  # this project's families do not ask for one another while they are imported
                self.load()
            return [self._kind(find_op(name).full_name, function, place, **options) for name in names_of(op)]

        return self.registering(rules)
