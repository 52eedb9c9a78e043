# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Object files: of a module in the LLVM dialect, for the machine that this runs on, and of one unit of a program."""

from __future__ import annotations

from ....bindings.context import new_context
from ....bindings.execution import compile_module
from ....bindings.ir import Module, Operation
from ....bindings.mlir import ir
from ....bindings.navigation import has_body, operations_in, operations_of, symbol_name
from ....dialects.verification import verify_ir
from ....support.ending import refuse_at_end
from ....support.errors import RefusalError, RelaxError
from ...core.code import check_opt_level
from ...host.passes.host_define_support import define_support, parsed_unit
from .code_target import CodeTarget
from .cross_object import emit_cross_object

_PASSTHROUGH = "passthrough"
_INLINING = frozenset({'"alwaysinline"', '"noinline"'})


def emit_object(module: Module, opt_level: int = 3) -> bytes:
    """The object file of a module, position-independent, with the functions that programs share in it.

    The same module gives the same bytes. Other functions that it only declares are found when the object is loaded.
    Raises RelaxError where it holds anything but the LLVM dialect, or defines no function.
    """
    define_support(module.operation)
    check_compilable(module, opt_level)
    return object_of_checked(module, opt_level)


def object_of_checked(module: Module, opt_level: int) -> bytes:
    """The object file of a module that is known to be compilable."""
    refuse_at_end("native code")
    defined = exported_functions(module)
    declared = [name for op in operations_of(module.body) if (name := symbol_name(op)) and _is_declared(op)]
    _mark_exported_noinline(module)
    data = compile_module(module, opt_level, defined[0], declared)
    if not data.startswith(b"\x7fELF"):
        raise RefusalError("LLVM made no object file of the module")
    return data


def check_compilable(module: Module, opt_level: int) -> None:
    """Raises RelaxError for what is no native code."""
    check_opt_level(opt_level)
    _check_translatable(module.operation)
    exported_functions(module)


def exported_functions(module: Module) -> list[str]:
    """The names of the functions that can be called from outside. Raises RelaxError where there are none."""
    defined = [symbol_name(function) for function in _functions(module) if _is_exported(function)]
    if not defined:
        raise RefusalError(
            "the module defines no function that can be called from outside: there is nothing to compile"
        )
    return defined


def _functions(module: Module) -> list[Operation]:
    return [op for op in operations_of(module.body) if op.name == "llvm.func"]


def _is_exported(function: Operation) -> bool:
    attributes = function.attributes
    is_internal = "linkage" in attributes and "internal" in str(attributes["linkage"])
    return has_body(function) and not is_internal


def _is_declared(op: Operation) -> bool:
    """Whether a function or a global is defined elsewhere."""
    return not has_body(op) and "value" not in op.attributes


def _mark_exported_noinline(module: Module) -> None:
    """MLIR's engine adds a function that calls it to each exported one: code is not to be copied into these."""
    for function in filter(_is_exported, _functions(module)):
        mark_noinline(function)


def mark_noinline(function: Operation) -> None:
    """Nothing of it is copied to where it is called, but where it says so itself."""
    given = list(function.attributes.get(_PASSTHROUGH, ()))
    if not {str(each) for each in given} & _INLINING and "always_inline" not in function.attributes:
        added = ir.StringAttr.get("noinline", function.context)
        function.attributes[_PASSTHROUGH] = ir.ArrayAttr.get([*given, added], function.context)


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


#: What the function of a kernel's unit is called until its object is made.
KERNEL = "__relax_kernel"
_BYTECODE = b"ML\xefR"


def unit_object(code: bytes, *, symbol: str, opt_level: int, target: dict[str, str] | None) -> bytes:
    """Compiles a checked unit: a program's, as MLIR's bytecode, whose kernel, if it is one, gets the symbol, or a text
    of the library's.

    `target` is for another CPU than this machine's: triple, cpu and feature_text of a CodeTarget.
    """
    with new_context(("llvm",)):
        module = ir.Module.parse(code) if code.startswith(_BYTECODE) else parsed_unit(code)
        if symbol:
            _name_kernel(module, symbol)
        if target is None:
            return object_of_checked(module, opt_level)
        machine = CodeTarget(target["triple"], target["cpu"], target["feature_text"], frozenset(), vector_bytes=0)
        return emit_cross_object(module, machine, opt_level)


def _name_kernel(module: Module, symbol: str) -> None:
    ir.SymbolTable.replace_all_symbol_uses(KERNEL, symbol, module.operation)
    ir.SymbolTable(module.operation)[KERNEL].attributes["sym_name"] = ir.StringAttr.get(symbol)
