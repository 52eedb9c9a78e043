# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reasons why rules for schedules and tensor intrinsics of a device's owner were not used for a PrimFunc."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....bindings.ir import Operation
from ....support.errors import RelaxError
from .registry import Schedule, ScheduleContext, all_schedules

#: `name` of a rule or an intrinsic, and the `reason`.
Reason = Mapping[str, str]


def used_intrinsics(schedule: object) -> list[str]:
    """Return the distinct intrinsics that a schedule uses. Other outcomes use none."""
    from ..loops.intrins import INTRIN  # lazy: rarely needed, and imports all primitives
    from ..loops.schedule import Schedule as LoopSchedule

    if not isinstance(schedule, LoopSchedule):
        return []
    loops = (loop for tree in schedule.trees() for loop in tree.loops())
    return list(dict.fromkeys(str(loop.annotations[INTRIN]) for loop in loops if INTRIN in loop.annotations))


def unused_rules(
    context: ScheduleContext, taken: Schedule | None, tried: Iterable[Schedule], asked: Iterable[Schedule]
) -> list[Reason]:
    """Return the rules from outside of this project that were not tried, with the reasons.

    `asked` are all rules for the PrimFunc, `tried` the rules that have declined it.
    """
    done = {schedule.function for schedule in (*tried, *([taken] if taken is not None else ()))}
    first = "the PrimFunc's own schedule" if taken is None else taken.function.__name__
    later = {schedule.function for schedule in asked}
    subjects: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for rule in all_schedules(context.target):
        if rule.is_own or rule.function in done:
            continue
        subjects.setdefault(rule.label, []).append(rule.shown)
        is_for = f"is for {', '.join(subjects[rule.label])}"
        reasons[rule.label] = f"{first} comes first" if rule.function in later else is_for
    return [{"name": name, "reason": reason} for name, reason in reasons.items()]


def has_rules(context: ScheduleContext) -> bool:
    """Return True if others than this project have registered rules that the target tries."""
    return any(not rule.is_own for rule in all_schedules(context.target))


def unused_intrinsics(function: Operation, context: ScheduleContext) -> list[Reason]:
    """Return, for each registered intrinsic, why it does not compute the loops of a PrimFunc without a schedule."""
    from ..loops.auto_tensorize import why_not
    from ..loops.intrins import all_intrins

    if not (others := [intrin for intrin in all_intrins() if not intrin.thing.is_targets]):
        return []
    try:
        blocks = [block for tree in context.schedule(function).trees() for block in tree.blocks()]
    except RelaxError as error:
        return [{"name": named_.name, "reason": error.message} for named_ in others]
    return [{"name": named_.name, "reason": why_not(blocks, named_.name, named_.thing)} for named_ in others]
