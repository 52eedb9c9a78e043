# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Selection of boxes, decoding of boxes, pooling of regions."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from interpreted import meant

BOXES = numpy.array([[[0, 0, 2, 2], [0, 0, 2, 1.8], [3, 3, 4, 4], [2, 2, 0, 0]]], "float32")
SCORES = numpy.array([[[0.5, 0.9, 0.3, 0.1]]], "float32")


def selected(most: int, iou: float, score: float, **options: Any) -> list[Any]:
    limits = [numpy.array([most]), numpy.array([iou], "float32"), numpy.array([score], "float32")]
    found = meant("vision.all_class_non_max_suppression", BOXES, SCORES, *limits, **options)
    return [each.tolist() for each in found]


def test_each_class_of_its_own() -> None:
    assert selected(9, 0.5, 0.0) == [[[0, 0, 1], [0, 0, 2]], [2]]
    assert selected(1, 0.5, 0.0) == [[[0, 0, 1]], [1]]
    assert selected(9, 0.5, 0.3) == [[[0, 0, 1]], [1]]
    assert selected(9, 0.0, 0.0) == [[], [0]]
    indices, scores, counts = selected(9, 0.95, 0.0, output_format="tensorflow")
    assert (indices, counts) == ([[[0, 1], [0, 0], [0, 2], [0, 0]]], [3])
    assert numpy.float32(scores).tolist() == numpy.float32([[0.9, 0.5, 0.3, 0]]).tolist()


def data() -> Any:
    """Return class, score and corners."""
    return numpy.concatenate([numpy.zeros((1, 4, 1)), SCORES.transpose(0, 2, 1), BOXES], 2).astype("float32")


def suppressed(**options: Any) -> Any:
    count, indices = numpy.array([4], "int32"), numpy.array([[10, 11, 12, 13]], "int32")
    return meant("vision.non_max_suppression", data(), count, indices, **options)


def test_suppressed() -> None:
    indices, count = suppressed()
    assert (indices.tolist(), count.tolist()) == ([[11, 12, -1, -1]], [[2]])
    rows = suppressed(return_indices=False)
    assert numpy.float32(rows[0, :, 1]).tolist() == numpy.float32([0.9, -1, 0.3, -1]).tolist()
    assert suppressed(return_indices=False, invalid_to_bottom=True)[0, 1, 2] == 3
    assert suppressed(max_output_size=1)[1].tolist() == [[1]]
    assert suppressed(top_k=2)[1].tolist() == [[1]]


def test_softened() -> None:
    found, indices, count = suppressed(soft_nms_sigma=0.5, iou_threshold=1.0, score_threshold=0.05)
    assert indices.tolist() == [[11, 12, 10, -1]] and count.tolist() == [[3]]
    numpy.testing.assert_allclose(found[0, 2, 1], 0.5 * numpy.exp(-(0.9**2)), rtol=1e-6)


def test_valid_boxes() -> None:
    counts, boxes, places = meant("vision.get_valid_counts", data(), score_threshold=0.2)
    assert (counts.tolist(), places.tolist()) == ([3], [[0, 1, 2, -1]])
    assert boxes[0, 3].tolist() == [-1] * 6


def test_decoded_boxes() -> None:
    anchor = numpy.array([[[0.0, 0.0, 0.4, 0.2]]], "float32")
    scores = numpy.array([[[0.0], [0.0]]], "float32")
    offsets = numpy.array([[1.0, 0.0, 0.0, 0.0]], "float32")
    boxes, kept = meant("vision.multibox_transform_loc", scores, offsets, anchor, keep_background=False)
    numpy.testing.assert_allclose(boxes, [[[0, 0.4, 0.2, 0.8]]], atol=1e-7)
    assert kept.tolist() == [[[0.0], [0.5]]]


IMAGE = numpy.arange(16, dtype="float32").reshape(1, 1, 4, 4)


@pytest.mark.parametrize("mode, expected", [("avg", 5.0), ("max", 7.5), ("max_share", 2.5)])
def test_regions_interpolated(mode: str, expected: float) -> None:
    region = numpy.array([[0, 0, 0, 2, 2]], "float32")
    found = meant("vision.roi_align", IMAGE, region, pooled_size=1, spatial_scale=1.0, sample_ratio=2, mode=mode)
    assert found.tolist() == [[[[expected]]]]
    same = meant("vision.roi_align", IMAGE.reshape(1, 4, 4, 1), region, pooled_size=1, spatial_scale=1.0,
                 sample_ratio=2, mode=mode, layout="NHWC")  # fmt: skip
    assert same.tolist() == found.tolist()


def test_regions_pooled() -> None:
    regions = numpy.array([[0, 0, 0, 3, 3], [0, 9, 9, 9, 9]], "float32")
    found = meant("vision.roi_pool", IMAGE, regions, pooled_size=[2, 1], spatial_scale=1.0)
    assert found[..., 0].tolist() == [[[7, 15]], [[0, 0]]]
    with pytest.raises(IndexError, match="region 0 is in image 1, but there are 1"):
        meant("vision.roi_pool", IMAGE, regions + 1, pooled_size=1, spatial_scale=1.0)
