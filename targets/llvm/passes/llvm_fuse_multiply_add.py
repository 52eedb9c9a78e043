# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explicit fused multiply-add: products and sums that may be rounded once become `math.fma`.

The flag `contract` leaves the choice to LLVM, which makes it differently for each kind of CPU, and results differ in
their last bits. CPUs without the instruction keep both operations: a call of the C library would take their place.
"""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.navigation import operations_named
from ....dialects.tir.prim_func import prim_funcs_in
from ....emit.combiner import fuse_multiply_add
from ....passes.core.registry import register_pass
from ...core.machine_pass import MachinePass


@register_pass
class FuseMultiplyAdd(MachinePass):
    """Replace products and sums with the flag `contract` by `math.fma`, if the CPU has the instruction."""

    name: ClassVar[str] = "llvm-fuse-multiply-add"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("math",)

    def run(self, op: Operation) -> None:
        if not self.machine.has_fused_multiply_add:
            return
        for function in prim_funcs_in(op):
            with function.context:
                for dead in fuse_multiply_add(operations_named(function, "arith.addf")):
                    dead.erase()
