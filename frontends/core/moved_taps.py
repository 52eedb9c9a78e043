# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Deformable convolutions: the data is sampled at each tap's position, then multiplied as matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...dialects import relax
from ...dialects.core.infos import is_float
from .node import Node
from .tensors import const, joined
from .values import Array, Tensor, Value


class MovedTaps(NamedTuple):
    """Strides, dilations and padding of the windows, and the groups that share filters and offsets."""

    strides: Sequence[int]
    dilations: Sequence[int]
    before: Sequence[int]
    groups: int
    offset_groups: int


def check_images(node: Node, data: Value, weight: Value, offsets: Value) -> None:
    """Check that the operands are images of known sizes and of floats."""
    for value in (data, weight, offsets):
        if value.shape is None or len(value.shape) != 4 or not all(isinstance(size, int) for size in value.shape[1:]):
            raise node.fail("the data, weight and offsets must be 4-D and of known sizes")
    if not is_float(data.dtype):
        raise node.fail(f"only floats can be sampled between elements, got {data.dtype}")
    if 0 in (data.shape or ())[2:]:
        raise node.fail("the data must have elements")


def convolved_where_moved(
    node: Node, data: Value, weight: Value, offsets: Value, mask: Value | None, moved: MovedTaps
) -> Tensor:
    """Return the convolution without a bias.

    `offsets` are rows and columns for each tap and position, and `mask` is a factor for each.
    """
    check_images(node, data, weight, offsets)
    shape, filters = data.shape or (), weight.shape or ()
    height, width = (offsets.shape or ())[2:]
    kernel = filters[2:]
    taps = math.prod(kernel)
    positions = _tap_positions(kernel, (height, width), moved)
    sampled = [_sample(data, offsets, mask, group, positions, moved) for group in range(moved.offset_groups)]
    batch, channels, groups = shape[0], shape[1], moved.groups
    columns = relax.reshape(joined(sampled, axis=1), (batch, groups, channels // groups * taps, height * width))
    rows = relax.reshape(weight.ssa, (groups, filters[0] // groups, filters[1] * taps))
    return relax.reshape(relax.matmul(rows, columns), (batch, filters[0], height, width))


def _sample(
    image: Value, offsets: Value, mask: Value | None, group: int, undisturbed: Array, moved: MovedTaps
) -> Tensor:
    """Sample the channels of an offset group at every tap's positions: [batch, channels, taps, height, width]."""
    import numpy

    batch, channels, *sizes = image.shape or ()
    taps, height, width = undisturbed.shape[2:]
    groups, dtype = moved.offset_groups, image.dtype
    own = channels // groups
    data = _part(image.ssa, 1, group * own, own, channels)
    moves = _part(offsets.ssa, 1, group * 2 * taps, 2 * taps, groups * 2 * taps)
    moves = relax.reshape(moves, (batch, taps, 2, height, width))
    moves = relax.permute_dims(moves, axes=[0, 2, 1, 3, 4])
    positions = relax.add(moves, const(undisturbed, dtype))
    # grid_sample without aligned corners maps position p to (2 * p + 1) / size - 1.
    scale = numpy.array([2.0 / size for size in sizes]).reshape(1, 2, 1, 1, 1)
    shift = numpy.array([1.0 / size - 1.0 for size in sizes]).reshape(1, 2, 1, 1, 1)
    grid = relax.add(relax.multiply(positions, const(scale, dtype)), const(shift, dtype))
    grid = relax.flip(relax.reshape(grid, (batch, 2, taps * height, width)), axis=1)
    sampled = relax.image.grid_sample(data, grid, method="bilinear", padding_mode="zeros", align_corners=False)
    sampled = relax.reshape(sampled, (batch, own, taps, height, width))
    if mask is None:
        return sampled
    factors = _part(mask.ssa, 1, group * taps, taps, groups * taps)
    return relax.multiply(sampled, relax.expand_dims(factors, axis=[1]))


def _part(tensor: Tensor, axis: int, first: int, length: int, whole: int) -> Tensor:
    if length == whole:
        return tensor
    return relax.strided_slice(tensor, axes=[axis], begin=[first], end=[first + length])


def _tap_positions(kernel: Sequence[int], counts: Sequence[int], moved: MovedTaps) -> Array:
    """Return row and column of each tap of each window without offsets: [1, 2, taps, height, width]."""
    import numpy

    taps = numpy.indices(kernel).reshape(2, -1, 1, 1)
    windows = numpy.indices(counts)[:, None]
    steps, gaps, before = (
        numpy.array(each).reshape(2, 1, 1, 1) for each in (moved.strides, moved.dilations, moved.before)
    )
    return (windows * steps + taps * gaps - before)[None].astype("float64")
