# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has PrimFuncs run as their schedules say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Operation
from ..bindings.navigation import symbol_name
from ..dialects.core.ir_attributes import SCHEDULE
from ..dialects.tir.prim_func import prim_funcs_in, schedule_lines
from ..support.errors import OptionError
from ..targets.core.registry import parse_target
from .core.base import Pass
from .core.registry import register_pass
from .schedule.registry import ScheduleContext, steps_rules
from .tir_lower_intrinsics import LowerIntrinsics


@register_pass
@dataclass(frozen=True)
class TirApplySchedule(Pass):
    """Turns PrimFuncs with a schedule into the loops that it says."""

    name: ClassVar[str] = "tir-apply-schedule"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = (
        *("affine", "arith", "bufferization", "func", "gpu", "linalg", "memref", "scf", "tensor", "vector"),
        *("llvm", "math"),  # of what intrinsics emit
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
        functions = prim_funcs_in(op)
        scheduled = [function for function in functions if schedule_lines(function) is not None]
        others = [function for function in functions if self.steps and SCHEDULE not in function.attributes]
        if others:
            from .schedule.apply_steps import apply_steps  # seldom needed, and all primitives with it

            chosen = parse_target(self.target)
            rules = steps_rules(chosen.name)
            if not rules:
                raise OptionError(f"steps=true: target '{chosen.name}' has no steps of its own (register_steps)")
            apply_steps(others, rules[0], ScheduleContext(chosen.name, chosen))
        if not scheduled:
            return
        from .loops.apply_schedule import apply_schedule
        from .schedule.constant_arguments import callers_in

        callers, target = callers_in(op), parse_target(self.target) if self.target else None
        features = None if target is None else lambda: ScheduleContext(target.name, target).machine.features
        for function in scheduled:
            mine = callers[symbol_name(function)]
            constants = mine.constants()
            made, packing = apply_schedule(
                function,
                has_threads=self.threads,
                has_vectors=self.vectors,
                constants=constants,
                features=features,
            )
            for place, packed in packing.items():
                mine.pack(place, packed)
            if target is not None:
                LowerIntrinsics(target.name).lower(made)
