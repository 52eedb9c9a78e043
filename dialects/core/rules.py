# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules with at most one per operator: derivative, decomposition, and evaluation on known elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...support.blaming import is_ours
from ...support.registry import Registry, names_of
from .dialect import find_op


@dataclass(frozen=True)
class OperatorRule:
    """Registered rule of an operator. `place` is the location of its definition."""

    op: str
    function: Callable[..., Any]
    place: str

    def __str__(self) -> str:
        return f"{self.op} ({self.place})"


@dataclass(frozen=True)
class RuleByTypes(OperatorRule):
    #: True if types, attributes and known scalars alone determine the result.
    by_types: bool = False


Function = TypeVar("Function", bound=Callable[..., object])
Rule = TypeVar("Rule", bound=OperatorRule)


class OperatorRules(Registry[Rule]):
    """Rules by operator. This project's rules are in the modules of a package, or in plug-ins that announce a kind."""

    def __init__(self, kind: type[Rule], what: str, families: str = "", *, announced: str = ""):
        """Create the registry. `what` names the kind of rule in messages: "a rule for its derivative"."""
        self._kind = kind
        super().__init__(
            lambda rule: (rule.op,),
            lambda rule, taken: f"'{rule.op}' has {what} already: {taken.place}",
            families=families,
            announced=announced,
        )

    def register(self, op: str | Sequence[str], **options: bool) -> Callable[[Function], Function]:
        """Return a decorator that registers a rule for one or several operators.

        Raise RelaxError for unknown operators, and for a second rule.
        """

        def rules(function: Function, place: str) -> list[Rule]:
            if not is_ours(function):  # this project's families do not query each other during their import
                self.load()
            return [self._kind(find_op(name).full_name, function, place, **options) for name in names_of(op)]

        return self.registering(rules)
