# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that are the same in every program: programs declare them, and units that are the same define them.

support.mlir is what all need. What only some do stands beside it in files, each a unit that nobody waits for who does
not need it. The pool of threads (pool.mlir) is the same for all programs of a process, hence an object of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from ...bindings.ir import Attribute, Module, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, has_body, operations_of, symbol_name
from ...dialects.tir import dialect as tir
from . import llvm_ops
from .abi import EXPORT_PREFIX

#: What a message takes at most (__relax_fail): places, operators' texts and numbers keep their part of it under half.
MESSAGE_BYTES = 2048
_MOST_TEXT = (MESSAGE_BYTES - 100) // 2

#: The first is what all programs need; each needs at most those before it.
_FILES = (
    "support.mlir", "kept.mlir", "calls.mlir", "native_calls.mlir", "device.mlir", "device_tensors.mlir",
    "device_calls.mlir", "device_profile.mlir", "device_recording.mlir", "device_graphs.mlir",
    "device_tensor_maps.mlir",
)  # fmt: skip
_PREFIX = "__relax_"
_FUNCTION = re.compile(r"^llvm\.func (\w+) @__relax_(\w+)\((.*?)\)(?: -> (\S+))?\s.*?^\}\n", re.MULTILINE | re.DOTALL)
_INLINED = "alwaysinline"
_DECLARATION = re.compile(r"^llvm\.func @__relax_(\w+)\([^%\n]*$", re.MULTILINE)


@lru_cache(maxsize=1)
def unit_texts() -> tuple[str, ...]:
    """The units, visible to the other units of a program and to nobody else. The first is what all programs need."""
    return tuple(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in _FILES)


def needed_texts(module: Module) -> list[str]:
    """Those of the units that define what a module declares, and what these need."""
    return _needed(_declared(module.operation))


#: How a processor is told that a thread waits for another one: by the architecture, as LLVM names it.
_PAUSES = {
    "x86_64": 'llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()',
    "aarch64": "%yield = llvm.mlir.constant(1 : i32) : i32\n"
    '  llvm.call_intrinsic "llvm.aarch64.hint"(%yield) : (i32) -> ()',
}


def pool_text(architecture: str) -> str:
    """The pool of threads, for processors of an architecture."""
    text = Path(__file__).with_name("pool.mlir").read_text(encoding="utf-8")
    return re.sub(r"^  PAUSE$", f"  {_PAUSES.get(architecture, '')}", text, flags=re.MULTILINE)


@lru_cache(maxsize=1)
def _functions() -> dict[str, re.Match[str]]:
    return {match[2]: match for text in unit_texts() for match in _FUNCTION.finditer(text)}


@lru_cache(maxsize=256)
def _function_type(name: str) -> str:
    _, _, parameters, result = _functions()[name].groups()
    types = ", ".join(each.rpartition(": ")[2].replace("!ptr", "ptr") for each in parameters.split(","))
    return f"!llvm.func<{(result or 'void').replace('!ptr', 'ptr')} ({types})>"


def _inlined(name: str) -> str:
    """A function for programs to have themselves, with what it calls declared."""
    match = _functions()[name]
    called = [_functions()[callee] for callee in re.findall(r"call @__relax_(\w+)", match[0])]
    declared = [each[0].partition("\n")[0].partition(" attributes")[0].removesuffix(" {") for each in called]
    return "\n".join([*re.findall(r"^!.*$", match.string, re.MULTILINE), *declared, match[0]])


def table_text(table: str, setter: str, count: int) -> str:
    """A table of so many pointers, and the exported function by which the loader fills it before anything else runs."""
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
DEVICE_TABLE, SET_DEVICE, DEVICE_SLOTS = "__relax_device", "__relax_set_device", 25
#: The clocks of a program, while somebody asks for a profile.
PROFILE_TABLE = "__relax_profile_table"
#: What else such a program has for the runtime: packed functions of device.mlir that are given the table.
DEVICE_FUNCTIONS = ("__relax_device_deleter", "__relax_device_empty", "__relax_device_synchronize")


def device_text(kernels: int, has_constants: bool) -> str:
    """The table of a program with so many kernels for a device, and what the loader calls.

    What owns that which is on the device comes with the constants: of which there are 0 where there are none.
    """
    exported = "".join(
        f"""
llvm.func hidden @{name}(!ptr, !ptr, i32, !ptr) -> i32
llvm.func @{EXPORT_PREFIX}{name}(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {{
  %table = llvm.mlir.addressof @{DEVICE_TABLE} : !ptr
  %status = llvm.call @{name}(%table, %args, %count, %result) : (!ptr, !ptr, i32, !ptr) -> i32
  llvm.return %status : i32
}}
"""
        for name in DEVICE_FUNCTIONS
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
        symbol, type_ = _PREFIX + name, ir.Type.parse(_function_type(name))
        if symbol not in self._known:
            self._declare(name, symbol, type_)
        result = _function_type(name).removeprefix("!llvm.func<").partition(" ")[0]
        return llvm_ops.call(symbol, operands, None if result == "void" else llvm_ops.type_of(result))

    def value(self, name: str, *operands: Value) -> Value:
        """What such a function gives."""
        value = self.call(name, *operands)
        assert value is not None, name
        return value

    def require(self, name: str, *operands: Value) -> None:
        """Calls such a function, and leaves the one that is in where its status is not 0 (host-lower-errors)."""
        tir.ops["return_unless_ok"](self.value(name, *operands))

    def _declare(self, name: str, symbol: str, type_: Type) -> None:
        if _INLINED in _functions()[name][0]:
            self.define(_inlined(name))
            return
        with ir.InsertionPoint(self._body), ir.Location.unknown():
            llvm_ops.declare(symbol, type_)
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


def define_support(operation: Operation) -> None:
    """Puts the definitions in the place of a module's declarations: it is whole in itself then."""
    declared = _declared(operation)
    texts = _needed(declared)
    for each in declared:
        each.erase()
    for text in texts:
        own = re.sub(r"^(llvm\.func|llvm\.mlir\.global)(?: external)? hidden", r"\1 internal", text, flags=re.M)
        merge(operation, own, named_in(operation))


def _needed(declared: Iterable[Operation]) -> list[str]:
    needed = {_functions()[str(symbol_name(each)).removeprefix(_PREFIX)].string for each in declared}
    if not needed:
        return []
    first, *others = unit_texts()
    for text in reversed(others):
        if text in needed:
            needed |= {_functions()[name].string for name in _DECLARATION.findall(text)}
    return [first, *(text for text in others if text in needed)]


def _declared(module: Operation) -> list[Operation]:
    known = {_PREFIX + name for name in _functions()}
    functions = [op for name, op in named_in(module).items() if name in known and op.name == "llvm.func"]
    return [function for function in functions if not has_body(function)]
