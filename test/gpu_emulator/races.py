# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Last writer and reader of each unit of memory within a launch, to find accesses without an ordering barrier.

A stamp is one number: the launch, the numbers of barriers of the block and of the warp that its thread has passed, and
the thread. Two accesses are ordered if the same thread made them, or threads of one block with a barrier of the block
between them, or threads of one warp with a barrier of the warp between them.
"""

from __future__ import annotations

from typing import Any

import numpy

from .memory import lazy_bytes

THREAD_BITS, WARP_BITS, BLOCK_BITS = 30, 12, 14
WARP_SHIFT, BLOCK_SHIFT = THREAD_BITS, THREAD_BITS + WARP_BITS
LAUNCH_SHIFT = BLOCK_SHIFT + BLOCK_BITS
LAUNCHES = 1 << (64 - LAUNCH_SHIFT)
_THREADS = numpy.uint64((1 << THREAD_BITS) - 1)
_BLOCKS = 1 << (THREAD_BITS - 1)  # a reader of this number and more: several threads of that block
_ATOMICS = _BLOCKS + (1 << (THREAD_BITS - 2))  # a writer of this number and more: atomics of that block
#: Readers of several blocks; a writer that is several atomics.
MANY = numpy.uint64((1 << THREAD_BITS) - 1)
ATOMIC = numpy.uint64((1 << THREAD_BITS) - 2)


class Cells:
    """The last writer and the readers of each unit of a region."""

    def __init__(self, units: int) -> None:
        self.units = units
        self.reset()

    def reset(self) -> None:
        self._writers = lazy_bytes(8 * self.units).view(numpy.uint64)
        self._readers = lazy_bytes(8 * self.units).view(numpy.uint64)

    def read(self, units: Any, stamps: Any, threads: int, warps: int) -> Any | None:
        """Record reads. Return the races with writes as (bool of each, the other stamps), or None."""
        launch = _launch(stamps)
        writers = self._writers[units]
        bad = _conflicts(writers, stamps, launch, threads, warps)
        readers = self._readers[units]
        many = launch | MANY
        if not (readers == many).all():
            new = numpy.where(readers < launch, stamps, readers)
            other = (readers >= launch) & (readers != stamps) & (readers != many)
            if other.any():
                new = numpy.where(other, _joined(readers, stamps, launch, threads), new)
            self._readers[units] = new
            lost = self._readers[units] != new
            if lost.any():
                self._gather(units[lost], new[lost], launch, threads)
        return (bad, writers) if bad is not None else None

    def _gather(self, units: Any, stamps: Any, launch: Any, threads: int) -> None:
        """Several threads read one unit by one instruction: all of one block, or of several."""
        known = self._readers[units]
        joined = _joined(known, stamps, launch, threads)
        self._readers[units] = joined
        lost = self._readers[units] != joined
        if lost.any():
            self._readers[units[lost]] = launch | MANY

    def write(self, units: Any, stamps: Any, threads: int, warps: int) -> Any | None:
        launch = _launch(stamps)
        writers, readers = self._writers[units], self._readers[units]
        bad = _conflicts(writers, stamps, launch, threads, warps)
        other = writers
        read = _conflicts(readers, stamps, launch, threads, warps)
        if read is not None:
            bad, other = (read, readers) if bad is None else (bad | read, numpy.where(bad, writers, readers))
        self._writers[units] = stamps
        last = self._writers[units]
        if (last != stamps).any():
            same = last != stamps
            bad, other = (same, last) if bad is None else (bad | same, numpy.where(same, last, other))
        return (bad, other) if bad is not None else None

    def forget_writers(self, units: Any) -> None:
        """Forget the writers of units that something else orders before the next readers."""
        self._writers[units] = 0

    def atomic(self, units: Any, stamps: Any, threads: int, warps: int) -> Any | None:
        launch = _launch(stamps)
        writers, readers = self._writers[units], self._readers[units]
        before = (writers >= launch) & ((writers & _THREADS) >= _ATOMICS)
        plain = numpy.where(before, stamps, writers)
        bad, other = _conflicts(plain, stamps, launch, threads, warps), writers
        read = _conflicts(readers, stamps, launch, threads, warps)
        if read is not None:
            bad, other = (read, readers) if bad is None else (bad | read, numpy.where(bad, writers, readers))
        block = _block(stamps, threads)
        own = (stamps & ~_THREADS) | (block + numpy.uint64(_ATOMICS))
        elsewhere = before & (_block(writers, threads) != block)
        new = numpy.where(elsewhere, launch | ATOMIC, own)
        self._writers[units] = new
        lost = _block(self._writers[units], threads) != _block(new, threads)
        self._writers[units[lost]] = launch | ATOMIC
        return (bad, other) if bad is not None else None


def _launch(stamps: Any) -> Any:
    return (stamps[0] >> numpy.uint64(LAUNCH_SHIFT)) << numpy.uint64(LAUNCH_SHIFT)


def _joined(known: Any, stamps: Any, launch: Any, threads: int) -> Any:
    """Return the stamp of two readers. A read that a barrier ordered is forgotten."""
    first, second = _block(known, threads), _block(stamps, threads)
    epoch = numpy.uint64(BLOCK_SHIFT)
    ordered = (first == second) & ((known >> epoch) != (stamps >> epoch))
    several = (stamps & ~_THREADS) | (second + numpy.uint64(_BLOCKS))
    together = numpy.where(first == second, several, launch | MANY)
    return numpy.where(ordered | (known == stamps), stamps, together)


def _block(stamps: Any, threads: int) -> Any:
    thread = stamps & _THREADS
    several = thread - numpy.where(thread >= _ATOMICS, numpy.uint64(_ATOMICS), numpy.uint64(_BLOCKS))
    return numpy.where(thread >= _BLOCKS, several, thread // numpy.uint64(threads))


def _conflicts(other: Any, stamps: Any, launch: Any, threads: int, warps: int) -> Any | None:
    """Return the positions at which accesses by other threads of this launch are not ordered with these."""
    found = (other >= launch) & (other != stamps)
    if not found.any():
        return None
    at = numpy.flatnonzero(found)
    stamps = stamps if len(stamps) > 1 else numpy.broadcast_to(stamps, other.shape)
    a, b = other[at], stamps[at]
    thread_a, thread_b = a & _THREADS, b & _THREADS
    known = thread_a < numpy.uint64(_BLOCKS)
    same = known & (thread_a == thread_b)
    together = (thread_a != MANY) & (thread_a != ATOMIC) & (_block(a, threads) == _block(b, threads))
    epoch, warp_epoch = numpy.uint64(BLOCK_SHIFT), numpy.uint64(WARP_SHIFT)
    passed = together & ((a >> epoch) != (b >> epoch))
    in_block = numpy.uint64(threads)
    warp = known & together & ((thread_a % in_block) // 32 == (thread_b % in_block) // 32)
    passed_warp = warp & ((a >> warp_epoch) != (b >> warp_epoch))
    bad = numpy.zeros(other.shape, bool)
    bad[at] = ~(same | passed | passed_warp)
    return bad if bad.any() else None


def thread_of(stamp: int) -> int | None:
    """Return the thread of a stamp, or None for the stamp of several threads."""
    thread = int(stamp) & int(_THREADS)
    return thread if thread < _BLOCKS else None
