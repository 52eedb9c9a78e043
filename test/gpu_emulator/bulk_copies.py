# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bulk copies of tensors' boxes, and the barriers in shared memory (mbarrier) that report their arrival.

A copy arrives when its barrier's phase ends, and only for threads that have waited for it, or that have passed a
barrier of the block after such a thread. try_wait fails once for each thread and phase, as it may on a device: a thread
that does not repeat it continues too early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from .bits import WINDOWS
from .memory import ALLOCATED, PENDING, WRITABLE, WRITTEN
from .tensor_maps import BYTES, TensorMap, read_map

if TYPE_CHECKING:
    from .machine import Chunk
    from .program import Block

_PIECE, _LINE, _LINES, _BARRIER = 16, 128, 8, 8
_MOST_BYTES = (1 << 20) - 1  # that a phase may wait for


@dataclass
class _Copy:
    places: Any  # bytes of shared memory
    data: Any


class BulkCopies:
    def __init__(self, chunk: Chunk) -> None:
        self._m = chunk
        self._columns: dict[int, int] = {}  # of barriers, by their addresses
        blocks = len(chunk.block_numbers)
        none = (blocks, 0)
        self._expected: Any = numpy.zeros(none, numpy.int64)  # threads; 0: no barrier
        self._missing: Any = numpy.zeros(none, numpy.int64)  # threads of this phase that have not arrived
        self._bytes: Any = numpy.zeros(none, numpy.int64)  # which this phase waits for
        self._phase: Any = numpy.zeros(none, numpy.int64)  # how many have ended
        self._brought: Any = numpy.zeros(none, numpy.int64)  # the last phase that brought bytes
        self._seen: Any = numpy.zeros((chunk.total, 0), numpy.int64)  # of them, by thread
        self._tried: Any = numpy.full((chunk.total, 0), -1, numpy.int64)
        self._under_way: dict[tuple[int, int], list[_Copy]] = {}
        pieces = len(chunk.shared.data) // _PIECE
        self._column_of: Any = numpy.full(pieces, -1, numpy.int32) if chunk.program.copies_boxes else None
        self._phase_of: Any = numpy.zeros(pieces if chunk.program.copies_boxes else 0, numpy.int64)

    # ---- barriers ----

    @property
    def has_barriers(self) -> bool:
        """Check whether there are barriers for copies."""
        return bool(self._columns) and self._column_of is not None

    def init(self, address: Any, count: Any, line: int) -> None:
        m = self._m
        address = m.over_threads(address)
        region, places = m.locate("shared", address, _BARRIER, line)
        good = region.are(places // _BARRIER, _BARRIER, WRITABLE)
        if not good.all():
            raise m.refused("shared", address, 0, _BARRIER, ~good, line, "writes")
        m.note("write", "shared", places, _BARRIER, line)
        m.hide(places, _BARRIER)
        for block, each, threads in zip(m.active("local_block"), address, m.over_threads(count), strict=True):
            column = self._columns.setdefault(int(each), len(self._columns))
            if column == self._phase.shape[1]:
                self._widen()
            self._expected[block, column] = self._missing[block, column] = int(threads)
            self._bytes[block, column] = self._phase[block, column] = self._brought[block, column] = 0

    def _widen(self) -> None:
        for name in ("_expected", "_missing", "_bytes", "_phase", "_brought", "_seen"):
            setattr(self, name, numpy.pad(getattr(self, name), ((0, 0), (0, 1))))
        self._tried = numpy.pad(self._tried, ((0, 0), (0, 1)), constant_values=-1)

    def _found(self, address: Any, line: int) -> tuple[Any, Any]:
        """Return blocks and columns of the active threads' barriers."""
        m = self._m
        address = m.over_threads(address)
        _, places = m.locate("shared", address, _BARRIER, line)
        columns = numpy.array([self._columns.get(int(each), -1) for each in address])
        blocks = m.active("local_block")
        known = columns >= 0
        known[known] = self._expected[blocks[known], columns[known]] > 0
        if not known.all():
            thread = int(numpy.flatnonzero(~known)[0])
            raise m.fault("mbarrier", line, thread, f"there is no mbarrier at {int(address[thread]):#x}")
        m.note("read", "shared", places, _BARRIER, line)
        return blocks, columns

    def arrive(self, address: Any, bytes_: Any, arrives: bool, line: int) -> None:
        m = self._m
        blocks, columns = self._found(address, line)
        given = numpy.zeros(m.count, numpy.int64) if bytes_ is None else m.over_threads(bytes_).astype(numpy.int64)
        for thread, (block, column, more) in enumerate(zip(blocks, columns, given, strict=True)):
            if arrives and not self._missing[block, column]:
                raise m.fault("mbarrier", line, thread, "more threads arrive than the mbarrier was made for")
            self._bytes[block, column] += more
            if self._bytes[block, column] > _MOST_BYTES:
                raise m.fault("mbarrier", line, thread, f"more than {_MOST_BYTES} bytes are waited for at once")
            self._missing[block, column] -= int(arrives)
            self._settle(int(block), int(column))

    def _settle(self, block: int, column: int) -> None:
        """End the phase of a barrier if all threads and bytes have arrived."""
        copies = self._under_way.get((block, column), [])
        there = sum(len(each.data) for each in copies)
        if self._missing[block, column] or self._bytes[block, column] != there:
            return
        self._phase[block, column] += 1
        self._missing[block, column], self._bytes[block, column] = self._expected[block, column], 0
        m = self._m
        if copies:
            self._brought[block, column] = self._phase[block, column]
        for copy in copies:
            m.shared.data[copy.places] = copy.data
            m.shared.state[copy.places] = ALLOCATED | WRITTEN
            pieces = copy.places[::_PIECE] // _PIECE
            self._column_of[pieces], self._phase_of[pieces] = column, self._phase[block, column]
            if m.shared_cells is not None:
                m.shared_cells.forget_writers(numpy.unique(copy.places // m.program.unit_bytes))
        self._under_way.pop((block, column), None)

    def ready(self, block: Block, threads: Any) -> Any:
        """Return the threads (as positions) that a try_wait informs: their phase has ended, or they have to repeat the
        instruction."""
        m = self._m
        threads = numpy.arange(m.n) if threads is None else threads
        address, parity = (numpy.broadcast_to(each(m), m.n)[threads] for each in block.waits or ())
        columns = numpy.array([self._columns.get(int(each), -1) for each in address])
        if (columns < 0).any():
            return numpy.ones(len(threads), bool)  # it is refused there
        ended, phases = self._waited_for(m.local_block[threads], columns, parity)
        return ended | (self._tried[m.slot[threads], columns] != phases)

    def _waited_for(self, blocks: Any, columns: Any, parity: Any) -> tuple[Any, Any]:
        """Return whether the phases of this parity have ended, and their numbers."""
        phases = self._phase[blocks, columns]
        ended = phases % 2 != parity.astype(numpy.int64)
        return ended, numpy.where(ended, phases, phases + 1)

    def try_wait(self, address: Any, parity: Any, line: int) -> Any:
        m = self._m
        blocks, columns = self._found(address, line)
        slots = m.active("slot")
        ended, phases = self._waited_for(blocks, columns, m.over_threads(parity))
        answer = ended & (self._tried[slots, columns] == phases)
        self._tried[slots, columns] = phases
        self._seen[slots[answer], columns[answer]] = phases[answer]
        return answer

    def meet(self, threads: Any) -> None:
        """Share at a barrier of a block the phases that any of its threads has waited for."""
        if not self._columns:
            return
        m = self._m
        slots, blocks = m.slot[threads], m.local_block[threads]
        known = numpy.zeros((len(m.block_numbers), len(self._columns)), numpy.int64)
        numpy.maximum.at(known, blocks, self._seen[slots])
        self._seen[slots] = known[blocks]

    def check(self, pieces: Any, threads: Any, line: int) -> None:
        """Check that readers of shared memory, a row of pieces for each thread, have waited for it."""
        if not self.has_barriers:
            return
        m = self._m
        columns, slots = self._column_of[pieces], m.active("slot")[threads][:, None]
        early = (columns >= 0) & (self._seen[slots, columns] < self._phase_of[pieces])
        if early.any():
            thread = int(threads[int(numpy.flatnonzero(early.any(axis=1))[0])])
            text = "reads what a bulk copy has brought, and nothing orders the two: no wait for the copy's mbarrier"
            raise m.fault("missing wait", line, thread, text)

    # ---- copies ----

    def start(self, to: Any, tensor: Any, coordinates: tuple[Any, ...], barrier: Any, line: int) -> None:
        m = self._m
        blocks, columns = self._found(barrier, line)
        self._check_shown(m.over_threads(barrier), _BARRIER, line)
        to, tensor = m.over_threads(to), m.over_threads(tensor)
        starts = [m.over_threads(each).astype(numpy.int64) for each in coordinates]
        for thread in range(m.count):
            with m.only(numpy.array([thread])):
                map_ = self._map(int(tensor[thread]), len(coordinates), line)
                data = self._box(map_, [int(each[thread]) for each in starts], line)
                places = self._target(int(to[thread]), len(data), line)
            key = int(blocks[thread]), int(columns[thread])
            self._under_way.setdefault(key, []).append(_Copy(places, data))
            self._settle(*key)

    def _check_shown(self, addresses: Any, width: int, line: int) -> None:
        m = self._m
        places = (addresses + m.active("shared_base"))[:, None] + numpy.arange(width)
        if m.hidden is not None and m.hidden[places // m.program.unit_bytes].any():
            text = "a bulk copy uses shared memory whose writer has made no fence.proxy.async behind it"
            raise m.fault("missing fence", line, 0, text)

    def _map(self, address: int, rank: int, line: int) -> TensorMap:
        m = self._m
        start = address - WINDOWS["param"]
        data = m.launch.parameters[start : start + BYTES] if 0 <= start < len(m.launch.parameters) else b""
        found = read_map(data)
        if found is None or len(found.sizes) != rank:
            raise m.fault("tensor map", line, 0, f"no map of {rank} axes is at {address:#x}, among the parameters")
        return found

    def _box(self, map_: TensorMap, starts: list[int], line: int) -> Any:
        """Return the bytes of a box, with 0 beyond the tensor."""
        m, memory = self._m, self._m.launch.memory
        shape = map_.box[::-1]
        places = numpy.indices(shape).reshape(len(shape), -1)[::-1]
        inside, offsets = numpy.ones(places.shape[1], bool), numpy.zeros(places.shape[1], numpy.int64)
        for place, start, size, stride in zip(places, starts, map_.sizes, map_.strides, strict=True):
            at = place + start
            inside &= (at >= 0) & (at < size)
            offsets += at * stride
        bytes_ = (map_.address + offsets[inside])[:, None] + numpy.arange(map_.element)
        where = memory.places(bytes_.reshape(-1))
        outside = (where < 0) | (where >= memory.reserved)
        mask, wanted = m.readable
        bad = outside | ((memory.state[numpy.where(outside, 0, where)] & mask) != wanted)
        if bad.any():
            address = int(bytes_.reshape(-1)[int(numpy.flatnonzero(bad)[0])])
            raise m.refused("global", numpy.array([address]), 0, 1, numpy.array([True]), line, "reads")
        self._note(m.launch.cells, "read", "global", where, line)
        data = numpy.zeros((len(inside), map_.element), numpy.uint8)
        data[inside] = memory.data[where].reshape(-1, map_.element)
        return data.reshape(-1)

    def _target(self, to: int, size: int, line: int) -> Any:
        """Return the target positions of a box's bytes: pieces of 128-byte lines, swizzled by the line's position."""
        m = self._m
        if to % _LINE:
            raise m.fault("misaligned", line, 0, f"{to:#x} is no multiple of {_LINE}, in shared memory")
        if to + size > m.shared_stride:
            raise m.fault("out of bounds", line, 0, f"{size} bytes at {to:#x} reach beyond shared memory")
        places = to + numpy.arange(size)
        places = places ^ (places // _LINE % _LINES * _PIECE)
        self._check_shown(numpy.array([to]), size, line)
        places = places + int(m.active("shared_base")[0])
        state = m.shared.state
        mask, wanted = WRITABLE
        bad = (state[places] & mask) != wanted
        if bad.any():
            address = int(places[int(numpy.flatnonzero(bad)[0])] - m.active("shared_base")[0])
            raise m.refused("shared", numpy.array([address]), 0, 1, numpy.array([True]), line, "writes")
        self._note(m.shared_cells, "write", "shared", places, line)
        state[places] |= PENDING
        return places

    def _note(self, cells: Any, how: str, space: str, places: Any, line: int) -> None:
        if cells is None or not len(places):
            return
        m = self._m
        units = numpy.unique(places // m.program.unit_bytes)
        stamps = numpy.repeat(m.active("stamps"), len(units))
        found = getattr(cells, how)(units, stamps, m.launch.threads, m.warps_per_block)
        if found is not None:
            raise m.race(how, space, units * m.program.unit_bytes, 0, *found, line)

    # ---- copies that never arrive ----

    def describe(self) -> list[str]:
        """Describe barriers that wait for something."""
        found = []
        for address, column in self._columns.items():
            waiting = (self._expected[:, column] > 0) & (
                (self._missing[:, column] < self._expected[:, column]) | (self._bytes[:, column] != 0)
            )
            for block in numpy.flatnonzero(waiting)[:1]:
                there = sum(len(each.data) for each in self._under_way.get((int(block), column), []))
                found.append(
                    f"the mbarrier at {address:#x} waits for {int(self._missing[block, column])} threads, and for "
                    f"{int(self._bytes[block, column])} bytes, of which copies bring {there}"
                )
        return found

    def check_end(self, line: int) -> None:
        if not self._columns:
            return
        slots = self._seen.reshape(len(self._phase), -1, len(self._columns))
        if self._under_way or (self._brought > slots.max(axis=1, initial=0)).any():
            text = "the kernel has ended without a wait for a bulk copy"
            raise self._m.fault("missing wait", line, 0, "; ".join([text, *self.describe()]))
