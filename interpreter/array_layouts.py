# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays in layouts such as NCHW4c."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy

from ..dialects.relax.infer.layouts import Layout

if TYPE_CHECKING:
    from numpy import ndarray


def plain(array: ndarray, layout: Layout) -> ndarray:
    """An array in a layout with its dimensions in their order, none blocked."""
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
