# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts such as NCHW4c, and windows that slide over the spatial dimensions, as arrays and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from ..dialects.relax.infer.layouts import Layout

if TYPE_CHECKING:
    from numpy import ndarray

    from ..passes.evaluate.registry import EvaluationCall


def plain(array: ndarray, layout: Layout) -> ndarray:
    """An array in a layout with its dimensions in their order, none blocked."""
    for axis, size in zip(layout.axes, array.shape, strict=True):
        if axis.block not in (None, size):
            what = f"blocks of {axis.dimension} in layout {layout.text}"
            raise ValueError(f"{what}: sizes {size} and {axis.block} differ")
    sizes = [
        prod(size for size, axis in zip(array.shape, layout.axes, strict=True) if axis.dimension == letter)
        for letter in layout.dimensions
    ]
    return array.transpose(_by_dimension(layout)).reshape(sizes)


def laid_out(array: ndarray, layout: Layout) -> ndarray:
    """The inverse: an array in a layout. Zeros fill up blocks that are not full."""
    blocks = {letter: layout.blocks_of(letter) for letter in layout.dimensions}
    array = numpy.pad(array, [(0, -size % prod(blocks[x])) for x, size in zip(blocks, array.shape, strict=True)])
    shape: list[int] = []
    for letter, size in zip(blocks, array.shape, strict=True):
        shape += [size // prod(blocks[letter]), *blocks[letter]]
    return array.reshape(shape).transpose(numpy.argsort(_by_dimension(layout)))


def _by_dimension(layout: Layout) -> list[int]:
    """The axes of the first dimension, the outer one and its blocks from the outside in, then those of the next."""
    axes = layout.axes
    order = {letter: place for place, letter in enumerate(layout.dimensions)}
    return sorted(range(len(axes)), key=lambda place: (order[axes[place].dimension], axes[place].block is not None))


class Slide(NamedTuple):
    """How a window slides over one dimension: `taps` elements, `gap` apart, `stride` from one place to the next."""

    taps: int
    stride: int
    gap: int
    before: int
    after: int

    @property
    def reach(self) -> int:
        """How many elements it reaches over."""
        return (self.taps - 1) * self.gap + 1

    def places(self, size: int) -> int:
        """How many windows fit into the dimension and its padding."""
        return at_least_none((size + self.before + self.after - self.reach) // self.stride + 1)

    def at(self, count: int, tap: int) -> ndarray:
        """Where a tap is for each of the windows: negative, or `size` and more, where it is in the padding."""
        return numpy.arange(count) * self.stride + tap * self.gap - self.before


def at_least_none(count: int) -> int:
    """How many windows there are, unless a window is larger than the padded data by more than a stride."""
    if count < 0:
        raise ValueError("a size is negative: the data are too small for a window")
    return count


def slides_of(call: EvaluationCall, taps: Sequence[int]) -> list[Slide]:
    """How windows with these taps slide, as the attributes say."""
    count = len(taps)
    strides, gaps = each_of(call.strides, count), each_of(call.dilation, count)
    padding = call.padding * (count if len(call.padding) == 1 else 1)
    return [Slide(*each) for each in zip(taps, strides, gaps, padding[:count], padding[-count:], strict=True)]


def last(places: Sequence[Any]) -> Any:
    """The index of what is at a place along the last dimensions: numbers or slices, or arrays by numpy.ix_."""
    return (..., *places)


def each_of(values: Sequence[int], count: int) -> list[int]:
    """One entry for each dimension; a single one stands for all."""
    return list(values) * (count if len(values) == 1 else 1)
