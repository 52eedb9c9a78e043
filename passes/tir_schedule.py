# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles and vectorizes PrimFuncs on tensors, by the schedules registered for a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..bindings.mlir import ir
from ..bindings.navigation import functions_in, symbol_name
from ..bindings.rewriting import Decline
from ..dialects.tir.prim_func import SCHEDULE, TARGET, OpPattern, is_prim_func, op_pattern
from ..support.errors import RelaxError
from ..targets.core.registry import find_target
from .core.base import Pass
from .core.facts import ScheduleFact
from .core.journal import Journal
from .core.registry import register_pass
from .schedule.named import apply_named_schedule, drop_named_schedules
from .schedule.registry import ScheduleContext, schedules_for


@register_pass
@dataclass(frozen=True)
class TirSchedule(Pass):
    """Tiles and vectorizes tensor programs for a target."""

    name: ClassVar[str] = "tir-schedule"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "linalg", "scf", "tensor", "vector")

    target: str = "llvm"
    #: The size of a vector register; 0 leaves it to the target.
    vector_bytes: int = 0

    def __post_init__(self) -> None:
        find_target(self.target)
        bytes_ = self.vector_bytes
        if bytes_ != 0 and (bytes_ not in range(8, 257) or bytes_ & (bytes_ - 1)):
            raise RelaxError(f"vector-bytes={bytes_}: expected a power of two from 8 to 256, or 0 for the target's own")

    def run(self, op: Any) -> None:
        functions = [each for each in functions_in(op.operation) if is_prim_func(each) and len(each.regions[0].blocks)]
        for function in functions:
            self._schedule(op.operation, function)
        drop_named_schedules(op.operation, functions)

    def _schedule(self, module: Any, function: Any) -> None:
        if SCHEDULE in function.attributes:
            named = str(function.attributes[SCHEDULE])
            apply_named_schedule(module, function)
            _note(function, named, "the module", [])
            return
        target = ir.StringAttr(function.attributes[TARGET]).value if TARGET in function.attributes else self.target
        context = ScheduleContext(target, self.vector_bytes)
        pattern = op_pattern(function)
        declined: list[dict[str, str]] = []
        for schedule in schedules_for(OpPattern.OPAQUE if pattern is None else pattern, target):
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
