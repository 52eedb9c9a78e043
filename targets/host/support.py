# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of library functions from host code, and the tables that the library shares with a program."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from ...bindings.ir import Attribute, Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, operations_of, symbol_name
from ...dialects.core.ir_attributes import C_FUNCTION
from ...dialects.tir import dialect as tir
from ...support.errors import ModelError
from ...support.plugins import load_plugins
from . import llvm_ops
from .abi import EXPORT_PREFIX
from .units import c_functions_beside, copied_unit, find_function

#: Size limit of a message (__relax_fail). Locations, operator texts and numbers keep their share below half of it.
MESSAGE_BYTES = 2048
_MOST_TEXT = (MESSAGE_BYTES - 100) // 2

_PREFIX = "__relax_"


def table_text(table: str, setter: str, count: int) -> str:
    """Return the text of a table of `count` pointers, and of the exported function that fills it.

    The loader calls this function before any other function of the program.
    """
    return f"""
!ptr = !llvm.ptr
llvm.mlir.global internal @{table}() {{alignment = 8 : i64}} : !llvm.array<{count} x ptr> {{
  %null = llvm.mlir.zero : !llvm.array<{count} x ptr>
  llvm.return %null : !llvm.array<{count} x ptr>
}}
llvm.func hidden @{setter}(!ptr, i64, !ptr, i32) -> i32
llvm.func @{EXPORT_PREFIX}{setter}(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {{
  %table = llvm.mlir.addressof @{table} : !ptr
  %wanted = llvm.mlir.constant({count} : i64) : i64
  %status = llvm.call @{setter}(%table, %wanted, %args, %count) : (!ptr, i64, !ptr, i32) -> i32
  llvm.return %status : i32
}}
"""


#: The table of the constants' addresses, and the exported function that fills the table when the program is loaded.
CONSTANT_TABLE, SET_CONSTANTS = "__relax_constants", "__relax_set_constants"
#: The table of a program for a device, the exported function that fills it, and the number of slots before the kernels'
#: handles.
DEVICE_TABLE, SET_DEVICE, DEVICE_SLOTS = "__relax_device", "__relax_set_device", 30
_PACKED = "!llvm.func<i32 (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr)>"
#: Timers of a program, used during a profile.
PROFILE_TABLE = "__relax_profile_table"
#: Further packed functions of a device program for the runtime. device.py defines them; they receive the table.
DEVICE_FUNCTIONS = ("__relax_device_deleter", "__relax_device_empty", "__relax_device_synchronize")


def device_function(kind: str, name: str) -> str | None:
    """Return the symbol of a library function of a kind of device, or None.

    The plug-in with the target of this name may register the function (`register_library`).
    """
    load_plugins("target", kind)
    symbol = f"{_PREFIX}{kind}_{name}"
    return None if find_function(symbol) is None else symbol


def device_text(kernels: int, has_constants: bool, kind: str = "") -> str:
    """Return the table of a program with kernels for a kind of device, and the functions that the loader calls.

    The owner of the memory on the device arrives with the constants. A program without constants has a table of 0
    constants for it.
    """
    driver = device_function(kind, "functions")
    functions = [*DEVICE_FUNCTIONS, *([driver] if driver else [])]
    exported = "".join(
        f"""
llvm.func hidden @{name}(!ptr, !ptr, i32, !ptr) -> i32
llvm.func @{EXPORT_PREFIX}{name}(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {{
  %table = llvm.mlir.addressof @{DEVICE_TABLE} : !ptr
  %status = llvm.call @{name}(%table, %args, %count, %result) : (!ptr, !ptr, i32, !ptr) -> i32
  llvm.return %status : i32
}}
"""
        for name in functions
    )
    owner = (
        "" if has_constants else table_text(f"{CONSTANT_TABLE}.none", SET_CONSTANTS, 0).replace("!ptr = !llvm.ptr", "")
    )
    needed = _c_functions_text(driver) if driver else ""
    return table_text(DEVICE_TABLE, SET_DEVICE, DEVICE_SLOTS + kernels) + owner + exported + needed


def _c_functions_text(driver: str) -> str:
    """Return declarations of the C functions that a kind's functions call, from libraries of the target."""
    function = find_function(driver)
    if function is not None and function.type != _PACKED:
        raise ModelError(f"host function '{driver}' is a {function.type}, expected the result of device_functions()")
    return "".join(f'{text} attributes {{{C_FUNCTION} = ""}}\n' for text in c_functions_beside(driver))


def native_function_text(exported: str) -> str:
    """Return the exported function by which the loader builds a function from a list of C calls."""
    return f"""
!ptr = !llvm.ptr
llvm.func hidden @__relax_native_function(!ptr, i32, !ptr) -> i32
llvm.func @{EXPORT_PREFIX}{exported}(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {{
  %status = llvm.call @__relax_native_function(%args, %count, %result) : (!ptr, i32, !ptr) -> i32
  llvm.return %status : i32
}}
"""


def cut(text: str) -> str:
    """Cut a text to the room that a message has, at a character boundary."""
    data = text.encode()
    return text if len(data) <= _MOST_TEXT else data[: _MOST_TEXT - 3].decode(errors="ignore") + "..."


def short(text: str) -> str:
    """Cut a name to 60 characters for a message."""
    return text if len(text) <= 60 else text[:57] + "..."


class Support:
    """Calls of library functions in a module, and their constant operands. Each constant is emitted once per module."""

    def __init__(self, module: Operation) -> None:
        self.module = module
        self._body = body_of(module)
        self._known = set(named_in(module))

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._known

    def call(self, name: str, *operands: Value) -> Value | None:
        """Call `__relax_<name>` at the insertion point and return its result, or None."""
        symbol = _PREFIX + name
        function = find_function(symbol)
        assert function is not None, name
        self.declare(symbol)
        return llvm_ops.call(symbol, operands, None if function.result == "void" else ir.Type.parse(function.result))

    def value(self, name: str, *operands: Value) -> Value:
        """Call a library function that returns a value, and return the value."""
        value = self.call(name, *operands)
        assert value is not None, name
        return value

    def require(self, name: str, *operands: Value) -> None:
        """Call a library function. Leave the calling function if the status is not 0 (host-lower-errors)."""
        tir.ops["return_unless_ok"](self.value(name, *operands))

    def declare(self, symbol: str) -> None:
        """Declare a library function, or define it if programs contain their own copy."""
        function = find_function(symbol)
        assert function is not None, symbol
        if symbol in self._known:
            return
        if function.is_copied:
            self.define(copied_unit().text)
            return
        with ir.InsertionPoint(self._body), ir.Location.unknown():
            llvm_ops.declare(symbol, ir.Type.parse(function.type))
        self._known.add(symbol)

    def define(self, text: str) -> None:
        """Add the functions and globals of a text, except those that the module already has."""
        self._known |= merge(self.module, text, self._known)

    def text(self, content: str) -> Value:
        """Return the address of a zero-terminated text."""
        symbol = f"__relax_text.{_hash(content)}"
        self._add(symbol, f"!llvm.array<{len(content.encode()) + 1} x i8>", ir.StringAttr.get(content + "\0"))
        return llvm_ops.address_of(symbol)

    def texts(self, contents: Sequence[str]) -> str:
        """Return the symbol of a constant array of text addresses."""
        if (symbol := f"__relax_texts.{_hash(repr(list(contents)))}") not in self._known:
            with ir.InsertionPoint(self._body), ir.Location.unknown():
                llvm_ops.array_global(symbol, len(contents), lambda: [self.text(content) for content in contents])
            self._known.add(symbol)
        return symbol

    def numbers(self, values: Iterable[int]) -> Value:
        """Return the address of consecutive constant 64-bit integers."""
        listed = list(values)
        symbol = f"__relax_numbers.{_hash(repr(listed))}"
        value = ir.Attribute.parse(f"dense<{listed}> : tensor<{len(listed)}xi64>")
        self._add(symbol, f"!llvm.array<{len(listed)} x i64>", value)
        return llvm_ops.address_of(symbol)

    def _add(self, symbol: str, type_: str, value: Attribute) -> None:
        if symbol not in self._known:
            with ir.InsertionPoint(self._body), ir.Location.unknown():
                llvm_ops.constant_global(symbol, ir.Type.parse(type_), value)
            self._known.add(symbol)


def _hash(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def named_in(module: Operation) -> dict[str, Operation]:
    """Map the names of a module's symbols to their operations."""
    return {name: op for op in operations_of(body_of(module)) if (name := symbol_name(op))}


def merge(module: Operation, text: str, known: Iterable[str]) -> set[str]:
    """Add the definitions and declarations of a text to a module, except the known symbols.

    Return all symbols of the text.
    """
    with module.context, ir.Location.unknown():
        parsed = ir.Module.parse(text)
        named = named_in(parsed.operation)
        for op in [op for name, op in named.items() if name not in known]:
            op.detach_from_parent()
            body_of(module).append(op)
    return set(named)
