# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ten instructions and how they are encoded: eight words of 32 bits each, little endian (data_sheet.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

SCRATCHPAD = 256 << 10
BANKS = 16
#: Rows and columns of the array; what it reads begins at multiples of as many bytes.
ARRAY = 16
#: Numbers of 32 bits that the vector unit works on in a cycle, its registers, and how many numbers one holds.
LANES, REGISTERS, REGISTER = 64, 8, 2048
#: Instructions that an engine's queue holds.
QUEUE = 64

ENGINES = ("load", "store", "array", "vector")
#: Name -> engine, and the words behind the first. The first word's bytes: opcode, then the fields in FLAGS.
INSTRUCTIONS = {
    "DMA_LOAD": ("load", "dram sram rows bytes dram_stride sram_stride"),
    "DMA_STORE": ("store", "dram sram rows bytes dram_stride sram_stride"),
    "LOAD_WEIGHTS": ("array", "source rows columns row_stride column_stride"),
    "MATMUL": ("array", "source target counts source_inner source_outer target_inner target_outer"),
    "VLOAD": ("vector", "address rows columns row_stride column_stride"),
    "VSTORE": ("vector", "address rows columns row_stride column_stride"),
    "VOP": ("vector", "count immediate"),
    "VREDUCE": ("vector", "rows columns"),
    "WAIT": (None, "count"),
    "HALT": (None, ""),
}
#: The three bytes behind the opcode.
FLAGS = {
    "LOAD_WEIGHTS": "type",
    "MATMUL": "type accumulate",
    "VLOAD": "type register",
    "VSTORE": "type register",
    "VOP": "function target operands",
    "VREDUCE": "function target operands",
    "WAIT": "engine other",
}
TYPES = ("i8", "bf16", "i32", "f32")
BYTES = {"i8": 1, "bf16": 2, "i32": 4, "f32": 4}
#: Functions of VOP: of floats, of integers, and between them. VREDUCE has the first two of each.
FUNCTIONS = tuple(
    "addf maxf subf mulf divf minf negf exp rsqrt recip "
    "addi maxi subi muli mini itof ftoi ftob round narrow copy".split()
)
#: Those of one operand.
UNARY = frozenset("negf exp rsqrt recip itof ftoi ftob round narrow copy".split())
#: In place of an operand's register: the immediate.
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
