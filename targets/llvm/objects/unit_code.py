# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The object file of one unit of a program, in whichever process."""

from __future__ import annotations

from typing import Any

from ....bindings.context import new_context
from ....bindings.mlir import ir
from .code_target import CodeTarget
from .cross_object import emit_cross_object
from .object_file import object_of_checked

#: What the function of a kernel's unit is called until its object is made.
KERNEL = "__relax_kernel"


def unit_object(code: bytes, *, symbol: str, opt_level: int, target: dict[str, str] | None) -> bytes:
    """Compiles a checked unit, given as MLIR's bytecode; its kernel, if it is one, gets the symbol.

    `target` is for another CPU than this machine's: triple, cpu and feature_text of a CodeTarget.
    """
    with new_context(("llvm",)):
        module = ir.Module.parse(code)
        if symbol:
            _name_kernel(module, symbol)
        if target is None:
            return object_of_checked(module, opt_level)
        machine = CodeTarget(**target, enabled=frozenset(), vector_bytes=0)
        return emit_cross_object(module, machine, opt_level)


def _name_kernel(module: Any, symbol: str) -> None:
    ir.SymbolTable.replace_all_symbol_uses(KERNEL, symbol, module.operation)
    ir.SymbolTable(module.operation)[KERNEL].attributes["sym_name"] = ir.StringAttr.get(symbol)
