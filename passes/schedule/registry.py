# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules by operator pattern and target, rules that choose plans by target, the order in which they are tried.

    @register_schedule("comm_reduce", target="llvm")
    def reduction(function, context):
        ...gives the PrimFunc's operations plans, or rewrites it in place, or `return context.decline("reason")`: then
        the next one is tried.

What no schedule takes stays as it is and becomes plain loops. Most let rules choose a plan for each operation:

    @register_plan(target="llvm")
    def plan_reduction(op: StructuredOp, machine: Machine) -> Plan:
        if not op.reductions:
            raise Decline("it reduces nothing")
        ...
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from ...bindings.ir import Operation
from ...bindings.rewriting import Decline
from ...dialects.core.facts import OpPattern
from ...emit.structured import StructuredOp
from ...support.registry import Registry
from ...targets.core.backend import ChosenTarget, Machine
from ...targets.core.code import find_backend
from ...targets.core.registry import all_targets, find_target, load_schedules, schedules_chain
from .plan import Plan

ScheduleFunction = Callable[[Operation, "ScheduleContext"], object]
Function = TypeVar("Function", bound=ScheduleFunction)


@dataclass(frozen=True)
class ScheduleContext:
    """What a schedule is told beside the function."""

    #: The target that is compiled for; a schedule of one of its parents may be running.
    target: str
    #: The target whose machine runs the code, with its options.
    chosen: ChosenTarget

    @functools.cached_property
    def machine(self) -> Machine:
        """The processor that the code is for."""
        return find_backend(self.chosen.name).machine(self.chosen)

    def decline(self, reason: str) -> Decline:
        """`return context.decline("only ...")`, before anything is changed: the next schedule is tried."""
        return Decline(reason)


class Schedule(NamedTuple):
    """How PrimFuncs of a pattern are scheduled for a target. `place` says where that is written."""

    pattern: str
    target: str
    function: ScheduleFunction
    place: str

    @property
    def label(self) -> str:
        return f"{self.function.__name__} for {self.target} ({self.place})"


_SCHEDULES = Registry[Schedule](
    lambda schedule: (schedule.pattern, schedule.target),
    lambda new, taken: f"pattern '{new.pattern}' has a schedule for target '{new.target}' already: {taken.place}",
)


def register_schedule(
    pattern: str | OpPattern | Sequence[str | OpPattern], target: str = "default"
) -> Callable[[Function], Function]:
    """Registers a function as the schedule of an operator pattern (or several) for a target; use it as a decorator.

    Refuses unknown patterns and targets, and a second schedule for the same pair.
    """
    names = _pattern_names(pattern)

    def schedules(function: Function, place: str) -> list[Schedule]:
        find_target(target)
        return [Schedule(name, target, function, place) for name in names]

    return _SCHEDULES.registering(schedules)


def _pattern_names(pattern: str | OpPattern | Sequence[str | OpPattern]) -> list[str]:
    patterns = [pattern] if isinstance(pattern, (str, OpPattern)) else list(pattern)
    return [(OpPattern.parse(each) if isinstance(each, str) else each).attribute_text for each in patterns]


def schedules_for(pattern: OpPattern, target: str) -> list[Schedule]:
    """The schedules to try for a pattern on a target, the target's own first, the default's last."""
    chain = schedules_chain(target)
    load_schedules(chain)
    return _SCHEDULES.tried(pattern.attribute_text, [(step.name,) for step in chain])


# ---- plans ----

#: Gives the plan of an operation, whose loops are joined where they can be, or raises Decline with the reason.
PlanFunction = Callable[[StructuredOp, Machine], Plan]


class PlanRule(NamedTuple):
    """A rule; its name is the function's without `plan_`, `place` says where that is written."""

    target: str
    name: str
    function: PlanFunction
    place: str


_PLAN_RULES = Registry[PlanRule](
    lambda rule: (rule.target, rule.name),
    lambda rule, taken: f"target '{rule.target}' has a plan rule '{rule.name}' already: {taken.place}",
)


def register_plan(target: str = "default") -> Callable[[PlanFunction], PlanFunction]:
    """Registers a function as a rule of a target; use it as a decorator. Refuses a second one of the same name."""

    find_target(target)
    return _PLAN_RULES.registering(
        lambda function, place: [PlanRule(target, function.__name__.removeprefix("plan_"), function, place)]
    )


def all_plan_rules() -> list[PlanRule]:
    """Every rule, sorted by target and name."""
    load_schedules(all_targets())
    return _PLAN_RULES.all()


def plan_rules(target: str) -> list[PlanRule]:
    """The rules to try for a target, its own first."""
    chain = schedules_chain(target)
    load_schedules(chain)
    return [rule for step in chain for rules in _PLAN_RULES.entries.get(step.name, {}).values() for rule in rules]
