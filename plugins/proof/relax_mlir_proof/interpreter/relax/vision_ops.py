# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection: suppression of overlapping boxes, decoding of boxes, pooling of regions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..steps import require_at_most, require_same
from .element_types import converted

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


def _overlap(one: ndarray, other: ndarray) -> float:
    """Return the intersection over union of two boxes, 0 for an empty union. Boxes are two corners in any order."""
    lows = [numpy.minimum(box[:2], box[2:]) for box in (one, other)]
    highs = [numpy.maximum(box[:2], box[2:]) for box in (one, other)]
    shared = numpy.prod(numpy.maximum(numpy.minimum(*highs) - numpy.maximum(*lows), 0))
    union = sum(numpy.prod(high - low) for low, high in zip(lows, highs, strict=True)) - shared
    return 0.0 if union <= 0 else float(shared / union)


def _best_first(scores: ndarray) -> list[int]:
    """Sort by descending score. Equal scores keep their order, and NaN comes last."""
    return sorted(range(len(scores)), key=lambda place: (math.isnan(scores[place]), -scores[place]))


# ---- per class ----


@register_reference("relax.vision.all_class_non_max_suppression")
def all_class_non_max_suppression(
    call: EvaluationCall,
    boxes: ndarray,
    scores: ndarray,
    most: ndarray,
    iou_threshold: ndarray,
    score_threshold: ndarray,
) -> list[ndarray]:
    """Select boxes per class. A threshold of 0 selects no box."""
    limits = [array.reshape(-1)[0] for array in (most, iou_threshold, score_threshold)]
    batches, classes, count = scores.shape
    require_same(len(boxes), batches, "batches of boxes and scores")
    require_same(boxes.shape[1], count, "numbers of boxes and scores")
    taken = [
        [(class_, box) for class_ in range(classes) for box in _choose(boxes[batch], scores[batch, class_], *limits)]
        for batch in range(batches)
    ]
    total = sum(map(len, taken))
    if call.output_format == "onnx":
        rows = [(batch, *pair) for batch, pairs in enumerate(taken) for pair in pairs]
        return [numpy.array(rows, numpy.int64).reshape(total, 3), numpy.array([total])]
    indices, values = numpy.zeros((batches, classes * count, 2), numpy.int64), numpy.zeros((batches, classes * count))
    for batch, pairs in enumerate(taken):
        for row, (class_, box) in enumerate(pairs):
            indices[batch, row], values[batch, row] = (class_, box), scores[batch, class_, box]
    return [indices, values, numpy.array([len(pairs) for pairs in taken], numpy.int64)]


def _choose(
    boxes: ndarray, scores: ndarray, most: ndarray, iou_threshold: ndarray, score_threshold: ndarray
) -> list[int]:
    taken: list[int] = []
    for box in _best_first(scores):
        if not (scores[box] > score_threshold and iou_threshold > 0 and len(taken) < most):
            continue
        if not any(_overlap(boxes[earlier], boxes[box]) >= iou_threshold for earlier in taken):
            taken.append(box)
    return taken


# ---- boxes with values, among them the class ----


@register_reference("relax.vision.get_valid_counts")
def get_valid_counts(call: EvaluationCall, data: ndarray) -> list[ndarray]:
    """Move boxes with a class and a score above the threshold to the front. -1 fills the rest."""
    require_at_most(max(call.score_index, call.id_index) + 1, data.shape[2], "values of a box that attributes name")
    is_valid = data[..., call.score_index] > call.score_threshold
    if call.id_index >= 0:
        is_valid = is_valid & (data[..., call.id_index] >= 0)
    boxes, places = numpy.full(data.shape, -1.0), numpy.full(data.shape[:2], -1)
    for batch, found in enumerate(is_valid):
        (valid,) = numpy.nonzero(found)
        boxes[batch, : len(valid)], places[batch, : len(valid)] = data[batch, valid], valid
    return [is_valid.sum(axis=1), boxes, places]


@register_reference("relax.vision.non_max_suppression")
def non_max_suppression(call: EvaluationCall, data: ndarray, valid_count: ndarray, indices: ndarray) -> list[ndarray]:
    """Visit boxes by descending score, and keep a box unless it overlaps a kept one.

    With soft_nms_sigma, an overlap lowers the score instead, and the best remaining box is next.
    """
    batches, anchors, values = data.shape
    last = max(call.coord_start + 3, call.score_index, call.id_index)
    require_at_most(last + 1, values, "values of a box that attributes name")
    boxes, places = numpy.full(data.shape, -1.0), numpy.full((batches, anchors), -1)
    counts = numpy.zeros((batches, 1), numpy.int64)
    is_soft = call.soft_nms_sigma > 0
    for batch in range(batches):
        order = _best_first(data[batch, : max(0, min(int(valid_count[batch]), anchors)), call.score_index])
        order = order[: call.top_k] if call.top_k > 0 else order
        stay = (_soften if is_soft else _suppress)(call, data[batch], order)
        counts[batch] = len(stay)
        for number, (row, box, score) in enumerate(stay):
            places[batch, number] = indices[batch, box]
            at = number if call.return_indices or call.invalid_to_bottom else row
            boxes[batch, at] = data[batch, box]
            boxes[batch, at, call.score_index] = score
    if not call.return_indices:
        return [boxes]
    return [boxes, places, counts] if is_soft else [places, counts]


#: Position of a box among the visited ones, its index, and its score.
_Kept = tuple[int, int, float]


def _suppress(call: EvaluationCall, data: ndarray, order: list[int]) -> list[_Kept]:
    stay: list[_Kept] = []
    for row, box in enumerate(order):
        if 0 < call.max_output_size <= len(stay):
            break
        covered = any(
            _are_rivals(call, data, earlier, box) and _rate_overlap(call, data, earlier, box) >= call.iou_threshold
            for _, earlier, _ in stay
        )
        if data[box, call.score_index] > 0 and not covered:
            stay.append((row, box, data[box, call.score_index]))
    return stay


def _soften(call: EvaluationCall, data: ndarray, order: list[int]) -> list[_Kept]:
    stay: list[_Kept] = []
    left = [(box, data[box, call.score_index]) for box in order]
    while left and not 0 < call.max_output_size <= len(stay):
        best = max(range(len(left)), key=lambda place: (left[place][1] > call.score_threshold, left[place][1], -place))
        box, score = left[best]
        if not score > call.score_threshold:
            break
        left[0], left[best] = left[best], left[0]
        stay.append((len(stay), box, score))
        lowered = [_lower_score(call, data, box, *other) for other in left[1:]]
        left = [(other, value) for other, value in lowered]
    return stay


def _lower_score(call: EvaluationCall, data: ndarray, taken: int, box: int, score: float) -> tuple[int, float]:
    """Return a box with its lowered score. A suppressed box has the score -inf."""
    if not score > call.score_threshold or not _are_rivals(call, data, taken, box):
        return box, score
    if (shared := _rate_overlap(call, data, taken, box)) >= call.iou_threshold:
        return box, -math.inf
    return box, score * math.exp(-(shared**2) / (2 * call.soft_nms_sigma))


def _rate_overlap(call: EvaluationCall, data: ndarray, one: int, other: int) -> float:
    corners = data[:, call.coord_start : call.coord_start + 4]
    return _overlap(corners[one], corners[other])


def _are_rivals(call: EvaluationCall, data: ndarray, one: int, other: int) -> bool:
    """Check whether boxes have the same class, or classes are ignored."""
    class_ = call.id_index
    return call.force_suppress or class_ < 0 or bool(data[one, class_] == data[other, class_])


@register_reference("relax.vision.multibox_transform_loc")
def multibox_transform_loc(
    call: EvaluationCall, cls_pred: ndarray, loc_pred: ndarray, anchor: ndarray
) -> list[ndarray]:
    """Return corners (top, left, bottom, right) from the anchors' corners and relative predictions."""
    left, top, right, bottom = anchor[0].T
    offsets = loc_pred.reshape(len(loc_pred), anchor.shape[1], 4) * call.variances
    x, y, width, height = numpy.moveaxis(offsets, -1, 0)
    x1, x2 = _extent(left, right, x, width)
    y1, y2 = _extent(top, bottom, y, height)
    boxes = numpy.stack([y1, x1, y2, x2], -1)
    return [numpy.clip(boxes, 0, 1) if call.clip else boxes, _kept_scores(call, cls_pred)]


def _extent(low: ndarray, high: ndarray, shift: ndarray, scale: ndarray) -> tuple[ndarray, ndarray]:
    """Return the begin and end of an anchor's side after shifting and scaling."""
    length = high - low
    center, half = shift * length + (low + high) / 2, numpy.exp(scale) * length / 2
    return center - half, center + half


def _kept_scores(call: EvaluationCall, scores: ndarray) -> ndarray:
    """Set scores below the threshold to 0, and the background's scores unless they are kept."""
    if call.apply_softmax:
        powers = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        scores = powers / powers.sum(axis=1, keepdims=True)
    kept = numpy.where(scores < call.threshold, 0, scores)
    if not call.keep_background:
        kept[:, :1] = 0
    return kept


# ---- pooling: a region is (image, x1, y1, x2, y2) ----


def _image(data: ndarray, rois: ndarray, region: int) -> ndarray:
    """Return the image of a region. Fractions of its number are dropped."""
    given = rois[region, 0]
    if not -1 < given < len(data):
        raise IndexError(f"region {region} is in image {given:g}, but there are {len(data)}")
    return data[int(given)]


@register_reference("relax.vision.roi_align")
def roi_align(call: EvaluationCall, data: ndarray, rois: ndarray) -> ndarray:
    """Average bilinear samples on a grid in each bin. A bin without samples is 0."""
    is_last = call.layout == "NHWC"
    images = numpy.moveaxis(data, -1, 1) if is_last else data
    rows, columns = call.pooled_size[0], call.pooled_size[-1]
    result = numpy.zeros((len(rois), images.shape[1], rows, columns))
    for region in range(len(rois)):
        image = _image(images, rois, region)
        ys, xs = (_samples(call, rois[region], axis, count) for axis, count in ((1, rows), (0, columns)))
        for row, column in numpy.ndindex(rows, columns):
            if found := [_sample(image, y, x, call.mode) for y in ys[row] for x in xs[column]]:
                result[region, :, row, column] = (numpy.mean if call.mode == "avg" else numpy.max)(found, axis=0)
    return numpy.moveaxis(result, 1, -1) if is_last else result


def _samples(call: EvaluationCall, roi: ndarray, axis: int, count: int) -> list[list[float]]:
    """Return the sample positions of each bin in one direction."""
    start, end = roi[1 + axis] * call.spatial_scale, roi[3 + axis] * call.spatial_scale
    whole = end - start if call.aligned else max(end - start, 1.0)
    length = whole / count
    if (samples := call.sample_ratio) <= 0:
        samples = math.ceil(length) if math.isfinite(length) else 0
    return [[start + (bin_ + (sample + 0.5) / samples) * length for sample in range(samples)] for bin_ in range(count)]


def _sample(image: ndarray, y: float, x: float, mode: str) -> ndarray:
    """Interpolate each channel. The border extends by one element, and is 0 farther away."""
    channels, height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width and height and width):
        return numpy.zeros(channels)
    shares = [
        image[:, row, column] * (weight_y * weight_x)
        for row, weight_y in _neighbours(y, height)
        for column, weight_x in _neighbours(x, width)
    ]
    return numpy.max(shares, axis=0) if mode == "max_share" else numpy.sum(shares, axis=0)


def _neighbours(position: float, extent: int) -> list[tuple[int, float]]:
    """Return the elements before and after a position, and their weights."""
    limited = max(0.0, min(position, extent - 1.0))
    low = math.floor(limited)
    return [(low, 1 - (limited - low)), (min(low + 1, extent - 1), limited - low)]


@register_reference("relax.vision.roi_pool")
def roi_pool(call: EvaluationCall, data: ndarray, rois: ndarray) -> ndarray:
    """Return the largest element of each bin, 0 for an empty bin. Coordinates are rounded, halves up."""
    rows, columns = call.pooled_size[0], call.pooled_size[-1]
    result = numpy.zeros((len(rois), data.shape[1], rows, columns))
    for region in range(len(rois)):
        image, roi = _image(data, rois, region), numpy.floor(rois[region] * call.spatial_scale + 0.5)
        for row, column in numpy.ndindex(rows, columns):
            part = image[:, _bin(roi, 1, row, rows, image.shape[1]), _bin(roi, 0, column, columns, image.shape[2])]
            if part.size:
                result[region, :, row, column] = part.max(axis=(1, 2))
    return result


def _bin(roi: ndarray, axis: int, place: int, count: int, extent: int) -> slice:
    start, end = (int(converted(roi[place], "i32")) for place in (1 + axis, 3 + axis))
    length = max(end - start + 1, 1) / count
    first, last = (math.floor(place * length) + start, math.ceil((place + 1) * length) + start)
    return slice(max(0, min(first, extent)), max(0, min(last, extent)))
