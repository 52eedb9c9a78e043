# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from .dialects.core.codec import decode as decode
from .dialects.relax.known_constants import elements_of as elements_of
from .passes.graph.partition.codegen import Codegen as Codegen
from .passes.graph.partition.codegen import Composite as Composite
from .passes.graph.partition.codegen import ObjectCode as ObjectCode
from .passes.graph.partition.codegen import PatternRow as PatternRow
from .passes.graph.partition.codegen import all_codegens as all_codegens
from .passes.graph.partition.codegen import find_codegen as find_codegen
from .passes.graph.partition.codegen import register_codegen as register_codegen
from .passes.graph.partition.options import CodegenOption as CodegenOption
from .passes.graph.partition.planning import Planner as Planner
from .passes.graph.partition.planning import Taken as Taken
from .passes.graph.partition.planning import register_planner as register_planner
from .passes.graph.partition.pricing import seconds_of as seconds_of
from .passes.graph.partition.steps import PartStep as PartStep
from .passes.graph.partition.steps import Steps as Steps
from .passes.graph.partition.steps import node_names as node_names
from .passes.graph.partition.table import explanation as explanation
from .passes.graph.partition.table import partition_table as partition_table
from .passes.graph.relax_run_codegen import RunCodegen as RunCodegen
from .support.contract import CONTRACT_VERSION as CONTRACT_VERSION
from .support.external_runtime import CallingRuntime as CallingRuntime
from .support.external_runtime import ExternalRuntime as ExternalRuntime
from .support.external_runtime import register_runtime as register_runtime
