# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Object files of modules in the LLVM dialect, for the machine that this runs on.

Processes that make nothing else import this file, so it imports little.
"""

from __future__ import annotations

from ..support.ending import refuse_at_end
from ..support.errors import RefusalError
from .context import new_context
from .execution import compile_module
from .ir import Context, Module, Operation
from .mlir import ir
from .navigation import has_body, operations_of, symbol_name

#: What the function of a kernel's unit is called until its object is made.
KERNEL = "__relax_kernel"
_PASSTHROUGH = "passthrough"
_INLINING = frozenset({'"alwaysinline"', '"noinline"'})


def unit_object(code: bytes, *, symbol: str, opt_level: int, context: Context | None = None) -> bytes:
    """Compiles a checked unit of a program, MLIR's bytecode. The kernel in it, if there is one, gets the symbol.

    `context` is one of the LLVM dialect: who makes many units needs no other for each.
    """
    with context or new_context(("llvm",)):
        return object_of(unit_module(code, symbol), opt_level)


def unit_module(code: bytes, symbol: str) -> Module:
    """The unit, its kernel under the symbol where there is one."""
    module = ir.Module.parse(code)
    if symbol:
        ir.SymbolTable.replace_all_symbol_uses(KERNEL, symbol, module.operation)
        ir.SymbolTable(module.operation)[KERNEL].attributes["sym_name"] = ir.StringAttr.get(symbol)
    return module


def object_of(module: Module, opt_level: int) -> bytes:
    """The object file of a module that is known to be compilable, position-independent."""
    refuse_at_end("native code")
    defined = exported_functions(module)
    declared = [name for op in operations_of(module.body) if (name := symbol_name(op)) and _is_declared(op)]
    # MLIR's engine adds a function that calls it to each exported one: code is not to be copied into these.
    for function in filter(_is_exported, _functions(module)):
        mark_noinline(function)
    data = compile_module(module, opt_level, defined[0], declared)
    if not data.startswith(b"\x7fELF"):
        raise RefusalError("LLVM made no object file of the module")
    return data


def exported_functions(module: Module) -> list[str]:
    """The names of the functions that can be called from outside. Raises RelaxError where there are none."""
    defined = [symbol_name(function) for function in _functions(module) if _is_exported(function)]
    if not defined:
        raise RefusalError(
            "the module defines no function that can be called from outside: there is nothing to compile"
        )
    return defined


def mark_noinline(function: Operation) -> None:
    """Nothing of it is copied to where it is called, but where it says so itself."""
    given = list(function.attributes.get(_PASSTHROUGH, ()))
    if not {str(each) for each in given} & _INLINING and "always_inline" not in function.attributes:
        added = ir.StringAttr.get("noinline", function.context)
        function.attributes[_PASSTHROUGH] = ir.ArrayAttr.get([*given, added], function.context)


def _functions(module: Module) -> list[Operation]:
    return [op for op in operations_of(module.body) if op.name == "llvm.func"]


def _is_exported(function: Operation) -> bool:
    attributes = function.attributes
    is_internal = "linkage" in attributes and "internal" in str(attributes["linkage"])
    return has_body(function) and not is_internal


def _is_declared(op: Operation) -> bool:
    """Whether a function or a global is defined elsewhere."""
    return not has_body(op) and "value" not in op.attributes
