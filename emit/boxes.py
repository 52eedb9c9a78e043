# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits what suppression of overlapping boxes is made of. Boxes are two opposite corners, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import scalar
from .conversions import widened
from .loops import index, load, repeat_while, when
from .numbers import Number, select


def load_wide(buffer: Any, *indices: Any) -> Number:
    """An element of a float buffer, in the type it is computed in."""
    return widened(load(buffer, *indices))


class Box(NamedTuple):
    left: Number
    top: Number
    right: Number
    bottom: Number

    @property
    def area(self) -> Number:
        return (self.right - self.left) * (self.bottom - self.top)


def load_box(buffer: Any, batch: Any, anchor: Any, start: int = 0) -> Box:
    """The box whose coordinates begin at `start` among an anchor's values."""
    x1, y1, x2, y2 = (load_wide(buffer, batch, anchor, start + offset) for offset in range(4))
    return Box(scalar.smaller(x1, x2), scalar.smaller(y1, y2), scalar.larger(x1, x2), scalar.larger(y1, y2))


def overlap(one: Box, other: Box) -> Number:
    """The part of both boxes' area that they share; 0 where they have none."""
    width = scalar.larger(scalar.smaller(one.right, other.right) - scalar.larger(one.left, other.left), 0.0)
    height = scalar.larger(scalar.smaller(one.bottom, other.bottom) - scalar.larger(one.top, other.top), 0.0)
    shared = height * width
    union = one.area + other.area - shared
    return select(union <= 0.0, 0.0, shared / union)


def any_of(count: Any, holds: Callable[[Any], Any]) -> Any:
    """Whether `holds(i)` for an i below the count, an i1; it stops at the first."""

    def goes_on(place: Any) -> Any:
        is_left = scalar.compare("<", place, count, "index")
        stays = lambda: scalar.inverted(holds(place))  # noqa: E731
        return when(is_left, stays, lambda: scalar.constant(False, is_left.type), [is_left.type])[0]

    stopped = repeat_while([index(0)], goes_on, lambda place: scalar.add(place, index(1), "index"))[0]
    return scalar.compare("<", stopped, count, "index")
