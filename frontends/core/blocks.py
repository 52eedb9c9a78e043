# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of overlapping blocks (col2im). The blocks have the shape [batch, channels * elements of a block, blocks]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...dialects import relax
from . import sizes
from .sizes import Size
from .tensors import const, info_of
from .values import Tensor, Value


class Along(NamedTuple):
    """One dimension: sizes of the image, block and grid of blocks; stride and dilation; padding before and after."""

    image: Size
    block: Size
    blocks: Size
    stride: int
    dilation: int
    before: int
    after: int


def blocks_that_fit(image: Size, block: Size, stride: int, dilation: int) -> Size:
    """Return the number of blocks along a dimension of a padded image."""
    reach = sizes.plus(sizes.times(sizes.minus(block, 1), dilation), 1)
    return sizes.plus(sizes.divided(sizes.minus(image, reach), stride), 1)


def placed_blocks(data: Tensor, alongs: Sequence[Along]) -> Tensor | None:
    """Add up blocks by a transposed convolution with a one-hot weight.

    Return None for dynamic sizes and above 3 dimensions.
    """
    import numpy

    batch, rows, _ = info_of(data).shape or ()
    is_known = all(isinstance(each, int) for along in alongs for each in along[:3])
    if not is_known or not isinstance(rows, int) or batch is None or len(alongs) > 3:
        return None
    block = [along.block for along in alongs]
    count, taps = len(block), math.prod(block)
    channels = rows // taps
    placing = numpy.tile(numpy.eye(taps).reshape(taps, 1, *block), (channels, *[1] * (count + 1)))
    result = relax.dialect.ops[f"nn.conv{count}d_transpose"](
        relax.reshape(data, (batch, rows, *(along.blocks for along in alongs))),
        const(placing, info_of(data).dtype),
        strides=[along.stride for along in alongs],
        dilation=[along.dilation for along in alongs],
        groups=channels,
    )
    # Rows that no block reaches are 0. A negative pad width removes the padding.
    sides = [side for along in alongs for side in (-along.before, _count_rest(along) - along.after)]
    return relax.nn.pad(result, pad_width=[0, 0, 0, 0, *sides]) if any(sides) else result


def _count_rest(along: Along) -> int:
    """Return the number of padded elements behind the last block."""
    reach = (along.block - 1) * along.dilation + 1
    rest: int = along.image + along.before + along.after - (along.blocks - 1) * along.stride - reach
    return rest


def added_blocks(data: Tensor, alongs: Sequence[Along]) -> Tensor:
    """Add up blocks of dynamic sizes with scatter_elements."""
    dtype = info_of(data).dtype
    batch, rows, columns = sizes.sizes_of(Value(ssa=data))
    taps = sizes.product([along.block for along in alongs])
    channels = sizes.divided(rows, taps)
    images = sizes.times(batch, channels)
    places, count = _places(alongs, taps, columns)
    whole = sizes.times(taps, columns)
    updates = sizes.reshaped(data, [images, whole])
    places = sizes.broadcast(sizes.reshaped(places, [1, whole]), [images, whole])
    # Elements outside of the image are added to an extra position behind the image, which is cut off below.
    start = sizes.full([images, sizes.plus(count, 1)], const(0, dtype))
    added = relax.scatter_elements(start, places, updates, axis=1, reduction="add")
    kept = sizes.sliced(Value(ssa=added), {1: (0, count, 1)})
    return sizes.reshaped(kept, [batch, channels, *(along.image for along in alongs)])


def _places(alongs: Sequence[Along], taps: Size, columns: Size) -> tuple[Tensor, Size]:
    """Return the flat image index of each block element (rows) in each block (columns), and the size of the image."""
    in_block = _split(sizes.count_up(taps), [along.block for along in alongs])
    of_block = _split(sizes.count_up(columns), [along.blocks for along in alongs])
    flat, is_inside = None, None
    for along, tap, block in zip(alongs, in_block, of_block, strict=True):
        moved = relax.multiply(relax.expand_dims(tap, axis=[1]), const(along.dilation, "i64"))
        start = relax.subtract(relax.multiply(block, const(along.stride, "i64")), const(along.before, "i64"))
        place = relax.add(moved, start)
        size = sizes.as_tensor([along.image])
        within = relax.logical_and(relax.greater_equal(place, const(0, "i64")), relax.less(place, size))
        flat = place if flat is None else relax.add(relax.multiply(flat, size), place)
        is_inside = within if is_inside is None else relax.logical_and(is_inside, within)
    count = sizes.product([along.image for along in alongs])
    return relax.dialect.ops["where"](is_inside, flat, sizes.as_tensor([count])), count


def _split(flat: Tensor, extents: Sequence[Size]) -> list[Tensor]:
    """Split flat indices into one index per dimension."""
    indices = []
    for extent in reversed(extents):
        size = sizes.as_tensor([extent])
        indices.append(relax.floor_mod(flat, size))
        flat = relax.floor_divide(flat, size)
    return indices[::-1]
