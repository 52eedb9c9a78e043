# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of torchvision's operators: non-maximum suppression, region pooling, deformable convolutions."""

from __future__ import annotations

import math

from relax_mlir.frontends.core.moved_taps import MovedTaps, convolved_where_moved

from ..prelude import Outputs, TorchNode, cast, const, register_torch, relax, sizes


@register_torch("torchvision::nms")
def nms(node: TorchNode) -> Outputs:
    """Return the indices of the remaining boxes, the best first.

    torchvision drops boxes with an overlap above the threshold, the operator also drops an equal overlap. So the
    operator gets the next larger threshold.
    """
    count = sizes.sizes_of(node.value("dets"))[0]
    overlap = node.float("iou_threshold")
    overlap = max(overlap * (1 + 0.75 * 2**-23), 2.0**-126)
    boxes, scores = (relax.expand_dims(node.tensor(key, "f32"), axis=[0]) for key in ("dets", "scores"))
    indices, _ = relax.vision.all_class_non_max_suppression(
        boxes,
        relax.expand_dims(scores, axis=[0]),
        sizes.as_tensor([count]),
        const([overlap], "f32"),
        const([-math.inf], "f32"),
        output_format="onnx",
    )
    column = relax.strided_slice(indices, axes=[1], begin=[2], end=[3], assume_inbound=True)
    return relax.squeeze(column, axis=[1])


@register_torch("torchvision::roi_align")
def roi_align(node: TorchNode) -> Outputs:
    scale, is_aligned = node.float("spatial_scale"), node.bool("aligned")
    regions = node.tensor("rois")
    if is_aligned:
        # The operator does not shift positions.
        images, corners = relax.split(regions, [1], axis=1)
        corners = relax.subtract(corners, const(0.5 / scale, node.value("rois").dtype))
        regions = relax.concat([images, corners], axis=1)
    return relax.vision.roi_align(
        node.tensor("input"),
        regions,
        pooled_size=[node.int("pooled_height"), node.int("pooled_width")],
        spatial_scale=scale,
        sample_ratio=node.int("sampling_ratio", -1),
        aligned=is_aligned,
    )


@register_torch("torchvision::roi_pool")
def roi_pool(node: TorchNode) -> Outputs:
    if node.is_wanted[1]:
        raise node.fail("the indices of the maxima are not supported: they are for training")
    data, regions = node.tensor("input"), node.tensor("rois")
    size = [node.int("pooled_height"), node.int("pooled_width")]
    return [relax.vision.roi_pool(data, regions, size, node.float("spatial_scale")), None]


@register_torch("torchvision::deform_conv2d")
def deform_conv2d(node: TorchNode) -> Outputs:
    tensor = convolved_where_moved(
        node,
        node.value("input"),
        node.value("weight"),
        node.value("offset"),
        node.value("mask") if node.bool("use_mask") else None,
        MovedTaps(
            strides=(node.int("stride_h"), node.int("stride_w")),
            dilations=(node.int("dilation_h"), node.int("dilation_w")),
            before=(node.int("pad_h"), node.int("pad_w")),
            groups=node.int("groups"),
            offset_groups=node.int("offset_groups"),
        ),
    )
    return relax.add(tensor, relax.expand_dims(cast(node.tensor("bias"), node.dtype), axis=[1, 2]))
