# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stream of instructions with its WAITs, and the memory of the program."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import NamedTuple

from .isa import BYTES, ENGINES, INSTRUCTIONS, TYPES, Instruction, assemble

#: Memory operands of each instruction: memory, address field, pairs of a size and a stride with the contiguous size,
#: and whether it is written.
_PARTS = {
    "DMA_LOAD": [("dram", "dram", "rows dram_stride", False), ("sram", "sram", "rows sram_stride", True)],
    "DMA_STORE": [("dram", "dram", "rows dram_stride", True), ("sram", "sram", "rows sram_stride", False)],
    "LOAD_WEIGHTS": [("sram", "source", "rows row_stride columns column_stride", False)],
    "MATMUL": [
        ("sram", "source", "inner source_inner outer source_outer", False),
        ("sram", "target", "inner target_inner outer target_outer", True),
    ],
    "VLOAD": [("sram", "address", "rows row_stride columns column_stride", False)],
    "VSTORE": [("sram", "address", "rows row_stride columns column_stride", True)],
}


class Stream:
    """Instructions in order. An instruction waits for earlier ones of other engines that access the same memory."""

    def __init__(self) -> None:
        self.code: list[Instruction] = []
        #: (engine, memory) -> the accessed ranges (from, to, written), each with the number of its last instruction.
        self._parts: dict[tuple[str, str], dict[tuple[int, int, bool], int]] = {}
        #: Number of instructions of each other engine that an engine knows to have ended, now and at each instruction's
        #: start.
        self._known = {engine: dict.fromkeys(ENGINES, 0) for engine in ENGINES}
        self._history: dict[str, list[dict[str, int]]] = {engine: [] for engine in ENGINES}

    def add(self, name: str, **fields: int) -> None:
        engine = INSTRUCTIONS[name][0]
        if engine is not None:
            for other, count in self._needed(engine, name, fields).items():
                if count > self._known[engine][other]:
                    self._wait(engine, other, count)
            self._history[engine].append(dict(self._known[engine]))
        self.code.append(Instruction(name, fields))

    def _needed(self, engine: str, name: str, fields: dict[str, int]) -> dict[str, int]:
        """Return the number of instructions of each other engine that must have ended before this one begins."""
        needed: dict[str, int] = {}
        for memory, address, sizes, is_written in _PARTS.get(name, ()):
            low, high = _bounds(fields, address, sizes)
            for other in ENGINES:
                for (begin, end, written), order in self._parts.get((other, memory), {}).items():
                    if other != engine and begin < high and low < end and (is_written or written):
                        needed[other] = max(needed.get(other, 0), order + 1)
            self._parts.setdefault((engine, memory), {})[low, high, is_written] = len(self._history[engine])
        return needed

    def _wait(self, engine: str, other: str, count: int) -> None:
        numbers = {"engine": ENGINES.index(engine), "other": ENGINES.index(other), "count": count}
        self.code.append(Instruction("WAIT", numbers))
        learned = {**self._history[other][count - 1], other: count}
        self._known[engine] = {each: max(known, learned[each]) for each, known in self._known[engine].items()}
        done = min(self._known[each][other] for each in ENGINES if each != other)
        for memory in ("sram", "dram"):  # ranges that every engine has waited for are dropped
            parts = self._parts.get((other, memory), {})
            self._parts[other, memory] = {part: order for part, order in parts.items() if order >= done}


def _bounds(fields: dict[str, int], address: str, sizes: str) -> tuple[int, int]:
    known = dict(fields)
    contiguous = fields.get("bytes", 0)
    if "type" in fields:
        contiguous = BYTES[TYPES[fields["type"]]]
    if "counts" in fields:
        known |= {"inner": fields["counts"] & 0xFFFF, "outer": fields["counts"] >> 16}
        contiguous = 16 * (4 if address == "target" else contiguous)
    low, high = fields[address], fields[address] + contiguous
    names = sizes.split()
    for size, stride in zip(names[::2], names[1::2], strict=True):
        reach = (known[size] - 1) * known[stride]
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high


class Tensor(NamedTuple):
    """Tensor in the memory that the host can access."""

    address: int
    shape: Sequence[int]
    dtype: str


class Program(NamedTuple):
    """Program for the runtime: code, constants, positions of arguments, and the instructions of each layer."""

    code: Sequence[Instruction]
    #: First bytes of the memory, and its size.
    constants: bytes
    size: int
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    #: Operators, nodes and first instruction of each layer.
    layers: Sequence[tuple[str, str, int]]

    def encode(self) -> bytes:
        code = assemble(self.code)
        fields = {name: getattr(self, name) for name in ("size", "inputs", "outputs", "layers")}
        header = json.dumps({**fields, "code": len(code)}).encode()
        return struct.pack("<I", len(header)) + header + code + self.constants
