# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiling, vectorization and parallelization: structured operations become the loops of their plans."""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Operation
from ...dialects.core.ir_attributes import PLAN, UNPLANNED
from ...dialects.tir.prim_func import prim_funcs_in
from ...emit.structured import structured_ops
from ...targets.core.machine_pass import MachinePass
from ..core.registry import register_pass
from .schedule.applying import apply_plans
from .schedule.engines import note_engine


@register_pass
class TirApplyPlan(MachinePass):
    """Tile, vectorize and parallelize structured operations according to their plans."""

    name: ClassVar[str] = "tir-apply-plan"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = (
        *("arith", "bufferization", "func", "linalg", "llvm", "math", "memref", "scf", "tensor", "vector"),
    )

    def run(self, op: Operation) -> None:
        for function in prim_funcs_in(op):
            note_engine(function, self.machine)
            operations = structured_ops(function, named=True)
            if any(PLAN in operation.attributes or UNPLANNED in operation.attributes for operation in operations):
                apply_plans(function, operations, self.machine)
