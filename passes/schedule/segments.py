# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Main loop and remainder (peeling): whole tiles, then the rest, the last vector under a mask; and how steps run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...bindings.ir import Value
from ...bindings.navigation import constant_of, made_by
from ...emit import loops
from ...emit.numbers import Number, Size, as_index, is_same

#: What a long tile leaves of an unknown size is worth code for the shorter ones, and for what these leave as a whole.
_LONG_TILE = 6
_SHORTER_TILES = (12, 4)


def round_down(size: Size, step: int) -> Size:
    """The largest multiple of step that is not above the size."""
    return size if _is_multiple(size, step) else size - size % step


def in_steps(size: Size, step: int) -> Size:
    """A size that is known to be a multiple of step, written as one: `round_down` sees it."""
    return size if isinstance(size, int) else size // step * step


def _is_multiple(size: Size, step: int) -> bool:
    """Whether a size is a multiple of step, or written as one."""
    if isinstance(size, int):
        return size % step == 0
    product = made_by(size, "arith.muli")
    factor = None if product is None else constant_of(product.operands[1])
    return step == 1 or (factor is not None and factor % step == 0)


class Segment(NamedTuple):
    """A range of a loop where each step takes this many `points`; `rest` says that the last step may be partial."""

    start: Size
    stop: Size
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

    def left(self, size: Size, position: Size) -> Size:
        """How much of the loop is left in a step: of a step alone a number that the loops around need not compute."""
        return size - (self.start if self.once else position)


def whole_and_rest(size: Size, tile: int, *, one_by_one: bool = False) -> Iterator[Segment]:
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
    whole = round_down(size, tile)
    if not is_same(whole, 0):
        yield Segment(0, whole, tile, tile)
    if tile == 1 or is_same(whole, size):
        return
    if tile < _LONG_TILE or one_by_one:
        yield Segment(whole, size, 1, 1)
        return
    for shorter in _SHORTER_TILES:
        if tile >= shorter + 2:
            more = whole + round_down(size - whole, shorter)
            yield Segment(whole, more, shorter, shorter)
            whole = more
    yield Segment(whole, size, _SHORTER_TILES[-1] - 1, _SHORTER_TILES[-1] - 1, at_once=True)


def groups(size: Size, tile: int, group: int) -> Iterator[Segment]:
    """Steps of whole tiles of groups, then of what groups are left, then the steps that make no whole group."""
    whole = round_down(size, tile * group)
    if not is_same(whole, 0):
        yield Segment(0, whole, tile * group, tile)
    if is_same(whole, size):
        return
    full = round_down(size, group)
    if isinstance(full, int) and isinstance(whole, int):
        if full != whole:
            yield Segment(whole, full, full - whole, (full - whole) // group)
    elif tile > 1:
        yield Segment(whole, full, group, 1)
    if not is_same(full, size):
        yield Segment(full, size, group, 1, tail=True)


def vectors(size: Size, lanes: int, tile: int, *, masked: bool, group: int = 1) -> Iterator[Segment]:
    """Tiles of whole vectors, then the rest: vectors under a mask, or where that cannot be, vectors of one lane.

    A lane may stand for a group of steps.
    """
    width = lanes * tile * group
    whole = round_down(size, width)
    if not is_same(whole, 0):
        yield Segment(0, whole, width, tile, lanes)
    if is_same(whole, size):
        return
    if not masked:
        vectors = round_down(size, lanes)
        if tile > 1:
            yield Segment(whole, vectors, lanes, 1, lanes)
        yield Segment(vectors, size, 1, 1, 1)
        return
    if isinstance(size, int):
        count = -(-(size % width) // (lanes * group))
        yield Segment(whole, size, count * lanes * group, count, lanes, rest=True)
        return
    # Whole vectors need no mask, and that of the last one is the same in all loops around.
    left = round_down(size, lanes * group)
    if tile > 1:
        yield Segment(whole, left, lanes * group, 1, lanes)
    yield Segment(left, size, lanes * group, 1, lanes, rest=True, once=True)


def run_steps(
    start: Size,
    stop: Size,
    step: Size,
    body: Callable[..., list[Value]],
    values: list[Value],
    grain: int | None = None,
) -> list[Value]:
    """A loop, or its body where it is known to run once; threads may share it in grains of steps."""
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and stop - start <= step:
        return body(start, *values) if start < stop else values
    return loops.for_range(start, stop, body, *values, step=step, grain=grain)


def all_at_once(segment: Segment, body: Callable[..., list[Value]], values: list[Value]) -> list[Value]:
    """One step with as many points as there are: code for each number of them.

    These are branches rather than loops one after the other: what bufferization asks of a loop's results it asks of
    its operands twice, which are the results of the loop before.
    """
    there = as_index(segment.stop - segment.start)
    return _at_most(segment.points, there, functools.partial(body, segment.start, *values), values)


def _at_most(points: int, there: Number, body: Callable[..., list[Value]], values: list[Value]) -> list[Value]:
    if not points:
        return values
    types = [value.type for value in values]
    return loops.when(
        there == points, lambda: body(points=points), lambda: _at_most(points - 1, there, body, values), types
    )
