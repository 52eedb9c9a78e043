# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits what suppression of overlapping boxes is made of. Boxes are two opposite corners, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...dialects.core.infos import bit_width
from ..intrinsics.numbers import Number, number, select, to_float
from . import scalar
from .loops import index, load, repeat_while, when


def wide(dtype: str) -> str:
    """The type that floats of a type are computed in."""
    return "f64" if bit_width(dtype) == 64 else "f32"


def load_wide(buffer: Any, *indices: Any) -> Number:
    """An element of a float buffer, in the type it is computed in."""
    value = number(load(buffer, *indices))
    return to_float(value, wide(value.dtype))


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
    return Box(_minimum(x1, x2), _minimum(y1, y2), _maximum(x1, x2), _maximum(y1, y2))


def overlap(one: Box, other: Box) -> Number:
    """The part of both boxes' area that they share; 0 where they have none."""
    width = _maximum(_minimum(one.right, other.right) - _maximum(one.left, other.left), one.left.constant(0))
    height = _maximum(_minimum(one.bottom, other.bottom) - _maximum(one.top, other.top), one.left.constant(0))
    shared = height * width
    union = one.area + other.area - shared
    return select(union <= 0.0, 0.0, shared / union)


def _minimum(x: Number, y: Number) -> Number:
    return number(scalar.minimum(x.value, y.value, x.dtype))


def _maximum(x: Number, y: Number) -> Number:
    return number(scalar.maximum(x.value, y.value, x.dtype))


def any_of(count: Any, holds: Callable[[Any], Any]) -> Any:
    """Whether `holds(i)` for an i below the count, an i1; it stops at the first."""

    def goes_on(place: Any) -> Any:
        is_left = scalar.compare("<", place, count, "index")
        stays = lambda: inverted(holds(place))  # noqa: E731
        return when(is_left, stays, lambda: scalar.constant(False, is_left.type), [is_left.type])[0]

    stopped = repeat_while([index(0)], goes_on, lambda place: scalar.add(place, index(1), "index"))[0]
    return scalar.compare("<", stopped, count, "index")


def inverted(flag: Any) -> Any:
    return scalar.create("arith.xori", flag, scalar.constant(True, flag.type))


def incremented_if(flag: Any, count: Any) -> Any:
    """An index, one more where the flag is set."""
    return scalar.add(count, scalar.create("arith.index_castui", flag, type_=count.type), "index")
