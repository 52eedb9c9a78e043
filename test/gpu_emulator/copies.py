# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cp.async: a copy arrives when its thread waits for it, and must not be read before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from .memory import ALLOCATED, PENDING, WRITABLE, WRITTEN, repeated

if TYPE_CHECKING:
    from .machine import Chunk


@dataclass
class _Copy:
    slots: Any  # of the threads
    groups: Any  # how many groups these had committed before
    places: Any  # bytes of shared memory
    words: Any  # copied data: a row of 32-bit words for each thread


class Copies:
    def __init__(self, chunk: Chunk) -> None:
        self._m = chunk
        self._pending: list[_Copy] = []
        self._committed = numpy.zeros(chunk.total, numpy.int64)

    def start(self, to: Any, source: Any, size: int, given: Any, line: int) -> None:
        m = self._m
        to, source = m.over_threads(to), m.over_threads(source)
        region, places = m.locate("shared", to, size, line)
        words = self._read(source, size, given, line)
        for number in range(size // 4):
            here = places // 4 + number
            good = region.are(here, 4, WRITABLE)
            if not good.all():
                raise m.refused("shared", to, 4 * number, 4, ~good, line, "writes")
            region.states(4)[here] |= repeated(PENDING, 4)
        m.note("write", "shared", places, size, line)
        slots = m.active("slot").copy()
        self._pending.append(_Copy(slots, self._committed[slots], places, words))

    def _read(self, source: Any, size: int, given: Any, line: int) -> Any:
        m = self._m
        words = numpy.zeros((m.count, size // 4), numpy.uint32)
        misplaced = numpy.flatnonzero(source & (size - 1))
        if given is None:
            return numpy.stack(m.load("global", source, numpy.uint32, size // 4, False, line), axis=1)
        if len(misplaced):
            raise m.fault(
                "misaligned", line, int(misplaced[0]), f"{int(source[misplaced[0]]):#x} is no multiple of {size}"
            )
        bytes_ = words.view(numpy.uint8)
        lengths = m.over_threads(given).astype(numpy.int64)
        if (lengths > size).any():
            raise m.fault(
                "cp.async", line, int(numpy.flatnonzero(lengths > size)[0]), f"more than {size} bytes are given"
            )
        whole = numpy.flatnonzero(lengths == size)
        if len(whole):
            with m.only(whole):
                words[whole] = numpy.stack(
                    m.load("global", source[whole], numpy.uint32, size // 4, False, line), axis=1
                )
        for number in range(size):
            threads = numpy.flatnonzero((lengths > number) & (lengths < size))
            if len(threads):
                with m.only(threads):
                    (value,) = m.load("global", source[threads] + number, numpy.uint8, 1, False, line)
                bytes_[threads, number] = value
        return words

    def commit(self) -> None:
        self._committed[self._m.active("slot")] += 1

    def wait(self, left: int, line: int) -> None:
        """Complete all groups but the last `left`. -1 also completes uncommitted copies."""
        if not self._pending:
            return
        m = self._m
        place = numpy.full(m.total, -1)
        place[m.active("slot")] = numpy.arange(m.count)
        kept = []
        for copy in self._pending:
            done = place[copy.slots] >= 0
            if left >= 0:
                done = done & (copy.groups < self._committed[copy.slots] - left)
            if done.any():
                self._arrive(copy, done, place, line)
            if not done.all():
                rest = ~done
                kept.append(_Copy(copy.slots[rest], copy.groups[rest], copy.places[rest], copy.words[rest]))
        self._pending = kept

    def _arrive(self, copy: _Copy, done: Any, place: Any, line: int) -> None:
        m = self._m
        places, words = copy.places[done], copy.words[done]
        for number in range(words.shape[1]):
            here = places // 4 + number
            m.shared.view(numpy.uint32)[here] = words[:, number]
            m.shared.states(4)[here] = repeated(ALLOCATED | WRITTEN, 4)
        with m.only(place[copy.slots[done]]):
            m.note("write", "shared", places, 4 * words.shape[1], line)
            m.hide(places, 4 * words.shape[1])
