# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection, regions, and convolutions whose taps are moved or added up."""

from __future__ import annotations

import math

from ....dialects.core.infos import is_float
from ....support.suggest import counted
from ...core import sizes
from ...core.blocks import Along, added_blocks, blocks_that_fit, placed_blocks
from ...core.sizes import Size
from ...core.values import Array
from ..input_sizes import input_sizes
from ..prelude import Node, Outputs, Tensor, cast, const, joined, register_onnx, relax
from .sliding_windows import kernel_of, per_dimension


@register_onnx("", "NonMaxSuppression")
def non_max_suppression(node: Node) -> Outputs:
    """Without a number of boxes there are none, without a threshold for scores all of them count.

    ONNX's boxes go that overlap by more than the threshold, the operator's by as much: it gets the next number.
    """
    most = relax.astype(node.tensor(2), dtype="i64") if node.has(2) else const([0], "i64")
    overlap = node.tensor(3) if node.has(3) else const([0.0], "f32")
    score = node.tensor(4) if node.has(4) else const([-math.inf], "f32")
    boxes = _corners(node.tensor(0), node.value(0).dtype) if node.int("center_point_box", 0) else node.tensor(0)
    overlap = relax.add(overlap, relax.multiply(overlap, const(0.75 * 2**-23, "f32")))
    overlap = relax.maximum(overlap, const(2.0**-126, "f32"))
    indices, _ = relax.vision.all_class_non_max_suppression(
        boxes, node.tensor(1), most, overlap, score, output_format="onnx"
    )
    return indices


def _corners(boxes: Tensor, dtype: str) -> Tensor:
    """Boxes of center x, center y, width, height as y1, x1, y2, x2. Those of negative sizes overlap none: as empty."""
    x, y, *extents = relax.split(boxes, indices_or_sections=4, axis=2)
    half, zero = const(0.5, dtype), const(0.0, dtype)
    half_width, half_height = (relax.multiply(relax.maximum(each, zero), half) for each in extents)
    sides = [
        relax.dialect.ops[name](center, reach)
        for name in ("subtract", "add")
        for center, reach in ((y, half_height), (x, half_width))
    ]
    return relax.concat([*sides], axis=2)


@register_onnx("", "RoiAlign")
def roi_align(node: Node) -> Outputs:
    mode = node.choice("mode", "avg", ("avg", "max"))
    default = "half_pixel" if node.version >= 16 else "output_half_pixel"
    coordinates = node.choice("coordinate_transformation_mode", default, ("half_pixel", "output_half_pixel"))
    is_shifted, scale, dtype = coordinates == "half_pixel", node.float("spatial_scale", 1.0), node.value(1).dtype
    if not scale > 0:
        raise node.fail(f"attribute 'spatial_scale' must be positive, got {scale:g}", "spatial_scale")
    images = relax.astype(relax.expand_dims(node.tensor(2), axis=[1]), dtype=dtype)
    corners = relax.subtract(node.tensor(1), const(0.5 / scale, dtype)) if is_shifted else node.tensor(1)
    return relax.dialect.ops["vision.roi_align"](
        node.tensor(0),
        relax.concat([images, corners], axis=1),
        pooled_size=[node.int("output_height", 1), node.int("output_width", 1)],
        spatial_scale=scale,
        sample_ratio=node.int("sampling_ratio", 0),
        aligned=is_shifted,
        # ONNX's maximum is of the corners' shares, before they are added up.
        mode="max_share" if mode == "max" else mode,
    )


@register_onnx("", "MaxRoiPool")
def max_roi_pool(node: Node) -> Outputs:
    size, scale = node.ints("pooled_shape"), node.float("spatial_scale", 1.0)
    return relax.dialect.ops["vision.roi_pool"](*node.tensors(2), pooled_size=size, spatial_scale=scale)


@register_onnx("", "Col2Im")
def col2im(node: Node) -> Outputs:
    shape = node.value(0).shape
    if shape is None or len(shape) != 3:
        raise node.fail("the columns must be 3-D: [batch, channels * elements of a block, blocks]")
    alongs, data = _alongs(node), node.tensor(0)
    made = placed_blocks(data, alongs)
    return added_blocks(data, alongs) if made is None else made


def _alongs(node: Node) -> list[Along]:
    image, block = input_sizes(node, 1), input_sizes(node, 2)
    rank = len(image)
    if rank == 0 or len(block) != rank:
        raise node.fail(f"the image has {counted(rank, 'dimension')}, and a block {len(block)}")
    strides, dilations = per_dimension(node, "strides", rank), per_dimension(node, "dilations", rank)
    pads = per_dimension(node, "pads", 2 * rank, 0)
    lists = zip(image, block, strides, dilations, pads[:rank], pads[rank:], strict=True)
    return [
        Along(size, own, _blocks(size, own, stride, dilation, before + after), stride, dilation, before, after)
        for size, own, stride, dilation, before, after in lists
    ]


def _blocks(image: Size, block: Size, stride: int, dilation: int, padding: int) -> Size:
    return blocks_that_fit(sizes.plus(image, padding), block, stride, dilation)


@register_onnx("", "DeformConv")
def deform_conv(node: Node) -> Outputs:
    """Samples the data at each tap's moved position; then it is a product of matrices."""
    shape, weight = node.value(0).shape, node.value(1).shape
    offsets = node.value(2).shape
    if any(
        each is None or len(each) != 4 or not all(isinstance(size, int) for size in each[1:])
        for each in (shape, weight, offsets)
    ):
        raise node.fail("there are such convolutions of images, whose sizes are known before the model runs")
    assert shape is not None and weight is not None and offsets is not None
    if not is_float(node.value(0).dtype):
        raise node.fail("only floats can be sampled between elements")
    batch, channels = shape[:2]
    taps = math.prod(kernel_of(node, 1))
    height, width = offsets[2:]
    dtype = node.value(0).dtype
    sampled = [_sampled(node, group, (taps, height, width)) for group in range(node.int("offset_group", 1))]
    data = joined(sampled, axis=1)
    groups, filters = node.int("group", 1), weight[0]
    columns = relax.reshape(data, (batch, groups, channels // groups * taps, height * width))
    rows = relax.reshape(node.tensor(1), (groups, filters // groups, weight[1] * taps))
    result = relax.reshape(relax.matmul(rows, columns), (batch, filters, height, width))
    if not node.has(3):
        return result
    return relax.add(result, relax.expand_dims(cast(node.tensor(3), dtype), axis=[1, 2]))


def _sampled(node: Node, group: int, places: tuple[int, int, int]) -> Tensor:
    """The channels of an offset group at every tap's positions: [batch, channels, taps, height, width]."""
    batch, channels, *sizes = node.value(0).shape or ()
    groups, (taps, height, width), dtype = node.int("offset_group", 1), places, node.value(0).dtype
    if 0 in sizes:
        raise node.fail("the data must have elements")
    own = channels // groups
    data = _part(node.tensor(0), 1, group * own, own, channels)
    moves = _part(node.tensor(2), 1, group * 2 * taps, 2 * taps, groups * 2 * taps)
    moves = relax.reshape(moves, (batch, taps, 2, height, width))
    moves = relax.permute_dims(moves, axes=[0, 2, 1, 3, 4])
    positions = relax.add(moves, const(_undisturbed(node, height, width), dtype))
    # Where grid_sample finds position p without aligned corners: (2 * p + 1) / size - 1.
    import numpy

    scale = numpy.array([2.0 / size for size in sizes]).reshape(1, 2, 1, 1, 1)
    shift = numpy.array([1.0 / size - 1.0 for size in sizes]).reshape(1, 2, 1, 1, 1)
    grid = relax.add(relax.multiply(positions, const(scale, dtype)), const(shift, dtype))
    grid = relax.flip(relax.reshape(grid, (batch, 2, taps * height, width)), axis=1)
    sampled = relax.image.grid_sample(data, grid, method="bilinear", padding_mode="zeros", align_corners=False)
    sampled = relax.reshape(sampled, (batch, own, taps, height, width))
    if not node.has(4):
        return sampled
    mask = _part(node.tensor(4), 1, group * taps, taps, groups * taps)
    return relax.multiply(sampled, relax.expand_dims(mask, axis=[1]))


def _part(tensor: Tensor, axis: int, first: int, length: int, whole: int) -> Tensor:
    if length == whole:
        return tensor
    return relax.strided_slice(tensor, axes=[axis], begin=[first], end=[first + length])


def _undisturbed(node: Node, height: int, width: int) -> Array:
    """Row and column of each tap of each window where nothing is moved: [1, 2, taps, height, width]."""
    import numpy

    kernel = kernel_of(node, 1)
    strides, dilations = per_dimension(node, "strides", 2), per_dimension(node, "dilations", 2)
    pads = per_dimension(node, "pads", 4, 0)
    taps = numpy.indices(kernel).reshape(2, -1, 1, 1)
    windows = numpy.indices((height, width))[:, None]
    steps, gaps, before = (numpy.array(each[:2]).reshape(2, 1, 1, 1) for each in (strides, dilations, pads))
    return (windows * steps + taps * gaps - before)[None].astype("float64")
