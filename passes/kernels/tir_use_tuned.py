# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans and schedules of tuned kernels from folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...bindings.diagnostics import warn
from ...bindings.ir import Operation
from ...bindings.navigation import symbol_name
from ...bindings.rewriting import Decline
from ...dialects.core.ir_attributes import SCHEDULE
from ...dialects.tir.prim_func import TYPE_DIGITS, prim_funcs_in, type_key
from ...support.errors import RelaxError
from ...targets.core.backend import tuned_names
from ...targets.core.code import find_backend
from ...targets.core.machine_pass import MachinePass
from ..core.registry import register_pass

if TYPE_CHECKING:
    from .schedule.tuned_plans import TunedFolder


@register_pass
@dataclass(frozen=True)
class UseTuned(MachinePass):
    """Set the plans or schedules of tuned kernels, which override the target's rules.

    A file that does not fit is left out.
    """

    #: Folder with a file for each kernel (relax-tune), before the target's own.
    folder: str = ""

    name: ClassVar[str] = "tir-use-tuned"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "bufferization", "linalg", "memref", "scf", "tensor")

    def run(self, op: Operation) -> None:
        own = find_backend(self.chosen.name).tuned_folder
        folders = [name for name in (self.folder, own if os.path.isdir(own) else "") if name]
        # Only kernels with the types of a tuned one are printed for their whole key.
        types = {key[:TYPE_DIGITS] for folder in folders for key in tuned_names(folder)}
        functions = [func for func in prim_funcs_in(op) if SCHEDULE not in func.attributes] if types else []
        if found := [function for function in functions if type_key(function) in types]:
            self._use(found, folders)

    def _use(self, functions: Sequence[Operation], folders: Sequence[str]) -> None:
        from .schedule.tuned_plans import TunedFolder, kernel_key  # most programs have no tuned kernel

        tuned = [TunedFolder(folder) for folder in folders]
        for function in functions:
            key = kernel_key(function)
            for folder in tuned:
                if self._has_set(function, key, folder):
                    break

    def _has_set(self, function: Operation, key: str, folder: TunedFolder) -> bool:
        """Set the plans or the schedule of a folder's kernel. Return False if there is none that fits."""
        from .schedule.tuned_plans import use_plans

        try:
            if (kernel := folder.find(key, self.machine, self.chosen.name)) is None:
                return False
            if kernel.steps:
                from .schedule.tuned_steps import use_tuned_steps  # imports all primitives

                use_tuned_steps(function, kernel, self.chosen)
            else:
                use_plans(function, kernel.plans, self.machine)
        except (RelaxError, Decline) as error:
            reason = error.reason if isinstance(error, Decline) else error.message
            warn(f"@{symbol_name(function)}: its tuned file is left out: {reason}", function.location)
            return False
        return True
