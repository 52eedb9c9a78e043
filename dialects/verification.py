# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verification of whole modules: what MLIR checks, and what it cannot because functions are upstream's."""

from __future__ import annotations

from typing import Any

from ..bindings.diagnostics import errors_as_relax_error
from ..bindings.mlir import ir
from .tir.prim_func import check_prim_funcs


def verify_ir(operation: Any, what: str) -> None:
    """Raises RelaxError, `what` with every diagnostic, when an operation or a PrimFunc in it is not valid."""
    with operation.context, errors_as_relax_error(operation.context, what):
        if not operation.verify():
            raise ir.MLIRError("verification failed", [])
    if operation.name == "builtin.module":
        verify_prim_funcs(operation, what)


def verify_prim_funcs(module: Any, what: str) -> None:
    """Raises RelaxError when a PrimFunc in a module is not valid as one."""
    with module.context, errors_as_relax_error(module.context, what):
        if not check_prim_funcs(module):
            raise ir.MLIRError("verification failed", [])
