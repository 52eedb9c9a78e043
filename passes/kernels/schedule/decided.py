# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of a target's rules with the decisions of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ....bindings.ir import Operation
from ....dialects.tir.prim_func import schedule_lines
from ....support.errors import RelaxError
from ..loops.decisions import Decision, Taken
from .registry import DECIDED, DecidedRule


class DecidedSchedule(NamedTuple):
    """Schedule of a kernel by a rule, with the decisions that the rule has asked for."""

    #: Name of the rule's function.
    rule: str
    #: Lines of the schedule.
    steps: tuple[str, ...]
    decisions: tuple[Decision, ...]

    @property
    def taken(self) -> tuple[Taken, ...]:
        return tuple(decision.taken for decision in self.decisions)


@contextmanager
def deciding(rule: str = "", wanted: Sequence[Taken] | None = None) -> Iterator[DecidedRule]:
    """Run a rule with decisions, or all rules with their defaults, while tir-plan plans a kernel."""
    decided_rule = DecidedRule(rule, None if wanted is None else tuple(wanted))
    token = DECIDED.set(decided_rule)
    try:
        yield decided_rule
    finally:
        DECIDED.reset(token)


def decided_steps(function: Operation, searched: DecidedRule) -> DecidedSchedule | None:
    """Return the schedule of a planned PrimFunc, by the rule that chose it.

    Returns None if the rule chose plans. Raises RelaxError if the rule fails, and if its schedule does not have the
    decisions of the search.
    """
    lines: Sequence[str] | None = schedule_lines(function)
    if lines is None:
        if searched.wanted is not None:
            raise RelaxError(f"the rule '{searched.name}' gives no schedule with these decisions{_why(searched)}")
        return None
    schedule = DecidedSchedule(searched.running, tuple(lines), tuple(searched.decider.made if searched.decider else ()))
    if searched.wanted is not None:
        _check(schedule, searched)
    return schedule


def _why(searched: DecidedRule) -> str:
    return f": {searched.reason}" if searched.reason else ""


def _check(schedule: DecidedSchedule, searched: DecidedRule) -> None:
    """Raise RelaxError for a schedule of another rule, and for one with other decisions."""
    assert searched.wanted is not None
    if schedule.rule != searched.name:
        problem = f"the rule '{searched.name}' gives no schedule with these decisions{_why(searched)}"
        raise RelaxError(f"{problem}; the next rule is '{schedule.rule}'")
    if schedule.taken != searched.wanted:
        counts = f"{len(schedule.decisions)} decisions, expected {len(searched.wanted)}"
        raise RelaxError(f"the rule '{schedule.rule}' asks for {counts}: it depends on its other decisions")
