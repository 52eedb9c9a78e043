# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts such as NCHW4c, and windows that slide over the spatial dimensions, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from relax_mlir.dialects.relax.infer.layouts import Layout

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


def plain(array: ndarray, layout: Layout) -> ndarray:
    """Convert an array in a layout to the order of its dimensions, without blocks."""
    for axis, size in zip(layout.axes, array.shape, strict=True):
        if axis.block not in (None, size):
            what = f"blocks of {axis.dimension} in layout {layout.text}"
            raise ValueError(f"{what}: sizes {size} and {axis.block} differ")
    sizes = [
        prod(size for size, axis in zip(array.shape, layout.axes, strict=True) if axis.dimension == letter)
        for letter in layout.dimensions
    ]
    return array.transpose(_group_by_dimension(layout)).reshape(sizes)


def laid_out(array: ndarray, layout: Layout) -> ndarray:
    """Convert an array to a layout. Zeros pad partial blocks. The inverse of `plain`."""
    blocks = {letter: layout.blocks_of(letter) for letter in layout.dimensions}
    array = numpy.pad(array, [(0, -size % prod(blocks[x])) for x, size in zip(blocks, array.shape, strict=True)])
    shape: list[int] = []
    for letter, size in zip(blocks, array.shape, strict=True):
        shape += [size // prod(blocks[letter]), *blocks[letter]]
    return array.reshape(shape).transpose(numpy.argsort(_group_by_dimension(layout)))


def _group_by_dimension(layout: Layout) -> list[int]:
    """Return the axes grouped by dimension, each with its outer axis before its blocks."""
    axes = layout.axes
    order = {letter: place for place, letter in enumerate(layout.dimensions)}
    return sorted(range(len(axes)), key=lambda place: (order[axes[place].dimension], axes[place].block is not None))


class Slide(NamedTuple):
    """A window along one dimension: `taps` elements at a distance of `gap`, with `stride` between positions."""

    taps: int
    stride: int
    gap: int
    before: int
    after: int

    @property
    def reach(self) -> int:
        """Return the number of elements that a window covers."""
        return (self.taps - 1) * self.gap + 1

    def places(self, size: int) -> int:
        """Return the number of windows that fit into the dimension and its padding."""
        return at_least_none((size + self.before + self.after - self.reach) // self.stride + 1)

    def at(self, count: int, tap: int) -> ndarray:
        """Return the index of a tap for each window. Indices below 0 and from `size` on are padding."""
        return numpy.arange(count) * self.stride + tap * self.gap - self.before


def at_least_none(count: int) -> int:
    """Check the number of windows: negative if a window exceeds the padded data by more than a stride."""
    if count < 0:
        raise ValueError("a size is negative: the data are too small for a window")
    return count


def slides_of(call: EvaluationCall, taps: Sequence[int]) -> list[Slide]:
    """Return the windows with these taps by the call's attributes."""
    count = len(taps)
    strides, gaps = each_of(call.strides, count), each_of(call.dilation, count)
    padding = call.padding * (count if len(call.padding) == 1 else 1)
    return [Slide(*each) for each in zip(taps, strides, gaps, padding[:count], padding[-count:], strict=True)]


def last(places: Sequence[int | slice | ndarray]) -> Any:
    """Return the index of positions along the last dimensions: numbers, slices, or arrays of numpy.ix_."""
    return (..., *places)


def each_of(values: Sequence[int], count: int) -> list[int]:
    """Return one entry per dimension. A single value applies to all."""
    return list(values) * (count if len(values) == 1 else 1)
