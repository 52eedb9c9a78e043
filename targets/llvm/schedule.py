# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule of every PrimFunc on a CPU: each operation gets the first plan that fits.

The rules are in plans/. They are tried in the order of the list below.
"""

from __future__ import annotations

from ...bindings.ir import Operation
from ...dialects.core.facts import OpPattern
from ...passes.kernels.schedule.planning import plan_each
from ...passes.kernels.schedule.registry import ScheduleContext, register_plan, register_schedule
from .plans.conv import plan_conv
from .plans.dot import plan_dot
from .plans.elementwise import plan_elementwise
from .plans.matmul import plan_matmul
from .plans.reduction import plan_reduction
from .plans.tiles import plan_tiles

for _rule in (plan_tiles, plan_dot, plan_matmul, plan_conv, plan_reduction, plan_elementwise):
    register_plan("llvm")(_rule)


@register_schedule([pattern for pattern in OpPattern if pattern is not OpPattern.TUPLE], target="llvm")
def vectorize_each(function: Operation, context: ScheduleContext) -> object:
    """Plan tiles and vectors for each structured operation of the function.

    An operation that fits no rule becomes plain loops.
    """
    return plan_each(function, context)
