# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices that tensors hold: checked before anything is read at them, counted from the end where they are negative."""

from __future__ import annotations

from typing import Any

from ..bindings.mlir import ir
from . import linalg, loops
from .numbers import Number, Size, as_i64, as_index, element, maximum, minimum, number, select

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def as_position(value: Number, dtype: str) -> Number:
    """An integer as an index; an unsigned one that is too large for it becomes the largest."""
    x = value.of(dtype)
    return (minimum(x, _LARGEST) if dtype == "ui64" else x).to("index")


def from_end(place: Number, size: Size) -> Number:
    """Where an index is that counts from the end if it is negative."""
    return select(place < 0, place + size, place)


def checked_position(value: Number, dtype: str, size: Size) -> Number:
    """Where an index is that has been checked."""
    return from_end(as_position(value, dtype), size)


def require_index(place: Number, axis: int, size: Any) -> None:
    """Raises IndexError unless -size <= index < size."""
    message = f"index {{}} is out of range for axis {axis} of size {{}}"
    loops.require((place >= 0 - size) & (place < size), "IndexError", message, place, size)


def extremes(tensor: Any, dtype: str) -> tuple[Number, Number]:
    """The smallest and the largest of a tensor's integers, as indices; of none the ends of the range, exchanged."""
    rank = linalg.rank_of(tensor)
    starts = [linalg.fill(value, linalg.empty([], element("i64"))) for value in (_LARGEST, _SMALLEST)]
    scalar_map = linalg.select_dims(rank, [])

    def step(given: Number, low: Number, high: Number) -> list[Number]:
        value = as_i64(as_position(given, dtype))
        return [minimum(value, low), maximum(value, high)]

    maps = [linalg.identity(rank), scalar_map, scalar_map]
    found = linalg.generic([tensor], starts, maps, [linalg.REDUCTION] * rank, step)
    low, high = (as_index(linalg.extract(each, [])) for each in found)
    return low, high


def require_indices(indices: Any, dtype: str, axis: int, size: Number) -> None:
    """Raises IndexError unless a scalar, or every element of a tensor or memref, is an index of an axis.

    Of a tensor the extremes are looked for, a reduction as any other; of a memref the first index outside is told.
    """
    if isinstance(indices.type, ir.MemRefType):
        place = lambda *at: as_position(loops.load(indices, *at), dtype)  # noqa: E731
        loops.nest(loops.sizes(indices), lambda *at: require_index(place(*at), axis, size))
        return
    if not isinstance(indices.type, ir.RankedTensorType):
        require_index(as_position(number(indices), dtype), axis, size)
        return
    low, high = extremes(indices, dtype)
    # No indices at all: the ends of the range exchanged, which pass.
    message = f"index {{}} is out of range for axis {axis} of size {{}}"
    loops.require(low >= 0 - size, "IndexError", message, low, size)
    loops.require(high < size, "IndexError", message, high, size)
