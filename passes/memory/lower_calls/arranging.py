# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Static arena offsets: placement of tensors in one region without overlap of live tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from .planned_buffer import PlannedBuffer

#: Orders of placement: largest first, then longest-lived first, then last needed first. Later orders are tried only if
#: the region exceeds the peak of live bytes.
_ORDERS: tuple[Callable[[PlannedBuffer, int], tuple[int, int]], ...] = (
    lambda buffer, size: (-size, buffer.first),
    lambda buffer, size: (buffer.first - buffer.last, -size),
    lambda buffer, size: (-buffer.last, -size),
)


def arrange(sizes: dict[PlannedBuffer, int]) -> tuple[dict[PlannedBuffer, int], int]:
    """Return an offset for each buffer such that live buffers do not overlap, and the end of the region."""
    found: list[tuple[int, dict[PlannedBuffer, int]]] = []
    least = most_alive(sizes)
    for order in _ORDERS:
        places = _place_in_turn(sorted(sizes, key=lambda buffer: order(buffer, sizes[buffer])), sizes)
        found.append((max((place + sizes[buffer] for buffer, place in places.items()), default=0), places))
        if found[-1][0] == least:
            break
    end, places = min(found, key=lambda each: each[0])
    return places, end


def _place_in_turn(buffers: Sequence[PlannedBuffer], sizes: dict[PlannedBuffer, int]) -> dict[PlannedBuffer, int]:
    """Place each buffer in order at the lowest offset that no live buffer occupies."""
    timeline = Timeline()
    places: dict[PlannedBuffer, int] = {}
    for buffer in buffers:
        around = [
            planned_buffer for planned_buffer in timeline.alive_with(buffer) if not may_meet(planned_buffer, buffer)
        ]
        places[buffer] = _lowest_gap(
            [(places[planned_buffer], places[planned_buffer] + sizes[planned_buffer]) for planned_buffer in around],
            sizes[buffer],
        )
        timeline.add(buffer)
    return places


def most_alive(sizes: Mapping[PlannedBuffer, int]) -> int:
    """Return the peak of live bytes."""
    changes: dict[int, int] = {}
    covered = {cover for buffer in sizes for cover in buffer.covers}
    for buffer, size in sizes.items():
        end = buffer.last if buffer in covered else buffer.last + 1
        changes[buffer.first] = changes.get(buffer.first, 0) + size
        changes[end] = changes.get(end, 0) - size
    alive = most = 0
    for _, change in sorted(changes.items()):
        alive += change
        most = max(most, alive)
    return most


def may_meet(one: PlannedBuffer, other: PlannedBuffer) -> bool:
    """Check whether two buffers may overlap while both are live."""
    return one in other.covers or other in one.covers


class Timeline:
    """Interval index of buffers by lifetime, with spans of power-of-two lengths."""

    def __init__(self) -> None:
        # Keys are the level (logarithm of the length) and the number of a span.
        self._spans: dict[tuple[int, int], list[PlannedBuffer]] = defaultdict(list)
        self._begun: dict[int, list[PlannedBuffer]] = defaultdict(list)
        self._levels = 1

    def add(self, buffer: PlannedBuffer) -> None:
        self._begun[buffer.first].append(buffer)
        low, high, level = buffer.first, buffer.last + 1, 0
        while low < high:
            if low & 1:
                self._spans[level, low].append(buffer)
                low += 1
            if high & 1:
                high -= 1
                self._spans[level, high].append(buffer)
            low, high, level = low >> 1, high >> 1, level + 1
        self._levels = max(self._levels, level)

    def alive_with(self, buffer: PlannedBuffer) -> list[PlannedBuffer]:
        """Return the buffers that are live at a buffer's creation, and those created during its lifetime."""
        spans = ((level, buffer.first >> level) for level in range(self._levels))
        planned_buffers = [
            planned_buffer for span in spans if span in self._spans for planned_buffer in self._spans[span]
        ]
        for position in range(buffer.first + 1, buffer.last + 1):
            if position in self._begun:
                planned_buffers += self._begun[position]
        return planned_buffers


def _lowest_gap(around: list[tuple[int, int]], size: int) -> int:
    """Return the lowest offset with `size` free bytes between the occupied ranges."""
    start = 0
    for first, end in sorted(around):
        if first - start >= size:
            break
        start = max(start, end)
    return start
