# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parser of PTX: functions with their instructions, unique names, and variables with their initial bytes."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

WIDTHS = {
    **{f"{kind}{bits}": bits // 8 for kind in "bus" for bits in (8, 16, 32, 64)},
    **{"f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4, "f32": 4, "f64": 8, "f32x2": 8, "b128": 16, "tf32": 4, "pred": 1},
}


class PtxError(Exception):
    """Raised for text that is no PTX, or that the emulator does not know. The message begins with the line."""


@dataclass(frozen=True)
class Instruction:
    name: str  # "ld.global.v2.b32"
    operands: tuple[str, ...]
    guard: str  # "%p1", "!%p1" or ""
    line: int
    text: str

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))


@dataclass(frozen=True)
class Variable:
    """Variable or parameter. `size` is None if the launch determines it."""

    space: str
    name: str
    align: int
    size: int | None
    data: bytes = b""
    addresses: tuple[tuple[int, str, int], ...] = ()  # (offset, variable, addend) of addresses among its initial values


@dataclass
class Function:
    name: str
    is_kernel: bool
    line: int
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    body: list[Instruction | str] = field(default_factory=list)  # a string is a label
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    bounds: dict[str, tuple[int, ...]] = field(default_factory=dict)  # maxntid, reqntid, ...
    is_defined: bool = False


@dataclass
class Unit:
    """Contents of a PTX text."""

    version: str = ""
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LABEL = re.compile(r"\s*([$%A-Za-z_][\w$]*):(?!:)")
_NAME = re.compile(r"(?<![\w.$%])[$%A-Za-z_][\w$]*")
_REGISTERS = re.compile(r"\.reg\s+(?:\.v\d\s+)?\.(\w+)\s+(.*)", re.DOTALL)
_RANGE = re.compile(r"([%$\w]+)<(\d+)>")
_HEADER = re.compile(r"\.(entry|func)\b")
_BOUND = re.compile(r"\.(maxntid|reqntid|minnctapersm|maxnreg|noreturn|reqnctapercluster)\b\s*([\d,\s]*)")
_VARIABLE = re.compile(
    r"\.(global|const|shared|local|param)\b(?P<words>(?:\s*\.\w+(?:\s+\d+)?)*)\s+(?P<name>[$%\w]+)\s*"
    r"(?P<sizes>(?:\[\s*\w*\s*\]\s*)*)(?:=(?P<initial>.*))?$",
    re.DOTALL,
)


def parse(text: str) -> Unit:
    return _Parser(text).unit


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
        self._at = 0
        self._line = 1
        self._counted = 0
        self.unit = Unit()
        while self._skip_space():
            self._top_level()
        if not self.unit.version or not self.unit.target:
            raise PtxError("line 1: no .version or no .target: this is no PTX")

    def _skip_space(self) -> bool:
        text, at = self._text, self._at
        while at < len(text) and text[at].isspace():
            at += 1
        self._at = at
        self._line += text.count("\n", self._counted, at)
        self._counted = at
        return at < len(text)

    def _problem(self, message: str) -> PtxError:
        return PtxError(f"line {self._line}: {message}")

    def _statement(self, ends: str = ";") -> str:
        """Return the text up to the first of `ends`, which is consumed. Inner braces are vectors or initial values."""
        text, at, depth = self._text, self._at, 0
        while at < len(text):
            sign = text[at]
            if sign in ends and depth == 0:
                break
            if sign == '"':
                at = text.find('"', at + 1)
                if at < 0:
                    raise self._problem("a string without an end")
            depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(sign, 0)
            at += 1
        if at >= len(text):
            raise self._problem(f"no {' or '.join(ends)} behind {text[self._at : self._at + 40]!r}")
        found = text[self._at : at]
        self._at = at
        return found.strip()

    def _rest_of_line(self) -> str:
        end = self._text.find("\n", self._at)
        end = len(self._text) if end < 0 else end
        found = self._text[self._at : end].strip()
        self._at = end
        return found

    def _top_level(self) -> None:
        text = self._text[self._at : self._at + 200]
        word = text.split(None, 1)[0]
        if word in (".version", ".target", ".address_size", ".file", ".loc"):
            line = self._rest_of_line()
            if word in (".version", ".target"):
                setattr(self.unit, word[1:], line.split(None, 1)[1].split(",")[0].strip())
            return
        if word == ".section":
            self._statement("{")
            self._at = self._text.index("}", self._at) + 1
            return
        if word in ("}", ";"):
            self._at += 1
            return
        if not word.startswith("."):
            raise self._problem(f"{self._rest_of_line()[:60]!r} is nothing that PTX has here")
        end = re.compile(r"[;{=]|\.(?:entry|func)\b").search(self._text, self._at)
        if end and end.group().startswith("."):
            self._function()
            return
        statement = self._statement()
        self._at += 1
        if statement.startswith((".pragma", ".alias", ".callprototype")):
            return
        variable = self._variable(statement)
        self.unit.variables[variable.name] = variable

    def _variable(self, statement: str) -> Variable:
        match = _VARIABLE.search(statement)
        if match is None:
            raise self._problem(f"{statement[:60]!r} declares nothing that the emulator knows")
        words = match["words"].replace(".", " .").split()
        align, element, count = 1, 1, 1
        kind = "b8"
        for number, word in enumerate(words):
            if word == ".align":
                align = int(words[number + 1])
            elif word[1:] in WIDTHS:
                kind = word[1:]
                element = WIDTHS[kind]
            elif word in (".v2", ".v4"):
                count *= int(word[2:])
        is_open = False
        for size in re.findall(r"\[\s*(\w*)\s*\]", match["sizes"]):
            is_open = is_open or not size
            count *= int(size, 0) if size else 1
        data, addresses = self._initial(match["initial"] or "", kind)
        size_bytes = None if is_open and not data else max(element * count, len(data))
        return Variable(match[1], match["name"], max(align, element), size_bytes, data, addresses)

    def _initial(self, text: str, kind: str) -> tuple[bytes, tuple[tuple[int, str, int], ...]]:
        data, addresses = bytearray(), []
        plain = re.sub(r"\s*\+\s*", "+", re.sub(r"\bgeneric\(\s*([$\w]+)\s*\)", r"\1", text))
        for word in re.split(r"[{},\s]+", plain):
            if not word:
                continue
            if re.match(r"[$%A-Za-z_]", word):
                name, _, addend = word.partition("+")
                addresses.append((len(data), name, int(addend or "0", 0)))
                data += bytes(WIDTHS[kind])
            else:
                data += number_bytes(word, WIDTHS[kind])
        return bytes(data), tuple(addresses)

    def _function(self) -> None:
        header = self._statement("{;")
        match = _HEADER.search(header)
        assert match is not None
        rest = header[match.end() :].strip()
        function = Function("", match[1] == "entry", self._line)
        if rest.startswith("("):
            inside, rest = _bracketed(rest)
            function.results = [self._variable(each) for each in _split(inside)]
        name = re.match(r"[$\w]+", rest)
        if name is None:
            raise self._problem(f"a function without a name: {header[:60]!r}")
        function.name = name.group()
        rest = rest[name.end() :].strip()
        if rest.startswith("("):
            inside, rest = _bracketed(rest)
            function.parameters = [self._variable(each.replace(".ptr", "")) for each in _split(inside)]
        for bound in _BOUND.finditer(rest):
            function.bounds[bound[1]] = tuple(int(each) for each in re.findall(r"\d+", bound[2]))
        if self._text[self._at] == "{":
            function.is_defined = True
            self._body(function)
        else:
            self._at += 1
        known = self.unit.functions.get(function.name)
        if known is None or not known.is_defined:
            self.unit.functions[function.name] = function

    def _body(self, function: Function) -> None:
        scopes: list[dict[str, str]] = []
        items: list[tuple[Instruction | str, tuple[dict[str, str], ...]]] = []
        count = 0
        while True:
            if not self._skip_space():
                raise self._problem(f"no end of {function.name}")
            sign = self._text[self._at]
            if sign == "{":
                scopes.append({})
                count += 1
                self._at += 1
                continue
            if sign == "}":
                scopes.pop()
                self._at += 1
                if not scopes:
                    break
                continue
            label = _LABEL.match(self._text, self._at)
            if label is not None:
                self._at = label.end()
                name = self._declare(label[1], scopes, count)
                self._skip_space()
                if self._text.startswith(".branchtargets", self._at):
                    targets = self._statement()[len(".branchtargets") :]
                    self._at += 1
                    function.tables[name] = tuple(each.strip() for each in targets.split(","))
                else:
                    items.append((name, tuple(scopes)))
                continue
            if re.compile(r"\.(?:loc|file)\s").match(self._text, self._at):
                self._rest_of_line()
                continue
            line = self._line
            statement = self._statement()
            self._at += 1
            if statement.startswith("."):
                self._declaration(statement, function, scopes, count)
            elif statement:
                items.append((_instruction(statement, line), tuple(scopes)))
        function.body = [_resolved(item, inner) for item, inner in items]

    def _declare(self, name: str, scopes: list[dict[str, str]], count: int) -> str:
        unique = name if len(scopes) == 1 else f"{name}@{count}"
        scopes[-1][name] = unique
        return unique

    def _declaration(self, statement: str, function: Function, scopes: list[dict[str, str]], count: int) -> None:
        registers = _REGISTERS.match(statement)
        if registers is not None:
            for name in registers[2].split(","):
                several = _RANGE.fullmatch(name.strip())
                names = [f"{several[1]}{number}" for number in range(int(several[2]))] if several else [name.strip()]
                for each in names:
                    function.registers[self._declare(each, scopes, count)] = registers[1]
        elif statement.startswith((".pragma", ".callprototype")):
            return
        else:
            variable = self._variable(statement)
            unique = self._declare(variable.name, scopes, count)
            function.variables[unique] = Variable(
                variable.space, unique, variable.align, variable.size, variable.data, variable.addresses
            )


def _bracketed(text: str) -> tuple[str, str]:
    end = text.index(")")
    return text[1:end], text[end + 1 :].strip()


def _split(text: str) -> Iterator[str]:
    return (each.strip() for each in text.split(",") if each.strip())


def _instruction(statement: str, line: int) -> Instruction:
    text = " ".join(statement.split())
    guard = ""
    rest = text
    if rest.startswith("@"):
        guard, rest = rest[1:].split(None, 1)
    name, _, operands = rest.partition(" ")
    return Instruction(name, tuple(split_operands(operands)), guard, line, text)


def split_operands(text: str) -> list[str]:
    """Split `a, {b, c}, [d+4]` into its three operands."""
    found, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        if sign in "{[(":
            depth += 1
        elif sign in "}])":
            depth -= 1
        elif sign == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*found, last] if last else found


def _resolved(item: Instruction | str, scopes: tuple[dict[str, str], ...]) -> Instruction | str:
    if isinstance(item, str) or len(scopes) == 1:
        return item

    def unique(match: re.Match[str]) -> str:
        for scope in reversed(scopes):
            if match.group() in scope:
                return scope[match.group()]
        return match.group()

    operands = tuple(_NAME.sub(unique, operand) for operand in item.operands)
    return Instruction(item.name, operands, _NAME.sub(unique, item.guard), item.line, item.text)


def number_bytes(word: str, width: int) -> bytes:
    """Return an immediate in `width` little-endian bytes: integers of any base, 0f... and 0d... floats, 1.5."""
    text = word.strip()
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text)
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", body):
        value = struct.unpack("<f", struct.pack("<I", int(body[2:], 16)))[0] if width != 4 else None
        if value is None:
            return (int(body[2:], 16) ^ (0x80000000 if sign < 0 else 0)).to_bytes(4, "little")
        return struct.pack("<d" if width == 8 else "<e", sign * value)
    if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", body):
        if width == 8:
            return (int(body[2:], 16) ^ ((1 << 63) if sign < 0 else 0)).to_bytes(8, "little")
        value = struct.unpack("<d", struct.pack("<Q", int(body[2:], 16)))[0]
        return struct.pack("<f" if width == 4 else "<e", sign * value)
    if re.fullmatch(r"\d+\.\d*(?:[eE][-+]?\d+)?", body):
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[width], sign * float(body))
    body = body.rstrip("uU")
    octal = re.fullmatch(r"0[0-7]+", body)
    try:
        number = int(body, 8) if octal else int(body, 0)
    except ValueError:
        raise PtxError(f"{word!r} is no number") from None
    return ((sign * number) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
