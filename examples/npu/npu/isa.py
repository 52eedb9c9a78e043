# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The eleven instructions and their encoding: eight words of 32 bits each, little endian (data_sheet.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

SCRATCHPAD = 256 << 10
BANKS = 16
#: Rows and columns of the array. Its operands are aligned to as many bytes.
ARRAY = 16
#: Numbers of 32 bits that the vector unit computes per cycle, its number of registers, and the numbers per register.
LANES, REGISTERS, REGISTER = 64, 8, 2048
#: Number of instructions in an engine's queue.
QUEUE = 64

ENGINES = ("load", "store", "array", "vector")
#: Name -> engine, and the words after the first. The first word has four bytes: opcode, then the fields in FLAGS.
INSTRUCTIONS = {
    "DMA_LOAD": ("load", "dram sram rows bytes dram_stride sram_stride"),
    "DMA_STORE": ("store", "dram sram rows bytes dram_stride sram_stride"),
    "LOAD_WEIGHTS": ("array", "source rows columns row_stride column_stride"),
    "MATMUL": ("array", "source target counts source_inner source_outer target_inner target_outer"),
    "VLOAD": ("vector", "address rows columns row_stride column_stride"),
    "VSTORE": ("vector", "address rows columns row_stride column_stride"),
    "VOP": ("vector", "count immediate"),
    "VREDUCE": ("vector", "rows columns"),
    "VREQUANT": ("vector", "count result others multiplier shift zero"),
    "WAIT": (None, "count"),
    "HALT": (None, ""),
}
#: The three bytes after the opcode.
FLAGS = {
    "LOAD_WEIGHTS": "type",
    "MATMUL": "type accumulate",
    "VLOAD": "type register",
    "VSTORE": "type register",
    "VOP": "function target operands",
    "VREDUCE": "function target operands",
    "VREQUANT": "mode target operands",
    "WAIT": "engine other",
}
TYPES = ("i8", "bf16", "i32", "f32", "i16")
BYTES = {"i8": 1, "bf16": 2, "i32": 4, "f32": 4, "i16": 2}
#: Functions of VOP: on floats, on integers, and between them. VREDUCE has the first two of each.
FUNCTIONS = tuple(
    "addf maxf subf mulf divf minf negf exp rsqrt recip "
    "addi maxi subi muli mini itof ftoi ftob round narrow copy".split()
)
#: Functions with one operand.
UNARY = frozenset("negf exp rsqrt recip itof ftoi ftob round narrow copy".split())
#: VREQUANT: forms of multipliers with their fractional bits, rounding modes, and types of results.
FRACTION_BITS = {"float": 0, "q31": 31, "q15": 15, "power_of_two": 0}
FORMS = tuple(FRACTION_BITS)
ROUNDINGS = tuple("half_even half_up half_down half_away half_to_zero up down to_zero".split())
RESULTS = tuple("i8 u8 i16 u16 i32 u32 i4 u4 i2 u2".split())
#: Shifts of VREQUANT are from -SHIFT, to the left, to SHIFT.
SHIFT = 31
#: Encoding of the immediate in place of an operand's register.
IMMEDIATE = 15
_OPCODES = tuple(INSTRUCTIONS)
_FORMAT = struct.Struct("<4B7i")
BYTES_EACH = _FORMAT.size


class Instruction(NamedTuple):
    name: str
    fields: dict[str, int]

    @property
    def engine(self) -> str | None:
        return INSTRUCTIONS[self.name][0]

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{name}={value}" for name, value in self.fields.items())])


class Mode(NamedTuple):
    """Byte `mode` of VREQUANT: numbers in FORMS and ROUNDINGS, and two bits."""

    form: int
    rounding: int
    saturate: bool = True
    is_double: bool = False

    @property
    def byte(self) -> int:
        return self.form | self.rounding << 2 | self.saturate << 5 | self.is_double << 6

    @staticmethod
    def of(byte: int) -> Mode:
        return Mode(byte & 3, byte >> 2 & 7, bool(byte & 32), bool(byte & 64))


def encode(instruction: Instruction) -> bytes:
    name, fields = instruction
    flags, words = FLAGS.get(name, "").split(), INSTRUCTIONS[name][1].split()
    if set(fields) != {*flags, *words}:
        raise ValueError(f"{name} has the fields {' '.join([*flags, *words])}, not {' '.join(fields)}")
    first = [fields[flag] for flag in flags]
    rest = [fields[word] for word in words]
    padded = [*first, *[0] * (3 - len(first)), *rest, *[0] * (7 - len(rest))]
    return _FORMAT.pack(_OPCODES.index(name), *padded)


def decode(data: bytes) -> Iterator[Instruction]:
    if len(data) % BYTES_EACH:
        raise ValueError(f"a program is a multiple of {BYTES_EACH} bytes, not {len(data)}")
    for opcode, *values in _FORMAT.iter_unpack(data):
        if opcode >= len(_OPCODES):
            raise ValueError(f"no instruction has the opcode {opcode}")
        name = _OPCODES[opcode]
        flags, words = FLAGS.get(name, "").split(), INSTRUCTIONS[name][1].split()
        fields = dict(zip(flags, values[:3], strict=False)) | dict(zip(words, values[3:], strict=False))
        yield Instruction(name, fields)


def assemble(instructions: Iterable[Instruction]) -> bytes:
    return b"".join(map(encode, instructions))
