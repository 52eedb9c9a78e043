# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translation of a basic block of PTX to Python source in which each register is a numpy array over threads.

A register is an array of unsigned integers of its width (bool for predicates). The array has one element per active
thread, or a single element if all threads have the same value. Arrays are never changed in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy

from .ptx import WIDTHS, Instruction, PtxError, number_bytes, split_operands

#: The dtype that holds a PTX type, by its name in generated code.
DTYPES = {
    **{f"{kind}{bits}": f"U{bits // 8}" for kind in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": f"I{bits // 8}" for bits in (8, 16, 32, 64)},
    **{
        "f16": "F2",
        "bf16": "U2",
        "f32": "F4",
        "tf32": "U4",
        "f64": "F8",
        "pred": "B",
        "f16x2": "U4",
        "bf16x2": "U4",
        "f32x2": "U8",
    },
}
NUMPY = {name: numpy.dtype(f"<{name.lower()}") for name in "U1 U2 U4 U8 I1 I2 I4 I8 F2 F4 F8".split()}
NUMPY["B"] = numpy.dtype(bool)

Emit = Callable[["Coder", Instruction], None]
#: How instructions are written, by the first words of their names.
EMIT: dict[str, Emit] = {}


def emits(*names: str) -> Callable[[Emit], Emit]:
    def declare(emit: Emit) -> Emit:
        for name in names:
            EMIT[name] = emit
        return emit

    return declare


def emitter(instruction: Instruction) -> Emit:
    """Return the emitter for the longest known prefix of the instruction's name."""
    parts = instruction.parts
    for end in range(len(parts), 0, -1):
        found = EMIT.get(".".join(parts[:end]))
        if found is not None:
            return found
    raise unknown(instruction)


def unknown(instruction: Instruction, what: str = "") -> PtxError:
    return PtxError(
        f"line {instruction.line}: the emulator does not know {what or instruction.name!r}: {instruction.text}"
    )


def value_kind(instruction: Instruction) -> str:
    """Return the type at the end of the instruction's name."""
    for part in reversed(instruction.parts):
        if part in WIDTHS:
            return part
    raise unknown(instruction)


_ADDRESS = re.compile(r"\[\s*([^\s+\-\]]+)\s*(?:\+\s*)?(-?\s*\w+)?\s*\]")


class Coder:
    """Source of one basic block. `use` reads a register, and `set` writes one."""

    def __init__(
        self, registers: dict[str, str], numbers: dict[str, int], constants: dict[str, Any], sums: frozenset[str]
    ) -> None:
        self._registers = registers
        self._sums = sums  # registers that wgmma reads and adds to while their threads go on
        self._numbers = numbers
        self._constants = constants
        self._typed: dict[tuple[str, str], str] = {}
        self._fresh = 0
        self.lines: list[str] = []
        self.read_first: list[str] = []
        self.written: list[str] = []
        self.instruction: Instruction | None = None

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def temporary(self, expression: str) -> str:
        self._fresh += 1
        name = f"t{self._fresh}"
        self.lines.append(f"{name} = {expression}")
        return name

    def is_register(self, operand: str) -> bool:
        return operand in self._registers

    def kind_of(self, register: str) -> str:
        return self._registers[register]

    def number_of(self, register: str) -> int:
        return self._numbers[register]

    def _watch(self, register: str, does: str) -> None:
        """Emit a check that no wgmma in flight reads a register or adds to it."""
        if register in self._sums and self.instruction is not None and self.instruction.parts[0] != "wgmma":
            self.lines.append(f"m.warp_groups.check({self._numbers[register]}, {self._line}, {does!r})")

    def constant(self, value: Any, dtype: str) -> str:
        """Return the name of an array with one element."""
        array = (
            numpy.array([value], NUMPY[dtype])
            if not isinstance(value, bytes)
            else numpy.frombuffer(value, NUMPY[dtype])
        )
        name = f"K{dtype}_{array.tobytes().hex()}"
        self._constants[name] = array
        return name

    def immediate(self, operand: str, kind: str) -> str:
        if kind == "pred":
            return self.constant(int(operand, 0) != 0, "B")
        return self.constant(number_bytes(operand, WIDTHS[kind]), DTYPES[kind])

    def literal(self, operand: str) -> int | None:
        """Return an operand's number, or None for a register."""
        return int(operand.rstrip("U"), 0) if re.match(r"-?\d", operand) else None

    def use(self, operand: str, kind: str) -> str:
        """Return an expression for the operand as an array of the type's dtype."""
        dtype = DTYPES[kind]
        if operand in self._registers:
            return self._register(operand, dtype)
        if operand.startswith("!"):
            return f"(~{self.use(operand[1:], kind)})"
        if re.match(r"-?[\d.]", operand):
            return self.immediate(operand, kind)
        if operand.startswith("%"):
            return self._cast(self.temporary(f"m.special({operand!r})"), 4 if "64" not in operand else 8, dtype)
        if re.fullmatch(r"[\w$.@#]+(\s*\+\s*-?\d+)?", operand):
            name, _, addend = operand.partition("+")
            address = f"m.address({name.strip()!r}, {int(addend or '0')})"
            return self._cast(self.temporary(address), 8, dtype)
        raise PtxError(f"line {self._line}: {operand!r} is no operand that the emulator knows")

    @property
    def _line(self) -> int:
        return self.instruction.line if self.instruction else 0

    def _register(self, operand: str, dtype: str) -> str:
        self._watch(operand, "reads")
        number = self._numbers[operand]
        name = f"v{number}"
        if operand not in self.written and operand not in self.read_first:
            self.read_first.append(operand)
            self._typed[operand, ""] = name
        own = WIDTHS[self._registers[operand]]
        if dtype == "B" or self._registers[operand] == "pred":
            return self._raw(operand)
        known = self._typed.get((operand, dtype))
        if known is not None:
            return known
        if dtype == f"U{own}":
            return self._raw(operand)
        made = self._cast(self._raw(operand), own, dtype)
        self.lines.append(f"{name}_{dtype} = {made}")
        self._typed[operand, dtype] = f"{name}_{dtype}"
        return f"{name}_{dtype}"

    def _raw(self, operand: str) -> str:
        known = self._typed.get((operand, ""))
        if known is None:
            number = self._numbers[operand]
            typed = next(name for (register, _), name in self._typed.items() if register == operand)
            known = f"v{number}"
            self.lines.append(f"{known} = {typed}.view(U{WIDTHS[self._registers[operand]]})")
            self._typed[operand, ""] = known
        return known

    @staticmethod
    def _cast(raw: str, width: int, dtype: str) -> str:
        """Return an expression for the low bytes of an unsigned array, or for the zero-extended array, as the dtype."""
        wanted = int(dtype[1:])
        changed = raw if wanted == width else f"{raw}.astype(U{wanted})"
        return changed if dtype[0] == "U" else f"{changed}.view({dtype})"

    def set(self, operand: str, kind: str, expression: str) -> None:
        """Write an array of the type's dtype to a register, extended if the register is wider."""
        if operand == "_":
            self.lines.append(expression)
            return
        if operand not in self._registers:
            raise PtxError(f"line {self._line}: {operand!r} is no register")
        self._watch(operand, "writes")
        number = self._numbers[operand]
        for key in [key for key in self._typed if key[0] == operand]:
            del self._typed[key]
        own, dtype = self._registers[operand], DTYPES[kind]
        if operand not in self.written:
            self.written.append(operand)
        if own == "pred" or kind == "pred":
            if own != kind:
                raise PtxError(f"line {self._line}: {operand!r} is .{own}, what is written is .{kind}")
            self.lines.append(f"v{number} = {expression}")
            self._typed[operand, ""] = f"v{number}"
        elif WIDTHS[own] == WIDTHS[kind]:
            unsigned = dtype[0] == "U"
            name = f"v{number}" if unsigned else f"v{number}_{dtype}"
            self.lines.append(f"{name} = {expression}")
            self._typed[operand, "" if unsigned else dtype] = name
        elif WIDTHS[own] < WIDTHS[kind]:
            raise PtxError(f"line {self._line}: {operand!r} is .{own}, too narrow for .{kind}")
        else:
            wide = f"I{WIDTHS[own]}" if dtype[0] == "I" else f"U{WIDTHS[own]}"
            narrow = expression if dtype[0] in "UI" else f"({expression}).view(U{WIDTHS[kind]})"
            self.lines.append(f"v{number} = ({narrow}).astype({wide}).view(U{WIDTHS[own]})")
            self._typed[operand, ""] = f"v{number}"

    def finish(self, operand: str) -> str:
        """Return the register in the form that is stored between blocks."""
        return self._raw(operand)

    def address(self, operand: str) -> str:
        """Return an int64 array for `[%rd1+16]`, `[name+4]` or `[16]`."""
        match = _ADDRESS.fullmatch(operand)
        if match is None:
            raise PtxError(f"line {self._line}: {operand!r} is no address")
        base, offset = match[1], int((match[2] or "0").replace(" ", ""), 0)
        if base in self._registers and WIDTHS[self._registers[base]] == 4:
            found = f"{self.use(base, 'u32')}.astype(I8)"
        else:
            found = self.use(base, "s64")
        return f"({found} + {self.constant(offset, 'I8')})" if offset else found

    @staticmethod
    def elements(operand: str) -> list[str]:
        """Return both elements of `{a, b}`, or `a` itself."""
        return split_operands(operand[1:-1]) if operand.startswith("{") else [operand]
