# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .compilation.compiling import chosen as chosen
from .emit.extern_calls import offset_in_memory as offset_in_memory
from .passes.kernels.loops.memories import all_memories as all_memories
from .passes.kernels.loops.memories import register_memory as register_memory
from .passes.kernels.loops.primitives import register_primitive as register_primitive
from .passes.kernels.loops.tensor_intrins import register_tensor_intrin as register_tensor_intrin
from .passes.kernels.schedule.explanation import explain as explain
from .passes.kernels.schedule.plan import Panel as Panel
from .passes.kernels.schedule.plan import Plan as Plan
from .passes.kernels.schedule.registry import ScheduleContext as ScheduleContext
from .passes.kernels.schedule.registry import register_plan as register_plan
from .passes.kernels.schedule.registry import register_schedule as register_schedule
