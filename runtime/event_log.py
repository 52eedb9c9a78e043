# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The log that a program's code writes while it is profiled: when each kernel, range, call and launch began and ended.

targets/host/library/support.mlir says what its words are.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import NamedTuple

#: Kinds of records.
BEGIN, KERNEL, RANGE, CALL, DEVICE, LAUNCH = range(6)
#: Spans of the calling thread at places of the program.
HOST = (KERNEL, LAUNCH)
#: Records that there is room for, 32 bytes each.
ROOM = 1 << 20
_HEADER, _WORDS = 8, 4


class Span(NamedTuple):
    """Something that took time, in nanoseconds of the clock of time.perf_counter_ns."""

    kind: int
    #: The place of a kernel, or which call of a frame it is.
    number: int
    #: A thread, or the address of a frame.
    whose: int
    begin: int
    end: int


class EventLog:
    """Memory for records."""

    def __init__(self, room: int = ROOM) -> None:
        count = _HEADER + _WORDS * room
        self.room = room
        # The system's own zeros: what is never written takes no memory.
        self._words = (ctypes.c_int64 * count).from_buffer(mmap.mmap(-1, 8 * count))
        self._words[1] = room

    @property
    def address(self) -> int:
        return ctypes.addressof(self._words)

    @property
    def is_known(self) -> bool:
        """Whether the program has taken it: those of older releases have no logs."""
        return self._words[2] != 0

    @property
    def thread(self) -> int:
        """The one whose kernels are timed."""
        return self._words[2]

    @property
    def lost(self) -> int:
        """Records that there was no room for."""
        return max(self._words[0] - self.room, 0)

    def clear(self) -> None:
        self._words[0] = 0

    def spans(self) -> list[Span]:
        """What has ended, in the order of that."""
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
                # Kernels that have failed, where somebody has gone on, have no end.
                start = _taken(begun, whose)
                if start is None:
                    continue
                begin = start
            found.append(Span(kind, number, whose, begin, end))
        return found


def _taken(begun: list[tuple[int, int]], key: int) -> int | None:
    """When what has this key began; what began later and has not ended is forgotten."""
    for place in reversed(range(len(begun))):
        if begun[place][0] == key:
            start = begun[place][1]
            del begun[place:]
            return start
    return None
