# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of modules of a running TVM by the plug-in relax_mlir_tvm, which is loaded at the first use."""

from __future__ import annotations

from ..support.argument_types import types_checked
from ..support.callbacks import enters
from .front_end import front_end_named
from .module import Module


@types_checked
@enters
def from_tvm(module: object) -> Module:
    """Import a tvm.IRModule, a relax.Function or a PrimFunc of a running TVM as a module.

    The script that TVM prints is read as by `rx.Module.from_script`. Constants are not printed: they share the memory
    of TVM's tensors, which must not change afterwards. Raises RelaxError that shows the line of the script, or that
    names the package to install.
    """
    return front_end_named("tvm").read(module)
