# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulator of the machine in data_sheet.md: runs a program, counts cycles, and stops at undefined behavior."""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy

from .isa import (
    ARRAY,
    BYTES,
    BYTES_EACH,
    ENGINES,
    FORMS,
    FUNCTIONS,
    IMMEDIATE,
    LANES,
    QUEUE,
    REGISTER,
    REGISTERS,
    RESULTS,
    SCRATCHPAD,
    SHIFT,
    TYPES,
    UNARY,
    Mode,
    decode,
)
from .requantizer import requantize

NUMPY = {"i8": numpy.int8, "bf16": ml_dtypes.bfloat16, "i32": numpy.int32, "f32": numpy.float32}
NUMPY["i16"] = numpy.int16
_FLOAT, _INT = numpy.float32, numpy.int32
_OF_INTEGERS = frozenset("addi maxi subi muli mini itof copy".split())


class MachineError(Exception):
    """Program with a violation of the data sheet: the instruction, and the violation."""


class Cycles(NamedTuple):
    """Cycles of a run: in total, per busy engine, and by instruction."""

    total: int
    busy: dict[str, int]
    #: For each instruction, the cycle in which it and all before it have ended.
    at: numpy.ndarray
    #: For each instruction, the number of rows of 16 multiplied by 16 x 16: the cycles of an array without gaps.
    rows: numpy.ndarray

    def between(self, first: int, end: int) -> tuple[int, int]:
        """Return the cycles, and the array's rows, of the instructions from `first` to before `end`."""
        start = self.at[first - 1] if first else 0
        return int(self.at[end - 1] - start), int(self.rows[first:end].sum())


class _Memory:
    """Bytes with their state: whether each was written, and each engine's last access to it."""

    def __init__(self, name: str, data: numpy.ndarray, initialised: int):
        self.name, self.data = name, data
        self.written = numpy.arange(len(data)) < initialised
        self.writes, self.reads = ({engine: numpy.full(len(data), -1, _INT) for engine in ENGINES} for _ in range(2))


class _Part(NamedTuple):
    """Rows of rows of contiguous bytes."""

    memory: _Memory
    start: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, array: numpy.ndarray) -> numpy.ndarray:
        """Return a view of an array with one item per byte of the memory."""
        strides = tuple(stride * array.itemsize for stride in (*self.strides, 1))
        return numpy.lib.stride_tricks.as_strided(array[self.start :], self.sizes, strides)


class Simulator:
    """Machine. `dram` is the host's memory, which programs read and write."""

    def __init__(self, dram: numpy.ndarray, initialised: int | None = None):
        self.dram = _Memory("DRAM", dram, len(dram) if initialised is None else initialised)
        self.scratchpad = _Memory("the scratchpad", numpy.zeros(SCRATCHPAD, numpy.uint8), 0)
        self.registers = numpy.zeros((REGISTERS, REGISTER), _INT)
        self.held = [0] * REGISTERS
        self.weights: numpy.ndarray | None = None

    def run(self, program: bytes) -> Cycles:
        #: For each engine, the end times of its instructions. Further, the number of other engines' instructions that
        #: it knows to have ended, now and at the start of each of its instructions.
        ends: dict[str, list[int]] = {engine: [0] for engine in ENGINES}
        known = {engine: dict.fromkeys(ENGINES, 0) for engine in ENGINES}
        history: dict[str, list[dict[str, int]]] = {engine: [] for engine in ENGINES}
        free, busy = dict.fromkeys(ENGINES, 0), dict.fromkeys(ENGINES, 0)
        count = len(program) // BYTES_EACH
        at, rows = numpy.zeros(count, numpy.int64), numpy.zeros(count, numpy.int64)
        now = last = 0
        for number, instruction in enumerate(decode(program)):
            self._instruction, self._number = instruction, number
            now += 1
            if instruction.name == "HALT":
                at[number] = max(now, last)
                return Cycles(int(at[number]), busy, at, rows)
            if instruction.name == "WAIT":
                engine, other, done = (instruction.fields[name] for name in ("engine", "other", "count"))
                waiting, awaited = ENGINES[engine], ENGINES[other]
                if not 0 < done < len(ends[awaited]):
                    raise self._fault(f"the {waiting} engine would wait forever: {awaited} has no instruction {done}")
                free[waiting] = max(free[waiting], now, ends[awaited][done])
                for each, learned in history[awaited][done - 1].items():
                    known[waiting][each] = max(known[waiting][each], learned)
                known[waiting][awaited] = max(known[waiting][awaited], done)
                at[number] = last
                continue
            name = instruction.engine
            assert name is not None
            order = len(ends[name]) - 1
            if order >= QUEUE:  # the queue is full until an earlier instruction has ended
                now = max(now, ends[name][order - QUEUE + 1])
            self._engine, self._order, self._known = name, order, known[name]
            # Engines with instructions that may still be running.
            self._others = [each for each in ENGINES if each != name and known[name][each] < len(history[each])]
            cycles = getattr(self, instruction.name.lower())(**instruction.fields)
            free[name] = max(now, free[name]) + cycles
            ends[name].append(free[name])
            history[name].append(dict(known[name]))
            busy[name] += cycles
            at[number] = last = max(last, free[name])
            if instruction.name == "MATMUL":
                rows[number] = cycles - 4
        raise MachineError("the program has no HALT")

    # ---- memory ----

    def _fault(self, problem: str) -> MachineError:
        return MachineError(f"instruction {self._number}, {self._instruction}: {problem}")

    def _part(
        self, memory: _Memory, start: int, sizes: tuple[int, ...], strides: tuple[int, ...], align: int = 1
    ) -> _Part:
        """Return a part of a memory. The last size counts contiguous bytes."""
        if min(sizes) < 1:
            raise self._fault(f"sizes {sizes} are at least 1")
        if start % align or any(stride % align for stride, size in zip(strides, sizes, strict=False) if size > 1):
            raise self._fault(f"{memory.name} is used at {start} with the strides {strides}, not multiples of {align}")
        reach = [(size - 1) * stride for size, stride in zip(sizes, strides, strict=False)]
        low, end = (start + sum(pick(each, 0) for each in reach) for pick in (min, max))
        end += sizes[-1]
        if low < 0 or end > len(memory.data):
            raise self._fault(f"out of bounds: {memory.name} has {len(memory.data)} bytes, {low} to {end} are used")
        return _Part(memory, start, sizes, strides)

    def _read(self, part: _Part) -> numpy.ndarray:
        memory = part.memory
        if not part.of(memory.written).all():
            raise self._fault(f"reads {memory.name} from {part.start} on, where nothing was written")
        self._check(part, memory.writes, "reads what the {} engine writes")
        part.of(memory.reads[self._engine])[...] = self._order
        return numpy.ascontiguousarray(part.of(memory.data))

    def _write(self, part: _Part, data: numpy.ndarray) -> None:
        memory = part.memory
        self._check(part, memory.writes, "writes what the {} engine writes, too,")
        self._check(part, memory.reads, "writes what the {} engine reads")
        part.of(memory.data)[...] = data
        part.of(memory.written)[...] = True
        part.of(memory.writes[self._engine])[...] = self._order

    def _check(self, part: _Part, last: dict[str, numpy.ndarray], what: str) -> None:
        for engine in self._others:
            if part.of(last[engine]).max() >= self._known[engine]:
                raise self._fault(f"race in {part.memory.name}: {what.format(engine)} without a WAIT between them")

    # ---- DMA ----

    def dma_load(self, dram: int, sram: int, rows: int, bytes: int, dram_stride: int, sram_stride: int) -> int:
        data = self._read(self._part(self.dram, dram, (rows, bytes), (dram_stride,)))
        self._write(self._part(self.scratchpad, sram, (rows, bytes), (sram_stride,)), data)
        return 40 + rows * -(-bytes // 32)

    def dma_store(self, dram: int, sram: int, rows: int, bytes: int, dram_stride: int, sram_stride: int) -> int:
        data = self._read(self._part(self.scratchpad, sram, (rows, bytes), (sram_stride,)))
        self._write(self._part(self.dram, dram, (rows, bytes), (dram_stride,)), data)
        return 40 + rows * -(-bytes // 32)

    # ---- array ----

    def load_weights(self, type: int, source: int, rows: int, columns: int, row_stride: int, column_stride: int) -> int:
        kind = TYPES[type]
        if kind not in ("i8", "bf16") or rows > ARRAY or columns > ARRAY:
            raise self._fault(f"the array takes at most {ARRAY} x {ARRAY} of i8 or bf16")
        sizes, strides = (rows, columns, BYTES[kind]), (row_stride, column_stride)
        loaded = self._read(self._part(self.scratchpad, source, sizes, strides, BYTES[kind]))
        self.weights = numpy.zeros((ARRAY, ARRAY), NUMPY[kind])
        self.weights[:rows, :columns] = loaded.view(NUMPY[kind])[:, :, 0]
        return ARRAY

    def matmul(
        self,
        type: int,
        accumulate: int,
        source: int,
        target: int,
        counts: int,
        source_inner: int,
        source_outer: int,
        target_inner: int,
        target_outer: int,
    ) -> int:
        kind, inner, outer = TYPES[type], counts & 0xFFFF, counts >> 16
        total = _INT if kind == "i8" else _FLOAT
        if self.weights is None or self.weights.dtype != NUMPY[kind]:
            raise self._fault("no weights of this type are loaded")
        read = (outer, inner, ARRAY * BYTES[kind])
        part = self._part(self.scratchpad, source, read, (source_outer, source_inner), ARRAY)
        factors = self._read(part).view(NUMPY[kind]).reshape(-1, ARRAY).astype(total)
        written = (outer, inner, ARRAY * 4)
        part = self._part(self.scratchpad, target, written, (target_outer, target_inner), ARRAY)
        sums = numpy.zeros((len(factors), ARRAY), total)
        if accumulate:
            sums[...] = self._read(part).view(total).reshape(-1, ARRAY)
        weights = self.weights.astype(total)
        if kind == "i8":  # exact in f32 in any order, below 2 ** 24
            products = factors.astype(_FLOAT) @ weights.astype(_FLOAT)
            sums += products.astype(_INT)
        else:
            for k in range(ARRAY):  # down the columns: one product after the other
                sums = sums + factors[:, k : k + 1] * weights[k]
        self._write(part, sums.view(numpy.uint8).reshape(written))
        return outer * inner + 4

    # ---- vector ----

    def vload(
        self, type: int, register: int, address: int, rows: int, columns: int, row_stride: int, column_stride: int
    ) -> int:
        kind = TYPES[type]
        size = BYTES[kind]
        self._hold(register, rows * columns)
        part = self._part(self.scratchpad, address, (rows, columns, size), (row_stride, column_stride), size)
        loaded = self._read(part).view(NUMPY[kind]).reshape(-1)
        wide = loaded.astype(_FLOAT if kind in ("bf16", "f32") else _INT)
        self.registers[register, : rows * columns] = wide.view(_INT)
        return self._passes(rows, columns, column_stride, size)

    def vstore(
        self, type: int, register: int, address: int, rows: int, columns: int, row_stride: int, column_stride: int
    ) -> int:
        kind = TYPES[type]
        size = BYTES[kind]
        held = self._held(register, rows * columns, _FLOAT if kind in ("bf16", "f32") else _INT)
        if kind in ("i8", "i16"):
            held = held.clip(-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1)
        data = held.astype(NUMPY[kind]).reshape(rows, columns, 1)
        part = self._part(self.scratchpad, address, (rows, columns, size), (row_stride, column_stride), size)
        self._write(part, data.view(numpy.uint8))
        return self._passes(rows, columns, column_stride, size)

    def vop(self, function: int, target: int, operands: int, count: int, immediate: int) -> int:
        name = FUNCTIONS[function]
        if not 0 < count <= REGISTER:
            raise self._fault(f"a register holds 1 to {REGISTER} numbers")
        type_ = _INT if name in _OF_INTEGERS else _FLOAT
        constant = numpy.full(count, immediate, _INT).view(type_)
        numbers = operands & 15, operands & 15 if name in UNARY else operands >> 4
        a, b = (constant if each == IMMEDIATE else self._held(each, count, type_) for each in numbers)
        with numpy.errstate(all="ignore"):
            result = evaluate(name, a, b)
        self._hold(target, count)
        self.registers[target, :count] = result.view(_INT)
        return 2 + -(-count // LANES)

    def vrequant(
        self,
        mode: int,
        target: int,
        operands: int,
        count: int,
        result: int,
        others: int,
        multiplier: int,
        shift: int,
        zero: int,
    ) -> int:
        how = Mode.of(mode)
        if how.byte != mode or result >= len(RESULTS) or (how.is_double and FORMS[how.form] != "q31"):
            raise self._fault("there is no such mode, or result")
        if not 0 < count <= REGISTER:
            raise self._fault(f"a register holds 1 to {REGISTER} numbers")
        given = []
        numbers = operands & 15, operands >> 4, others & 15, others >> 4
        for register, immediate in zip(numbers, (0, multiplier, shift, zero), strict=True):
            constant = numpy.full(count, immediate, _INT)
            given.append(constant if register == IMMEDIATE else self._held(register, count, _INT))
        if FORMS[how.form] != "float" and abs(given[2].astype(numpy.int64)).max() > SHIFT:
            raise self._fault(f"shifts are from -{SHIFT} to {SHIFT}")
        made = requantize(how, RESULTS[result], *given)
        self._hold(target, count)
        self.registers[target, :count] = made
        return 4 + -(-count // LANES)

    def vreduce(self, function: int, target: int, operands: int, rows: int, columns: int) -> int:
        name = FUNCTIONS[function]
        if name not in ("addf", "maxf", "addi", "maxi"):
            raise self._fault(f"rows are not reduced by {name}")
        type_ = _INT if name.endswith("i") else _FLOAT
        result = reduced(name, self._held(operands & 15, rows * columns, type_).reshape(rows, columns))
        self._hold(target, rows)
        self.registers[target, :rows] = result.view(_INT)
        return 2 + rows * (-(-columns // LANES) + 1)

    def _hold(self, register: int, count: int) -> None:
        if register >= REGISTERS or not 0 < count <= REGISTER:
            raise self._fault(f"there are {REGISTERS} registers of {REGISTER} numbers")
        self.held[register] = count

    def _held(self, register: int, count: int, type_: type) -> numpy.ndarray:
        if register >= REGISTERS or not 0 < count <= self.held[register]:
            raise self._fault(f"reads {count} numbers of register {register}, which holds fewer")
        return self.registers[register, :count].view(type_)

    def _passes(self, rows: int, columns: int, stride: int, size: int) -> int:
        """Return the cycles of an access. Elements that are not contiguous come from one bank each."""
        lanes = LANES if stride in (0, size) or columns == 1 else LANES // 4
        return 2 + -(-rows * columns // lanes)


# ---- results of functions: in f32, rounded once ----


def evaluate(name: str, a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    wide = a.astype(numpy.float64)
    if name == "exp":
        return numpy.exp(wide).astype(_FLOAT)
    if name == "rsqrt":
        return (1.0 / numpy.sqrt(wide)).astype(_FLOAT)
    if name == "recip":
        return (1.0 / wide).astype(_FLOAT)
    if name == "itof":
        return a.astype(_FLOAT)
    if name == "ftoi":
        return numpy.rint(numpy.nan_to_num(wide)).clip(-(2**31), 2**31 - 1).astype(_INT)
    if name == "ftob":
        return numpy.rint(numpy.nan_to_num(wide)).clip(-128, 127).astype(_INT)
    if name == "round":
        return numpy.rint(a)
    if name == "narrow":
        return a.astype(ml_dtypes.bfloat16).astype(_FLOAT)
    if name == "negf":
        return -a
    if name == "copy":
        return a.copy()
    binary = {"add": numpy.add, "max": numpy.maximum, "sub": numpy.subtract, "mul": numpy.multiply}
    binary |= {"div": numpy.divide, "min": numpy.minimum}
    return binary[name[:3]](a, b)


def reduced(name: str, rows: numpy.ndarray) -> numpy.ndarray:
    """Reduce rows: each lane goes along a row in steps of 64, then lanes by halves: 0 with 32, 1 with 33, ..., 0
    with 1."""
    combine = numpy.maximum if name.startswith("max") else numpy.add
    first = {"addf": 0.0, "maxf": -numpy.inf, "addi": 0, "maxi": -(2**31)}[name]
    count = -(-rows.shape[1] // LANES) * LANES
    padded = numpy.full((len(rows), count), first, rows.dtype)
    padded[:, : rows.shape[1]] = rows
    lanes = padded[:, :LANES]
    for step in range(LANES, count, LANES):
        lanes = combine(lanes, padded[:, step : step + LANES])
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = combine(lanes[:, :half], lanes[:, half:])
    return lanes[:, 0]
