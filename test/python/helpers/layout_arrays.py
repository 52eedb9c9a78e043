# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays in layouts such as NCHW16c, by numpy."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy
from relax_mlir.dialects.relax.infer.layouts import parse_layout


def in_layout(x: Any, layout: str, dimensions: str = "NCHW") -> Any:
    """Return an array with these dimensions in a layout. Zeros fill partial blocks."""
    axes = parse_layout(layout, dimensions).axes
    blocks = {letter: [axis.block or 1 for axis in axes if axis.dimension == letter] for letter in dimensions}
    padding = [(0, -size % prod(blocks[letter])) for letter, size in zip(dimensions, x.shape, strict=True)]
    split = numpy.pad(x, padding)
    names: list[tuple[str, int]] = []
    shape: list[int] = []
    for letter, size in zip(dimensions, split.shape, strict=True):
        inner = [axis.block for axis in axes if axis.dimension == letter and axis.block]
        shape += [size // prod(inner), *inner]
        names += [(letter, depth) for depth in range(len(inner) + 1)]
    depths = dict.fromkeys(dimensions, 0)
    order = []
    for axis in axes:
        depths[axis.dimension] += axis.block is not None
        order.append(names.index((axis.dimension, depths[axis.dimension] if axis.block else 0)))
    return split.reshape(shape).transpose(order).copy()
