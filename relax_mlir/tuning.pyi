# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .bindings.rewriting import Decline as Decline
from .compilation.kernel_module import module_of_kernel as module_of_kernel
from .compilation.schedules import from_rules as from_rules
from .compilation.schedules import planned as planned
from .compilation.schedules import until_rules as until_rules
from .compilation.tuned_programs import TunedProgram as TunedProgram
from .compilation.tuned_programs import find_program as find_program
from .compilation.tuned_programs import program_key as program_key
from .compilation.tuned_programs import program_name as program_name
from .compilation.tuned_programs import program_paths as program_paths
from .compilation.tuned_programs import read_program as read_program
from .compilation.tuned_programs import tuned_stages as tuned_stages
from .dialects.tir.prim_func import prim_funcs_in as prim_funcs_in
from .emit.structured import StructuredOp as StructuredOp
from .emit.structured import analyze as analyze
from .emit.structured import structured_ops as structured_ops
from .passes.core.stage_edits import StageEdit as StageEdit
from .passes.core.stage_edits import edit_stages as edit_stages
from .passes.core.stage_edits import pass_place as pass_place
from .passes.schedule.constant_arguments import callers_in as callers_in
from .passes.schedule.fitting import check_plan as check_plan
from .passes.schedule.plan import Parallel as Parallel
from .passes.schedule.plan import Plan as Plan
from .passes.schedule.plan import parse_plan as parse_plan
from .passes.schedule.tuned_plans import MachineFacts as MachineFacts
from .passes.schedule.tuned_plans import Times as Times
from .passes.schedule.tuned_plans import TunedFolder as TunedFolder
from .passes.schedule.tuned_plans import TunedKernel as TunedKernel
from .passes.schedule.tuned_plans import kernel_key as kernel_key
from .passes.schedule.tuned_plans import plans_of as plans_of
from .passes.schedule.tuned_plans import read_tuned as read_tuned
from .passes.schedule.tuned_plans import use_plans as use_plans
from .runtime.cpu import cpu_name as cpu_name
from .targets.core.registry import parse_target as parse_target
from .tools.common.models import read_model as read_model
