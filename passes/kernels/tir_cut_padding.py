# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padded windows on parts: a window over a padded tensor reads padded copies of parts of the tensor.

A depthwise convolution or a pool reads each element only for a few neighbours. A padded copy of all images would be
written to memory and read again. A copy of some rows of one channel block stays in a core's cache.
"""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.navigation import body_of, last_of, made_by
from ...dialects.core.ir_attributes import PLAN, SCHEDULE, UNPLANNED
from ...dialects.tir.prim_func import prim_funcs_in
from ...emit.structured import structured_ops
from ...targets.core.machine_pass import MachinePass
from ..core.registry import register_pass
from .rows.padded_windows import windows_over_copy


@register_pass
class TirCutPadding(MachinePass):
    """Pad parts of the data that stay in the cache, instead of all data at once, for windows."""

    name: ClassVar[str] = "tir-cut-padding"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "linalg", "scf", "tensor")

    def run(self, op: Operation) -> None:
        for function in prim_funcs_in(op):
            if SCHEDULE in function.attributes:
                continue
            with function.context:
                _copy_with_borders(function)
                # Each rewrite gives other windows new operands.
                while (windows := windows_over_copy(body_of(function), self.machine)) is not None:
                    windows.write(self.machine)


def _copy_with_borders(function: Operation) -> None:
    """Replace padding that bodies compute by conditions."""
    block = body_of(function)
    for operation in structured_ops(function):
        if operation.block != block or PLAN in operation.attributes or UNPLANNED in operation.attributes:
            continue
        if made_by(last_of(body_of(operation)).operands[0], "scf.if") is not None:
            from .rows.conditional_padding import copy_with_border  # only bodies of te and of users need both
            from .schedule.other_loops import note_other_loops

            if copy_with_border(operation):
                note_other_loops(function, "its padding is a copy with a border")
