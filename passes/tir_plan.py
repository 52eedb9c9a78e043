# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chooses how the loops of PrimFuncs on tensors run, by the schedules registered for a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..bindings.mlir import ir
from ..bindings.navigation import functions_in, symbol_name
from ..bindings.rewriting import Decline
from ..dialects.tir.prim_func import SCHEDULE, TARGET, OpPattern, is_prim_func, op_pattern
from ..targets.core.registry import parse_target
from .core.base import Pass
from .core.facts import ScheduleFact
from .core.journal import Journal
from .core.registry import register_pass
from .schedule.named import apply_named_schedule, drop_named_schedules
from .schedule.registry import ScheduleContext, schedules_for


@register_pass
@dataclass(frozen=True)
class TirPlan(Pass):
    """Chooses how the loops of tensor programs run on a target: tiles, vectors, order, as attributes."""

    name: ClassVar[str] = "tir-plan"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "linalg", "scf", "tensor", "vector")

    #: With its options, which say what machine it is: llvm{cpu=haswell}.
    target: str = "llvm"

    def __post_init__(self) -> None:
        parse_target(self.target)

    def run(self, op: Any) -> None:
        functions = [each for each in functions_in(op.operation) if is_prim_func(each) and len(each.regions[0].blocks)]
        chosen = parse_target(self.target)
        context = ScheduleContext(chosen.name, chosen)
        for function in functions:
            self._schedule(op.operation, function, context)
        drop_named_schedules(op.operation, functions)

    def _schedule(self, module: Any, function: Any, context: ScheduleContext) -> None:
        if SCHEDULE in function.attributes:
            named = str(function.attributes[SCHEDULE])
            apply_named_schedule(module, function)
            _note(function, named, "the module", [])
            return
        if TARGET in function.attributes:
            context = replace(context, target=ir.StringAttr(function.attributes[TARGET]).value)
        pattern = op_pattern(function)
        declined: list[dict[str, str]] = []
        for schedule in schedules_for(OpPattern.OPAQUE if pattern is None else pattern, context.target):
            decline = _declined(schedule.function, function, context)
            if decline is None:
                _note(function, schedule.function.__name__, schedule.place, declined)
                return
            declined.append({"schedule": schedule.label, "reason": decline.reason})
        _note(function, "", "", declined)


def _declined(schedule: Any, function: Any, context: ScheduleContext) -> Decline | None:
    try:
        outcome = schedule(function, context)
    except Decline as decline:
        return decline
    return outcome if isinstance(outcome, Decline) else None


def _note(function: Any, schedule: str, place: str, declined: Sequence[dict[str, str]]) -> None:
    """Tells which schedule took a PrimFunc, where somebody listens; none, where it becomes plain loops."""
    journal = Journal.active()
    if journal is not None:
        pattern = op_pattern(function)
        name = symbol_name(function)
        journal.add(ScheduleFact(name, "" if pattern is None else pattern.attribute_text, schedule, place, declined))
