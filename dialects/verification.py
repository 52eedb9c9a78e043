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
        if not operation.verify() or not check_prim_funcs(operation):
            raise ir.MLIRError("verification failed", [])
