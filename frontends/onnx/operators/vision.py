# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of detection, regions, deformable convolutions, and Col2Im."""

from __future__ import annotations

import math

from ....support.suggest import counted
from ...core import sizes
from ...core.blocks import Along, added_blocks, blocks_that_fit, placed_blocks
from ...core.moved_taps import MovedTaps, convolved_where_moved
from ...core.sizes import Size
from ..input_sizes import input_sizes
from ..prelude import OnnxNode, Outputs, Tensor, cast, const, register_onnx, relax
from .sliding_windows import kernel_of, per_dimension


@register_onnx("", "NonMaxSuppression")
def non_max_suppression(node: OnnxNode) -> Outputs:
    """Convert NonMaxSuppression. Without a number of boxes, the result is empty; without a score threshold, all count.

    ONNX drops boxes with an overlap above the threshold; the operator also drops an equal overlap. So the operator gets
    the next larger threshold.
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
    """Convert boxes from center x, center y, width, height to y1, x1, y2, x2.

    Boxes of negative size overlap no other box, so they become empty.
    """
    x, y, *extents = relax.split(boxes, indices_or_sections=4, axis=2)
    half, zero = const(0.5, dtype), const(0.0, dtype)
    half_width, half_height = (relax.multiply(relax.maximum(extent, zero), half) for extent in extents)
    sides = [
        relax.dialect.ops[name](center, reach)
        for name in ("subtract", "add")
        for center, reach in ((y, half_height), (x, half_width))
    ]
    return relax.concat([*sides], axis=2)


@register_onnx("", "RoiAlign")
def roi_align(node: OnnxNode) -> Outputs:
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
        # ONNX's maximum is over the corners' weighted values, before they are summed.
        mode="max_share" if mode == "max" else mode,
    )


@register_onnx("", "MaxRoiPool")
def max_roi_pool(node: OnnxNode) -> Outputs:
    size, scale = node.ints("pooled_shape"), node.float("spatial_scale", 1.0)
    return relax.dialect.ops["vision.roi_pool"](*node.tensors(2), pooled_size=size, spatial_scale=scale)


@register_onnx("", "Col2Im")
def col2im(node: OnnxNode) -> Outputs:
    if (shape := node.value(0).shape) is None or len(shape) != 3:
        raise node.fail("the columns must be 3-D: [batch, channels * elements of a block, blocks]")
    alongs, data = _alongs(node), node.tensor(0)
    tensor = placed_blocks(data, alongs)
    return added_blocks(data, alongs) if tensor is None else tensor


def _alongs(node: OnnxNode) -> list[Along]:
    image, block = input_sizes(node, 1), input_sizes(node, 2)
    if (rank := len(image)) == 0 or len(block) != rank:
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
def deform_conv(node: OnnxNode) -> Outputs:
    moved = MovedTaps(
        strides=per_dimension(node, "strides", 2),
        dilations=per_dimension(node, "dilations", 2),
        before=per_dimension(node, "pads", 4, 0)[:2],
        groups=node.int("group", 1),
        offset_groups=node.int("offset_group", 1),
    )
    mask = node.value(4) if node.has(4) else None
    kernel_of(node, 1)
    result = convolved_where_moved(node, node.value(0), node.value(1), node.value(2), mask, moved)
    if not node.has(3):
        return result
    return relax.add(result, relax.expand_dims(cast(node.tensor(3), node.value(0).dtype), axis=[1, 2]))
