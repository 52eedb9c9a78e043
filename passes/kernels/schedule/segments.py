# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Main loop and remainder (peeling): whole tiles, then the remainder with a masked last vector; and how steps run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ....bindings.ir import Value
from ....bindings.navigation import constant_of, made_by
from ....emit import loops
from ....emit.numbers import Number, Size, as_index, is_same

#: Long tiles leave long remainders of unknown sizes, which deserve code with shorter tiles, and code for the last
#: remainder.
_LONG_TILE = 6
_SHORTER_TILES = (12, 4)


def round_down(size: Size, step: int) -> Size:
    """Return the largest multiple of `step` that is at most the size."""
    return size if _is_multiple(size, step) else size - size % step


def in_steps(size: Size, step: int) -> Size:
    """Return a size that is known to be a multiple of `step` in a form that `round_down` recognizes."""
    return size if isinstance(size, int) else size // step * step


def _is_multiple(size: Size, step: int) -> bool:
    """Return True if a size is a multiple of `step`, or has the form of one."""
    if isinstance(size, int):
        return size % step == 0
    product = made_by(size, "arith.muli")
    factor = None if product is None else constant_of(product.operands[1])
    return step == 1 or (factor is not None and factor % step == 0)


class Segment(NamedTuple):
    """Range of a loop with `points` points in each step. With `rest`, the last step may be partial."""

    start: Size
    stop: Size
    step: int
    points: int
    lanes: int = 1
    rest: bool = False
    #: True if the last group of steps of a reduction is partial.
    tail: bool = False
    #: True if there is at most one step, at the start.
    once: bool = False
    #: True if the whole range, from no point to `points` points, is one step.
    at_once: bool = False

    def left(self, size: Size, position: Size) -> Size:
        """Return how much of the loop is left in a step.

        For a single step, the number does not depend on the loops around.
        """
        return size - (self.start if self.once else position)


def whole_and_rest(size: Size, tile: int, *, one_by_one: bool = False) -> Iterator[Segment]:
    """Yield steps of whole tiles, then the remainder.

    The remainder is one step if its size is known, or shorter tiles if the tile is long.
    A step with one point takes about as long as a step with a tile: a sum waits for the product before it.
    """
    if isinstance(size, int) and not one_by_one:
        if (rest := size % tile) != size:
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
    """Yield steps of whole tiles of groups, then the remaining groups, then the steps that form no whole group."""
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


def vectors(size: Size, lanes: int, tile: int, *, masked: bool, group: int = 1, unit: int = 0) -> Iterator[Segment]:
    """Yield tiles of whole vectors, then the remainder: masked vectors, or vectors of one lane if masks are impossible.

    A lane may be a group of steps. With a `unit`, steps of the remainder have that many vectors.
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
    if unit:
        yield from _rest_in_units(size, whole, lanes, unit, is_long=unit < tile)
        return
    if isinstance(size, int):
        count = -(-(size % width) // (lanes * group))
        yield Segment(whole, size, count * lanes * group, count, lanes, rest=True)
        return
    # Whole vectors need no mask, and the mask of the last vector is the same in all outer loops.
    left = round_down(size, lanes * group)
    if tile > 1:
        yield Segment(whole, left, lanes * group, 1, lanes)
    yield Segment(left, size, lanes * group, 1, lanes, rest=True, once=True)


def _rest_in_units(size: Size, start: Size, lanes: int, unit: int, *, is_long: bool) -> Iterator[Segment]:
    """Yield steps of `unit` vectors from the start on. The last step is masked."""
    width = lanes * unit
    whole = round_down(size, width)
    if isinstance(start, int) and isinstance(whole, int) and isinstance(size, int):
        for index in range(start, whole, width):
            yield Segment(index, index + width, width, unit, lanes)
        if count := -(-(size - whole) // lanes):
            yield Segment(whole, size, count * lanes, count, lanes, rest=True)
        return
    if is_long:
        yield Segment(start, whole, width, unit, lanes)
    yield Segment(whole, size, width, unit, lanes, rest=True, once=True)


def run_steps(
    start: Size, stop: Size, step: Size, body: Callable[..., list[Value]], values: list[Value], grain: int | None = None
) -> list[Value]:
    """Emit a loop, or only its body if the loop is known to run once. Threads may share the loop in grains of steps."""
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and stop - start <= step:
        return body(start, *values) if start < stop else values
    return loops.for_range(start, stop, body, *values, step=step, grain=grain)


def all_at_once(segment: Segment, body: Callable[..., list[Value]], values: list[Value]) -> list[Value]:
    """Emit one step with all points of the segment: a branch for each number of points.

    The code has branches instead of consecutive loops. Bufferization analyses a loop's results and operands, and the
    operands would be the results of the loop before: it would analyse them twice.
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
