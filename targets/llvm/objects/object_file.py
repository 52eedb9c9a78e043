# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Object file of a whole module in the LLVM dialect, and the checks of such a module."""

from __future__ import annotations

from ....bindings.ir import Module, Operation
from ....bindings.navigation import operations_in
from ....bindings.objects import exported_functions, object_of
from ....dialects.verification import verify_ir
from ....support.errors import RefusalError, RelaxError
from ...core.code_options import check_opt_level
from ...host.passes.host_define_support import define_support


def emit_object(module: Module, opt_level: int = 3) -> bytes:
    """Return the position-independent object file of a module, together with the library functions.

    The same module gives the same bytes. Other declared functions are resolved when the object is loaded. Raise
    RelaxError if the module holds other dialects or defines no function.
    """
    define_support(module.operation)
    check_compilable(module, opt_level)
    return object_of(module, opt_level)


def check_compilable(module: Module, opt_level: int) -> None:
    """Raise RelaxError for a module that cannot become native code."""
    check_opt_level(opt_level)
    _check_translatable(module.operation)
    exported_functions(module)


def _check_translatable(module: Operation) -> None:
    """Raise RelaxError for operations of other dialects: the translation to LLVM IR crashes on them."""
    for op in operations_in(module):
        if not op.name.startswith("llvm.") and op.name != "builtin.module":
            raise foreign(op)
    verify_ir(module, "the module is invalid: no native code can be made of it")


def foreign(op: Operation) -> RelaxError:
    """Return the error for an operation outside of the LLVM dialect."""
    text = f"operation '{op.name}' is not of the LLVM dialect: no native code can be made of it"
    return RefusalError(text, location=str(op.location))
