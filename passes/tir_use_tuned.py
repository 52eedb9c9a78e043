# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of tuned kernels from a folder."""

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
    """Set the plans of tuned kernels, which override the target's rules. A file that does not fit is left out."""

    #: Folder with a file for each kernel (relax-tune).
    folder: str = ""

    name: ClassVar[str] = "tir-use-tuned"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "linalg", "tensor")

    def run(self, op: Operation) -> None:
        from .schedule.tuned_plans import TunedFolder, kernel_key, use_plans

        tuned = TunedFolder(self.folder)
        for function in prim_funcs_in(op) if tuned else ():
            if SCHEDULE in function.attributes:
                continue
            try:
                kernel = tuned.find(kernel_key(function), self.machine)
                if kernel is not None:
                    use_plans(function, kernel.plans, self.machine)
            except (RelaxError, Decline) as error:
                reason = error.reason if isinstance(error, Decline) else error.message
                warn(f"@{symbol_name(function)}: its tuned plans are left out: {reason}", function.location)
