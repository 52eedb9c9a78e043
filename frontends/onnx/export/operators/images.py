# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of resizing and sampling of images and volumes, and of operators on boxes and regions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from .....dialects.core.infos import is_float
from ..export_call import ExportedOp
from ..export_values import Part, Ref
from ..registry import exports
from .convolutions import from_plain, in_plain, plain_places

# ---- resizing ----


@exports(["relax.image.resize2d", "relax.image.resize3d"])
def resize(op: ExportedOp) -> Ref:
    data, sizes = in_plain(op, "data"), op.parts("size")
    source = [op.parts("data")[place] for place in plain_places(op, "data")]
    if op.method == "nearest_neighbor" and not _is_upscaled(op, source[2:], sizes):
        made = _gather(op, data, source, sizes)
    else:
        made = _resize(op, data, source, sizes)
    return from_plain(op, op.cast(made, op.result().dtype))


def _is_upscaled(op: ExportedOp, source: Sequence[Part], sizes: Sequence[Part]) -> bool:
    """Check whether the scales are integers, so that all rounding modes agree and runtimes make no rounding errors."""
    pairs = [(old, new) for old, new in zip(source, sizes, strict=True) if old != new]
    is_known = all(isinstance(old, int) and isinstance(new, int) and old and new % old == 0 for old, new in pairs)
    return is_known and op.coordinate_transformation_mode in ("half_pixel", "asymmetric")


_ROUNDING = {"floor": "floor", "ceil": "ceil", "": "floor",
             "round_prefer_floor": "round_prefer_floor", "round_prefer_ceil": "round_prefer_ceil"}  # fmt: skip


def _resize(op: ExportedOp, data: Ref, source: Sequence[Part], sizes: Sequence[Part]) -> Ref:
    mode = op.coordinate_transformation_mode
    method = {"nearest_neighbor": "nearest"}.get(op.method, op.method)
    if mode == "tf_half_pixel_for_nn":
        raise op.fail("ONNX no longer has these coordinates", "coordinate_transformation_mode")
    if method != "nearest" and not is_float(data.dtype):
        raise op.fail(f"onnxruntime rounds results of {data.dtype} differently")
    if method == "cubic" and (len(sizes) != 2 or plain_places(op, "data") != list(range(4))):
        raise op.fail("onnxruntime has this method only for images in layout NCHW", "method")
    count = len(sizes)
    starts, ends = (op.roi[:count], op.roi[count:]) if op.roi else ([0.0] * count, [0.0] * count)
    region = op.const([0, 0, *starts, 1, 1, *ends], "f32") if mode == "tf_crop_and_resize" else None
    rounding = None
    if method == "nearest":
        by_floor = "floor" if mode == "asymmetric" else "round_prefer_floor"
        rounding = by_floor if op.rounding_method in ("round", "") else _ROUNDING[op.rounding_method]
    return op.node(
        "Resize",
        data,
        region,
        None,
        # State the sizes of all dimensions: onnxruntime loses sizes when it moves a transposition past a partial
        # Resize.
        op.shape_tensor([*source[:2], *sizes]),
        mode=method,
        coordinate_transformation_mode=mode,
        nearest_mode=rounding,
        cubic_coeff_a=op.cubic_alpha if method == "cubic" else None,
        exclude_outside=op.cubic_exclude if method == "cubic" else None,
        extrapolation_value=op.extrapolation_value if mode == "tf_crop_and_resize" else None,
    )


def _gather(op: ExportedOp, data: Ref, source: Sequence[Part], sizes: Sequence[Part]) -> Ref:
    """Gather the nearest elements at positions that are computed exactly here. Runtimes round the coordinates first."""
    if op.coordinate_transformation_mode == "tf_crop_and_resize":
        raise op.fail("the nearest element of a region has no counterpart in ONNX", "coordinate_transformation_mode")
    for axis, (size, count) in enumerate(zip(source[2:], sizes, strict=True), 2):
        if not isinstance(size, int) or not isinstance(count, int):
            if op.rounding_method in ("round", ""):
                raise op.fail("ties are rounded to even, which needs known sizes", "rounding_method")
            return _resize(op, data, source, sizes)
        if (places := [_nearest(op, place, size, count) for place in range(count)]) != list(range(size)):
            data = op.node("Gather", data, op.ints(*places), axis=axis)
    return data


def _nearest(op: ExportedOp, place: int, size: int, count: int) -> int:
    mode = op.coordinate_transformation_mode
    middle = Fraction((2 * place + 1) * size - count, 2 * count)
    x = {
        "asymmetric": Fraction(place * size, count),
        "tf_half_pixel_for_nn": Fraction((2 * place + 1) * size, 2 * count),
        "align_corners": Fraction(place * (size - 1), max(count - 1, 1)),
        "pytorch_half_pixel": Fraction(0) if count == 1 else middle,
        "half_pixel": middle,
    }[mode]
    half = Fraction(1, 2)
    rounding = op.rounding_method or ("round" if mode == "align_corners" else "floor")
    found = {
        "round": round(x), "round_prefer_ceil": floor(x + half), "round_prefer_floor": ceil(x - half),
        "floor": floor(x), "ceil": ceil(x),
    }[rounding]  # fmt: skip
    return min(max(found, 0), size - 1)


# ---- sampling ----


@exports("relax.image.grid_sample")
def grid_sample(op: ExportedOp) -> Ref:
    """Export grid_sample. ONNX's grid has the coordinates in the last dimension."""
    rank = op.rank("grid")
    grid = op.graph.transpose(op["grid"], [0, *range(2, rank), 1])
    mode = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}[op.method]
    data = in_plain(op, "data")
    settings = {"mode": mode, "padding_mode": op.padding_mode, "align_corners": int(op.align_corners)}
    return from_plain(op, op.node("GridSample", data, op.cast(grid, data.dtype), **settings))


@exports("relax.image.affine_grid")
def affine_grid(op: ExportedOp) -> Ref:
    parts = op.parts("size")
    size = op.shape_tensor([op.parts("data")[0], 1, *parts])
    grid = op.node("AffineGrid", op["data"], size, align_corners=int(op.align_corners))
    return op.graph.transpose(grid, [0, len(parts) + 1, *range(1, len(parts) + 1)])


# ---- boxes and regions ----


@exports("relax.vision.all_class_non_max_suppression")
def non_max_suppression(op: ExportedOp) -> list[Ref]:
    """Export non-maximum suppression with the next smaller threshold.

    The operator also drops boxes with an overlap equal to the threshold; ONNX drops only larger overlaps.
    """
    if op.output_format != "onnx":
        raise op.fail("only ONNX's own format has a counterpart", "output_format")
    most, overlap, score = (
        op.reshape(op.cast(op[name], dtype), [1])
        for name, dtype in (
            ("max_output_boxes_per_class", "i64"), ("iou_threshold", "f32"), ("score_threshold", "f32"),
        )
    )  # fmt: skip
    overlap = op.node("Sub", overlap, op.node("Mul", overlap, op.number(0.6 * 2**-23, "f32")))
    boxes, scores = op.cast(op["boxes"], "f32"), op.cast(op["scores"], "f32")
    found = op.node("NonMaxSuppression", boxes, scores, most, overlap, score)
    return [found, op.node("Shape", found, start=0, end=1)]


@exports("relax.vision.roi_align")
def roi_align(op: ExportedOp) -> Ref:
    """Export roi_align. ONNX shifts positions by half an element if regions may be narrow; the operator does not."""
    if op.mode == "max":
        raise op.fail("ONNX takes the maximum of weighted elements (mode 'max_share')", "mode")
    rois, height_width = op["rois"], list(op.pooled_size)
    images = op.cast(op.graph.squeeze(op.node("Slice", rois, op.ints(0), op.ints(1), op.ints(1)), [1]), "i64")
    boxes = op.node("Slice", rois, op.ints(1), op.ints(5), op.ints(1))
    if op.aligned:
        boxes = op.node("Add", boxes, op.number(0.5 / op.spatial_scale, boxes.dtype))
    data = in_plain(op, "data")
    made = op.node(
        "RoiAlign",
        data,
        op.cast(boxes, data.dtype),
        images,
        output_height=height_width[0],
        output_width=height_width[-1],
        spatial_scale=op.spatial_scale,
        sampling_ratio=max(op.sample_ratio, 0),
        mode="max" if op.mode == "max_share" else "avg",
        coordinate_transformation_mode="half_pixel" if op.aligned else "output_half_pixel",
    )
    return from_plain(op, made)


@exports("relax.vision.roi_pool")
def roi_pool(op: ExportedOp) -> Ref:
    size = [op.pooled_size[0], op.pooled_size[-1]]
    return op.node("MaxRoiPool", op["data"], op["rois"], pooled_shape=size, spatial_scale=op.spatial_scale)
