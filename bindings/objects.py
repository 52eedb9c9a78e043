# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Object files of modules in the LLVM dialect, for the current machine.

Worker processes that only compile objects import this file, so its imports are few.
"""

from __future__ import annotations

from ..support.ending import refuse_at_end
from ..support.errors import RefusalError
from .context import new_context
from .execution import compile_module
from .ir import Context, Module, Operation
from .mlir import ir
from .navigation import has_body, operations_of, symbol_name

#: Placeholder name of the kernel function in a compilation unit.
KERNEL = "__relax_kernel"
_PASSTHROUGH = "passthrough"
_INLINING = frozenset({'"alwaysinline"', '"noinline"'})


def unit_object(code: bytes, *, symbol: str, opt_level: int, context: Context | None = None) -> bytes:
    """Compile a verified compilation unit, given as MLIR bytecode, and rename its kernel (if any) to the symbol.

    `context` is a context of the LLVM dialect, which callers can reuse for many units.
    """
    with context or new_context(("llvm",)):
        return object_of(unit_module(code, symbol), opt_level)


def unit_module(code: bytes, symbol: str) -> Module:
    """Parse a compilation unit, and rename its kernel to the symbol unless the symbol is empty."""
    module = ir.Module.parse(code)
    if symbol:
        ir.SymbolTable.replace_all_symbol_uses(KERNEL, symbol, module.operation)
        ir.SymbolTable(module.operation)[KERNEL].attributes["sym_name"] = ir.StringAttr.get(symbol)
    return module


def object_of(module: Module, opt_level: int) -> bytes:
    """Compile a module that is known to be valid to a position-independent object file."""
    refuse_at_end("native code")
    defined = exported_functions(module)
    declared = [name for op in operations_of(module.body) if (name := symbol_name(op)) and _is_declared(op)]
    # MLIR's engine adds a wrapper function for each exported function. Code must not be inlined into the wrappers.
    for function in filter(_is_exported, _functions(module)):
        mark_noinline(function)
    data = compile_module(module, opt_level, defined[0], declared)
    if not data.startswith(b"\x7fELF"):
        raise RefusalError("LLVM made no object file of the module")
    return data


def exported_functions(module: Module) -> list[str]:
    """Return the names of the externally callable functions. Raise RelaxError if there are none."""
    defined = [symbol_name(function) for function in _functions(module) if _is_exported(function)]
    if not defined:
        raise RefusalError(
            "the module defines no function that can be called from outside: there is nothing to compile"
        )
    return defined


def mark_noinline(function: Operation) -> None:
    """Forbid inlining of a function unless its attributes specify inlining explicitly."""
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
    """Check whether a function or a global is defined elsewhere."""
    return not has_body(op) and "value" not in op.attributes
