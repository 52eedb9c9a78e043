# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a loop's size is cut into steps: whole tiles first, then what is left, the last vector under a mask; and how the
steps run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...bindings.ir import Value
from ...emit import loops
from ...emit.memory import Extent, plus
from ...emit.numbers import as_index
from .vector_access import floor_to, less

#: What a long tile leaves of an unknown size is worth code for the shorter ones, and for what these leave as a whole.
_LONG_TILE = 6
_SHORTER_TILES = (12, 4)


class Segment(NamedTuple):
    """A stretch of a loop where each step takes so many `points`; `rest` says that the last step may be a part."""

    start: Extent
    stop: Extent
    step: int
    points: int
    lanes: int = 1
    rest: bool = False
    #: Whether the last group of steps of a reduction is a part.
    tail: bool = False
    #: Whether there is one step at most, at the start.
    once: bool = False
    #: Whether all that there is, as many points at most and as few as none, is one step of as many points.
    at_once: bool = False

    def left(self, size: Extent, position: Extent) -> Extent:
        """How much of the loop is left in a step: of a step alone a number that the loops around need not compute."""
        return less(size, self.start if self.once else position)


def whole_and_rest(size: Extent, tile: int, *, one_by_one: bool = False) -> Iterator[Segment]:
    """Steps of whole tiles, then what is left: at once if its size is known, or by shorter ones where a tile is long.

    Each step of a point alone takes about as long as one of a tile: a sum waits for the product before.
    """
    if isinstance(size, int) and not one_by_one:
        rest = size % tile
        if rest != size:
            yield Segment(0, size - rest, tile, tile)
        if rest:
            yield Segment(size - rest, size, rest, rest)
        return
    whole = floor_to(size, tile)
    if whole != 0:
        yield Segment(0, whole, tile, tile)
    if tile == 1 or whole == size:
        return
    if tile < _LONG_TILE or one_by_one:
        yield Segment(whole, size, 1, 1)
        return
    for shorter in _SHORTER_TILES:
        if tile >= shorter + 2:
            more = plus(whole, floor_to(less(size, whole), shorter))
            yield Segment(whole, more, shorter, shorter)
            whole = more
    yield Segment(whole, size, _SHORTER_TILES[-1] - 1, _SHORTER_TILES[-1] - 1, at_once=True)


def groups(size: Extent, tile: int, group: int) -> Iterator[Segment]:
    """Steps of whole tiles of groups, then of what groups are left, then the steps that make no whole group."""
    whole = floor_to(size, tile * group)
    if whole != 0:
        yield Segment(0, whole, tile * group, tile)
    if whole == size:
        return
    full = floor_to(size, group)
    if isinstance(full, int) and isinstance(whole, int):
        if full != whole:
            yield Segment(whole, full, full - whole, (full - whole) // group)
    elif tile > 1:
        yield Segment(whole, full, group, 1)
    if full != size:
        yield Segment(full, size, group, 1, tail=True)


def vectors(size: Extent, lanes: int, tile: int, *, masked: bool, group: int = 1) -> Iterator[Segment]:
    """Tiles of whole vectors, then the rest: vectors under a mask, or where that cannot be, vectors of one lane.

    A lane may stand for a group of steps.
    """
    width = lanes * tile * group
    whole = floor_to(size, width)
    if whole != 0:
        yield Segment(0, whole, width, tile, lanes)
    if whole == size:
        return
    if not masked:
        vectors = floor_to(size, lanes)
        if tile > 1:
            yield Segment(whole, vectors, lanes, 1, lanes)
        yield Segment(vectors, size, 1, 1, 1)
        return
    if isinstance(size, int):
        count = -(-(size % width) // (lanes * group))
        yield Segment(whole, size, count * lanes * group, count, lanes, rest=True)
        return
    # Whole vectors need no mask, and that of the last one is the same in all loops around.
    left = floor_to(size, lanes * group)
    if tile > 1:
        yield Segment(whole, left, lanes * group, 1, lanes)
    yield Segment(left, size, lanes * group, 1, lanes, rest=True, once=True)


def run_steps(
    start: Extent,
    stop: Extent,
    step: Extent,
    body: Callable[..., list[Value]],
    values: list[Value],
    grain: int | None = None,
) -> list[Value]:
    """A loop, or its body where it is known to run once; threads may share it in grains of so many steps."""
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and stop - start <= step:
        return body(start, *values) if start < stop else values
    return loops.for_range(start, stop, lambda at, *rest: body(at.value, *rest), *values, step=step, grain=grain)


def all_at_once(segment: Segment, body: Callable[..., list[Value]], values: list[Value]) -> list[Value]:
    """One step with as many points as there are: code for each number of them.

    These are branches rather than loops one after the other: what bufferization asks of a loop's results it asks of
    its operands twice, which are the results of the loop before.
    """
    there, types = less(segment.stop, segment.start), [value.type for value in values]

    def at_most(points: int) -> list[Value]:
        if not points:
            return values
        is_it = as_index(there) == points
        return loops.when(
            is_it, lambda: body(segment.start, *values, points=points), lambda: at_most(points - 1), types
        )

    return at_most(segment.points)
