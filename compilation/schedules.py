# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of a program's kernels: the target's choices as text, and replacements."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..bindings.ir import Operation
from ..bindings.navigation import symbol_name
from ..dialects.tir.prim_func import prim_funcs_in
from ..passes.core.base import Pass
from ..passes.core.facts import ScheduleFact
from ..passes.core.journal import Journal
from ..passes.core.stages import Stages
from ..passes.kernels.loops.trace import HEADER
from ..passes.kernels.schedule.registry import ScheduleContext
from ..passes.kernels.tir_use_schedules import UseSchedules
from ..support.errors import OptionError
from ..targets.core.registry import parse_target

#: Passes that choose or apply loop schedules. `_LOOPS` are earlier passes that create loops without blocks in kernels
#: without a schedule. `_TUNED` sets the plans of files before.
_PLANS, _APPLIED, _TUNED = "tir-plan", "tir-apply-schedule", "tir-use-tuned"
_LOOPS = ("tir-simplify-indices", "tir-cut-padding", "tir-fuse-rows")
Schedules = str | os.PathLike[str] | Mapping[str, object]


def with_schedules(stages: Stages, schedules: Schedules) -> Stages:
    """Add a pass that applies the schedules of a file, or of a mapping from kernel names."""
    if not isinstance(schedules, Mapping):
        return _insert_before_plans(stages, UseSchedules(file=os.fspath(schedules)))
    from ..passes.kernels.loops.schedule_files import file_of

    traces = {kernel: str(getattr(schedule, "trace", schedule)) for kernel, schedule in schedules.items()}
    return _insert_before_plans(stages, UseSchedules(file="schedules", content=file_of(traces, {}, "of rx.compile")))


def with_tuned(stages: Stages, folder: str | os.PathLike[str]) -> Stages:
    """Add a pass that sets the plans of tuned kernels, of a folder and of the target."""
    from ..passes.kernels.tir_use_tuned import UseTuned

    if not os.fspath(folder):
        raise OptionError("tuned='': expected a folder, False for none, or None for the target's own kernels")
    stages = without_tuned(stages)
    stage, place = _place(stages)
    passes = stages[stage].passes
    pass_ = UseTuned(target=str(stages.target), folder=os.fspath(folder))
    return stages.replace(stage, [*passes[:place], pass_, *passes[place:]])


def without_tuned(stages: Stages) -> Stages:
    """Remove the passes that set the plans of tuned kernels."""
    for stage in stages:
        kept = [pass_ for pass_ in stage.passes if not _is(pass_, _TUNED)]
        if len(kept) < len(stage.passes):
            stages = stages.replace(stage.name, kept)
    return stages


def until_rules(stages: Stages) -> Stages:
    """Return the stages up to the pass that chooses the loops of all kernels, without it and without tuned plans."""
    stages = without_tuned(stages)
    stage, place = _place(stages)
    return stages.until(stage).replace(stage, stages[stage].passes[:place])


def from_rules(stages: Stages) -> Stages:
    """Return the stages that follow `until_rules`."""
    stage, place = _place(stages)
    passes = stages[stage].passes
    return stages.between(stage).replace(stage, passes[place:])


def planned(stages: Stages) -> Stages:
    """Return the pass that chooses the loops of all kernels, as stages that follow `until_rules`."""
    stage, place = _place(stages)
    return stages.only(stage).replace(stage, stages[stage].passes[place : place + 1])


def until_planned(stages: Stages) -> Stages:
    """Return the stages up to the pass that chooses the loops of all kernels, or up to the application of schedules."""
    stage, place = _place(stages)
    passes = stages[stage].passes
    is_planned = _is(passes[place], _PLANS)
    return stages.until(stage).replace(stage, passes[: place + is_planned])


def until_scheduled(stages: Stages) -> Stages:
    """Return the stages up to the place where the schedules of a file are set."""
    stage, place = _schedules_place(stages)
    return stages.until(stage).replace(stage, stages[stage].passes[:place])


def chosen_schedules(module: Operation, target: str, journal: Journal) -> str:
    """Return a file with the schedules of kernels after loop planning, from the journal or the kernels' steps."""
    from ..passes.kernels.loops.schedule_files import file_of, is_writable
    from ..passes.kernels.schedule.plan_steps import REASON, chosen_steps

    noted = {fact["kernel"]: fact["steps"] for fact in journal.of(ScheduleFact.kind)}
    chosen = parse_target(target)
    context = ScheduleContext(chosen.name, chosen)
    schedules, left_out = {}, {}
    for function in prim_funcs_in(module):
        name = symbol_name(function)
        steps = noted.get(name) or chosen_steps(function, context)
        if not is_writable(name):
            left_out[name] = "no function of Python can have its name"
        elif steps[0].startswith(REASON):
            left_out[name] = steps[0].removeprefix(REASON)
        else:
            schedules[name] = "\n".join([HEADER, *steps])
    return file_of(schedules, left_out, f"For target {target}: --schedules takes this file, or some kernels of it.")


def _insert_before_plans(stages: Stages, pass_: Pass) -> Stages:
    stage, place = _schedules_place(stages)
    passes = stages[stage].passes
    return stages.replace(stage, [*passes[:place], pass_, *passes[place:]])


def _schedules_place(stages: Stages) -> tuple[str, int]:
    stage, place = _place(stages)
    passes = stages[stage].passes
    while place > 0 and any(_is(passes[place - 1], name) for name in (*_LOOPS, _TUNED)):
        place -= 1
    return stage, place


def _place(stages: Stages) -> tuple[str, int]:
    for wanted in (_PLANS, _APPLIED):
        for stage in stages:
            for place, pass_ in enumerate(stage.passes):
                if _is(pass_, wanted):
                    return stage.name, place
    found = f"no stage of target '{stages.target}' runs {_PLANS} or {_APPLIED}"
    raise OptionError(f"{found}: its kernels have no schedules")


def _is(pass_: str | Pass, name: str) -> bool:
    return str(pass_ if isinstance(pass_, str) else pass_.name).startswith(name)
