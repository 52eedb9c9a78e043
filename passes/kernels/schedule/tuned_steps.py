# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of tuned kernels: steps that a search has chosen among the decisions of a rule."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.rewriting import Decline, blaming_at
from ....dialects.core.ir_attributes import SCHEDULE, SCHEDULE_PLACES
from ....dialects.tir.prim_func import set_schedule_lines
from ....support.errors import RelaxError
from ....targets.core.backend import ChosenTarget
from ..loops.schedule import Schedule
from .decided import deciding
from .registry import ScheduleContext, schedules_of
from .tuned_plans import TunedKernel


def use_steps(function: Operation, steps: Sequence[str], place: str = "tuned steps") -> None:
    """Set the schedule of a PrimFunc. Raises RelaxError if the steps do not fit; the PrimFunc has none then.

    `place` is the file of the steps in later errors.
    """
    set_schedule_lines(function, steps)
    try:
        Schedule(function)
    except RelaxError:
        del function.attributes[SCHEDULE]
        raise
    set_schedule_lines(function, [place] * len(steps), SCHEDULE_PLACES)


def use_tuned_steps(function: Operation, kernel: TunedKernel, chosen: ChosenTarget) -> None:
    """Set the schedule of a tuned kernel. Raises RelaxError if the steps do not fit."""
    try:
        use_steps(function, kernel.steps, kernel.path)
    except RelaxError as error:
        # A rule may register the intrinsics of its steps while it runs.
        if not _run_rule(function, kernel, chosen):
            raise
        try:
            use_steps(function, kernel.steps, kernel.path)
        except RelaxError:
            raise error from None


def _run_rule(function: Operation, kernel: TunedKernel, chosen: ChosenTarget) -> bool:
    """Run the rule of a tuned kernel on a copy, with its decisions. Return True if the rule gives a schedule."""
    rule = next(
        (schedule for schedule in schedules_of(function, chosen.name) if schedule.function.__name__ == kernel.rule),
        None,
    )
    if rule is None:
        return False
    module = ir.Module.create(function.location)
    copy = function.clone(ip=ir.InsertionPoint(module.body)).operation
    with deciding(kernel.rule, kernel.decisions) as searched:
        searched.start(kernel.rule)
        try:
            with blaming_at(f"schedule '{kernel.rule}'", rule.function, function, Decline):
                made = rule.function(copy, ScheduleContext(chosen.name, chosen))
        except (Decline, RelaxError):
            return False
    return isinstance(made, Schedule)
