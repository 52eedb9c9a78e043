# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Allocator of addresses in the array of words that contains a program's tensors."""

from __future__ import annotations

import bisect

#: Alignment of allocations, in bytes.
_ALIGNMENT = 256


class Heap:
    """First-fit allocator: allocates the lowest free range that is large enough."""

    def __init__(self, first: int) -> None:
        """Create an allocator of addresses from `first` on."""
        self._first = _up(first)
        #: Free ranges as start and end, in order. The last range is practically unbounded.
        self._free: list[tuple[int, int]] = [(self._first, 1 << 62)]
        self._taken: dict[int, int] = {}
        #: Highest end of all allocations so far.
        self.end = self._first

    def take(self, bytes_: int) -> int:
        size = max(_ALIGNMENT, _up(bytes_))
        place = next(place for place, (start, end) in enumerate(self._free) if end - start >= size)
        start, end = self._free[place]
        self._free[place : place + 1] = [(start + size, end)] if end - start > size else []
        self._taken[start] = size
        self.end = max(self.end, start + size)
        return start

    def give_back(self, start: int) -> None:
        end = start + self._taken.pop(start)
        place = bisect.bisect(self._free, (start, end))
        if place < len(self._free) and self._free[place][0] == end:
            end = self._free.pop(place)[1]
        if place and self._free[place - 1][1] == start:
            start = self._free.pop(place - 1)[0]
            place -= 1
        self._free.insert(place, (start, end))


def _up(bytes_: int) -> int:
    return bytes_ + -bytes_ % _ALIGNMENT
