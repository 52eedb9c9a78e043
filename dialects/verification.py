# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verification of whole modules: what MLIR checks, and what it cannot because functions are upstream's."""

from __future__ import annotations

from ..bindings.diagnostics import errors_as_relax_error
from ..bindings.ir import Operation
from ..bindings.mlir import ir
from ..bindings.navigation import function_type_of, symbol_name
from .core.codec import TypeProblem, decode
from .tir.prim_func import check_prim_funcs, functions_within


def verify_ir(operation: Operation, what: str) -> None:
    """Raises RelaxError, `what` with every diagnostic, when an operation or a function in it is not valid."""
    with operation.context, errors_as_relax_error(operation.context, what):
        if not operation.verify():
            raise ir.MLIRError("verification failed", [])
    if operation.name == "builtin.module":
        verify_functions(operation, what)


def verify_functions(module: Operation, what: str) -> None:
    """Raises RelaxError when a function in a module is not valid: its signature, or as a PrimFunc."""
    with module.context, errors_as_relax_error(module.context, what):
        if not check_functions(module):
            raise ir.MLIRError("verification failed", [])


def check_functions(module: Operation) -> bool:
    """Reports what is wrong with the functions of a module, at their locations."""
    signatures = [_check_signature(operation) for operation in functions_within(module.operation)]
    return check_prim_funcs(module) and all(signatures)


def _check_signature(function: Operation) -> bool:
    """Types of relax mean something: the sizes that they name must be the tensor's."""
    type_ = function_type_of(function)
    for what, types in (("parameter", type_.inputs), ("result", type_.results)):
        for position, each in enumerate(types):
            try:
                decode(each)
            except TypeProblem as problem:
                function.location.emit_error(f"'func.func' op @{symbol_name(function)} {what} {position}: {problem}")
                return False
    return True
