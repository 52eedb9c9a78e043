# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection: suppression of overlapping boxes, decoding of boxes, pooling of regions."""

from __future__ import annotations

from ..core.attributes import Bool, Float, Floats, Int, Ints, Str
from .dialect import op
from .infer.vision import (
    all_class_non_max_suppression,
    get_valid_counts,
    multibox_transform_loc,
    non_max_suppression,
    roi_pooling,
)

_SCORE_INDEX = Int(1, doc="which of a box's values is its score")
_ID_INDEX = Int(0, doc="which of a box's values is its class; -1: none")
_POOLED_SIZE = Ints(broadcast=2, doc="height and width of the result")
_SPATIAL_SCALE = Float(doc="a region's coordinates times this are positions in the data")

op(
    "vision.all_class_non_max_suppression",
    "boxes scores max_output_boxes_per_class iou_threshold score_threshold",
    attrs={"output_format": Str("onnx", choices=("onnx", "tensorflow"))},
    results="indices scores? counts",
    infer=all_class_non_max_suppression,
    doc="The best boxes of each class that do not overlap: (indices, count) for onnx, "
    "(indices, scores, counts) of fixed size for tensorflow.",
)
op(
    "vision.get_valid_counts",
    "data",
    attrs={"score_threshold": Float(0.0), "id_index": _ID_INDEX, "score_index": _SCORE_INDEX},
    results="valid_count out_data out_indices",
    infer=get_valid_counts,
    doc="Boxes that score above the threshold, moved to the front, and how many there are.",
)
op(
    "vision.multibox_transform_loc",
    "cls_pred loc_pred anchor",
    attrs={
        "clip": Bool(False, doc="whether boxes end at the border of the image"),
        "threshold": Float(0.0, doc="scores below become 0"),
        "variances": Floats((1.0, 1.0, 1.0, 1.0), broadcast=4, doc="scales of x, y, width, height"),
        "keep_background": Bool(True, doc="whether class 0, the background, keeps its scores"),
        "apply_softmax": Bool(True, doc="whether the scores are made probabilities first"),
    },
    results="boxes scores",
    infer=multibox_transform_loc,
    doc="Boxes and scores from predicted classes, predicted offsets and anchors.",
)
op(
    "vision.non_max_suppression",
    "data valid_count indices",
    attrs={
        "max_output_size": Int(-1, doc="how many boxes stay at most; -1: any number"),
        "iou_threshold": Float(0.5, doc="boxes overlap from here on"),
        "force_suppress": Bool(False, doc="whether boxes of different classes suppress each other"),
        "top_k": Int(-1, doc="how many boxes are looked at; -1: all"),
        "coord_start": Int(2, doc="the first of a box's four coordinates"),
        "score_index": _SCORE_INDEX,
        "id_index": _ID_INDEX,
        "return_indices": Bool(True, doc="whether the result is (indices, count) instead of the data"),
        "invalid_to_bottom": Bool(False, doc="whether boxes that stay move to the front"),
        "soft_nms_sigma": Float(0.0, doc="above 0: overlap lowers scores, and the data is a result, too"),
        "score_threshold": Float(0.0, doc="with soft_nms_sigma: boxes that score below go"),
    },
    results="*results",
    infer=non_max_suppression,
    doc="The best boxes that do not overlap.",
)
op(
    "vision.roi_align",
    "data rois",
    attrs={
        "pooled_size": _POOLED_SIZE,
        "spatial_scale": _SPATIAL_SCALE,
        "sample_ratio": Int(-1, doc="samples in each direction; 0 or less: chosen by the region's size"),
        "aligned": Bool(False, doc="regions may be less than one element wide; positions are not shifted"),
        "layout": Str("NCHW", choices=("NCHW", "NHWC")),
        "mode": Str(
            "avg",
            choices=("avg", "max", "max_share"),
            doc="of a bin's samples, or (max_share) of the shares that the elements around each have in it",
        ),
    },
    infer=roi_pooling,
    doc="Each region, interpolated to a fixed size.",
)
op(
    "vision.roi_pool",
    "data rois",
    attrs={
        "pooled_size": _POOLED_SIZE,
        "spatial_scale": _SPATIAL_SCALE,
        "layout": Str("NCHW", choices=("NCHW",)),
    },
    infer=roi_pooling,
    doc="The maxima of each region's parts, a fixed number of them.",
)
