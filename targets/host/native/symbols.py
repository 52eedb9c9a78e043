# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbols that the functions of a unit use: other functions, globals and texts, each emitted once."""

from __future__ import annotations

import hashlib
from typing import Any

from . import types
from .language import Function, Storage

PREFIX, EXPORT_PREFIX = "__relax_", "__tvm_ffi_"


class Symbols:
    """Globals and declarations of a unit, and the functions that its functions use."""

    def __init__(self, unit: str, architecture: str) -> None:
        self.architecture = architecture
        self._unit = unit
        #: Functions to emit, by symbol, in the order of their use.
        self.functions: dict[str, Function[..., Any]] = {}
        #: Texts of globals and of declared functions, by symbol.
        self.texts: dict[str, str] = {}

    def function(self, function: Function[..., Any]) -> str:
        """Return the symbol of a function, and emit or declare the function."""
        symbol = symbol_of(function)
        if is_elsewhere(function, self._unit):
            inputs, result, is_variadic = function.signature
            listed = ", ".join([*map(types.llvm_type, inputs), *(["..."] if is_variadic else [])])
            form = types.llvm_type(result)
            hidden = "" if function.scope == "C" else "hidden "
            self.texts[symbol] = f"llvm.func {hidden}@{symbol}({listed}){f' -> {form}' if form else ''}\n"
        else:
            self.functions.setdefault(symbol, function)
        return symbol

    def external(self, symbol: str, signature: str) -> str:
        """Declare a function of the library unless this unit has it."""
        if symbol not in self.functions:
            self.texts.setdefault(symbol, f"llvm.func hidden @{symbol}{signature}\n")
        return symbol

    def text(self, content: str) -> str:
        data = content.encode() + b"\0"
        symbol = f"{PREFIX}text.{hashlib.sha256(data[:-1]).hexdigest()[:16]}"
        shown = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in data)
        self.texts[symbol] = (
            f'llvm.mlir.global internal constant @{symbol}("{shown}") : !llvm.array<{len(data)} x i8>\n'
        )
        return symbol

    def storage(self, storage: Storage, names: dict[str, Any]) -> str:
        """Return the symbol of a global, by its name in its module."""
        name = next(name for name, value in names.items() if value is storage)
        symbol = f"{PREFIX}{self._unit.rpartition('.')[2]}.{name}"
        if symbol not in self.texts:
            self.texts[symbol] = self._table(symbol, storage) if storage.functions else self._zeros(symbol, storage)
        return symbol

    def _zeros(self, symbol: str, storage: Storage) -> str:
        type_ = f"!llvm.array<{storage.count} x {types.element_form(storage.element)}>"
        zero = f"{{\n%zero = llvm.mlir.zero : {type_}\nllvm.return %zero : {type_}\n}}\n"
        return f"llvm.mlir.global internal @{symbol}() {{alignment = 8 : i64}} : {type_} {zero}"

    def _table(self, symbol: str, storage: Storage) -> str:
        places = [None if function is None else self.function(function) for function in storage.functions]
        return pointers_text(f"internal constant @{symbol}() {{alignment = 8 : i64}}", places)


def pointers_text(head: str, symbols: list[str | None]) -> str:
    """Return the text of a global array of addresses. None is a null pointer."""
    type_ = f"!llvm.array<{len(symbols)} x ptr>"
    lines = [f"%t0 = llvm.mlir.zero : {type_}"]
    for place, symbol in enumerate(symbols):
        address = "llvm.mlir.zero" if symbol is None else f"llvm.mlir.addressof @{symbol}"
        lines.append(f"%p{place} = {address} : !llvm.ptr")
        lines.append(f"%t{place + 1} = llvm.insertvalue %p{place}, %t{place}[{place}] : {type_}")
    body = "\n".join([*lines, f"llvm.return %t{len(symbols)} : {type_}"])
    return f"llvm.mlir.global {head} : {type_} {{\n{body}\n}}\n"


def symbol_of(function: Function[..., Any]) -> str:
    name = function.python.__name__
    if function.scope == "C":
        return name
    if function.scope in ("library", "copied"):
        return PREFIX + name
    if function.scope == "exported":
        return f"{EXPORT_PREFIX}{PREFIX}{name}"
    return f"{PREFIX}{function.python.__module__.rpartition('.')[2]}.{name}"


def is_elsewhere(function: Function[..., Any], unit: str) -> bool:
    """Check whether another unit, or no unit, defines a function that a unit uses."""
    return function.scope == "C" or (function.scope in ("library", "exported") and function.python.__module__ != unit)
