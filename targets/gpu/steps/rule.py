# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registration of the schedule steps of a GPU's kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....bindings.ir import Operation
from ....passes.schedule.registry import ScheduleContext, register_steps

if TYPE_CHECKING:
    from ....passes.loops.schedule import Schedule


@register_steps("gpu")
def steps_of_kernels(function: Operation, context: ScheduleContext) -> Schedule:
    """Return the schedule of a PrimFunc's kernels as steps."""
    from .kernel_steps import schedule_of_kernels  # rarely needed, and imports all primitives

    return schedule_of_kernels(function, context)
