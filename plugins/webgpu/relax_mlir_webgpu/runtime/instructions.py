# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interpreter of a program's host code. web/relax.js implements the same instructions."""

from __future__ import annotations

import builtins
import math
import operator
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from .program_types import HostCode, WebProgram

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "slt": operator.lt, "sle": operator.le, "sgt": operator.gt,
    "sge": operator.ge, "oeq": operator.eq, "une": operator.ne, "olt": operator.lt, "ole": operator.le,
    "ogt": operator.gt, "oge": operator.ge,
}  # fmt: skip


def wrapped(value: int, width: int) -> int:
    """Return the lowest `width` bits of an integer as a signed integer."""
    half = 1 << (width - 1)
    return (value + half) % (2 * half) - half


def unsigned(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def _divide_truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b) if b else 0
    return quotient if (a < 0) == (b < 0) else -quotient


#: Functions of two integers and the width of their type in bits.
_INTEGERS: dict[str, Callable[[int, int, int], int]] = {
    "addi": lambda a, b, _: a + b,
    "subi": lambda a, b, _: a - b,
    "muli": lambda a, b, _: a * b,
    "divsi": lambda a, b, _: _divide_truncated(a, b),
    "remsi": lambda a, b, _: a - _divide_truncated(a, b) * b,
    "divui": lambda a, b, width: unsigned(a, width) // unsigned(b, width) if b else 0,
    "remui": lambda a, b, width: unsigned(a, width) % unsigned(b, width) if b else 0,
    "floordivsi": lambda a, b, _: a // b if b else 0,
    "floormodsi": lambda a, b, _: a % b if b else 0,
    "ceildivsi": lambda a, b, _: -(-a // b) if b else 0,
    "ceildivui": lambda a, b, width: -(-unsigned(a, width) // unsigned(b, width)) if b else 0,
    "andi": lambda a, b, _: a & b,
    "ori": lambda a, b, _: a | b,
    "xori": lambda a, b, _: a ^ b,
    "shli": lambda a, b, width: a << (b % width),
    "shrsi": lambda a, b, width: a >> (b % width),
    "shrui": lambda a, b, width: unsigned(a, width) >> (b % width),
    "minsi": lambda a, b, _: min(a, b),
    "maxsi": lambda a, b, _: max(a, b),
    "minui": lambda a, b, width: min(a, b, key=lambda each: unsigned(each, width)),
    "maxui": lambda a, b, width: max(a, b, key=lambda each: unsigned(each, width)),
}


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _propagate_nan(choose: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda a, b: math.nan if math.isnan(a) or math.isnan(b) else choose(a, b)


_FLOATS: dict[str, Callable[..., float]] = {
    "addf": operator.add,
    "subf": operator.sub,
    "mulf": operator.mul,
    "divf": _quotient,
    "negf": operator.neg,
    "minimumf": _propagate_nan(min),
    "maximumf": _propagate_nan(max),
    "floor": lambda a: float(math.floor(a)) if math.isfinite(a) else a,
    "ceil": lambda a: float(math.ceil(a)) if math.isfinite(a) else a,
    "trunc": lambda a: float(math.trunc(a)) if math.isfinite(a) else a,
    "abs": abs,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
}


def _to_f32(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _to_integer(value: float) -> int:
    return 0 if math.isnan(value) else int(max(-(2.0**63), min(value, 2.0**63 - 1024)))


class TensorResult(NamedTuple):
    """Result of a call: its address, its sizes, and the bytes of an element."""

    address: int
    sizes: tuple[int, ...]
    element_bytes: int


class TensorArgument(NamedTuple):
    """Tensor that is an argument of a packed function: its element type, address and sizes."""

    dtype: str
    address: int
    sizes: tuple[int, ...]


class ProgramMemory(Protocol):
    """Interface of the interpreter to a program's memory and kernels on a device."""

    def take(self, bytes_: int) -> int: ...

    def give_back(self, address: int) -> None: ...

    def constant(self, place: int) -> int: ...

    def random_key(self) -> int: ...

    def launch(self, kernel: int, blocks: int, arguments: Sequence[int | float], place: str) -> None: ...

    def read(self, address: int, bytes_: int) -> bytes: ...


#: Formats of numbers in memory for `struct`, by element type. relax.js has the same types.
READABLE = {
    "i1": "<b", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q", "index": "<q", "f32": "<f", "f64": "<d"
}  # fmt: skip


def failure(kind: str, message: str, numbers: Sequence[int], place: str) -> Exception:
    """Return the exception of a failed check."""
    for number in numbers:
        message = message.replace("{}", str(number), 1)
    found = getattr(builtins, kind, RuntimeError)
    error: Exception = found(f"{place}: {message}")
    return error


class Registers(Protocol):
    """Registers of a function: integers and floats. Each instruction knows which of both it reads."""

    def __getitem__(self, place: int, /) -> Any: ...

    def __setitem__(self, place: int, value: float, /) -> None: ...


class Run:
    """One call of a program."""

    def __init__(
        self,
        program: WebProgram,
        memory: ProgramMemory,
        packed: Callable[[str, Sequence[float | TensorArgument]], None],
    ) -> None:
        """Create a call. `packed` calls a function by name that is not part of the program."""
        self._functions, self._memory, self._call_packed = program["functions"], memory, packed
        self.given: dict[int, TensorResult] = {}

    def enter(self, function: HostCode, arguments: Sequence[int | float], place: str) -> None:
        registers: Registers = [*arguments, *[0] * (function["registers"] - len(arguments))]
        self._all(function["body"], registers, place)

    def _all(self, body: Sequence[list[Any]], registers: Registers, place: str) -> None:
        for name, *parts in body:
            if name in _INTEGERS:
                to, a, b, width = parts
                registers[to] = wrapped(_INTEGERS[name](registers[a], registers[b], width), width)
            elif name in _FLOATS:
                to, *given = parts
                registers[to] = _FLOATS[name](*(registers[each] for each in given))
            else:
                _OTHERS[name](self, registers, place, *parts)

    def _int(self, registers: Registers, _: str, to: int, text: str) -> None:
        registers[to] = int(text)

    def _float(self, registers: Registers, _: str, to: int, text: str) -> None:
        registers[to] = float(text)

    def _wrap(self, registers: Registers, _: str, to: int, value: int, width: int) -> None:
        registers[to] = wrapped(registers[value], width) if width > 1 else registers[value] & 1

    def _unsigned(self, registers: Registers, _: str, to: int, value: int, width: int) -> None:
        registers[to] = unsigned(registers[value], width)

    def _compare(self, registers: Registers, _: str, to: int, how: str, a: int, b: int) -> None:
        registers[to] = int(_COMPARE[how](registers[a], registers[b]))

    def _sitofp(self, registers: Registers, _: str, to: int, value: int) -> None:
        registers[to] = float(registers[value])

    def _fptosi(self, registers: Registers, _: str, to: int, value: int) -> None:
        registers[to] = _to_integer(registers[value])

    def _f32(self, registers: Registers, _: str, to: int, value: int) -> None:
        registers[to] = _to_f32(registers[value])

    def _move(self, registers: Registers, _: str, targets: list[int], sources: list[int]) -> None:
        values = [registers[source] for source in sources]
        for to, value in zip(targets, values, strict=True):
            registers[to] = value

    def _if(
        self, registers: Registers, place: str, condition: int, yes: Sequence[list[Any]], no: Sequence[list[Any]]
    ) -> None:
        self._all(yes if registers[condition] else no, registers, place)

    def _while(
        self, registers: Registers, place: str, before: Sequence[list[Any]], condition: int, body: Sequence[list[Any]]
    ) -> None:
        self._all(before, registers, place)
        while registers[condition]:
            self._all(body, registers, place)
            self._all(before, registers, place)

    def _call(self, registers: Registers, _: str, name: str, arguments: list[int], place: str) -> None:
        self.enter(self._functions[name], [registers[argument] for argument in arguments], place)

    def _packed(self, registers: Registers, _: str, name: str, arguments: list[Any]) -> None:
        def passed(dtype: str, address: int, sizes: list[int]) -> TensorArgument:
            return TensorArgument(dtype, registers[address], tuple(registers[size] for size in sizes))

        given = [passed(*argument) if isinstance(argument, list) else registers[argument] for argument in arguments]
        self._call_packed(name, given)

    def _constant(self, registers: Registers, _: str, to: int, place: int) -> None:
        registers[to] = self._memory.constant(place)

    def _random_key(self, registers: Registers, _: str, to: int) -> None:
        registers[to] = self._memory.random_key()

    def _alloc(self, registers: Registers, _: str, to: int, bytes_: int) -> None:
        registers[to] = self._memory.take(registers[bytes_])

    def _free(self, registers: Registers, _: str, address: int) -> None:
        if all(each.address != registers[address] for each in self.given.values()):
            self._memory.give_back(registers[address])

    def _load(self, registers: Registers, _: str, to: int, address: int, element: str) -> None:
        form = READABLE[element]
        data = self._memory.read(registers[address], struct.calcsize(form))
        (registers[to],) = struct.unpack(form, data)

    def _launch(self, registers: Registers, place: str, kernel: int, blocks: int, arguments: list[int]) -> None:
        self._memory.launch(kernel, registers[blocks], [registers[argument] for argument in arguments], place)

    def _assert(
        self, registers: Registers, place: str, condition: int, kind: str, message: str, numbers: list[int],
        own: str | None,
    ) -> None:  # fmt: skip
        if not registers[condition]:
            raise failure(kind, message, [registers[number] for number in numbers], own or place)

    def _give(self, registers: Registers, _: str, place: int, address: int, sizes: list[int], bytes_: int) -> None:
        shape = tuple(registers[size] for size in sizes)
        self.given[registers[place]] = TensorResult(registers[address], shape, bytes_)


_OTHERS: dict[str, Callable[..., None]] = {
    "int": Run._int,
    "float": Run._float,
    "wrap": Run._wrap,
    "unsigned": Run._unsigned,
    "cmpi": Run._compare,
    "cmpf": Run._compare,
    "sitofp": Run._sitofp,
    "fptosi": Run._fptosi,
    "f32": Run._f32,
    "move": Run._move,
    "if": Run._if,
    "while": Run._while,
    "call": Run._call,
    "packed": Run._packed,
    "constant": Run._constant,
    "random_key": Run._random_key,
    "alloc": Run._alloc,
    "free": Run._free,
    "load": Run._load,
    "launch": Run._launch,
    "assert": Run._assert,
    "give": Run._give,
}
