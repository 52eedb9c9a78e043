# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The object file of a whole module in the LLVM dialect, and what such a module may hold."""

from __future__ import annotations

from ....bindings.ir import Module, Operation
from ....bindings.navigation import operations_in
from ....bindings.objects import exported_functions, object_of
from ....dialects.verification import verify_ir
from ....support.errors import RefusalError, RelaxError
from ...core.code import check_opt_level
from ...host.passes.host_define_support import define_support


def emit_object(module: Module, opt_level: int = 3) -> bytes:
    """The object file of a module, position-independent, with the functions that programs share in it.

    The same module gives the same bytes. Other functions that it only declares are found when the object is loaded.
    Raises RelaxError where it holds anything but the LLVM dialect, or defines no function.
    """
    define_support(module.operation)
    check_compilable(module, opt_level)
    return object_of(module, opt_level)


def check_compilable(module: Module, opt_level: int) -> None:
    """Raises RelaxError for what is no native code."""
    check_opt_level(opt_level)
    _check_translatable(module.operation)
    exported_functions(module)


def _check_translatable(module: Operation) -> None:
    """The translation to LLVM IR crashes on what it does not know."""
    for op in operations_in(module):
        if not op.name.startswith("llvm.") and op.name != "builtin.module":
            raise foreign(op)
    verify_ir(module, "the module is invalid: no native code can be made of it")


def foreign(op: Operation) -> RelaxError:
    """The error for what is not of the LLVM dialect."""
    text = f"operation '{op.name}' is not of the LLVM dialect: no native code can be made of it"
    return RefusalError(text, location=str(op.location))
