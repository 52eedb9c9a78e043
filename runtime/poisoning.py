# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns in memory before a call. Results must not depend on them (guard_pages.py fills the memory).

A program is called with each of two patterns. An element that equals the pattern both times was not written. An element
that differs between the calls was computed from uninitialized memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .foreign_types import Array

#: Two bytes each: NaN of every float type, and unlikely integers; then other values.
PATTERNS = (b"\xf5\xff", b"\x0a\x00")


def element_of(size: int, pattern: bytes) -> bytes:
    """Return an element of `size` bytes of the pattern."""
    return pattern[:1] * size if size < 2 else pattern * (size // 2)


def places_of(data: bytes | memoryview, element: bytes) -> Iterator[int]:
    """Yield the positions of an element in memory."""
    found = (match.start() for match in re.finditer(b"(?=" + re.escape(element) + b")", data, re.DOTALL))
    return (place for place in found if place % len(element) == 0)


def unwritten(first: bytes, second: bytes, size: int) -> Iterator[int]:
    """Yield the indices of elements that equal the pattern in both calls."""
    one, other = (element_of(size, pattern) for pattern in PATTERNS)
    for place in places_of(first, one):
        if second[place : place + size] == other:
            yield place // size


def problem_of(first: Array, second: Array) -> str:
    """Return the problem of a result that was computed with each pattern, or ""."""
    if first.shape != second.shape:
        return "has another shape when memory held something else before"
    one, other = first.tobytes(), second.tobytes()
    if one == other:
        return ""
    size = first.dtype.itemsize
    if (left := next(unwritten(one, other, size), None)) is not None:
        return f"is left unwritten, from element {_index(left, first)} on"
    place = next(place for place in range(first.size) if _differ(one, other, place * size, size))
    return f"is computed of memory that nothing has written: element {_index(place, first)} shows what was there"


def change_of(before: Array, after: Array) -> str:
    """Return the first element of an argument that a call has changed, or ""."""
    one, other, size = before.tobytes(), after.tobytes(), before.dtype.itemsize
    if one == other:
        return ""
    return _index(next(place for place in range(before.size) if _differ(one, other, place * size, size)), before)


def _differ(one: bytes, other: bytes, start: int, size: int) -> bool:
    return one[start : start + size] != other[start : start + size]


def _index(place: int, array: Array) -> str:
    import numpy

    return str([int(each) for each in numpy.unravel_index(place, array.shape)])
