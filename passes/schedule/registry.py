# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules by operator pattern and target, and the order in which they are tried.

    @register_schedule("comm_reduce", target="llvm")
    def reduction(function, context):
        ...gives the PrimFunc's operations plans, or rewrites it in place, or `return context.decline("reason")`: then
        the next one is tried.

What no schedule takes stays as it is and becomes plain loops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ...bindings.rewriting import Decline
from ...dialects.tir.prim_func import OpPattern
from ...support.registry import Registry
from ...targets.core.backend import ChosenTarget, Machine
from ...targets.core.code import find_backend
from ...targets.core.registry import all_targets, find_target, load_schedules, schedules_chain

ScheduleFunction = Callable[..., Any]
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


def all_schedules(target: str | None = None) -> list[Schedule]:
    """Every schedule, or for each pattern the one that a target would try first; in the patterns' order."""
    if target is None:
        load_schedules(all_targets())
        return sorted(_SCHEDULES.all(), key=lambda each: (OpPattern.parse(each.pattern), each.target))
    first = [schedules_for(pattern, target)[:1] for pattern in OpPattern]
    return [schedule for found in first for schedule in found]
