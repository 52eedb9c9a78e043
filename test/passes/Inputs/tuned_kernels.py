# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pass that writes tuned files for kernels of known names, for tir-use-tuned.mlir."""

from dataclasses import dataclass
from pathlib import Path

from relax_mlir.bindings.navigation import symbol_name
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.core.machine_pass import MachinePass
from relax_mlir.targets.llvm.backend import LLVMBackend
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, Times, TunedKernel, kernel_key

_FILL, _PRODUCT = "start", "order 1 0 2; carried 1; vector 1 x 16; tile 1: 2, 0: 3; rule tuned"
#: Plans of kernels by name. Files of other kernels are not written.
_PLANS = {
    "tuned": (_FILL, _PRODUCT),
    "of_one_operation": (_PRODUCT,),
    "unreadable": (_FILL, _PRODUCT.replace("order", "ordre")),
    "damaged": (_FILL, _PRODUCT),
    # The product does not keep in registers what the fill would start.
    "disagreeing": (_FILL, _PRODUCT.replace("carried 1; ", "")),
}


@register_pass
@dataclass(frozen=True)
class WriteTuned(MachinePass):
    """Write tuned files."""

    folder: str = ""
    #: Make the folder the one that comes with the target.
    own: bool = False

    name = "lit-write-tuned"
    anchor = "builtin.module"

    def run(self, op):
        if self.own:
            LLVMBackend.tuned_folder = self.folder
        facts = MachineFacts.of(self.machine)
        for function in prim_funcs_in(op):
            name = symbol_name(function)
            if name in _PLANS:
                key, plans = kernel_key(function), _PLANS[name]
                path = Path(TunedKernel(name, key, (), facts, plans, (), Times(2.0, 1.0, 0.0)).write(self.folder))
                if name == "damaged":
                    path.write_text("{")
