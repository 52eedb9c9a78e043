# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the LLVM dialect written as text: cheap to make, and what a reader sees is what is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...bindings.mlir import ir, string_value
from ...support.errors import RelaxError

PTR = "!llvm.ptr"


def symbol(name: str) -> str:
    """A reference to a symbol of any name that can be printed."""
    return f'@"{name}"'


def text_global(name: str, text: str) -> str:
    """A constant with the text and a zero byte behind it."""
    data = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in (34, 92) else f"\\{byte:02X}" for byte in text.encode()
    )
    return f'llvm.mlir.global internal constant {symbol(name)}("{data}\\00") {{addr_space = 0 : i32}}'


def merge(module: Any, text: str) -> None:
    """Adds the functions and globals of a text to a module, but those that it has already."""
    with module.context, ir.Location.unknown():
        parsed = ir.Module.parse(text)
        body = module.operation.regions[0].blocks[0]
        known = ir.SymbolTable(module.operation)
        for op in [view.operation for view in parsed.body]:
            if "sym_name" not in op.attributes or string_value(op.attributes["sym_name"]) not in known:
                op.detach_from_parent()
                body.append(op)


def has_symbol(module: Any, name: str) -> bool:
    """Whether a module has a function or global of that name: then nobody need make it and `merge` it."""
    return name in ir.SymbolTable(module.operation)


def symbols_of(module: Any) -> Iterable[Any]:
    """The operations of a module that have a name."""
    operations = [view.operation for view in module.operation.regions[0].blocks[0].operations]
    return [operation for operation in operations if "sym_name" in operation.attributes]


def check_function(module: Any, name: str, function_type: str, reason: str) -> None:
    """Refuses a module that does not define this function with this type (`!llvm.func<...>`)."""
    found = [op for op in symbols_of(module) if string_value(op.attributes["sym_name"]) == name]
    if not found or not found[0].regions or not len(found[0].regions[0].blocks):
        raise RelaxError(f"the module defines no function '{name}', which {reason} calls")
    if found[0].name != "llvm.func":
        raise RelaxError(f"function '{name}', which {reason} calls, is a {found[0].name}, not yet an llvm.func")
    actual = found[0].attributes["function_type"]
    with module.context:
        expected = ir.TypeAttr.get(ir.Type.parse(function_type))
    if actual != expected:
        raise RelaxError(f"function '{name}', which {reason} calls, is {actual}, expected {expected}")


class FunctionText:
    """One function under construction: straight-line code that leaves through cold blocks where a check fails."""

    def __init__(self, name: str, parameters: Sequence[tuple[str, str]], result: str, *, linkage: str = "") -> None:
        listed = ", ".join(f"{parameter}: {type_}" for parameter, type_ in parameters)
        self._head = f"llvm.func {linkage} {symbol(name)}({listed}) -> {result} {{".replace("  ", " ")
        self._name = name
        self._prologue: list[str] = []  # constants and stack slots: they come first
        self._known: dict[str, str] = {}  # operation in the prologue -> value
        self._lines: list[str] = []
        self._cold: list[str] = []
        self._globals: dict[str, str] = {}  # text -> symbol
        self._count = 0

    def line(self, text: str) -> None:
        self._lines.append(text)

    def value(self, operation: str) -> str:
        """Appends an operation and names its result."""
        name = self.fresh()
        self._lines.append(f"{name} = {operation}")
        return name

    def fresh(self) -> str:
        """A name for a value."""
        self._count += 1
        return f"%v{self._count}"

    def constant(self, number: int, type_: str = "i64") -> str:
        return self._once(f"llvm.mlir.constant({number} : {type_}) : {type_}")

    def null(self) -> str:
        return self._once(f"llvm.mlir.zero : {PTR}")

    def text(self, content: str) -> str:
        """The address of a constant text."""
        name = self._globals.setdefault(content, f"{self._name}.text.{len(self._globals)}")
        return self.address_of(name)

    def address_of(self, name: str) -> str:
        """The address of a function or global."""
        return self._once(f"llvm.mlir.addressof {symbol(name)} : {PTR}")

    def stack(self, size: int) -> str:
        """A piece of the stack, 8-byte aligned."""
        count = self.constant(max(size, 1))
        name = self.fresh()
        self._prologue.append(f"{name} = llvm.alloca {count} x i8 {{alignment = 8 : i64}} : (i64) -> {PTR}")
        return name

    def at(self, pointer: str, offset: int) -> str:
        """The pointer plus a number of bytes."""
        return self.value(f"llvm.getelementptr {pointer}[{offset}] : ({PTR}) -> {PTR}, i8") if offset else pointer

    def load(self, pointer: str, offset: int, type_: str) -> str:
        return self.value(f"llvm.load {self.at(pointer, offset)} : {PTR} -> {type_}")

    def store(self, value: str, type_: str, pointer: str, offset: int = 0) -> None:
        self.line(f"llvm.store {value}, {self.at(pointer, offset)} : {type_}, {PTR}")

    def compare(self, predicate: str, left: str, right: str, type_: str = "i64") -> str:
        return self.value(f'llvm.icmp "{predicate}" {left}, {right} : {type_}')

    def checked(self, operation: str, left: str, right: str) -> tuple[str, str]:
        """What "smul" or "sadd" gives for two i64, and whether that overflows."""
        pair = "!llvm.struct<(i64, i1)>"
        both = self.value(f'"llvm.intr.{operation}.with.overflow"({left}, {right}) : (i64, i64) -> {pair}')
        value = self.value(f"llvm.extractvalue {both}[0] : {pair}")
        return value, self.value(f"llvm.extractvalue {both}[1] : {pair}")

    def any_of(self, conditions: Iterable[str]) -> str:
        """Whether one of the conditions holds."""
        result = ""
        for condition in conditions:
            result = self.value(f"llvm.or {result}, {condition} : i1") if result else condition
        return result or self.constant(0, "i1")

    def call(self, callee: str, arguments: Sequence[tuple[str, str]], result: str = "") -> str:
        """Calls a function with (value, type) pairs; the result's name, empty where there is none."""
        text = call_text(callee, arguments, result)
        if result:
            return self.value(text)
        self.line(text)
        return ""

    def require(self, condition: str, failure: str) -> None:
        """Goes on where the condition holds; else returns what the failure, a call, gives."""
        self.branch_unless(condition, [f"%status = {failure}", "llvm.return %status : i32"])

    def branch_unless(self, condition: str, cold: Sequence[str]) -> None:
        """Goes on where the condition holds, else to a block of its own; `%status` in it is made unique."""
        self._count += 1
        label, status = f"^bad{self._count}", f"%status{self._count}"
        self.line(f"llvm.cond_br {condition} weights([2000, 1]), ^ok{self._count}, {label}")
        self._cold += [f"{label}:", *(line.replace("%status", status) for line in cold)]
        self.line(f"^ok{self._count}:")

    def label(self) -> str:
        """A name for a block."""
        self._count += 1
        return f"^block{self._count}"

    def render(self) -> str:
        """The function and the texts that it uses."""
        globals_ = [text_global(name, content) for content, name in self._globals.items()]
        return "\n".join([*globals_, self._head, *self._prologue, *self._lines, *self._cold, "}"])

    def _once(self, operation: str) -> str:
        if operation not in self._known:
            self._known[operation] = self.fresh()
            self._prologue.append(f"{self._known[operation]} = {operation}")
        return self._known[operation]


def call_text(callee: str, arguments: Sequence[tuple[str, str]], result: str = "") -> str:
    values = ", ".join(value for value, _ in arguments)
    types = ", ".join(type_ for _, type_ in arguments)
    return f"llvm.call {symbol(callee)}({values}) : ({types}) -> {result or '()'}"
