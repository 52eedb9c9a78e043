# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans and schedules of tuned kernels from a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..bindings.diagnostics import warn
from ..bindings.ir import Operation
from ..bindings.navigation import symbol_name
from ..bindings.rewriting import Decline
from ..dialects.core.ir_attributes import SCHEDULE
from ..dialects.tir.prim_func import prim_funcs_in
from ..support.errors import RelaxError
from ..targets.core.machine_pass import MachinePass
from .core.registry import register_pass


@register_pass
@dataclass(frozen=True)
class UseTuned(MachinePass):
    """Set the plans or schedules of tuned kernels, which override the target's rules.

    A file that does not fit is left out.
    """

    #: Folder with a file for each kernel (relax-tune).
    folder: str = ""

    name: ClassVar[str] = "tir-use-tuned"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "bufferization", "linalg", "memref", "scf", "tensor")

    def run(self, op: Operation) -> None:
        from .schedule.tuned_plans import TunedFolder, kernel_key, use_plans

        tuned = TunedFolder(self.folder)
        for function in prim_funcs_in(op) if tuned else ():
            if SCHEDULE in function.attributes:
                continue
            try:
                kernel = tuned.find(kernel_key(function), self.machine, self.chosen.name)
                if kernel is not None and kernel.steps:
                    from .schedule.tuned_steps import use_tuned_steps  # rarely needed, and it imports all primitives

                    use_tuned_steps(function, kernel, self.chosen)
                elif kernel is not None:
                    use_plans(function, kernel.plans, self.machine)
            except (RelaxError, Decline) as error:
                reason = error.reason if isinstance(error, Decline) else error.message
                warn(f"@{symbol_name(function)}: its tuned file is left out: {reason}", function.location)
