# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule of every PrimFunc on a GPU: each of its products gets a plan.

An operation without a plan becomes a kernel too, with a thread or a block of threads for each of its points.
"""

from __future__ import annotations

from typing import NoReturn

from ...bindings.ir import Operation
from ...bindings.navigation import operations_named, text_in
from ...bindings.rewriting import Decline
from ...dialects.core.facts import OpPattern
from ...dialects.core.ir_attributes import FORM, PLAN
from ...emit.structured import structured_ops
from ...passes.core.pipeline import Pipeline
from ...passes.kernels.schedule.planning import plan_each
from ...passes.kernels.schedule.registry import ScheduleContext, register_plan, register_schedule, register_steps
from .plans.few_rows import plan_for_few
from .plans.product import plan_product
from .plans.strip import plan_strip

for _rule in (plan_strip, plan_product):
    register_plan("gpu")(_rule)


@register_schedule([pattern for pattern in OpPattern if pattern is not OpPattern.TUPLE], target="gpu")
def tile_each(function: Operation, context: ScheduleContext) -> object:
    """Plan the rectangles that blocks of threads compute. Operations that fit no rule are marked as unplanned."""
    if (declined := plan_each(function, context)) is None:
        with function.context:
            plan_for_few(function, context.machine)
    return declined


@register_steps("gpu")
def describe_kernels(function: Operation, context: ScheduleContext) -> NoReturn:
    """Decline with the forms and plans of a PrimFunc's kernels, which no schedule steps express."""
    from ...passes.kernels.loops.bufferized import copied  # rarely needed, and it imports many modules

    plans = [f"'{text_in(op, PLAN)}'" for op in structured_ops(function, named=True) if PLAN in op.attributes]
    module, machine = copied([function]), context.machine
    outline = f"gpu-outline-kernels{{threads={machine.block_threads} shared={machine.shared_bytes}}}"
    Pipeline(["tir-bufferize", outline], verify_each=False).run(module, all_or_nothing=False)
    forms = [text_in(kernel, FORM) for kernel in operations_named(module.operation, "gpu.func")]
    shown = [f"{word} {', '.join(texts)}" for word, texts in (("form", forms), ("plan", plans)) if texts]
    raise Decline(f"GPU kernels have no steps: {'; '.join(shown) or 'the host computes it'}")
