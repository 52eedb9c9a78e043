# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of a launch: chunks of its blocks one after the other, with all threads of a chunk at once.

Each thread has the number of its next basic block. The lowest of these numbers is next, for all threads at that block,
so that threads meet again after a branch. Threads that wait for others are skipped until these have arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy

from . import races
from .access import SHARED_START, Access
from .atomics import Atomics
from .barriers import Barriers
from .bulk_copies import BulkCopies
from .copies import Copies
from .faults import Fault
from .matrices import Matrices
from .memory import Memory
from .program import Block, Program
from .traffic import Traffic
from .warp_groups import WarpGroups
from .warps import Warps

CHUNK_THREADS = 1 << 16
CHUNK_SHARED_BYTES = 1 << 23

RUNS_LIMIT = 2_000_000  # of basic blocks, in a chunk
_TURN = 256  # after that many, the threads that stand last go first: others may spin until these have written

Triple = tuple[int, int, int]


@dataclass
class Checks:
    """Checks beyond a device's own checks."""

    races: bool = True
    unwritten: bool = True
    order: str = "forward"  # of the blocks: forward, backward, random
    chunk_threads: int = CHUNK_THREADS
    traffic: dict[str, Traffic] | None = None  # of kernels by their names, where it is to be counted


@dataclass
class Launch:
    program: Program
    memory: Memory
    symbols: dict[str, int]  # addresses of the unit's global variables
    parameters: bytes
    grid: Triple
    block: Triple
    dynamic_bytes: int
    number: int  # of launches before, for stamps
    cells: races.Cells | None
    checks: Checks
    faults: list[Fault] = field(default_factory=list)

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    def run(self) -> None:
        blocks = self.grid[0] * self.grid[1] * self.grid[2]
        order = numpy.arange(blocks)
        if self.checks.order == "backward":
            order = order[::-1]
        elif self.checks.order == "random":
            order = numpy.array(Random(self.number).sample(range(blocks), blocks))
        shared = SHARED_START + self.program.shared_bytes + self.dynamic_bytes
        several = max(1, min(self.checks.chunk_threads // self.threads, CHUNK_SHARED_BYTES // shared))
        with numpy.errstate(all="ignore"):
            for start in range(0, blocks, several):
                Chunk(self, order[start : start + several]).run()


class Chunk(Access):
    """Some blocks' threads. Generated code calls `get`, `put`, `special` and methods of the parts."""

    def __init__(self, launch: Launch, blocks: Any) -> None:
        self.launch, self.program = launch, launch.program
        threads = launch.threads
        self.block_numbers = blocks
        self.local_block = numpy.repeat(numpy.arange(len(blocks)), threads)
        self.thread = numpy.tile(numpy.arange(threads), len(blocks))
        self.warps_per_block = -(-threads // 32)
        self.lane = (self.thread % 32).astype(numpy.uint32)
        self.warp = self.local_block * self.warps_per_block + self.thread // 32
        self.n = len(self.thread)
        self.total = self.n  # before any have ended
        self.slot = numpy.arange(self.n)  # of a thread, for good
        identity = (blocks[self.local_block] * threads + self.thread).astype(numpy.uint64)
        self.stamps = identity | numpy.uint64((launch.number % (races.LAUNCHES - 1) + 1) << races.LAUNCH_SHIFT)
        self.registers = list(self.program.zeros)
        self.chosen: Any = None  # the active threads' places, None for all
        self.at = 0  # the next block of all threads
        self.places: Any = None  # the next blocks of the threads where they differ
        self.runs = 0
        self.end = len(self.program.blocks)
        self.block_run: Block = self.program.blocks[0]
        self._specials: dict[str, Any] = {}
        self._active: dict[str, Any] = {}
        super().__init__()
        self.warps = Warps(self)
        self.barriers = Barriers(self)
        self.copies = Copies(self)
        self.atomics = Atomics(self)
        self.matrices = Matrices(self)
        self.warp_groups = WarpGroups(self)
        self.bulk = BulkCopies(self)

    # Registers

    def get(self, number: int) -> Any:
        value = self.registers[number]
        if self.chosen is None or len(value) == 1:
            return value
        return value[self.chosen]

    def put(self, number: int, value: Any) -> None:
        if self.chosen is None:
            self.registers[number] = value
            return
        old = self.registers[number]
        new = old.copy() if len(old) == self.n else numpy.full(self.n, old[0], old.dtype)
        new[self.chosen] = value
        self.registers[number] = new

    @property
    def count(self) -> int:
        return self.n if self.chosen is None else len(self.chosen)

    def active(self, name: str) -> Any:
        """Return the active threads' elements of an array over threads."""
        if self.chosen is None:
            return getattr(self, name)
        found = self._active.get(name)
        if found is None:
            found = self._active[name] = getattr(self, name)[self.chosen]
        return found

    def over_threads(self, value: Any) -> Any:
        """Return one element for each active thread."""
        count = self.count
        return value if len(value) == count else numpy.repeat(value, count)

    # Control

    def run(self) -> None:
        blocks = self.program.blocks
        while True:
            if self.places is None:
                if self.at == self.end:
                    break
                self._run_all(blocks[self.at])
            elif not self._run_some():
                break
        self.bulk.check_end(blocks[-1].line)

    def _run_all(self, block: Block) -> None:
        self.chosen = None
        if block.members is not None or block.waits is not None:
            ready = self._ready(block, None)
            if ready is not None and not ready.all():
                self.places = numpy.full(self.n, self.at)
                return
        self._count(block)
        condition, yes, no = block.run(self)
        if condition is None or yes >= 0 and condition.all():
            self.at = yes
        elif yes >= 0 and not condition.any():
            self.at = no
        else:
            places = condition if yes < 0 else numpy.where(condition, yes, no)
            self.places = self.over_threads(places).copy()
            self._meet()
        if self.barriers.any_waiting and self.places is None:
            self.places = numpy.full(self.n, self.at)

    def _ready(self, block: Block, threads: Any) -> Any:
        return (self.bulk if block.members is None else self.warps).ready(block, threads)

    def _count(self, block: Block) -> None:
        self.block_run = block
        self.runs += 1
        if self.runs > RUNS_LIMIT:
            raise self.fault("no end", block.line, 0, f"{RUNS_LIMIT} basic blocks were run")

    def _run_some(self) -> bool:
        """Run the first threads that need not wait. Return False when all have ended."""
        standing: Iterable[tuple[int, Any]] = self._standing()
        if self.runs % _TURN == 0:
            standing = reversed(list(standing))
        for place, threads in standing:
            block = self.program.blocks[place]
            if block.members is not None or block.waits is not None:
                ready = self._ready(block, threads)
                threads = threads if ready is None else threads[ready]
                if not len(threads):
                    continue
            self._step(block, threads)
            return True
        if self.barriers.release():
            self._meet()
            return True
        if (self.places == self.end).all():
            return False
        raise self._deadlock()

    def _standing(self) -> Iterator[tuple[int, Any]]:
        """Yield the basic blocks of threads that do not wait at a barrier, in program order."""
        places = self.places
        if self.barriers.any_waiting:
            places = numpy.where(self.barriers.waiting, self.end, places)
        first = int(places.min())
        while first < self.end:
            yield first, numpy.flatnonzero(places == first)
            later = places[places > first]
            first = int(later.min()) if len(later) else self.end

    def _step(self, block: Block, threads: Any) -> None:
        self.chosen = None if len(threads) == self.n else threads
        self._active.clear()
        self._count(block)
        condition, yes, no = block.run(self)
        if condition is None:
            self.places[threads] = yes
        else:
            self.places[threads] = condition if yes < 0 else numpy.where(condition, yes, no)
        self.chosen = None
        self._active.clear()
        self._meet()

    def _meet(self) -> None:
        """Store a single basic block if all running threads are at the same one."""
        if self.barriers.any_waiting:
            return
        first = int(self.places.min())
        if first == self.end:
            return
        here = self.places == first
        if here.all():
            self.at, self.places = first, None
        elif (here | (self.places == self.end)).all():
            self._keep(here)
            self.at, self.places = first, None

    def _keep(self, here: Any) -> None:
        kept = numpy.flatnonzero(here)
        self.registers = [value if len(value) == 1 else value[kept] for value in self.registers]
        for name in ("local_block", "thread", "lane", "warp", "slot", "stamps"):
            setattr(self, name, getattr(self, name)[kept])
        self.n = len(kept)
        self._specials.clear()
        self.forget()
        self.warps.forget()
        self.barriers.forget()

    def alive(self) -> Any:
        """Return the threads that have not ended, as a mask."""
        return numpy.ones(self.n, bool) if self.places is None else self.places != self.end

    # Faults

    def fault(self, kind: str, line: int, thread: int, message: str) -> Fault:
        """Return a fault. `thread` is an index into the active threads."""
        place = thread if self.chosen is None else int(self.chosen[thread])
        text = self.program.lines.get(line, "")
        number, block = int(self.thread[place]), int(self.block_numbers[self.local_block[place]])
        launch = self.launch
        where = _triple(number, launch.block), _triple(block, launch.grid)
        return Fault(kind, self.program.name, line, text, *where, message)

    def _deadlock(self) -> Fault:
        waiting = [*self.barriers.describe(), *self.bulk.describe()]
        for place in numpy.unique(self.places[~self.barriers.waiting & (self.places != self.end)]):
            block = self.program.blocks[int(place)]
            here = numpy.flatnonzero((self.places == place) & ~self.barriers.waiting)
            waiting.append(
                f"{len(here)} threads at line {block.line} ({block.text}), {self.thread_name(int(here[0]))} first"
            )
        first = int(numpy.flatnonzero(self.places != self.end)[0])
        block_here = self.program.blocks[min(int(self.places[first]), self.end - 1)]
        ended = int((self.places == self.end).sum()) + self.total - self.n
        message = f"threads wait for others that never come: {'; '.join(waiting)}; {ended} threads have ended"
        return self.fault("deadlock", self.barriers.line_of(first) or block_here.line, first, message)

    def thread_name(self, place: int) -> str:
        block = int(self.block_numbers[self.local_block[place]])
        thread = _triple(int(self.thread[place]), self.launch.block)
        return f"thread {thread} of block {_triple(block, self.launch.grid)}"

    def trap(self, line: int) -> None:
        raise self.fault("trap", line, 0, "the kernel stopped itself")

    # Special registers

    def special(self, name: str) -> Any:
        found = self._specials.get(name)
        if found is None:
            found = self._special(name)
            if "clock" not in name and "timer" not in name:
                self._specials[name] = found
        return found if self.chosen is None or len(found) == 1 else found[self.chosen]

    def _special(self, name: str) -> Any:
        launch = self.launch
        base, _, axis = name.lstrip("%").partition(".")
        sizes = {"ntid": launch.block, "nctaid": launch.grid, "nclusterid": launch.grid}
        one = {"warpsize": 32, "smid": 0, "nsmid": 1, "gridid": launch.number, "nwarpid": self.warps_per_block}
        one |= {"clock": self.runs, "clock_hi": 0, "globaltimer_lo": self.runs, "globaltimer_hi": 0}
        one |= {"dynamic_smem_size": launch.dynamic_bytes, "cluster_ctarank": 0, "cluster_nctarank": 1}
        if base in ("clock64", "globaltimer"):
            return numpy.array([self.runs], numpy.uint64)
        if base in sizes:
            return numpy.array([sizes[base]["xyz".index(axis)]], numpy.uint32)
        if base in ("cluster_ctaid", "cluster_nctaid"):
            return numpy.array([int(base == "cluster_nctaid")], numpy.uint32)
        if base in ("tid", "ctaid", "clusterid"):
            shape = launch.block if base == "tid" else launch.grid
            number = self.thread if base == "tid" else self.block_numbers[self.local_block]
            return _coordinate(number, shape, "xyz".index(axis))
        if base in ("laneid", "warpid"):
            return self.lane if base == "laneid" else (self.thread // 32).astype(numpy.uint32)
        if base == "total_smem_size":
            return numpy.array([self.program.shared_bytes + launch.dynamic_bytes], numpy.uint32)
        if base.startswith("lanemask_"):
            bit = numpy.uint32(1) << self.lane
            masks = {"eq": bit, "lt": bit - numpy.uint32(1), "le": bit | (bit - numpy.uint32(1))}
            masks |= {"gt": ~masks["le"], "ge": ~masks["lt"]}
            return masks[base[len("lanemask_") :]]
        if base not in one:
            raise self.fault("unknown", self.block_run.line, 0, f"the emulator knows no special register {name}")
        return numpy.array([one[base]], numpy.uint32)


def _coordinate(number: Any, shape: Triple, axis: int) -> Any:
    if shape[axis] == 1:
        return numpy.zeros(1, numpy.uint32)
    before = [1, shape[0], shape[0] * shape[1]][axis]
    return (number // before % shape[axis]).astype(numpy.uint32)


def _triple(number: int, shape: Triple) -> Triple:
    return number % shape[0], number // shape[0] % shape[1], number // (shape[0] * shape[1])
