# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of the kernels of a lowered module, from which a device's backend builds a program."""

from __future__ import annotations

from ...bindings.ir import Module
from ...bindings.mlir import string_value
from ...dialects.core.ir_attributes import KERNELS
from ...support.errors import RefusalError
from ..core.backend import ChosenTarget
from ..core.code_options import CodeOptions


def kernel_names(module: Module, target: ChosenTarget, options: CodeOptions) -> tuple[str, ...]:
    """Return the names of the module's kernels.

    Raise RelaxError if the options ask for a single object file, or if the kernels have not been outlined.
    """
    if options.one_object:
        raise RefusalError(
            f"target '{target}': an object file has no place for kernels",
            notes=["--emit=artifact, the default, makes a program with them"],
        )
    if KERNELS not in module.operation.attributes:
        raise RefusalError("the module has no kernels: the stage 'kernels' did not run")
    return tuple(string_value(each) for each in module.operation.attributes[KERNELS])
