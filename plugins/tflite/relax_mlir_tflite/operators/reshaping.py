# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters that change the shape or order of elements, or repeat elements."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.core.symbols import equal
from relax_mlir.frontends.core.padding import padded

from ..prelude import Outputs, Tensor, TfliteNode, Value, register_rows, register_tflite, relax, sizes

register_rows(
    {
        "TRANSPOSE": lambda node: relax.permute_dims(node.tensor(0), axes=node.known_numbers(1)),
        "EXPAND_DIMS": lambda node: relax.expand_dims(node.tensor(0), axis=[node.axis(1, node.rank(0) + 1)]),
        "TILE": lambda node: sizes.tiled(node.value(0), node.sizes_in(1)),
        "BROADCAST_TO": lambda node: sizes.broadcast(node.tensor(0), node.sizes_in(1)),
    }
)


@register_tflite("RESHAPE")
def reshape(node: TfliteNode) -> Outputs:
    """Convert RESHAPE. The shape is an operand or, in older files, an option.

    One size may be -1: the other sizes determine this size.
    """
    wanted = node.sizes_in(1) if node.has(1) else node.attr("new_shape", [])
    return sizes.reshaped(node.tensor(0), sizes.with_rest(node.sizes_of(0), wanted))


@register_tflite("SQUEEZE")
def squeeze(node: TfliteNode) -> Outputs:
    """Convert SQUEEZE: remove the listed dimensions, or all dimensions of size 1 if the list is empty."""
    rank = node.rank(0)
    if not (axes := [node.axis_of(axis, rank, "squeeze_dims") for axis in node.attr("squeeze_dims", [])]):
        axes = [axis for axis, size in enumerate(node.sizes_of(0)) if sizes.is_known(size) and equal(size, 1)]
    return relax.squeeze(node.tensor(0), axis=axes)


@register_tflite("REVERSE_V2")
def reverse(node: TfliteNode) -> Outputs:
    made = node.tensor(0)
    for axis in node.known_numbers(1):
        made = relax.flip(made, axis=node.axis_of(axis, node.rank(0)))
    return made


# ---- blocks of space ----


def _block(node: TfliteNode) -> int:
    if (block := node.attr("block_size")) < 1 or node.rank(0) != 4:
        raise node.fail(f"expected blocks of at least 1 and 4 dimensions, got {block} and {node.rank(0)}", "block_size")
    return int(block)


@register_tflite("SPACE_TO_DEPTH")
def space_to_depth(node: TfliteNode) -> Outputs:
    block, (batch, height, width, channels) = _block(node), node.sizes_of(0)
    rows, columns = sizes.divided(height, block), sizes.divided(width, block)
    apart = sizes.reshaped(node.tensor(0), [batch, rows, block, columns, block, channels])
    moved = relax.permute_dims(apart, axes=[0, 1, 3, 2, 4, 5])
    return sizes.reshaped(moved, [batch, rows, columns, sizes.times(channels, block * block)])


@register_tflite("DEPTH_TO_SPACE")
def depth_to_space(node: TfliteNode) -> Outputs:
    block, (batch, height, width, depth) = _block(node), node.sizes_of(0)
    channels = sizes.divided(depth, block * block)
    apart = sizes.reshaped(node.tensor(0), [batch, height, width, block, block, channels])
    moved = relax.permute_dims(apart, axes=[0, 1, 3, 2, 4, 5])
    return sizes.reshaped(moved, [batch, sizes.times(height, block), sizes.times(width, block), channels])


def _blocks(node: TfliteNode) -> tuple[list[int], list[tuple[sizes.Size, sizes.Size]]]:
    """Return the block sizes of the dimensions after the batch, and their padding or cropping."""
    blocks, around = node.known_numbers(1), node.sizes_in(2)
    if min(blocks, default=1) < 1 or len(around) != 2 * len(blocks) or len(blocks) >= node.rank(0):
        raise node.fail(f"blocks {blocks} do not fit data of {node.rank(0)} dimensions")
    return blocks, list(zip(around[0::2], around[1::2], strict=True))


@register_tflite("SPACE_TO_BATCH_ND")
def space_to_batch(node: TfliteNode) -> Outputs:
    blocks, around = _blocks(node)
    made = padded(node.value(0), dict(enumerate(around, 1)), "constant", 0)
    data = made.ssa if isinstance(made, Value) else made
    batch, *rest = node.sizes_of(0)
    count = len(blocks)
    spatial = [
        sizes.divided(sizes.plus(sizes.plus(size, before), after), block)
        for size, (before, after), block in zip(rest[:count], around, blocks, strict=True)
    ]
    apart = [each for pair in zip(spatial, blocks, strict=True) for each in pair]
    moved = _rearrange(data, [batch, *apart, *rest[count:]], [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2)])
    return sizes.reshaped(moved, [sizes.times(batch, sizes.product(blocks)), *spatial, *rest[count:]])


@register_tflite("BATCH_TO_SPACE_ND")
def batch_to_space(node: TfliteNode) -> Outputs:
    blocks, cut = _blocks(node)
    batch, *rest = node.sizes_of(0)
    count = len(blocks)
    own = sizes.divided(batch, sizes.product(blocks))
    order = [count, *(number for axis in range(count) for number in (count + 1 + axis, axis))]
    moved = _rearrange(node.tensor(0), [*blocks, own, *rest], order)
    spatial = [sizes.times(size, block) for size, block in zip(rest[:count], blocks, strict=True)]
    whole = sizes.reshaped(moved, [own, *spatial, *rest[count:]])
    bounds = {
        axis: (before, sizes.minus(size, after), 1)
        for axis, (size, (before, after)) in enumerate(zip(spatial, cut, strict=True), 1)
    }
    return sizes.sliced(Value(ssa=whole), bounds)


def _rearrange(x: Tensor, shape: Sequence[sizes.Size], first: Sequence[int]) -> Tensor:
    """Reshape a tensor and permute its dimensions: `first`, then the remaining dimensions in their order."""
    rest = [axis for axis in range(len(shape)) if axis not in first]
    return relax.permute_dims(sizes.reshaped(x, shape), axes=[*first, *rest])
