# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translation of nests of loads, arithmetic and one store to instructions of the vector unit."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import relax_mlir as rx

from .isa import BYTES, FUNCTIONS, IMMEDIATE, REGISTER, REGISTERS, SCRATCHPAD, TYPES
from .program import Stream

#: The vector unit's functions by operation. Registers have wide numbers, so conversions to wide types are no-ops.
VECTOR_FUNCTIONS = {
    **{f"arith.{name}": name for name in FUNCTIONS},
    **{"arith.maximumf": "maxf", "arith.minimumf": "minf", "arith.maxsi": "maxi", "arith.minsi": "mini"},
    **{"arith.sitofp": "itof", "arith.extsi": "", "arith.extf": ""},
    **{f"npu_{name}": name for name in ("exp", "rsqrt", "recip", "ftob", "round", "narrow", "requantize")},
}
#: Part of the scratchpad that schedules must not use: it stages fills of outer memory.
STAGING = 4096
#: Functions with results in the range of narrow types. Limits of narrow numbers are such.
_NARROW = ("ftob", "narrow", "requantize", "maxi", "mini")
_REDUCING = ("addf", "maxf", "addi", "maxi")


class Ref(NamedTuple):
    """Buffer, or a part of one: the memory, the address in bytes, strides in bytes."""

    memory: str
    address: int
    strides: tuple[int, ...]
    element: str

    def at(self, indices: Sequence[int]) -> int:
        return self.address + sum(index * stride for index, stride in zip(indices, self.strides, strict=True))


@dataclass(eq=False)
class Node:
    """Operation, read once. Values are numbers."""

    name: str
    operands: list[int]
    results: list[int]
    op: Any
    element: str = ""
    body: list[Node] = field(default_factory=list)
    argument: int = -1


class Dim(NamedTuple):
    """Loop of a nest: steps, and the bytes that each access moves per step."""

    steps: int
    moves: tuple[int, ...]


class Nest:
    """Loads, arithmetic, and a store, at all steps of a nest."""

    def __init__(
        self,
        stream: Stream,
        nodes: Sequence[Node],
        env: dict[int, Any],
        refused: Callable[[str], rx.RelaxError],
        copy: Callable[[Ref, Ref, Sequence[Dim]], None],
    ):
        """Read a nest. `refused` creates the error for a reason; `copy` emits DMA."""
        self._stream, self._given, self._env, self._refused, self._dma = stream, nodes, env, refused, copy
        self._accesses = [node for node in nodes if node.name in ("memref.load", "memref.store")]
        self._refs = [env[node.operands[node.name == "memref.store"]] for node in self._accesses]
        if [node.name for node in self._accesses].count("memref.store") != 1 or nodes[-1].name != "memref.store":
            raise refused("a nest of loops stores more than one thing")

    def emit(self, dims: Sequence[Dim], places: Sequence[int]) -> None:
        memories = {ref.memory for ref in self._refs}
        if memories == {"dram"} and len(self._accesses) == 1:
            return self._fill(dims, places[0])
        if memories == {"dram"} and len(self._given) == 2:
            return self._outside(dims, places)
        if memories != {"sram"}:
            raise self._refused("the vector unit computes in the scratchpad alone; cache_read what it uses")
        self._steps = self._given[:-1]
        # The stored element does not move along reduced dimensions, and is read before.
        spatial = [dim for dim in dims if dim.moves[-1]]
        reduced = [dim for dim in dims if not dim.moves[-1]]
        if not reduced:
            for rows, columns, at in pieces(dims, places):
                self._compute(self._steps, self._accesses, rows, columns, at)
                self._store(rows, columns, at)
            return None
        return self._reduce(spatial, reduced, places)

    def _fill(self, dims: Sequence[Dim], address: int) -> None:
        """Fill outer memory with one number: a row of it is copied as often as needed."""
        (ref,) = self._refs
        size = BYTES[ref.element]
        contiguous = dims and dims[-1].moves == (size,) and dims[-1].steps * size <= STAGING
        *outer, last = dims if contiguous else [*dims, Dim(1, (size,))]
        self._registers, row, column = {}, Dim(1, (0,)), Dim(last.steps, (size,))
        staged = ("sram", SCRATCHPAD - STAGING), ("dram", address)
        self._store(row, column, [SCRATCHPAD - STAGING])
        source, target = (Ref(memory, at, (), ref.element) for memory, at in staged)
        self._dma(source, target, [*(Dim(dim.steps, (0, *dim.moves)) for dim in outer), Dim(last.steps, (size, size))])

    def _outside(self, dims: Sequence[Dim], places: Sequence[int]) -> None:
        """Copy from outer memory to outer memory, through the scratchpad."""
        size = BYTES[self._refs[0].element]
        contiguous = dims and dims[-1].moves == (size, size)
        *outer, last = dims if contiguous else [*dims, Dim(1, (size, size))]
        for source, target in starts(outer, places):
            for first in range(0, last.steps, STAGING // size):
                part = [Dim(min(STAGING // size, last.steps - first), (size, size))]
                staged = Ref("sram", SCRATCHPAD - STAGING, (), self._refs[0].element)
                self._dma(Ref("dram", source + first * size, (), staged.element), staged, part)
                self._dma(staged, Ref("dram", target + first * size, (), staged.element), part)

    # ---- registers ----

    def _compute(
        self, steps: Sequence[Node], accesses: Sequence[Node], rows: Dim, columns: Dim, at: Sequence[int]
    ) -> None:
        """Run each operation on all elements, in registers. A register is free after the last use of its value."""
        self._registers: dict[int, int] = {}
        wanted = [self._accesses[-1].operands[0]]
        last_use = {value: place for place, node in enumerate(steps) for value in node.operands}
        last_use.update(dict.fromkeys(wanted, len(steps)))
        for place, node in enumerate(steps):
            if node.name == "memref.load":
                register = self._free()
                number = self._accesses.index(node)
                self._vector_memory("VLOAD", self._refs[number].element, register, rows, columns, at[number], number)
            else:
                register = self._operation(node, rows, columns)
            self._registers[node.results[0]] = register
            for value in [each for each in self._registers if last_use.get(each, -1) <= place]:
                del self._registers[value]

    def _free(self) -> int:
        taken = set(self._registers.values())
        free = next((each for each in range(REGISTERS) if each not in taken), None)
        if free is None:
            raise self._refused(f"it needs more than {REGISTERS} registers of the vector unit")
        return free

    def _operation(self, node: Node, rows: Dim, columns: Dim) -> int:
        function = VECTOR_FUNCTIONS.get(node.name)
        # Numbers are wide in registers. Narrow ones are stored, or are the result of a function that narrows.
        is_wide = node.element in ("i32", "f32") or function in _NARROW
        if function is None or not is_wide:
            raise self._refused(f"the vector unit has no function for {node.name} of {node.element}")
        operands = [self._operand(value) for value in node.operands]
        if not function:
            return operands[0][0]
        register, count = self._free(), rows.steps * columns.steps
        if function == "requantize":
            self._requantize(register, operands, count)
        else:
            self._vop(function, register, operands, count)
        return register

    def _requantize(self, target: int, operands: Sequence[tuple[int, int]], count: int) -> None:
        *given, (_, mode), (_, result) = operands
        (sums, multiplier, shift, zero), (_, *immediates) = zip(*given, strict=True)
        fields = {"mode": mode, "target": target, "operands": sums | multiplier << 4, "others": shift | zero << 4}
        fields |= dict(zip(("multiplier", "shift", "zero"), immediates, strict=True))
        self._stream.add("VREQUANT", **fields, count=count, result=result)

    def _operand(self, value: int) -> tuple[int, int]:
        """Return a register, or the bits of an immediate."""
        if value in self._registers:
            return self._registers[value], 0
        return IMMEDIATE, _bits(self._env[value])

    def _vop(self, function: str, target: int, operands: Sequence[tuple[int, int]], count: int) -> None:
        registers, bits = zip(*operands, strict=True)
        fields = {
            "function": FUNCTIONS.index(function),
            "target": target,
            "operands": registers[0] | registers[-1] << 4,
        }
        self._stream.add("VOP", **fields, count=count, immediate=max(bits, key=bool))

    def _vector_memory(
        self, name: str, element: str, register: int, rows: Dim, columns: Dim, address: int, number: int
    ) -> None:
        fields = {"type": TYPES.index(element), "register": register, "address": address}
        sizes = {"rows": rows.steps, "columns": columns.steps}
        strides = {"row_stride": rows.moves[number], "column_stride": columns.moves[number]}
        self._stream.add(name, **fields, **sizes, **strides)

    def _store(self, rows: Dim, columns: Dim, at: Sequence[int]) -> None:
        (value, *_), number = self._accesses[-1].operands, len(self._accesses) - 1
        register, bits = self._operand(value)
        if register == IMMEDIATE:
            register = self._free()
            self._vop("copy", register, [(IMMEDIATE, bits)], rows.steps * columns.steps)
        self._vector_memory("VSTORE", self._refs[-1].element, register, rows, columns, at[-1], number)

    # ---- reductions ----

    def _reduce(self, spatial: Sequence[Dim], reduced: Sequence[Dim], places: Sequence[int]) -> None:
        """Reduce rows in registers, then combine the accumulator with the results."""
        combine = self._steps[-1]
        function = VECTOR_FUNCTIONS.get(combine.name)
        before = [
            place
            for place, (node, ref) in enumerate(zip(self._accesses, self._refs, strict=True))
            if node.name == "memref.load" and ref == self._refs[-1] and places[place] == places[-1]
        ]
        if function not in _REDUCING or not before or combine.results[0] != self._accesses[-1].operands[0]:
            raise self._refused(f"the vector unit reduces by {', '.join(_REDUCING)} alone, not by {combine.name}")
        accumulator = self._accesses[before[0]]
        (value,) = [each for each in combine.operands if each != accumulator.results[0]]
        steps = [node for node in self._steps[:-1] if node is not accumulator]
        *outer, columns = reduced
        for start in starts(outer, places):
            for rows, row, at in pieces([*spatial, columns], start, rows_only=True):
                stored, self._accesses[-1].operands[0] = self._accesses[-1].operands[0], value
                self._compute(steps, self._accesses, rows, row, at)
                self._accesses[-1].operands[0] = stored
                register, one = self._registers[value], Dim(1, (0,) * len(at))
                fields = {"function": FUNCTIONS.index(function), "target": register, "operands": register}
                self._stream.add("VREDUCE", **fields, rows=rows.steps, columns=row.steps)
                other = self._free()
                element = self._refs[-1].element
                self._vector_memory("VLOAD", element, other, rows, one, at[-1], len(at) - 1)
                self._vop(function, other, [(other, 0), (register, 0)], rows.steps)
                self._vector_memory("VSTORE", element, other, rows, one, at[-1], len(at) - 1)


def merged(dims: Sequence[Dim]) -> list[Dim]:
    """Return the loops without loops of one step. Contiguous pairs of loops are merged."""
    found: list[Dim] = []
    for dim in dims:
        if dim.steps == 1:
            continue
        if found and all(a == b * dim.steps for a, b in zip(found[-1].moves, dim.moves, strict=True)):
            found[-1] = Dim(found[-1].steps * dim.steps, dim.moves)
        else:
            found.append(dim)
    return found


def starts(dims: Sequence[Dim], places: Sequence[int]) -> Iterator[list[int]]:
    if not dims:
        yield list(places)
        return
    for step in range(dims[0].steps):
        moved = [place + step * move for place, move in zip(places, dims[0].moves, strict=True)]
        yield from starts(dims[1:], moved)


def pieces(
    dims: Sequence[Dim], places: Sequence[int], *, rows_only: bool = False
) -> Iterator[tuple[Dim, Dim, list[int]]]:
    """Yield rows, columns and start addresses of pieces that fit in a register."""
    one = Dim(1, (0,) * len(places))
    *outer, rows, columns = [one, one, *dims]
    width = min(columns.steps, REGISTER)
    height = max(REGISTER // width, 1)
    for start in starts(outer, places):
        for row in range(0, rows.steps, height):
            for column in range(0, columns.steps, width):
                moves = zip(start, rows.moves, columns.moves, strict=True)
                at = [place + row * down + column * across for place, down, across in moves]
                yield (
                    Dim(min(height, rows.steps - row), rows.moves),
                    Dim(min(width, columns.steps - column), columns.moves),
                    at,
                )


def _bits(value: float) -> int:
    return int(value) if isinstance(value, int) else struct.unpack("<i", struct.pack("<f", value))[0]
