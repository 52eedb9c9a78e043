# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop fusion by rows: operations of a PrimFunc that iterate over the same rows process some rows at a time together.

A softmax reads each row three times, and so does a norm. The first read brings the row into the cache for the others,
and threads share one loop. Rows are iterations of loops that all of the operations have, and in which an iteration
reads the results of the same iteration of another operation.
"""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Block, Operation
from ...bindings.navigation import body_of, operations_of
from ...dialects.core.ir_attributes import SCHEDULE
from ...dialects.tir.prim_func import prim_funcs_in
from ...emit.generic import GENERIC, GenericOp
from ...targets.core.machine_pass import MachinePass
from ..core.registry import register_pass
from .rows.row_groups import rows_in
from .rows.writing import is_worth_it, write


@register_pass
class TirFuseRows(MachinePass):
    """Fuse operations that iterate over the same rows into one loop over rows."""

    name: ClassVar[str] = "tir-fuse-rows"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "linalg", "scf", "tensor")

    def run(self, op: Operation) -> None:
        for function in prim_funcs_in(op):
            if SCHEDULE in function.attributes:
                continue
            with function.context:
                _join_chains(body_of(function))
            row_groups = [rows for rows in rows_in(body_of(function)) if is_worth_it(rows, self.machine)]
            for rows in row_groups:
                with function.context:
                    write(rows, self.machine)


def _join_chains(block: Block) -> None:
    """Join elementwise operations that follow each other, in functions of te and of users that have several."""
    operations = [operation for operation in operations_of(block) if operation.name == GENERIC]
    if (
        sum(not GenericOp(operation).reductions and len(GenericOp(operation).inputs) > 0 for operation in operations)
        < 2
    ):
        return
    if any(GenericOp(operation).reductions for operation in operations):
        from .rows.epilogue_chains import join_chains  # rarely needed

        join_chains(block)
