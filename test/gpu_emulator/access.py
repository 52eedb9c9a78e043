# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads and writes of a chunk's threads, with checks: bounds, alignment, unwritten memory, races."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from . import races
from .bits import WINDOW_BYTES, WINDOWS
from .faults import USE_AFTER_FREE
from .memory import ALLOCATED, IN_USE, PENDING, READ_ONLY, READABLE, WRITABLE, WRITTEN, Region, repeated
from .traffic import Traffic

if TYPE_CHECKING:
    from .bulk_copies import BulkCopies
    from .faults import Fault
    from .machine import Launch
    from .program import Block, Program

SHARED_START = LOCAL_START = 1024  # no variable is at 0
_PIECE = 16
_GAP = 128  # behind the memory of a block or thread
_SPACES = ("global", "shared", "local")
_ALLOCATED = (ALLOCATED | PENDING, ALLOCATED)


class Access:
    """Part of a chunk that accesses memory. Attributes of the other parts are declared here with their types."""

    program: Program
    launch: Launch
    block_run: Block
    block_numbers: Any
    local_block: Any
    slot: Any
    n: int
    warps_per_block: int
    chosen: Any  # the places of the active threads, None for all
    _active: dict[str, Any]
    bulk: BulkCopies

    if TYPE_CHECKING:

        @property
        def count(self) -> int: ...
        def active(self, name: str) -> Any: ...
        def over_threads(self, value: Any) -> Any: ...
        def fault(self, kind: str, line: int, thread: int, message: str) -> Fault: ...

    def __init__(self) -> None:
        program, launch = self.program, self.launch
        self.dynamic_start = -(-program.shared_bytes // program.dynamic_align) * program.dynamic_align
        end = self.dynamic_start + launch.dynamic_bytes if launch.dynamic_bytes else program.shared_bytes
        self.shared_stride = -(-(SHARED_START + end + _GAP) // 128) * 128
        spans = [(at, program.shared_sizes[name]) for name, at in program.shared.items()]
        spans.append((self.dynamic_start, launch.dynamic_bytes))
        self.shared = _repeated_region(spans, SHARED_START, self.shared_stride, len(self.block_numbers))
        self.local_stride = -(-(LOCAL_START + program.local_bytes + _GAP) // 128) * 128
        locals_ = [(at, program.local_sizes[name]) for name, at in program.local.items()]
        self.local = _repeated_region(locals_, LOCAL_START, self.local_stride, self.n if locals_ else 0)
        self.local.data[:] = 0xFF
        units = len(self.shared.data) // program.unit_bytes
        self.shared_cells = races.Cells(units) if launch.checks.races else None
        #: For each unit the thread, from 1 on, that wrote it without a later fence. Readers through another proxy must
        #: not see it yet.
        self.hidden = numpy.zeros(units, numpy.int32) if program.sums or program.copies_boxes else None
        self.readable = READABLE if launch.checks.unwritten else _ALLOCATED
        self.forget()

    def forget(self) -> None:
        """Other threads are left."""
        self.shared_base = self.local_block * self.shared_stride
        self.local_base = self.slot * self.local_stride

    def address(self, name: str, addend: int) -> Any:
        program = self.program
        if name in program.shared:
            found = SHARED_START + program.shared[name]
        elif name in program.dynamic:
            found = SHARED_START + self.dynamic_start
        elif name in program.local:
            found = LOCAL_START + program.local[name]
        elif name in self.launch.symbols:
            found = self.launch.symbols[name]
        elif name in (parameters := [each.name for each in program.function.parameters]):
            found = WINDOWS["param"] + program.parameter_layout()[parameters.index(name)][0]
        else:
            raise self.fault("unknown", self.block_run.line, 0, f"{name!r} has no address that the emulator knows")
        return numpy.array([found + addend], numpy.uint64)

    def parameter(self, name: str, offset: int, dtype: Any, line: int) -> Any:
        for parameter, (start, size) in zip(
            self.program.function.parameters, self.program.parameter_layout(), strict=True
        ):
            width = numpy.dtype(dtype).itemsize
            if parameter.name == name and offset + width <= size:
                return numpy.frombuffer(self.launch.parameters, dtype, 1, start + offset)
        raise self.fault("unknown", line, 0, f"no parameter {name} has bytes at {offset}")

    # Reads and writes

    def load(self, space: str, address: Any, dtype: Any, count: int, ordered: bool, line: int) -> list[Any]:
        width = numpy.dtype(dtype).itemsize
        if space == "generic":
            parts = self.spaces_of(address)
            if len(parts) > 1:
                return self._load_parts(parts, dtype, count, ordered, line)
            ((space, _, address),) = parts
        region, places = self.locate(space, address, width * count, line)
        words = places // width
        found = []
        for number in range(count):
            here = words + number if number else words
            # LLVM loads an element ahead of a loop that only writes it: a thread's unwritten memory has bytes of ones.
            good = region.are(here, width, _ALLOCATED if space == "local" else self.readable)
            if not good.all():
                raise self.refused(space, address, number * width, width, ~good, line, "reads")
            found.append(region.view(dtype)[here])
        self._count_sectors("reads", space, address, width * count)
        if space == "shared" and self.bulk.has_barriers:
            here = self.over_threads(places)[:, None] // _PIECE
            self.bulk.check(here, numpy.arange(len(here)), line)
        self.note("atomic" if ordered else "read", space, places, width * count, line)
        return found

    def _load_parts(self, parts: Any, dtype: Any, count: int, ordered: bool, line: int) -> list[Any]:
        found = [numpy.zeros(self.count, dtype) for _ in range(count)]
        for space, threads, address in parts:
            with self.only(threads):
                values = self.load(space, address, dtype, count, ordered, line)
            for number, value in enumerate(values):
                found[number][threads] = value
        return found

    def store(self, space: str, address: Any, values: tuple[Any, ...], ordered: bool, line: int) -> None:
        width = values[0].dtype.itemsize
        if space == "generic":
            parts = self.spaces_of(address)
            if len(parts) > 1:
                for inner, threads, addresses in parts:
                    given = tuple(value if len(value) == 1 else value[threads] for value in values)
                    with self.only(threads):
                        self.store(inner, addresses, given, ordered, line)
                return
            ((space, _, address),) = parts
        address = self.over_threads(address)
        region, places = self.locate(space, address, width * len(values), line)
        words = places // width
        for number, value in enumerate(values):
            here = words + number if number else words
            good = region.are(here, width, WRITABLE)
            if not good.all():
                raise self.refused(space, address, number * width, width, ~good, line, "writes")
            region.view(value.dtype)[here] = value
            region.states(width)[here] = repeated(ALLOCATED | WRITTEN, width)
        self._count_sectors("writes", space, address, width * len(values))
        self.note("atomic" if ordered else "write", space, places, width * len(values), line)
        if space == "shared":
            self.hide(places, width * len(values))

    def hide(self, places: Any, width: int) -> None:
        """Mark writes to shared memory as hidden from wgmma until the writer's fence."""
        if self.hidden is not None:
            for each in range(0, width, self.program.unit_bytes):
                self.hidden[(places + each) // self.program.unit_bytes] = self.active("slot") + 1

    def show(self) -> None:
        if self.hidden is not None:
            shown = numpy.isin(self.hidden, self.active("slot") + 1)
            self.hidden[shown] = 0

    def _count_sectors(self, how: str, space: str, address: Any, width: int) -> None:
        if space == "global" and self.launch.checks.traffic is not None:
            traffic = self.launch.checks.traffic.setdefault(self.program.function.name, Traffic())
            getattr(traffic, how).note(self.over_threads(address), width, self.active("warp"))

    def spaces_of(self, address: Any) -> list[tuple[str, Any, Any]]:
        """Return the state spaces of generic addresses, the active threads for each, and their addresses in it."""
        found = []
        rest = numpy.ones(len(address), bool)
        for name, start in WINDOWS.items():
            inside = (address >= start) & (address < start + WINDOW_BYTES)
            if inside.any():
                found.append((name, inside, address - start))
                rest &= ~inside
        if rest.any():
            found.append(("global", rest, address))
        if len(found) == 1:
            return found
        return [(name, numpy.flatnonzero(inside), addresses[inside]) for name, inside, addresses in found]

    def only(self, threads: Any) -> _Only:
        return _Only(self, threads)

    def region(self, space: str) -> Region:
        return {"global": self.launch.memory, "shared": self.shared, "local": self.local}[space]

    def locate(self, space: str, address: Any, width: int, line: int) -> tuple[Region, Any]:
        """Return the region and the byte positions in it."""
        if width > 1 and (address & (width - 1)).any():
            bad = int(numpy.flatnonzero(address & (width - 1))[0])
            raise self.fault(
                "misaligned", line, bad, f"{int(address[bad]):#x} is no multiple of {width}, in {space} memory"
            )
        if space == "global":
            memory = self.launch.memory
            places = memory.places(address)
            outside = (places < 0) | (places >= memory.reserved - width)
            if outside.any():
                raise self.refused(space, address, 0, width, outside, line, "accesses")
            return memory, places
        stride = self.shared_stride if space == "shared" else self.local_stride
        outside = (address < 0) | (address > stride - width)
        if outside.any():
            raise self.refused(space, address, 0, width, outside, line, "accesses")
        base = self.active("shared_base" if space == "shared" else "local_base")
        return self.region(space), address + base

    # Errors

    def refused(self, space: str, address: Any, offset: int, width: int, bad: Any, line: int, does: str) -> Fault:
        thread = int(numpy.flatnonzero(bad)[0])
        first = int(address[thread if len(address) > 1 else 0]) + offset
        states = self._states(space, thread, first, width)
        where = self.launch.memory.describe(first) if space == "global" else self._describe(space, first)
        message = f"{does} {width} bytes at {first:#x} of {space} memory: {where}"
        if any(not state & ALLOCATED for state in states):
            kind = USE_AFTER_FREE if space == "global" and self.launch.memory.is_freed(first) else "out of bounds"
        elif any(state & PENDING for state in states):
            kind, message = "missing wait", f"{message}; a cp.async that was not waited for writes there"
        elif does == "writes" and any(state & IN_USE for state in states):
            kind, message = "missing wait", f"{message}; a wgmma that was not waited for reads there"
        elif does == "writes" and any(state & READ_ONLY for state in states):
            kind = "write to read-only memory"
        else:
            kind, message = "unwritten", f"{message}; it is unwritten"
        return self.fault(kind, line, thread, message)

    def _states(self, space: str, thread: int, address: int, width: int) -> list[int]:
        start = address
        if space == "global":
            start = int(self.launch.memory.places(numpy.array([address]))[0])
        elif 0 <= address <= (self.shared_stride if space == "shared" else self.local_stride) - width:
            start += int(self.active("shared_base" if space == "shared" else "local_base")[thread])
        else:
            return [0]
        state = self.region(space).state
        return [int(each) for each in state[start : start + width]] if 0 <= start < len(state) - width else [0]

    def _describe(self, space: str, address: int) -> str:
        program = self.program
        offsets, sizes = (
            (program.shared, program.shared_sizes) if space == "shared" else (program.local, program.local_sizes)
        )
        spans = [
            (name, (SHARED_START if space == "shared" else LOCAL_START) + at, sizes[name])
            for name, at in offsets.items()
        ]
        if space == "shared" and self.launch.dynamic_bytes:
            spans.append(("dynamic", SHARED_START + self.dynamic_start, self.launch.dynamic_bytes))
        parts = []
        for name, start, size in spans:
            if start <= address < start + size:
                return f"byte {address - start} of {name} ({size} bytes)"
            distance = (
                f"{address - start - size} bytes behind" if address >= start else f"{start - address} bytes before"
            )
            parts.append(f"{distance} {name} ({size} bytes)")
        return ", ".join(parts) or f"the kernel has no {space} variables"

    def note(self, how: str, space: str, places: Any, width: int, line: int) -> None:
        """Record an access for races. `how` is read, write or atomic."""
        cells = {"global": self.launch.cells, "shared": self.shared_cells}.get(space)
        if cells is None:
            return
        unit = self.program.unit_bytes
        stamps = self.active("stamps")
        units = places // unit
        if len(units) == 1 and len(stamps) > 1:  # all read one place: two threads stand for all
            stamps = stamps[[0, -1]]
            units = numpy.repeat(units, 2)
        for number in range(max(1, width // unit)):
            found = getattr(cells, how)(units + number, stamps, self.launch.threads, self.warps_per_block)
            if found is not None:
                bad, others = found
                raise self.race(how, space, places, number * unit, bad, others, line)

    def race(self, how: str, space: str, places: Any, offset: int, bad: Any, others: Any, line: int) -> Fault:
        thread = int(numpy.flatnonzero(bad)[0])
        stamp = int(others[thread]) if len(others) > 1 else int(others[0])
        other = races.thread_of(stamp)
        place = int(places[thread if len(places) > 1 else 0]) + offset
        if space == "global":
            from .memory import ADDRESS

            address = place + ADDRESS
            where = self.launch.memory.describe(address)
        else:
            address = place % self.shared_stride
            where = self._describe(space, address)
        threads = self.launch.threads
        who = (
            f"thread {other % threads} of block {other // threads}"
            if other is not None
            else "several threads or atomics"
        )
        what = f"{how} at {address:#x} of {space} memory ({where})"
        message = f"{what}: {who} (counted along x, y, z) used it too, and nothing orders the two"
        return self.fault("race", line, thread if len(bad) == self.count else 0, message)


class _Only:
    """Context in which only some of the active threads are active."""

    def __init__(self, chunk: Access, threads: Any) -> None:
        self._chunk, self._threads = chunk, threads

    def __enter__(self) -> None:
        chunk = self._chunk
        self._before = chunk.chosen, chunk._active
        chunk.chosen = self._threads if chunk.chosen is None else chunk.chosen[self._threads]
        chunk._active = {}

    def __exit__(self, *_: object) -> None:
        self._chunk.chosen, self._chunk._active = self._before


def _repeated_region(spans: list[tuple[int, int]], start: int, stride: int, count: int) -> Region:
    state = numpy.zeros((max(count, 0), stride), numpy.uint8)
    for at, size in spans:
        state[:, start + at : start + at + size] = ALLOCATED
    return Region(numpy.zeros(max(count, 0) * stride, numpy.uint8), state.reshape(-1))
