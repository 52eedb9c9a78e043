# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices that tensors hold: checked before anything is read at them, counted from the end where they are negative."""

from __future__ import annotations

from typing import Any

from ..bindings.mlir import ir
from . import linalg, loops, scalar

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def as_position(value: Any, dtype: str) -> Any:
    """An integer as an index; an unsigned one that is too large for it becomes the largest."""
    if dtype == "ui64":
        value = scalar.minimum(value, scalar.constant(_LARGEST, value.type), dtype)
    return scalar.to_index(value, dtype)


def from_end(index: Any, size: Any) -> Any:
    """Where an index is that counts from the end if it is negative."""
    is_negative = scalar.compare("<", index, linalg.constant_index(0), "index")
    return scalar.select(is_negative, scalar.add(index, size, "index"), index)


def checked_position(value: Any, dtype: str, size: Any) -> Any:
    """Where an index is that has been checked."""
    return from_end(as_position(value, dtype), size)


def require_index(index: Any, axis: int, size: Any) -> None:
    """Raises IndexError unless -size <= index < size."""
    lowest = scalar.subtract(linalg.constant_index(0), size, "index")
    is_inside = scalar.create(
        "arith.andi", scalar.compare(">=", index, lowest, "index"), scalar.compare("<", index, size, "index")
    )
    message = f"index {{}} is out of range for axis {axis} of size {{}}"
    loops.require(is_inside, "IndexError", message, index, size)


def extremes(tensor: Any, dtype: str) -> tuple[Any, Any]:
    """The smallest and the largest of a tensor's integers, as indices; of none the ends of the range, exchanged."""
    rank = linalg.rank_of(tensor)
    i64 = ir.IntegerType.get_signless(64)
    starts = [linalg.fill(scalar.constant(value, i64), linalg.empty([], i64)) for value in (_LARGEST, _SMALLEST)]
    scalar_map = ir.AffineMap.get(rank, 0, [])

    def step(element: Any, low: Any, high: Any) -> list[Any]:
        value = linalg.as_i64(as_position(element, dtype))
        return [scalar.minimum(value, low, "i64"), scalar.maximum(value, high, "i64")]

    maps = [linalg.identity(rank), scalar_map, scalar_map]
    low, high = linalg.generic([tensor], starts, maps, [linalg.REDUCTION] * rank, step)
    return linalg.as_index(linalg.extract(low, [])), linalg.as_index(linalg.extract(high, []))


def require_indices(indices: Any, dtype: str, axis: int, size: Any) -> None:
    """Raises IndexError unless a scalar, or every element of a tensor or memref, is an index of an axis.

    Of a tensor the extremes are looked for, a reduction as any other; of a memref the first index outside is told.
    """
    if isinstance(indices.type, ir.MemRefType):
        element = lambda *at: as_position(loops.load(indices, *at), dtype)  # noqa: E731
        loops.nest(loops.sizes(indices), lambda *at: require_index(element(*at), axis, size))
        return
    if not isinstance(indices.type, ir.RankedTensorType):
        require_index(as_position(indices, dtype), axis, size)
        return
    low, high = extremes(indices, dtype)
    # No indices at all: the ends of the range exchanged, which pass.
    message = f"index {{}} is out of range for axis {axis} of size {{}}"
    lowest = scalar.subtract(linalg.constant_index(0), size, "index")
    loops.require(scalar.compare(">=", low, lowest, "index"), "IndexError", message, low, size)
    loops.require(scalar.compare("<", high, size, "index"), "IndexError", message, high, size)
