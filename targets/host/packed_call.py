# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiled code reaches outside of it: registered functions, errors to raise, and the table of constants."""

from __future__ import annotations

import hashlib
from typing import Any

from ...bindings.context import load_dialects
from ...bindings.mlir import ir, string_value
from ...support.errors import RelaxError
from . import abi
from .llvm_text import PTR, FunctionText, has_symbol, merge, symbol, symbols_of, text_global
from .packed_fail import fail, fail_type
from .packed_support import CALL_GLOBAL, FAIL
from .support import DECLARATIONS

CONSTANT_TABLE = "__relax_constants"
SET_CONSTANTS = "__relax_set_constants"
_CONSTANT_OWNER = "__relax_constant_owner"
_RELEASE_CONSTANTS = "__relax_release_constants"


def add_global_call(module: Any, name: str) -> str:
    """Adds a function that calls the global function of that name; returns its symbol.

    It is `i32 (ptr args, i32 count, ptr result)`: args are TVMFFIAny, borrowed; the result, which the caller sets to
    None before, is owned by the caller. Not 0: the error is set, the callee's own where the callee raised. The name
    is looked up at the first call and kept for the life of the process.
    """
    if not name or not name.isascii() or not name.isprintable() or set(name) & set('"\\'):
        raise RelaxError(f"{name!r} cannot name a function: expected printable ASCII without quotes")
    load_dialects(module.context, ("llvm",))
    merge(module, DECLARATIONS + global_function_text(name))
    return f"{CALL_GLOBAL}.{name}"


def add_tensor_borrowing(module: Any) -> None:
    """Declares the functions that pass memory to a global function as a tensor for the time of a call.

    `@__relax_borrow_tensor` is `i32 (i32 rank, i32 dtype, ptr shape, ptr data, ptr out)`: dtype as abi.dlpack_dtype
    gives it, shape as i64s, data row-major; out receives the object (type index 70). `@__relax_give_back_tensor` is
    `i32 (ptr object)`, for after a call that succeeded: it fails where the function kept the tensor. After a call
    that failed, TVMFFIObjectDecRef, which leaves the error as it is.
    """
    load_dialects(module.context, ("llvm",))
    merge(module, DECLARATIONS)


def add_raise(module: Any, kind: str, message: str) -> str:
    """Adds a function that raises an error; returns its symbol.

    It is `i32 (i64, i64, i64)` and returns -1, for a kernel to return in turn. The message may hold up to three %lld
    for the numbers; what is meant as it is goes through packed_fail.plain. `kind` is the name of a Python exception.
    """
    if not kind.isidentifier() or not kind.isascii():
        raise RelaxError(f"{kind!r} cannot name an exception")
    load_dialects(module.context, ("llvm",))
    name = f"__relax_raise.{hashlib.sha256(f'{kind} {message}'.encode()).hexdigest()[:16]}"
    if has_symbol(module, name):
        return name
    code = FunctionText(name, [("%a", "i64"), ("%b", "i64"), ("%c", "i64")], "i32", linkage="internal")
    arguments = [(code.text(kind), PTR), (code.text(message), PTR), ("%a", "i64"), ("%b", "i64"), ("%c", "i64")]
    code.line(f"llvm.return {code.call(FAIL, arguments, 'i32')} : i32")
    merge(module, DECLARATIONS + code.render())
    return name


def global_function_text(name: str) -> str:
    """The function that add_global_call describes, with its own slot for what was found."""
    slot, text = f"{CALL_GLOBAL}.{name}.slot", f"{CALL_GLOBAL}.{name}.name"
    return f"""
{_null_pointer(slot)}
{text_global(text, name)}
llvm.func internal {symbol(f"{CALL_GLOBAL}.{name}")}(%args: {PTR}, %count: i32, %result: {PTR}) -> i32 {{
  %slot = llvm.mlir.addressof {symbol(slot)} : {PTR}
  %name = llvm.mlir.addressof {symbol(text)} : {PTR}
  %length = llvm.mlir.constant({len(name)} : i64) : i64
  %status = llvm.call @{CALL_GLOBAL}(%slot, %name, %length, %args, %count, %result)
    : ({PTR}, {PTR}, i64, {PTR}, i32, {PTR}) -> i32
  llvm.return %status : i32
}}
"""


def add_constant_table(module: Any, count: int) -> None:
    """Adds the table `@__relax_constants`, `count` pointers, and the exported function that fills it at load.

    The loader calls it once, before anything else runs: with a pointer to the addresses, each 64-byte aligned, their
    number, and an object that keeps the memory; the code holds on to that until it is unloaded.
    """
    if count < 1:
        raise RelaxError(f"a table of {count} constants")
    load_dialects(module.context, ("llvm",))
    array = f"!llvm.array<{count} x ptr>"
    definitions = f"""
llvm.func @TVMFFIObjectIncRef({PTR}) -> i32
llvm.mlir.global internal @{CONSTANT_TABLE}() {{addr_space = 0 : i32, alignment = 8 : i64}} : {array} {{
  %zero = llvm.mlir.zero : {array}
  llvm.return %zero : {array}
}}
{_null_pointer(_CONSTANT_OWNER)}
llvm.func internal @{_RELEASE_CONSTANTS}() {{
  %slot = llvm.mlir.addressof @{_CONSTANT_OWNER} : {PTR}
  %owner = llvm.load %slot : {PTR} -> {PTR}
  %null = llvm.mlir.zero : {PTR}
  %owned = llvm.icmp "ne" %owner, %null : {PTR}
  llvm.cond_br %owned, ^release, ^end
^release:
  llvm.store %null, %slot : {PTR}, {PTR}
  %status = llvm.call @TVMFFIObjectDecRef(%owner) : ({PTR}) -> i32
  llvm.br ^end
^end:
  llvm.return
}}
"""
    merge(module, DECLARATIONS + definitions + _set_constants(count))
    add_at_unload(module, _RELEASE_CONSTANTS)


def _set_constants(count: int) -> str:
    code = FunctionText(
        abi.EXPORT_PREFIX + SET_CONSTANTS,
        [("%handle", PTR), ("%args", PTR), ("%count", "i32"), ("%result", PTR)],
        "i32",
    )
    three = code.compare("eq", "%count", code.constant(3, "i32"), "i32")
    code.require(three, fail(code, "type", f"{SET_CONSTANTS}: expected a pointer, a count and an owner"))
    for position, (kind, noun) in enumerate([(abi.POINTER, "a pointer"), (abi.INT, "an int")]):
        index = code.load("%args", position * abi.ANY_SIZE, "i32")
        same = code.compare("eq", index, code.constant(kind, "i32"), "i32")
        code.require(same, fail_type(code, f"{SET_CONSTANTS}: argument #{position} expected {noun}, got %.*s", index))
    index = code.load("%args", 2 * abi.ANY_SIZE, "i32")
    is_object = code.compare("sge", index, code.constant(abi.FIRST_OBJECT, "i32"), "i32")
    code.require(is_object, fail_type(code, f"{SET_CONSTANTS}: argument #2 expected an object, got %.*s", index))
    wanted, given = code.constant(count), code.load("%args", abi.ANY_SIZE + abi.ANY_PAYLOAD, "i64")
    message = f"{SET_CONSTANTS}: the code has %lld constants, got %lld"
    code.require(code.compare("eq", wanted, given), fail(code, "value", message, wanted, given))
    slot = code.address_of(_CONSTANT_OWNER)
    unset = code.value(f'llvm.icmp "eq" {code.load(slot, 0, PTR)}, {code.null()} : {PTR}')
    code.require(unset, fail(code, "value", f"{SET_CONSTANTS}: the constants are set already"))
    owner = code.load("%args", 2 * abi.ANY_SIZE + abi.ANY_PAYLOAD, PTR)
    code.call("TVMFFIObjectIncRef", [(owner, PTR)], "i32")
    code.store(owner, PTR, slot)
    source, size = code.load("%args", abi.ANY_PAYLOAD, PTR), code.constant(8 * count)
    table = code.address_of(CONSTANT_TABLE)
    code.line(f'"llvm.intr.memcpy"({table}, {source}, {size}) <{{isVolatile = false}}> : ({PTR}, {PTR}, i64) -> ()')
    code.line(f"llvm.return {code.constant(0, 'i32')} : i32")
    return code.render()


def add_at_unload(module: Any, function: str) -> None:
    """Has the loader call a function of the module when it unloads the object.

    Written into the section itself: the engine that compiles keeps llvm.global_dtors for its own use. The loader runs
    what is to run at the end only for objects with something to run at the start.
    """
    start = f"{function}.at_load"
    pointers = [_section_pointer(".init_array", start), _section_pointer(".fini_array", function)]
    declared = f"llvm.func internal {symbol(function)}() {{\n  llvm.return\n}}"
    begin = f"llvm.func internal {symbol(start)}() {{\n  llvm.return\n}}"
    merge(module, "\n".join([declared, begin, *pointers]))
    _retain(module)


_USED = "llvm.used"


def _retain(module: Any) -> None:
    """Nobody refers to what lies in sections of its own: one global says that all of it is used."""
    found = [op for op in symbols_of(module) if op.name == "llvm.mlir.global"]
    names = [string_value(op.attributes["sym_name"]) for op in found if "section" in op.attributes]
    for op in [op for op in found if string_value(op.attributes["sym_name"]) == _USED]:
        op.erase()
    names = [name for name in names if name != _USED]
    array = f"!llvm.array<{len(names)} x ptr>"
    lines, value = [f"  %none = llvm.mlir.undef : {array}"], "%none"
    for position, name in enumerate(names):
        lines.append(f"  %a{position} = llvm.mlir.addressof {symbol(name)} : {PTR}")
        lines.append(f"  %b{position} = llvm.insertvalue %a{position}, {value}[{position}] : {array}")
        value = f"%b{position}"
    attributes = '{addr_space = 0 : i32, section = "llvm.metadata"}'
    text = "\n".join(
        [
            f"llvm.mlir.global appending @{_USED}() {attributes} : {array} {{",
            *lines,
            f"  llvm.return {value} : {array}",
            "}",
        ]
    )
    with module.context, ir.Location.unknown():
        stubs = [f'llvm.mlir.global external @"{name}"() {{addr_space = 0 : i32}} : {PTR}' for name in names]
        merge(module, "\n".join([*stubs, text]))


def _section_pointer(section: str, function: str) -> str:
    return f"""llvm.mlir.global internal constant {symbol(f"{function}.pointer")}()
    {{addr_space = 0 : i32, alignment = 8 : i64, section = "{section}"}} : {PTR} {{
  %function = llvm.mlir.addressof {symbol(function)} : {PTR}
  llvm.return %function : {PTR}
}}"""


def _null_pointer(name: str) -> str:
    """A variable that is null at first."""
    return f"""llvm.mlir.global internal {symbol(name)}() {{addr_space = 0 : i32, alignment = 8 : i64}} : {PTR} {{
  %null = llvm.mlir.zero : {PTR}
  llvm.return %null : {PTR}
}}"""
