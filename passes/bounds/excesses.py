# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses that leave their buffer at a corner of the loops around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy

from ...bindings.ir import Operation, Value
from ...bindings.mlir import DYNAMIC
from ...bindings.navigation import made_by
from .accesses import Box, box_of
from .corner_iterations import Corners, Values


class _Range(NamedTuple):
    """Range of elements: the buffer's size, the number of accessed elements, the first of them, and a description."""

    size: int
    count: Values
    first: Values
    where: str


def excesses(function: Operation) -> Iterator[tuple[Operation, str]]:
    """Yield the accesses of a function that leave their buffer, each with a description."""
    corners = Corners(function)
    for op, runs in corners.operations():
        box = box_of(op)
        text = None if box is None else _describe(op, box, corners, runs)
        if text is not None:
            yield op, text


def _describe(op: Operation, box: Box, corners: Corners, runs: Values) -> str | None:
    """Return a description of the elements outside of the buffer, or None if there are none."""
    counts = [_count(box, each, corners) for each in box.counts]
    for condition in (each > 0 for each in counts if each is not None):
        runs = runs & condition
    for size, count, first, where in _runs(box, counts, corners) if box.is_run else _axes(box, counts, corners):
        fails, first, count = numpy.broadcast_arrays(runs & ((first < 0) | (first + count > size)), first, count)
        if fails.any():
            place = numpy.unravel_index(int(fails.argmax()), fails.shape)
            elements = f"elements {first[place]} to {first[place] + count[place] - 1} of the {size}"
            return f"'{op.name}' op {box.verb} {elements} {where}{_named(box.memref)}"
    return None


def _axes(box: Box, counts: Sequence[Values | None], corners: Corners) -> Iterator[_Range]:
    """Yield the elements along each dimension of known size."""
    for axis, (size, count) in enumerate(zip(box.memref.type.shape, counts, strict=True)):
        if size != DYNAMIC and count is not None:
            yield _Range(size, count, _first(box, axis, corners), f"along dimension {axis} of ")


def _runs(box: Box, counts: Sequence[Values | None], corners: Corners) -> Iterator[_Range]:
    """Yield the elements that follow each other in a memref of known sizes."""
    shape, count = list(box.memref.type.shape), counts[-1]
    strides, _ = box.memref.type.get_strides_and_offset()
    if DYNAMIC in shape or DYNAMIC in strides or count is None:
        return
    first: Values = numpy.asarray(0)
    for axis, stride in enumerate(strides):
        first = first + _first(box, axis, corners) * stride
    size = 1 + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
    yield _Range(size, count, first, "of ")


def _first(box: Box, axis: int, corners: Corners) -> Values:
    """Return the first index along a dimension. An unknown index is at least 0."""
    first = _values(box.firsts[axis], corners)
    return numpy.asarray(0) if first is None else first


def _values(number: Value | int, corners: Corners) -> Values | None:
    return numpy.asarray(number) if isinstance(number, int) else corners.of(number)


def _count(box: Box, number: Value | int | None, corners: Corners) -> Values | None:
    """Return how many elements the box has along a dimension, or None if the number is unknown."""
    known = None if number is None else _values(number, corners)
    return known if known is None or not box.lanes else numpy.minimum(known, box.lanes)


def _named(memref: Value) -> str:
    held = made_by(memref, "memref.get_global")
    name = "" if held is None else f"constant {held.attributes['name'].value!s} "
    return f"{name}{memref.type}"
