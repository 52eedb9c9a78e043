# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices of arrays, by offsets, sizes and strides: tensor.extract_slice, memref.subview, and their kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..sites import Site
from .operands import mixed


class Slice(NamedTuple):
    offsets: list[int]
    sizes: list[int]
    strides: list[int]

    def of(self, site: Site, array: Any) -> Any:
        """A view, of the array's rank. Refuses what is outside of it."""
        keys = []
        for axis, (offset, size, stride) in enumerate(zip(*self, strict=True)):
            last = offset + (size - 1) * stride
            if size < 0 or (size and not (0 <= offset < array.shape[axis] and 0 <= last < array.shape[axis])):
                places = f"{size} places from {offset} on by {stride}"
                raise site.refusal(f"it takes {places}, along axis {axis} of size {array.shape[axis]}")
            # A stop in front of the array would count from its end.
            stop = last + (1 if stride > 0 else -1)
            keys.append(slice(0, 0) if not size else slice(offset, None if stop < 0 else stop, stride or None))
        return array[tuple(keys)]


def slice_of(site: Site, leading: int) -> Callable[[Sequence[Any]], Slice]:
    """Of an operation's operands: `leading` are in front of those that say the slice."""
    parts = [mixed(site.attributes[f"static_{name}"]) for name in ("offsets", "sizes", "strides")]

    def found(operands: Sequence[Any]) -> Slice:
        given: Iterator[Any] = iter(operands[leading:])
        return Slice(*(part(given) for part in parts))

    return found
