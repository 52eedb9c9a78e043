# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of sampling at the positions of a grid, and of im2col and col2im."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir.frontends.core.blocks import Along, added_blocks, blocks_that_fit, placed_blocks

from ..prelude import Outputs, TorchNode, Value, const, register_torch, relax, sizes
from .convolutions import per_dimension

_METHODS = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


@register_torch("aten::grid_sampler", "aten::grid_sampler_2d", "aten::grid_sampler_3d")
def grid_sampler(node: TorchNode) -> Outputs:
    """Convert grid_sampler. torch's grid has the coordinates in the last dimension."""
    rank = node.rank(0)
    return relax.dialect.ops["image.grid_sample"](
        node.tensor(0),
        relax.permute_dims(node.tensor("grid"), axes=[0, rank - 1, *range(1, rank - 1)]),
        method=_METHODS[node.int("interpolation_mode", 0)],
        layout="NCHW" if rank == 4 else "NCDHW",
        padding_mode=_PADDINGS[node.int("padding_mode", 0)],
        align_corners=node.bool("align_corners"),
    )


@register_torch("aten::affine_grid_generator")
def affine_grid(node: TorchNode) -> Outputs:
    """Convert affine_grid_generator. torch's grid has the coordinates in the last dimension."""
    image = node.sizes("size")[2:]
    size = sizes.as_shape(image)
    grid = relax.image.affine_grid(node.tensor("theta"), size, align_corners=node.bool("align_corners"))
    return relax.permute_dims(grid, axes=[0, *range(2, 2 + len(image)), 1])


# ---- blocks ----


@register_torch("aten::im2col")
def im2col(node: TorchNode) -> Outputs:
    """Convert im2col: [batch, channels, height, width] to [batch, channels * elements of a block, blocks]."""
    kernel, gaps, pads, strides = _block_settings(node)
    data, has_batch = node.tensor(0), node.rank(0) == 4
    data = data if has_batch else relax.expand_dims(data, axis=[0])
    if any(pads):
        data = relax.nn.pad(data, pad_width=[0, 0, 0, 0, pads[0], pads[0], pads[1], pads[1]])
    shape = sizes.sizes_of(Value(ssa=data))
    blocks = [blocks_that_fit(*each) for each in zip(shape[2:], kernel, strides, gaps, strict=True)]
    for place in (0, 1):
        taps = const([[tap * gaps[place]] for tap in range(kernel[place])], "i64")
        starts = relax.multiply(sizes.count_up(blocks[place]), const(strides[place], "i64"))
        data = relax.take(data, relax.add(taps, starts), axis=2 + 2 * place)
    apart = relax.permute_dims(data, axes=[0, 1, 2, 4, 3, 5])
    rows = sizes.times(shape[1], math.prod(kernel))
    made = sizes.reshaped(apart, [shape[0], rows, sizes.product(blocks)])
    return made if has_batch else relax.squeeze(made, axis=[0])


@register_torch("aten::col2im")
def col2im(node: TorchNode) -> Outputs:
    """Convert col2im: the inverse of im2col, with overlapping elements summed."""
    kernel, gaps, pads, strides = _block_settings(node)
    has_batch = node.rank(0) == 3
    data = node.tensor(0) if has_batch else relax.expand_dims(node.tensor(0), axis=[0])
    alongs = [
        Along(size, taps, blocks_that_fit(sizes.plus(size, 2 * pad), taps, stride, gap), stride, gap, pad, pad)
        for size, taps, gap, pad, stride in zip(node.sizes("output_size"), kernel, gaps, pads, strides, strict=True)
    ]
    tensor = placed_blocks(data, alongs)
    tensor = added_blocks(data, alongs) if tensor is None else tensor
    return tensor if has_batch else relax.squeeze(tensor, axis=[0])


def _block_settings(node: TorchNode) -> Sequence[list[int]]:
    defaults = {"kernel_size": 1, "dilation": 1, "padding": 0, "stride": 1}
    return [per_dimension(node, key, 2, default) for key, default in defaults.items()]
