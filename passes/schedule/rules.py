# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules that choose the plans of structured operations, by target.

    @register_plan(target="llvm")
    def plan_reduction(op: StructuredOp, machine: Machine) -> Plan:
        if not op.reductions:
            raise Decline("it reduces nothing")
        ...

A target's own are tried before its parents', each target's in the order in which they are registered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...emit.structured import StructuredOp
from ...support.errors import RelaxError
from ...support.places import place_of
from ...targets.core.machine import Machine
from ...targets.core.registry import find_target, load_schedules, schedules_chain
from .plan import Plan

#: Gives the plan of an operation, whose loops are joined where they can be, or raises Decline with the reason.
PlanFunction = Callable[[StructuredOp, Machine], Plan]


class PlanRule(NamedTuple):
    """A rule; its name is the function's without `plan_`, `place` says where that is written."""

    name: str
    function: PlanFunction
    place: str


_RULES: dict[str, dict[str, PlanRule]] = {}


def register_plan(target: str = "default") -> Callable[[PlanFunction], PlanFunction]:
    """Registers a function as a rule of a target; use it as a decorator. Refuses a second one of the same name."""

    def register(function: PlanFunction) -> PlanFunction:
        find_target(target)
        rule = PlanRule(function.__name__.removeprefix("plan_"), function, place_of(function))
        taken = _RULES.setdefault(target, {}).setdefault(rule.name, rule)
        if taken.place != rule.place:
            raise RelaxError(f"target '{target}' has a plan rule '{rule.name}' already: {taken.place}")
        _RULES[target][rule.name] = rule
        return function

    return register


def plan_rules(target: str) -> list[PlanRule]:
    """The rules to try for a target, its own first."""
    chain = schedules_chain(target)
    load_schedules(chain)
    return [rule for step in chain for rule in _RULES.get(step.name, {}).values()]
