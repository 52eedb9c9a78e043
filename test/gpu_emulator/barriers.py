# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Barriers of blocks: the waiting threads of each, and their release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from . import races

if TYPE_CHECKING:
    from .machine import Chunk

_NUMBERS = 16  # of barriers of a block


class Barriers:
    def __init__(self, chunk: Chunk) -> None:
        self._m = chunk
        self.any_waiting = False
        self._arrived: Any = numpy.zeros(len(chunk.block_numbers) * _NUMBERS, numpy.int64)  # by bar.arrive
        self._new()

    def _new(self) -> None:
        count = self._m.n
        self.waiting = numpy.zeros(count, bool)
        self._number = numpy.zeros(count, numpy.int64)
        self._expected = numpy.zeros(count, numpy.int64)  # 0: all of the block
        self._line = numpy.zeros(count, numpy.int64)
        self._aligned = numpy.zeros(count, bool)
        self._value = numpy.zeros(count, bool)
        self._votes: Any = numpy.zeros(count, numpy.int64)
        self._voters: Any = numpy.zeros(count, numpy.int64)

    def forget(self) -> None:
        """Other threads are left; nothing waits."""
        self._new()

    def arrive(self, number: Any, count: Any, value: Any, is_arrive: bool, aligned: bool, line: int) -> None:
        m = self._m
        if int(number.max()) >= _NUMBERS:
            raise m.fault("barrier", line, 0, f"barrier {int(number.max())} of {_NUMBERS}")
        if is_arrive:
            keys = m.active("local_block") * _NUMBERS + number.astype(numpy.int64)
            self._arrived += numpy.bincount(keys, minlength=len(self._arrived))
            return
        if m.chosen is None and count is None and value is None and m.alive().all() and len(number) == 1:
            self._advance(slice(None))
            return
        here = slice(None) if m.chosen is None else m.chosen
        self.waiting[here] = True
        self._number[here] = number
        self._expected[here] = 0 if count is None else count
        self._line[here] = line
        self._aligned[here] = aligned
        if value is not None:
            self._value[here] = value
        self.any_waiting = True

    def _advance(self, threads: Any) -> None:
        stamps = self._m.stamps.copy()
        stamps[threads] += numpy.uint64(1 << races.BLOCK_SHIFT)
        self._m.stamps = stamps
        self._m.bulk.meet(threads)

    def release(self) -> bool:
        """Release the threads of complete barriers."""
        if not self.any_waiting:
            return False
        m = self._m
        keys = m.local_block * _NUMBERS + self._number
        waiting = numpy.bincount(keys[self.waiting], minlength=len(self._arrived)) + self._arrived
        alive = numpy.bincount(m.local_block[m.alive()], minlength=len(m.block_numbers))
        expected = numpy.where(self._expected > 0, self._expected, alive[m.local_block])
        free = self.waiting & (waiting[keys] >= expected)
        if not free.any():
            return False
        self._check_warps(free)
        self._votes = numpy.bincount(keys[free & self._value], minlength=len(self._arrived))[keys]
        self._voters = numpy.bincount(keys[free], minlength=len(self._arrived))[keys]
        self._arrived[keys[free]] = 0
        self.waiting = self.waiting & ~free
        self.any_waiting = bool(self.waiting.any())
        self._advance(free)
        return True

    def _check_warps(self, free: Any) -> None:
        """Check that all threads of a warp are at the same instruction of an aligned barrier."""
        m = self._m
        aligned = numpy.flatnonzero(free & self._aligned)
        if not len(aligned):
            return
        warps = m.warp[aligned]
        count = int(m.warp.max()) + 1
        first = numpy.full(count, numpy.iinfo(numpy.int64).max)
        last = numpy.full(count, -1)
        numpy.minimum.at(first, warps, self._line[aligned])
        numpy.maximum.at(last, warps, self._line[aligned])
        here = numpy.bincount(warps, minlength=count)
        alive = numpy.bincount(m.warp[m.alive()], minlength=count)
        wrong = (first[warps] != last[warps]) | (here[warps] != alive[warps])
        if wrong.any():
            thread = int(aligned[int(numpy.flatnonzero(wrong)[0])])
            warp = int(m.warp[thread])
            lines = f"lines {int(first[warp])} and {int(last[warp])}" if first[warp] != last[warp] else "one line"
            message = f"not all threads of the warp wait at this barrier: {here[warp]} of {alive[warp]}, at {lines}"
            m.chosen = None
            raise m.fault("divergent barrier", int(self._line[thread]), thread, message)

    def result(self, how: str) -> Any:
        m = self._m
        here = slice(None) if m.chosen is None else m.chosen
        votes, voters = self._votes[here], self._voters[here]
        if how == "popc":
            return votes.astype(numpy.uint32)
        return votes == voters if how == "and" else votes > 0

    def line_of(self, thread: int) -> int:
        return int(self._line[thread]) if self.waiting[thread] else 0

    def describe(self) -> list[str]:
        m, found = self._m, []
        for line in numpy.unique(self._line[self.waiting]):
            here = numpy.flatnonzero(self.waiting & (self._line == line))
            text = m.program.lines.get(int(line), "")
            found.append(f"{len(here)} threads wait at line {line} ({text}), {m.thread_name(int(here[0]))} first")
        return found
