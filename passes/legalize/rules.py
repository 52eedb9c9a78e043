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

#: Result of a rule: the values of the operator's results, or a Decline with the reason.
Legalized: TypeAlias = Value | Sequence[Value] | Decline
#: A rule, called with the operator's `LegalizeCall`.
RuleFunction: TypeAlias = Callable[["LegalizeCall"], Legalized]
Function = TypeVar("Function", bound=RuleFunction)


class Rule(NamedTuple):
    """Legalization rule of an operator for a target. `place` is the rule's source location."""

    op: str
    target: str
    function: RuleFunction
    place: str
    #: True if the rule depends only on attributes, types and known scalars.
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
    """Register a function as the rule of one or more operators for a target. Use it as a decorator.

    `by_types` promises that the rule depends only on attributes, types and values of scalar constants. If its result is
    one call, the call is repeated for operators of the same types without calling the rule.

    Unknown operators, unknown targets and a second rule for the same pair are refused.
    """

    def rules(function: RuleFunction, place: str) -> list[Rule]:
        find_target(target)
        rule = rule_of(function)
        return [Rule(find_op(name).full_name, target, rule, place, by_types) for name in names_of(op)]

    return _RULES.registering(rules)


def rule_of(function: RuleFunction) -> RuleFunction:
    """Return the function as `rule(call)`.

    Rules of other packages may have the form `rule(op, operands, builder)` until 0.2.
    """
    if is_ours(function) or _takes_one(function):
        return function
    warnings.warn(
        f"{place_of(function)}: rules have the form rule(call), with call.op, call.operands and the builder's methods, "
        "such as call.elementwise(...). The form rule(op, operands, builder) is accepted until 0.2",
        DeprecationWarning,
        stacklevel=4,
    )
    old: Callable[..., Legalized] = function
    return functools.wraps(old)(lambda call: old(call.op, call.operands, call))


def _takes_one(function: RuleFunction) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # callables not written in Python may have no signature
        return True
    needed = [
        parameter
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
    ]
    return len(needed) == 1


def rules_by_op(target: str) -> dict[str, list[Rule]]:
    """Map each operator, in sorted order, to its rules for a target.

    The target's own rules come first, the default's last.
    """
    return _RULES.by_name(_loaded_sorts(target))


def rule_finder(target: str, operators: Collection[str]) -> Callable[[str], list[Rule]]:
    """Return a function that maps an operator's name to its rules, in the order in which a target tries them.

    If the target has no rule for one of `operators`, rules from all packages are imported first.
    """
    sorts = _loaded_sorts(target)
    if missing := [name for name in operators if not _RULES.tried(name, sorts)]:
        load_rules_for(missing)
    return functools.partial(_RULES.tried, sorts=sorts)


def _loaded_sorts(target: str) -> list[tuple[str]]:
    chain = rules_chain(target)
    load_rules(chain)
    return [(step.name,) for step in chain]


def all_rules(target: str | None = None) -> list[Rule]:
    """Return all rules, or the first rule per operator for a target. Sorted by operator."""
    if target is None:
        load_rules(all_targets())
        return _RULES.all()
    return [rules[0] for rules in rules_by_op(target).values()]
