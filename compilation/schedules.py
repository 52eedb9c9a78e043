# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of a program's kernels: those that a target chooses, as text, and others in their place."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..bindings.ir import Operation
from ..bindings.rewriting import Decline
from ..passes.core.base import Pass
from ..passes.core.stages import Stages
from ..passes.tir_use_schedules import UseSchedules
from ..support.errors import OptionError

#: Where the loops of kernels are chosen; else where they become what schedules say.
_PLANS, _APPLIED = "tir-plan", "tir-apply-schedule"
Schedules = str | os.PathLike[str] | Mapping[str, object]


def with_schedules(stages: Stages, schedules: Schedules) -> Stages:
    """The stages, with one pass that gives kernels the schedules of a file, or these by their names."""
    if not isinstance(schedules, Mapping):
        return _before_plans(stages, UseSchedules(file=os.fspath(schedules)))
    from ..passes.loops.schedule_files import file_of

    traces = {kernel: str(getattr(each, "trace", each)) for kernel, each in schedules.items()}
    return _before_plans(stages, UseSchedules(file="schedules", content=file_of(traces, {}, "of rx.compile")))


def until_planned(stages: Stages) -> Stages:
    """The stages up to where the loops of all kernels are chosen, if the target does."""
    stage, place = _place(stages)
    passes = stages[stage].passes
    is_planned = str(passes[place]).startswith(_PLANS)
    return stages.until(stage).replace(stage, passes[: place + is_planned])


def chosen_schedules(module: Operation, target: str) -> str:
    """A file of the schedules that kernels have where their loops have been chosen."""
    from ..passes.loops.schedule_files import file_of, is_writable
    from ..passes.schedule.constant_arguments import callers_in
    from ..passes.schedule.plan_steps import schedule_of_plans

    schedules, left_out = {}, {}
    for name, callers in callers_in(module).items():
        try:
            if not is_writable(name):
                raise Decline("no function of Python can have its name")
            schedules[name] = schedule_of_plans(callers.function, callers.constants()).trace
        except Decline as decline:
            left_out[name] = decline.reason
    return file_of(schedules, left_out, f"For target {target}: --schedules takes this file, or some kernels of it.")


def _before_plans(stages: Stages, pass_: Pass) -> Stages:
    stage, place = _place(stages)
    passes = stages[stage].passes
    return stages.replace(stage, [*passes[:place], pass_, *passes[place:]])


def _place(stages: Stages) -> tuple[str, int]:
    for wanted in (_PLANS, _APPLIED):
        for stage in stages:
            for place, each in enumerate(stage.passes):
                if str(each if isinstance(each, str) else each.name).startswith(wanted):
                    return stage.name, place
    found = f"no stage of target '{stages.target}' runs {_PLANS} or {_APPLIED}"
    raise OptionError(f"{found}: its kernels have no schedules")
