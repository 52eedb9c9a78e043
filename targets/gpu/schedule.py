# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule of every PrimFunc on a GPU: each of its products gets a plan.

An operation without a plan becomes a kernel too, with a thread or a block of threads for each of its points.
"""

from __future__ import annotations

from ...bindings.ir import Operation
from ...dialects.core.facts import OpPattern
from ...passes.schedule.planning import plan_each
from ...passes.schedule.registry import ScheduleContext, register_plan, register_schedule
from .plans.few_rows import plan_for_few
from .plans.product import plan_product
from .plans.strip import plan_strip

for _rule in (plan_strip, plan_product):
    register_plan("gpu")(_rule)


@register_schedule([pattern for pattern in OpPattern if pattern is not OpPattern.TUPLE], target="gpu")
def tile_each(function: Operation, context: ScheduleContext) -> object:
    """Plan the rectangles that blocks of threads compute. Operations that fit no rule are marked as unplanned."""
    declined = plan_each(function, context)
    if declined is None:
        with function.context:
            plan_for_few(function, context.machine)
    return declined
