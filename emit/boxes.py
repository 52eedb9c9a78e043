# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of the suppression of overlapping boxes. A box is given by two opposite corners, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..bindings.ir import Value
from .conversions import widened
from .loops import and_then, load, repeat_while
from .numbers import Number, maximum, minimum, select


def load_wide(buffer: Value, *indices: int | Value) -> Number:
    """Load an element of a float buffer, in the type of the computation."""
    return widened(load(buffer, *indices))


class Box(NamedTuple):
    left: Number
    top: Number
    right: Number
    bottom: Number

    @property
    def area(self) -> Number:
        return (self.right - self.left) * (self.bottom - self.top)


def load_box(buffer: Value, batch: Number, anchor: Number, start: int = 0) -> Box:
    """Load the box with coordinates at `start` in an anchor's values."""
    x1, y1, x2, y2 = (load_wide(buffer, batch, anchor, start + offset) for offset in range(4))
    return Box(minimum(x1, x2), minimum(y1, y2), maximum(x1, x2), maximum(y1, y2))


def overlap(one: Box, other: Box) -> Number:
    """Return the intersection over union of two boxes, or 0 for an empty union."""
    width = maximum(minimum(one.right, other.right) - maximum(one.left, other.left), 0.0)
    height = maximum(minimum(one.bottom, other.bottom) - maximum(one.top, other.top), 0.0)
    shared = height * width
    union = one.area + other.area - shared
    return select(union <= 0.0, 0.0, shared / union)


def any_of(count: Number, holds: Callable[[Number], Number]) -> Number:
    """Return True if `holds(i)` for an i below the count. The loop stops at the first such i."""

    goes_on = lambda place: and_then(place < count, lambda: ~holds(place))  # noqa: E731
    return repeat_while([0], goes_on, lambda place: place + 1)[0] < count
