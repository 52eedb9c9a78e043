# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory planning: liveness, aliases and arena offsets of tensors, as attributes that can be changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import outermost
from ...dialects.core.in_place import decide_copies
from ...dialects.core.ir_attributes import ANY_ORDER
from ...dialects.graph_functions import graph_functions, knows_at_entry
from ..core.base import Pass
from ..core.registry import register_pass
from .lower_calls.overwriting import Kernels
from .lower_calls.stated import make_plan, state_plan


@register_pass
@dataclass(frozen=True)
class PlanMemory(Pass):
    """Assign memory to each tensor of a graph function: an offset in one arena, a result, or a separate allocation."""

    name: ClassVar[str] = "relax-plan-memory"
    anchor: ClassVar[str] = "any"

    #: Assume that the points of a kernel run concurrently, as on GPUs. Fewer results can alias operands then.
    any_order: bool = False

    def run(self, op: Operation) -> None:
        if self.any_order:
            # Passes that follow the plan analyze the kernels again.
            outermost(op).attributes[ANY_ORDER] = ir.UnitAttr.get(op.context)
        decide_copies(op)
        kernels: Kernels = {}
        for function in graph_functions(op):
            state_plan(function, make_plan(function, knows_at_entry(function), kernels))
