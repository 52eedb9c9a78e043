# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection: suppression of overlapping boxes, decoding of boxes, pooling of regions."""

from __future__ import annotations

from ..core.attributes import Bool, Float, Floats, Int, Ints, Str
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import dim_mod, dim_mul, equal
from .dialect import op
from .infer.dtypes import check_dtype, check_same_dtype
from .infer.layouts import layouts_of, shape_in_layout
from .infer.sizes import Shape, check_one_element, expect_size, same_size, shape_of_rank


def all_class_non_max_suppression(call: Call) -> list[TensorInfo]:
    check_dtype(call, "boxes", "float")
    check_same_dtype(call, "boxes", "scores")
    shape_of_rank(call, "boxes", 3)
    classes = shape_of_rank(call, "scores", 3)[1]
    expect_size(call, "boxes", 2, 4, "coordinates")
    batch = same_size(call, "batch size", boxes=0, scores=0)
    boxes = same_size(call, "number of boxes", boxes=1, scores=2)
    for name, dtype in (
        ("max_output_boxes_per_class", "int"),
        ("iou_threshold", "float"),
        ("score_threshold", "float"),
    ):
        check_dtype(call, name, dtype)
        check_one_element(call, name)
    if call.output_format == "onnx":
        # The number of rows equals the number of selected boxes, which is only known at run time.
        return [TensorInfo((None, 3), "i64"), TensorInfo((1,), "i64")]
    most = dim_mul(classes, boxes)
    return [TensorInfo((batch, most, 2), "i64"), TensorInfo((batch, most), "f32"), TensorInfo((batch,), "i64")]


def get_valid_counts(call: Call) -> list[TensorInfo]:
    check_dtype(call, "data", "float")
    shape = shape_of_rank(call, "data", 3)
    _check_index(call, "score_index", 0, shape)
    _check_index(call, "id_index", -1, shape)
    batch, anchors, _ = shape
    return [TensorInfo((batch,), "i32"), call.data.with_shape(shape), TensorInfo((batch, anchors), "i32")]


def non_max_suppression(call: Call) -> list[TensorInfo]:
    shape = _check_suppression(call)
    data, indices = call.data.with_shape(shape), TensorInfo(shape[:2], "i32")
    count = TensorInfo((shape[0], 1), "i32")
    if not call.return_indices:
        return [data]
    return [data, indices, count] if call.soft_nms_sigma > 0 else [indices, count]


def _check_suppression(call: Call) -> Shape:
    """Return the shape of the data, [batch, anchors, values], refined by the other operands."""
    check_dtype(call, "data", "float")
    _, _, values = shape = shape_of_rank(call, "data", 3)
    for name, rank in (("valid_count", 1), ("indices", 2)):
        shape_of_rank(call, name, rank)
        call.require(call.operands[name].dtype == "i32", f"{call.describe(name)} must have elements of type i32")
    _check_index(call, "coord_start", 0, shape, length=4)
    _check_index(call, "score_index", 0, shape)
    _check_index(call, "id_index", -1, shape)
    for name in ("max_output_size", "top_k"):
        call.require(call.attributes[name] >= -1, f"{call.describe(name)} must be -1 (no limit) or more")
    call.require(call.soft_nms_sigma >= 0, f"{call.describe('soft_nms_sigma')} must not be negative")
    batch = same_size(call, "batch size", data=0, valid_count=0, indices=0)
    return batch, same_size(call, "number of anchors", data=1, indices=1), values


def _check_index(call: Call, name: str, least: int, data: Shape, length: int = 1) -> None:
    """Raise OpProblem unless an attribute is the index of `length` values in the data of an anchor."""
    values, index = data[2], call.attributes[name]
    most = values - length if isinstance(values, int) else None
    if index < least or (most is not None and index > most):
        bound = f"at least {least}" if most is None else f"from {least} to {most}"
        raise call.fail(f"{call.describe(name)} must be {bound} for {call.describe('data')}")


def multibox_transform_loc(call: Call) -> list[TensorInfo]:
    check_dtype(call, "cls_pred", "float")
    check_same_dtype(call, "cls_pred", "loc_pred", "anchor")
    call.require(len(call.variances) == 4, f"{call.describe('variances')} must have 4 entries: x, y, width, height")
    _, classes, _ = shape_of_rank(call, "cls_pred", 3)
    coordinates = shape_of_rank(call, "loc_pred", 2)[1]
    shape_of_rank(call, "anchor", 3)
    expect_size(call, "anchor", 0, 1, "batch")
    expect_size(call, "anchor", 2, 4, "coordinates")
    batch = same_size(call, "batch size", cls_pred=0, loc_pred=0)
    anchors = same_size(call, "number of anchors", cls_pred=2, anchor=1)
    divides = equal(dim_mod(coordinates, 4), 0) is not False
    call.require(divides, f"{call.describe('loc_pred')} must have 4 coordinates for each anchor, got {coordinates}")
    expect_size(call, "loc_pred", 1, dim_mul(anchors, 4), "4 coordinates for each anchor")
    dtype = call.cls_pred.dtype
    return [TensorInfo((batch, anchors, 4), dtype), TensorInfo((batch, classes, anchors), dtype)]


def roi_pooling(call: Call) -> TensorInfo:
    check_dtype(call, "data", "float")
    check_dtype(call, "rois", "float")
    data = shape_of_rank(call, "data", 4)
    regions = shape_of_rank(call, "rois", 2)[0]
    expect_size(call, "rois", 1, 5, "batch index, x1, y1, x2, y2")
    height, width = _pooled_size(call)
    call.require(call.spatial_scale > 0, f"{call.describe('spatial_scale')} must be positive")
    layout = layouts_of(call)["data"]
    return call.data.with_shape(shape_in_layout(layout, (regions, data[layout.text.index("C")], height, width)))


def _pooled_size(call: Call) -> tuple[int, int]:
    size: tuple[int, ...] = call.pooled_size
    fits = len(size) in (1, 2) and min(size) > 0
    call.require(fits, f"{call.describe('pooled_size')} must be one or two positive numbers: height and width")
    return size[0], size[-1]


_SCORE_INDEX = Int(1, doc="index of the score in a box's values")
_ID_INDEX = Int(0, doc="index of the class in a box's values; -1: none")
_POOLED_SIZE = Ints(broadcast=2, doc="height and width of the result")
_ROI_LAYOUTS = {"data": ("layout", "NCHW"), "result": ("layout", "NCHW")}
_SPATIAL_SCALE = Float(doc="factor from coordinates of regions to positions in data")

op("vision.all_class_non_max_suppression", "boxes scores max_output_boxes_per_class iou_threshold score_threshold",
   attrs={"output_format": Str("onnx", choices=("onnx", "tensorflow"))}, results="indices scores? counts",
   infer=all_class_non_max_suppression,
   doc="Selects the best boxes of each class that do not overlap. Returns (indices, count) for onnx, "
       "(indices, scores, counts) of fixed size for tensorflow.")  # fmt: skip
op("vision.get_valid_counts", "data",
   attrs={"score_threshold": Float(0.0), "id_index": _ID_INDEX, "score_index": _SCORE_INDEX},
   results="valid_count out_data out_indices", infer=get_valid_counts,
   doc="Moves boxes with scores above the threshold to the front, and counts them.")  # fmt: skip
op("vision.multibox_transform_loc", "cls_pred loc_pred anchor",
   attrs={"clip": Bool(False, doc="if True, clips boxes to the image"),
          "threshold": Float(0.0, doc="lower scores become 0"),
          "variances": Floats((1.0, 1.0, 1.0, 1.0), broadcast=4, doc="scales of x, y, width, height"),
          "keep_background": Bool(True, doc="if False, the scores of class 0, the background, become 0"),
          "apply_softmax": Bool(True, doc="if True, applies softmax to the scores first")},
   results="boxes scores", infer=multibox_transform_loc,
   doc="Decodes boxes and scores from predicted classes, predicted offsets and anchors.")  # fmt: skip
op("vision.non_max_suppression", "data valid_count indices",
   attrs={"max_output_size": Int(-1, doc="maximum number of selected boxes; -1: any"),
          "iou_threshold": Float(0.5, doc="least intersection over union of overlapping boxes"),
          "force_suppress": Bool(False, doc="if True, boxes of different classes suppress each other"),
          "top_k": Int(-1, doc="maximum number of candidates; -1: all"),
          "coord_start": Int(2, doc="index of the first of a box's four coordinates"), "score_index": _SCORE_INDEX,
          "id_index": _ID_INDEX,
          "return_indices": Bool(True, doc="if True, returns (indices, count) instead of data"),
          "invalid_to_bottom": Bool(False, doc="if True, selected boxes move to the front"),
          "soft_nms_sigma": Float(0.0, doc="above 0, overlap lowers scores, and data is a result, too"),
          "score_threshold": Float(0.0, doc="with soft_nms_sigma: lowest score of selected boxes")},
   results="*results", infer=non_max_suppression, doc="Selects the best boxes that do not overlap.")  # fmt: skip
op("vision.roi_align", "data rois",
   attrs={"pooled_size": _POOLED_SIZE, "spatial_scale": _SPATIAL_SCALE,
          "sample_ratio": Int(-1, doc="samples in each direction; 0 or less: by the region's size"),
          "aligned": Bool(False, doc="if True, regions may be narrower than one element; coordinates are not shifted"),
          "layout": Str("NCHW", choices=("NCHW", "NHWC")),
          "mode": Str("avg", choices=("avg", "max", "max_share"),
                     doc="reduction of a bin's samples; max_share: of the weighted elements around each sample")},
   layouts=_ROI_LAYOUTS, infer=roi_pooling, doc="Interpolates each region to a fixed size.")  # fmt: skip
op("vision.roi_pool", "data rois", layouts=_ROI_LAYOUTS, infer=roi_pooling,
   attrs={"pooled_size": _POOLED_SIZE, "spatial_scale": _SPATIAL_SCALE, "layout": Str("NCHW", choices=("NCHW",))},
   doc="Maxima of a fixed number of parts of each region.")  # fmt: skip
