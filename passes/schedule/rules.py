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
from ...support.registry import Registry
from ...targets.core.backend import Machine
from ...targets.core.registry import find_target, load_schedules, schedules_chain
from .plan import Plan

#: Gives the plan of an operation, whose loops are joined where they can be, or raises Decline with the reason.
PlanFunction = Callable[[StructuredOp, Machine], Plan]


class PlanRule(NamedTuple):
    """A rule; its name is the function's without `plan_`, `place` says where that is written."""

    target: str
    name: str
    function: PlanFunction
    place: str


_RULES = Registry[PlanRule](
    lambda rule: (rule.target, rule.name),
    lambda rule, taken: f"target '{rule.target}' has a plan rule '{rule.name}' already: {taken.place}",
)


def register_plan(target: str = "default") -> Callable[[PlanFunction], PlanFunction]:
    """Registers a function as a rule of a target; use it as a decorator. Refuses a second one of the same name."""

    find_target(target)
    return _RULES.registering(
        lambda function, place: [PlanRule(target, function.__name__.removeprefix("plan_"), function, place)]
    )


def plan_rules(target: str) -> list[PlanRule]:
    """The rules to try for a target, its own first."""
    chain = schedules_chain(target)
    load_schedules(chain)
    return [rule for step in chain for rules in _RULES.entries.get(step.name, {}).values() for rule in rules]
