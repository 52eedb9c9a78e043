# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Legalization rules by operator and target, and the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ...dialects.core.dialect import find_op
from ...support.errors import RelaxError
from ...support.places import place_of
from ...targets.core.registry import all_targets, find_target, load_rules, rules_chain

RuleFunction = Callable[..., Any]
Function = TypeVar("Function", bound=RuleFunction)


class Rule(NamedTuple):
    """How an operator is legalized for a target. `place` says where the rule is written."""

    op: str
    target: str
    function: RuleFunction
    place: str

    @property
    def label(self) -> str:
        return f"{self.function.__name__} for {self.target} ({self.place})"


_RULES: dict[tuple[str, str], Rule] = {}


def register_legalize(op: str | Sequence[str], target: str = "default") -> Callable[[Function], Function]:
    """Registers a function as the rule of an operator (or several) for a target; use it as a decorator.

    Refuses unknown operators and targets, and a second rule for the same pair.
    """
    names = [op] if isinstance(op, str) else list(op)

    def register(function: Function) -> Function:
        find_target(target)
        for name in names:
            find_op(name)
            rule = Rule(name, target, function, place_of(function))
            taken = _RULES.get((name, target))
            if taken is not None and taken.place != rule.place:
                raise RelaxError(f"'{name}' has a rule for target '{target}' already: {taken.place}")
            _RULES[name, target] = rule
        return function

    return register


def rules_for(op: str, target: str) -> list[Rule]:
    """The rules to try for an operator on a target, the target's own first, the default's last."""
    chain = rules_chain(target)
    load_rules(chain)
    return [_RULES[op, step.name] for step in chain if (op, step.name) in _RULES]


def rules_by_op(target: str) -> dict[str, list[Rule]]:
    """`rules_for` every operator that has any, sorted by operator."""
    chain = rules_chain(target)
    load_rules(chain)
    found: dict[str, list[Rule]] = {}
    for step in chain:
        for (op, owner), rule in _RULES.items():
            if owner == step.name:
                found.setdefault(op, []).append(rule)
    return {op: found[op] for op in sorted(found)}


def all_rules(target: str | None = None) -> list[Rule]:
    """Every rule, or for each operator the one that a target would try first; sorted by operator."""
    if target is None:
        load_rules(all_targets())
        return [_RULES[key] for key in sorted(_RULES)]
    return [rules[0] for rules in rules_by_op(target).values()]
