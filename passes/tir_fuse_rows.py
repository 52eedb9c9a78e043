# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop fusion by rows: operations of a PrimFunc that go through the same rows are all done for some rows at a time.

A softmax looks three times at each row, a norm as often: what was read from memory for the first look is in the cache
for the others, and threads share one loop. Rows are the steps of loops that all of the operations have, and in which a
step reads what the same step of another one makes.
"""

from __future__ import annotations

from typing import ClassVar

from ..bindings.ir import Operation
from ..bindings.navigation import body_of
from ..dialects.core.ir_attributes import SCHEDULE
from ..dialects.tir.prim_func import prim_funcs_in
from ..targets.core.machine_pass import MachinePass
from .core.registry import register_pass
from .rows.row_groups import rows_in
from .rows.writing import is_worth_it, write


@register_pass
class TirFuseRows(MachinePass):
    """Makes one loop over rows of operations that go through the same ones."""

    name: ClassVar[str] = "tir-fuse-rows"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "linalg", "scf", "tensor")

    def run(self, op: Operation) -> None:
        for function in prim_funcs_in(op):
            if SCHEDULE in function.attributes:
                continue
            for rows in list(rows_in(body_of(function))):
                with function.context:
                    if is_worth_it(rows, self.machine):
                        write(rows, self.machine)
