# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection of objects in images: selection among overlapping boxes."""

from __future__ import annotations

from typing import NamedTuple

from ..prelude import Outputs, Tensor, TfliteNode, Value, cast, const, joined, part, register_tflite, relax, sizes


class Kept(NamedTuple):
    """Selected boxes: their indices, best first and padded with zeros, their count, and a mask of valid indices."""

    numbers: Tensor
    total: Tensor
    is_one: Tensor


def _suppress_overlaps(boxes: Tensor, scores: Tensor, most: int, overlap: Tensor, least: Tensor) -> Kept:
    """Select at most `most` of the boxes [n, 4] with scores [n]."""
    # TFLite drops a box if its overlap is above the limit, the relax operator also if the overlap equals the limit.
    overlap = relax.add(overlap, relax.multiply(overlap, const(0.75 * 2**-23, "f32")))
    found, _, count = relax.vision.all_class_non_max_suppression(
        relax.expand_dims(boxes, axis=[0]),
        relax.expand_dims(scores, axis=[0, 1]),
        const([most], "i64"),
        relax.reshape(overlap, (1,)),
        relax.reshape(least, (1,)),
        output_format="tensorflow",
    )
    (_, size, _) = sizes.sizes_of(Value(ssa=found))
    numbers = sizes.reshaped(part(found, 2, 1, 2), [size])
    places = relax.minimum(sizes.count_up(most), sizes.as_tensor([sizes.larger(sizes.minus(size, 1), 0)]))
    is_one = relax.less(sizes.count_up(most), count)
    return Kept(relax.where(is_one, relax.take(numbers, places, axis=0), const(0, "i64")), count, is_one)


def _select_boxes(node: TfliteNode) -> tuple[Kept, Tensor]:
    """Select boxes by the operands boxes, scores, maximum count, maximum overlap and minimum score."""
    (most,) = node.known_numbers(2)
    kept = _suppress_overlaps(node.tensor(0), node.tensor(1), most, node.tensor(3), node.tensor(4))
    return kept, cast(relax.reshape(kept.total, ()), "i32")


@register_tflite("NON_MAX_SUPPRESSION_V4")
def non_max_suppression(node: TfliteNode) -> Outputs:
    kept, count = _select_boxes(node)
    return [cast(kept.numbers, "i32"), count]


@register_tflite("NON_MAX_SUPPRESSION_V5")
def soft_suppression(node: TfliteNode) -> Outputs:
    """Convert NON_MAX_SUPPRESSION_V5, which also returns scores. Lowered scores of overlapping boxes are refused."""
    if node.scalar(5) != 0:
        raise node.fail("lowered scores of overlapping boxes (soft_nms_sigma) are not supported")
    kept, count = _select_boxes(node)
    scores = relax.where(kept.is_one, relax.take(node.tensor(1), kept.numbers, axis=0), const(0.0, "f32"))
    return [cast(kept.numbers, "i32"), scores, count]


@register_tflite("TFLite_Detection_PostProcess")
def detections(node: TfliteNode) -> Outputs:
    """Convert the detection operator: boxes relative to anchors, their best classes, scores, and the number of boxes.

    The score of a box's best class decides the selection, for all classes together.
    """
    if node.attr("use_regular_nms", False):
        raise node.fail("suppression per class (use_regular_nms) is not supported", "use_regular_nms")
    most, classes = node.attr("max_detections"), node.attr("num_classes")
    count = min(node.attr("max_classes_per_detection"), classes)
    batch, anchors, labels = node.fixed_sizes(1, 3)
    if batch != 1 or not 1 <= classes <= labels or min(most, count, anchors) < 1:
        what = f"{most} boxes of {anchors} anchors with {count} of {classes} classes"
        raise node.fail(f"{what} and {labels} scores for {batch} images are not supported")
    boxes = _decode_boxes(node)
    # The first label is the background, if there is one.
    scores = part(relax.reshape(node.tensor(1), (anchors, labels)), 1, labels - classes, labels)
    best, which = relax.topk(scores, k=count, axis=1, dtype="i64")
    kept = _suppress_overlaps(
        boxes,
        part(best, 1, 0, 1, drop=True),
        most,
        const(node.attr("nms_iou_threshold"), "f32"),
        const(node.attr("nms_score_threshold"), "f32"),
    )

    nothing = const(0.0, "f32")
    # One row for each box, with all its classes. The rows after the last box are zeros.
    rows = [
        relax.where(
            relax.expand_dims(kept.is_one, axis=[1]), cast(relax.take(each, kept.numbers, axis=0), "f32"), nothing
        )
        for each in (relax.tile(boxes, repeats=[1, count]), which, best)
    ]
    corners, *others = rows
    return [
        relax.reshape(corners, (1, most * count, 4)),
        *(relax.reshape(other, (1, most * count)) for other in others),
        cast(kept.total, "f32"),
    ]


def _decode_boxes(node: TfliteNode) -> Tensor:
    """Return the corners of the boxes [n, 4]. The predictions move the anchors' centers and scale their sizes."""
    anchors, _ = node.fixed_sizes(2, 2)
    predicted = relax.reshape(node.tensor(0), (anchors, 4))
    own = node.tensor(2)
    scales = [node.attr(f"{name}_scale") for name in ("y", "x", "h", "w")]
    moves = [relax.divide(part(predicted, 1, i, i + 1), const(scale, "f32")) for i, scale in enumerate(scales)]
    corners: list[list[Tensor]] = [[], []]
    for axis in (0, 1):
        center, size = (part(own, 1, place, place + 1) for place in (axis, axis + 2))
        middle = relax.add(relax.multiply(moves[axis], size), center)
        half = relax.multiply(relax.multiply(relax.exp(moves[axis + 2]), size), const(0.5, "f32"))
        corners[0].append(relax.subtract(middle, half))
        corners[1].append(relax.add(middle, half))
    return joined([*corners[0], *corners[1]], axis=1)
