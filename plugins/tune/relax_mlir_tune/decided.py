# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule of one kernel by the rules of a target, with the decisions of a search."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.bindings.context_lock import lock_context
from relax_mlir.compilation.compiling import lower, stages
from relax_mlir.compilation.schedules import planned
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.frontends.module import Module
from relax_mlir.passes.kernels.loops.decisions import Taken
from relax_mlir.passes.kernels.schedule.decided import DecidedSchedule, decided_steps, deciding
from relax_mlir.passes.kernels.schedule.registry import has_rules_of_others, only_own_rules
from relax_mlir.passes.kernels.schedule.tuned_plans import plans_of
from relax_mlir.targets.core.registry import parse_target


def decided_schedule(
    module: Module, target: str, rule: str = "", decisions: Sequence[Taken] | None = None
) -> DecidedSchedule | None:
    """Return the schedule that a target's rule makes of a module's only kernel, before the kernel has plans.

    A rule gets the decisions. Without a rule, all rules take their defaults. Returns None if plans are chosen. Raises
    RelaxError if the rule fails, and if it asks for other decisions.
    """
    with deciding(rule, decisions) as searched:
        lowered = lower(module, target, pipeline=planned(stages(target)))
        with lock_context(lowered.context):
            (function,) = prim_funcs_in(lowered.operation)
            return decided_steps(function, searched)


def own_plans(module: Module, target: str) -> tuple[str, ...]:
    """Return the plans that this project's rules choose for a module's only kernel, without rules of others.

    Returns () if all rules of the target are this project's, and if they give no plans.
    """
    if not has_rules_of_others(parse_target(target).name):
        return ()
    with only_own_rules():
        lowered = lower(module, target, pipeline=planned(stages(target)))
    with lock_context(lowered.context):
        (function,) = prim_funcs_in(lowered.operation)
        plans = plans_of(function)
    return plans if any(plans) else ()
