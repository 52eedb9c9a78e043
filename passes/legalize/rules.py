# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Legalization rules by operator and target, and the order in which they are tried."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from ...bindings.ir import Value
from ...bindings.rewriting import Decline
from ...dialects.core.dialect import find_op
from ...support.argument_types import types_checked
from ...support.blaming import is_ours, place_of
from ...support.registry import Registry, names_of
from ...targets.core.registry import all_targets, find_target, load_rules, load_rules_for, rules_chain

if TYPE_CHECKING:
    from .call import LegalizeCall

#: What a rule gives: the values of the operator's results, or why it does not apply.
Legalized: TypeAlias = Value | Sequence[Value] | Decline
#: A rule: it works with the call of an operator.
RuleFunction: TypeAlias = Callable[["LegalizeCall"], Legalized]
Function = TypeVar("Function", bound=RuleFunction)


class Rule(NamedTuple):
    """How an operator is legalized for a target. `place` says where the rule is written."""

    op: str
    target: str
    function: RuleFunction
    place: str
    #: Whether attributes, types and known scalars alone decide what it does.
    by_types: bool = False

    @property
    def label(self) -> str:
        return f"{self.function.__name__} for {self.target} ({self.place})"


_RULES = Registry[Rule](
    lambda rule: (rule.op, rule.target),
    lambda rule, taken: f"'{rule.op}' has a rule for target '{rule.target}' already: {taken.place}",
)


@types_checked
def register_legalize(
    op: str | Sequence[str], target: str = "default", *, by_types: bool = False
) -> Callable[[Function], Function]:
    """Registers a function as the rule of an operator (or several) for a target; use it as a decorator.

    `by_types` promises that attributes, types and the values of scalar constants alone decide what the rule does: then
    what it did once, if that was one call, is done again for operators of the same types without asking.

    Refuses unknown operators and targets, and a second rule for the same pair.
    """

    def rules(function: RuleFunction, place: str) -> list[Rule]:
        find_target(target)
        rule = rule_of(function)
        return [Rule(find_op(name).full_name, target, rule, place, by_types) for name in names_of(op)]

    return _RULES.registering(rules)


def rule_of(function: RuleFunction) -> RuleFunction:
    """The function as `rule(call)`. Until 0.2 others may have the form before, `rule(op, operands, builder)`."""
    if is_ours(function) or _takes_one(function):
        return function
    warnings.warn(
        f"{place_of(function)}: a rule is rule(call): call.op, call.operands, and what the builder could, "
        "call.elementwise(...). rule(op, operands, builder) is taken until 0.2",
        DeprecationWarning,
        stacklevel=4,
    )
    old: Callable[..., Legalized] = function
    return functools.wraps(old)(lambda call: old(call.op, call.operands, call))


def _takes_one(function: RuleFunction) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # what is not written in Python says nothing
        return True
    needed = [each for each in parameters if each.default is each.empty and each.kind is not each.KEYWORD_ONLY]
    return len(needed) == 1


def rules_by_op(target: str) -> dict[str, list[Rule]]:
    """For each operator, sorted, the rules to try on a target, the target's own first, the default's last."""
    return _RULES.by_name(_loaded_sorts(target))


def rule_finder(target: str, operators: Collection[str]) -> Callable[[str], list[Rule]]:
    """Return a function that gives the rules of an operator, by name, in the order in which a target tries them.

    Rules for `operators` are imported from all packages first, where the target has none for one of them.
    """
    sorts = _loaded_sorts(target)
    missing = [name for name in operators if not _RULES.tried(name, sorts)]
    if missing:
        load_rules_for(missing)
    return functools.partial(_RULES.tried, sorts=sorts)


def _loaded_sorts(target: str) -> list[tuple[str]]:
    chain = rules_chain(target)
    load_rules(chain)
    return [(step.name,) for step in chain]


def all_rules(target: str | None = None) -> list[Rule]:
    """Every rule, or for each operator the one that a target would try first; sorted by operator."""
    if target is None:
        load_rules(all_targets())
        return _RULES.all()
    return [rules[0] for rules in rules_by_op(target).values()]
