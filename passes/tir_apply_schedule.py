# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has PrimFuncs run as their schedules say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..bindings.ir import Operation
from ..bindings.navigation import symbol_name
from ..bindings.rewriting import Decline
from ..dialects.tir.prim_func import prim_funcs_in, schedule_lines
from ..support.errors import RelaxError
from ..targets.core.registry import parse_target
from .core.base import Pass
from .core.registry import register_pass
from .schedule.registry import ScheduleContext, StepsRule, steps_rules
from .tir_lower_intrinsics import LowerIntrinsics

if TYPE_CHECKING:
    from .loops.schedule import Schedule as LoopSchedule


@register_pass
@dataclass(frozen=True)
class TirApplySchedule(Pass):
    """Turns PrimFuncs with a schedule into the loops that it says."""

    name: ClassVar[str] = "tir-apply-schedule"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = (
        *("affine", "arith", "bufferization", "func", "gpu", "linalg", "memref", "scf", "tensor", "vector"),
    )

    #: Whether those without a schedule run as the target's steps say, where these can.
    steps: bool = False
    #: Whether bound loops are threads of kernels; else they run in order.
    threads: bool = False
    #: Whether vectorized loops are vectors; else they run in order, as compilers of C make vectors of them.
    vectors: bool = True
    #: Whose rules lower the intrinsics and calls of C functions that tensor intrinsics emit; they stay without.
    target: str = ""

    def run(self, op: Operation) -> None:
        rules = steps_rules(parse_target(self.target).name) if self.steps else []
        scheduled = [each for each in prim_funcs_in(op) if rules or schedule_lines(each) is not None]
        if not scheduled:
            return
        from .loops.apply_schedule import apply_schedule  # seldom needed, and all primitives with it
        from .schedule.constant_arguments import callers_in

        callers = callers_in(op)
        for function in scheduled:
            chosen = None if schedule_lines(function) is not None else self._chosen(function, rules[0])
            if chosen is None and schedule_lines(function) is None:
                continue
            mine = callers[symbol_name(function)]
            constants = mine.constants()
            made, packing = apply_schedule(
                function, chosen, has_threads=self.threads, has_vectors=self.vectors, constants=constants
            )
            for place, packed in packing.items():
                mine.pack(place, packed)
            if self.target:
                LowerIntrinsics(parse_target(self.target).name).lower(made)

    def _chosen(self, function: Operation, rule: StepsRule) -> LoopSchedule | None:
        """What the target's steps do; None for what has operations that are no blocks."""
        target = parse_target(self.target)
        try:
            return rule.function(function, ScheduleContext(target.name, target, in_place=True))
        except (Decline, RelaxError):
            return None
