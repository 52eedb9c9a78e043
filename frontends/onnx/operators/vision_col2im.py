# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks added up to an image whose shape, or the blocks', only the run tells: each element goes to its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....dialects.relax import const, dialect
from ....support.suggest import counted
from ..node import Node
from ..shapes import sizes
from ..shapes.sizes import Size
from ..values import Value
from .sliding_windows import per_dimension

relax = dialect.ops


class _Along(NamedTuple):
    """One dimension: sizes of image, block and grid of blocks; how blocks step, spread and stand out in front."""

    image: Size
    block: Size
    blocks: Size
    stride: int
    dilation: int
    before: int


def added_blocks(node: Node) -> Any:
    """Col2Im of [batch, channels * elements of a block, blocks]."""
    batch, rows, columns = sizes.sizes_of(node.value(0))
    alongs = _alongs(node)
    taps = sizes.product([along.block for along in alongs])
    channels = sizes.divided(rows, taps)
    images = sizes.times(batch, channels)
    places, count = _places(alongs, taps, columns)
    whole = sizes.times(taps, columns)
    updates = sizes.reshaped(node.tensor(0), [images, whole])
    places = sizes.broadcast(sizes.reshaped(places, [1, whole]), [images, whole])
    # What is outside of the image goes to a place behind it.
    start = sizes.full([images, sizes.plus(count, 1)], const(0, node.value(0).dtype))
    added = relax["scatter_elements"](start, places, updates, axis=1, reduction="add")
    kept = sizes.sliced(Value(ssa=added), {1: (0, count, 1)})
    return sizes.reshaped(kept, [batch, channels, *(along.image for along in alongs)])


def _alongs(node: Node) -> list[_Along]:
    image, block = sizes.input_sizes(node, 1), sizes.input_sizes(node, 2)
    rank = len(image)
    if rank == 0 or len(block) != rank:
        raise node.fail(f"the image has {counted(rank, 'dimension')}, and a block {len(block)}")
    strides, dilations = per_dimension(node, "strides", rank), per_dimension(node, "dilations", rank)
    pads = per_dimension(node, "pads", 2 * rank, 0)
    lists = zip(image, block, strides, dilations, pads[:rank], pads[rank:], strict=True)
    return [
        _Along(size, own, _blocks(size, own, stride, dilation, before + after), stride, dilation, before)
        for size, own, stride, dilation, before, after in lists
    ]


def _blocks(image: Size, block: Size, stride: int, dilation: int, padding: int) -> Size:
    """How many blocks fit."""
    reach = sizes.plus(sizes.times(sizes.minus(block, 1), dilation), 1)
    return sizes.plus(sizes.divided(sizes.minus(sizes.plus(image, padding), reach), stride), 1)


def _places(alongs: Sequence[_Along], taps: Size, columns: Size) -> tuple[Any, Size]:
    """Where in the flat image each element of a block (rows) goes for each block (columns), and the image's size."""
    in_block = _split(sizes.count_up(taps), [along.block for along in alongs])
    of_block = _split(sizes.count_up(columns), [along.blocks for along in alongs])
    flat, is_inside = None, None
    for along, tap, block in zip(alongs, in_block, of_block, strict=True):
        moved = relax["multiply"](relax["expand_dims"](tap, axis=[1]), const(along.dilation, "i64"))
        start = relax["subtract"](relax["multiply"](block, const(along.stride, "i64")), const(along.before, "i64"))
        place = relax["add"](moved, start)
        size = sizes.as_tensor([along.image])
        within = relax["logical_and"](relax["greater_equal"](place, const(0, "i64")), relax["less"](place, size))
        flat = place if flat is None else relax["add"](relax["multiply"](flat, size), place)
        is_inside = within if is_inside is None else relax["logical_and"](is_inside, within)
    count = sizes.product([along.image for along in alongs])
    return relax["where"](is_inside, flat, sizes.as_tensor([count])), count


def _split(flat: Any, extents: Sequence[Size]) -> list[Any]:
    """Flat indices as indices along each of the dimensions."""
    indices = []
    for extent in reversed(extents):
        size = sizes.as_tensor([extent])
        indices.append(relax["floor_mod"](flat, size))
        flat = relax["floor_divide"](flat, size)
    return indices[::-1]
