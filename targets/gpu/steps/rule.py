# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tells what a GPU chooses for kernels as steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....bindings.ir import Operation
from ....passes.schedule.registry import ScheduleContext, register_steps

if TYPE_CHECKING:
    from ....passes.loops.schedule import Schedule


@register_steps("gpu")
def steps_of_kernels(function: Operation, context: ScheduleContext) -> Schedule:
    """Kernels as steps."""
    from .kernel_steps import schedule_of_kernels  # seldom asked for, and all primitives with it

    return schedule_of_kernels(function, context)
