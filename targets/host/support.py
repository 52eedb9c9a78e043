# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How host code calls the functions of the library, the same in every program, and the tables that it has for them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from ...bindings.ir import Attribute, Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, operations_of, symbol_name
from ...dialects.tir import dialect as tir
from . import llvm_ops
from .abi import EXPORT_PREFIX
from .units import copied_text, find_function

#: What a message takes at most (__relax_fail): places, operators' texts and numbers keep their part of it under half.
MESSAGE_BYTES = 2048
_MOST_TEXT = (MESSAGE_BYTES - 100) // 2

_PREFIX = "__relax_"


def table_text(table: str, setter: str, count: int) -> str:
    """A table of `count` pointers, and the exported function by which the loader fills it before anything else runs."""
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


#: The table of the constants' addresses, and the exported function that fills it when the program is loaded.
CONSTANT_TABLE, SET_CONSTANTS = "__relax_constants", "__relax_set_constants"
#: The table of a program for a device, the exported function that fills it, and its places before the kernels' handles.
DEVICE_TABLE, SET_DEVICE, DEVICE_SLOTS = "__relax_device", "__relax_set_device", 30
#: The clocks of a program, during a profile.
PROFILE_TABLE = "__relax_profile_table"
#: What else such a program has for the runtime: packed functions of device.mlir that are given the table.
DEVICE_FUNCTIONS = ("__relax_device_deleter", "__relax_device_empty", "__relax_device_synchronize")


#: By kinds of devices whose driver's functions are other than CUDA's: the packed function that says where the program
#: has such that do the same.
DRIVER_FUNCTIONS = {kind: f"__relax_{kind}_functions" for kind in ("opencl", "vulkan")}


def device_text(kernels: int, has_constants: bool, kind: str = "") -> str:
    """The table of a program with kernels for a kind of device, and what the loader calls.

    What owns that which is on the device comes with the constants: of which there are 0 where there are none.
    """
    functions = [*DEVICE_FUNCTIONS, *([DRIVER_FUNCTIONS[kind]] if kind in DRIVER_FUNCTIONS else [])]
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
    return table_text(DEVICE_TABLE, SET_DEVICE, DEVICE_SLOTS + kernels) + owner + exported


def native_function_text(exported: str) -> str:
    """The exported function by which the loader makes a function of a list of C calls."""
    return f"""
!ptr = !llvm.ptr
llvm.func hidden @__relax_native_function(!ptr, i32, !ptr) -> i32
llvm.func @{EXPORT_PREFIX}{exported}(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {{
  %status = llvm.call @__relax_native_function(%args, %count, %result) : (!ptr, i32, !ptr) -> i32
  llvm.return %status : i32
}}
"""


def cut(text: str) -> str:
    """As much of a text as a message has room for, in whole characters."""
    data = text.encode()
    return text if len(data) <= _MOST_TEXT else data[: _MOST_TEXT - 3].decode(errors="ignore") + "..."


def short(text: str) -> str:
    """A name in a message, cut to what messages have room for."""
    return text if len(text) <= 60 else text[:57] + "..."


class Support:
    """Calls of these functions in a module, and the constants that they are given, each in the module once."""

    def __init__(self, module: Operation) -> None:
        self.module = module
        self._body = body_of(module)
        self._known = set(named_in(module))

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._known

    def call(self, name: str, *operands: Value) -> Value | None:
        """Calls `__relax_<name>` where the insertion point is; its value."""
        symbol = _PREFIX + name
        function = find_function(symbol)
        assert function is not None, name
        self.declare(symbol)
        return llvm_ops.call(symbol, operands, None if function.result == "void" else ir.Type.parse(function.result))

    def value(self, name: str, *operands: Value) -> Value:
        """What such a function gives."""
        value = self.call(name, *operands)
        assert value is not None, name
        return value

    def require(self, name: str, *operands: Value) -> None:
        """Calls such a function, and leaves the one that is in where its status is not 0 (host-lower-errors)."""
        tir.ops["return_unless_ok"](self.value(name, *operands))

    def declare(self, symbol: str) -> None:
        """Declare a function of the library, or define it where programs have it themselves."""
        function = find_function(symbol)
        assert function is not None, symbol
        if symbol in self._known:
            return
        if function.is_copied:
            self.define(copied_text())
            return
        with ir.InsertionPoint(self._body), ir.Location.unknown():
            llvm_ops.declare(symbol, ir.Type.parse(function.type))
        self._known.add(symbol)

    def define(self, text: str) -> None:
        """Adds the functions and globals of a text, but those that the module has already."""
        self._known |= merge(self.module, text, self._known)

    def text(self, content: str) -> Value:
        """The address of a text that ends with a zero byte."""
        symbol = f"__relax_text.{_hash(content)}"
        self._add(symbol, f"!llvm.array<{len(content.encode()) + 1} x i8>", ir.StringAttr.get(content + "\0"))
        return llvm_ops.address_of(symbol)

    def texts(self, contents: Sequence[str]) -> str:
        """The name of a constant array of the addresses of texts."""
        symbol = f"__relax_texts.{_hash(repr(list(contents)))}"
        if symbol not in self._known:
            with ir.InsertionPoint(self._body), ir.Location.unknown():
                llvm_ops.array_global(symbol, len(contents), lambda: [self.text(each) for each in contents])
            self._known.add(symbol)
        return symbol

    def numbers(self, values: Iterable[int]) -> Value:
        """The address of constant integers of 64 bits, one behind the other."""
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
    """The operations of a module that have a name, by it."""
    return {name: op for op in operations_of(body_of(module)) if (name := symbol_name(op))}


def merge(module: Operation, text: str, known: Iterable[str]) -> set[str]:
    """Adds what a text defines or declares to a module, but the known symbols; what the text has."""
    with module.context, ir.Location.unknown():
        parsed = ir.Module.parse(text)
        named = named_in(parsed.operation)
        for op in [op for name, op in named.items() if name not in known]:
            op.detach_from_parent()
            body_of(module).append(op)
    return set(named)
