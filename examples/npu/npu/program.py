# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stream of instructions, with its WAITs, and the memory that it runs in."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import NamedTuple

from .isa import BYTES, ENGINES, INSTRUCTIONS, TYPES, Instruction, assemble

#: For each instruction where its operands are: the field of the address, pairs of a size and a stride, what is
#: contiguous, whether it is written.
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


class Access(NamedTuple):
    order: int
    low: int
    high: int
    is_written: bool


class Stream:
    """Instructions in their order; each waits for those of other engines that come to the same memory before it."""

    def __init__(self) -> None:
        self.code: list[Instruction] = []
        self._count = dict.fromkeys(ENGINES, 0)
        #: (engine, memory) -> what its instructions have come to; and which of them another engine has waited for.
        self._accesses: dict[tuple[str, str], list[Access]] = {}
        self._known = {engine: dict.fromkeys(ENGINES, 0) for engine in ENGINES}

    def add(self, name: str, **fields: int) -> None:
        engine = INSTRUCTIONS[name][0]
        if engine is not None:
            self._wait(engine, name, fields)
            self._count[engine] += 1
        self.code.append(Instruction(name, fields))

    def _wait(self, engine: str, name: str, fields: dict[str, int]) -> None:
        order, waits = self._count[engine], dict.fromkeys(ENGINES, 0)
        for memory, address, sizes, is_written in _PARTS.get(name, ()):
            low, high = _bounds(fields, address, sizes)
            for other in ENGINES:
                if other == engine:
                    continue
                for access in self._accesses.get((other, memory), ()):
                    overlaps = access.low < high and low < access.high
                    if overlaps and (is_written or access.is_written):
                        waits[other] = max(waits[other], access.order + 1)
            self._accesses.setdefault((engine, memory), []).append(Access(order, low, high, is_written))
        for other, count in waits.items():
            if count > self._known[engine][other]:
                self._known[engine][other] = count
                self.code.append(
                    Instruction("WAIT", {"engine": ENGINES.index(engine), "other": ENGINES.index(other), "count": count})
                )
                self._forget(other)

    def _forget(self, engine: str) -> None:
        """What all others have waited for."""
        done = min(self._known[other][engine] for other in ENGINES if other != engine)
        for (owner, memory), accesses in self._accesses.items():
            if owner == engine and accesses and accesses[0].order < done:
                self._accesses[owner, memory] = [access for access in accesses if access.order >= done]


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
    """Of the memory that the host sees: where, and what."""

    address: int
    shape: Sequence[int]
    dtype: str


class Program(NamedTuple):
    """What the runtime is given: code, what constants are, where arguments go, and which layer each part is."""

    code: Sequence[Instruction]
    #: The memory's first bytes; its size.
    constants: bytes
    size: int
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    #: Of each layer: its operators and nodes, and its first instruction.
    layers: Sequence[tuple[str, str, int]]

    def encode(self) -> bytes:
        code = assemble(self.code)
        fields = {name: getattr(self, name) for name in ("size", "inputs", "outputs", "layers")}
        header = json.dumps({**fields, "code": len(code)}).encode()
        return struct.pack("<I", len(header)) + header + code + self.constants
