# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Log that a program's code writes during profiling: start and end of each kernel, range, call and launch.

targets/host/library/support.py defines its words.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import NamedTuple

#: Kinds of records.
BEGIN, KERNEL, RANGE, CALL, DEVICE, LAUNCH = range(6)
#: Kinds of spans of the calling thread at positions of the program.
HOST = (KERNEL, LAUNCH)
#: Capacity in records of 32 bytes each.
ROOM = 1 << 20
_HEADER, _WORDS = 8, 4


class Span(NamedTuple):
    """Time span in nanoseconds of the clock of time.perf_counter_ns."""

    kind: int
    #: Position of a kernel, or number of a call in its frame.
    number: int
    #: Thread, or address of a frame.
    whose: int
    begin: int
    end: int


class EventLog:
    """Memory for records."""

    def __init__(self, room: int = ROOM) -> None:
        count = _HEADER + _WORDS * room
        self.room = room
        # Pages that the system zeroes: unused pages take no memory.
        self._words = (ctypes.c_int64 * count).from_buffer(mmap.mmap(-1, 8 * count))
        self._words[1] = room

    @property
    def address(self) -> int:
        return ctypes.addressof(self._words)

    @property
    def is_known(self) -> bool:
        """Check whether the program uses the log. Programs of older releases do not."""
        return self._words[2] != 0

    @property
    def thread(self) -> int:
        """Return the thread that has its kernels timed."""
        return self._words[2]

    @property
    def lost(self) -> int:
        """Return the number of records that did not fit."""
        return max(self._words[0] - self.room, 0)

    def clear(self) -> None:
        self._words[0] = 0

    def spans(self) -> list[Span]:
        """Return the finished spans in the order of their ends."""
        count = min(self._words[0], self.room)
        words = self._words[_HEADER : _HEADER + _WORDS * count]
        found: list[Span] = []
        begun: list[tuple[int, int]] = []
        for at in range(0, len(words), _WORDS):
            what, whose, begin, end = words[at : at + _WORDS]
            kind, number = what & 0xFF, what >> 8
            if kind == BEGIN:
                begun.append((whose, begin))
                continue
            if kind in (KERNEL, LAUNCH):
                # Kernels that failed in a program that continued have no end.
                if (start := _take(begun, whose)) is None:
                    continue
                begin = start
            found.append(Span(kind, number, whose, begin, end))
        return found


def _take(begun: list[tuple[int, int]], key: int) -> int | None:
    """Return the start of the span with this key. Later spans without an end are dropped."""
    for place in reversed(range(len(begun))):
        if begun[place][0] == key:
            start = begun[place][1]
            del begun[place:]
            return start
    return None
