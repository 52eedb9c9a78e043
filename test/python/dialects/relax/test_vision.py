# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection: inferred types, symbolic sizes, the builder's refusals."""

from __future__ import annotations

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from shorthand import refusal, tensor, unranked

SIZES = st.integers(1, 6)
FLOATS = st.sampled_from(["f16", "bf16", "f32", "f64"])
LIMITS = (tensor(dtype="i64"), tensor(), tensor(1))


def candidates(boxes, scores):
    """Return every (batch, class, box) that may be selected: all pairs of boxes and scores."""
    overlap_of_none = numpy.zeros(boxes.shape[:2])
    return numpy.argwhere(scores + overlap_of_none[:, None, :] >= 0)


@draws(30)
@given(SIZES, SIZES, SIZES, FLOATS)
def test_all_class_non_max_suppression(batch, classes, boxes, dtype):
    operands = tensor(batch, boxes, 4, dtype=dtype), tensor(batch, classes, boxes, dtype=dtype), *LIMITS
    most = candidates(numpy.zeros((batch, boxes, 4)), numpy.zeros((batch, classes, boxes)))
    indices, count = infer("relax.vision.all_class_non_max_suppression", *operands)
    # How many rows there are depends on the data; each names batch, class and box.
    assert (indices, count) == (tensor(None, most.shape[1], dtype="i64"), tensor(1, dtype="i64"))
    per_batch = len(most) // batch
    assert infer("relax.vision.all_class_non_max_suppression", *operands, output_format="tensorflow") == [
        tensor(batch, per_batch, 2, dtype="i64"),
        tensor(batch, per_batch),
        tensor(batch, dtype="i64"),
    ]


def test_all_class_non_max_suppression_of_unknown_sizes():
    name, arguments = "relax.vision.all_class_non_max_suppression", {"output_format": "tensorflow"}
    assert infer(name, tensor("n", "b", 4), tensor("n", "c", None), *LIMITS, **arguments) == [
        tensor("n", "b*c", 2, dtype="i64"),
        tensor("n", "b*c"),
        tensor("n", dtype="i64"),
    ]
    assert infer(name, unranked(), tensor(2, 3, "b"), *LIMITS, **arguments)[1] == tensor(2, "3*b")
    assert infer(name, unranked(), unranked(), *LIMITS, **arguments)[1] == tensor(None, None)


@draws(30)
@given(SIZES, SIZES, SIZES, FLOATS)
def test_get_valid_counts(batch, anchors, values, dtype):
    data = numpy.zeros((batch, anchors, values))
    counts = (data[:, :, 0] > 0).sum(axis=1)
    order = numpy.argsort(data[:, :, 0], axis=1)
    operand = tensor(*data.shape, dtype=dtype)
    assert infer("relax.vision.get_valid_counts", operand, score_index=values - 1, id_index=-1) == [
        tensor(*counts.shape, dtype="i32"),
        operand,
        tensor(*order.shape, dtype="i32"),
    ]


def test_get_valid_counts_of_unknown_sizes():
    assert infer("relax.vision.get_valid_counts", tensor("n", None, 6)) == [
        tensor("n", dtype="i32"),
        tensor("n", None, 6),
        tensor("n", None, dtype="i32"),
    ]
    assert infer("relax.vision.get_valid_counts", unranked("f16")) == [
        tensor(None, dtype="i32"),
        tensor(None, None, None, dtype="f16"),
        tensor(None, None, dtype="i32"),
    ]


@draws(30)
@given(SIZES, SIZES, st.integers(6, 8), FLOATS)
def test_non_max_suppression(batch, anchors, values, dtype):
    data = tensor(batch, anchors, values, dtype=dtype)
    operands = data, tensor(batch, dtype="i32"), tensor(batch, anchors, dtype="i32")
    indices, count = tensor(batch, anchors, dtype="i32"), tensor(batch, 1, dtype="i32")
    assert infer("relax.vision.non_max_suppression", *operands) == [indices, count]
    assert infer("relax.vision.non_max_suppression", *operands, soft_nms_sigma=0.5) == [data, indices, count]
    for sigma in (0.0, 0.5):
        kept = infer("relax.vision.non_max_suppression", *operands, return_indices=False, soft_nms_sigma=sigma)
        assert kept == [data]


def test_non_max_suppression_gathers_what_its_operands_know():
    operands = tensor(None, "a", 6), tensor("n", dtype="i32"), unranked("i32")
    assert infer("relax.vision.non_max_suppression", *operands, return_indices=False) == [tensor("n", "a", 6)]
    operands = unranked(), unranked("i32"), tensor(2, "a", dtype="i32")
    assert infer("relax.vision.non_max_suppression", *operands, return_indices=False) == [tensor(2, "a", None)]


@pytest.mark.parametrize(
    ("attribute", "value", "bound"),
    [
        ("coord_start", 3, "from 0 to 2"),
        ("coord_start", -1, "from 0 to 2"),
        ("score_index", 6, "from 0 to 5"),
        ("score_index", -1, "from 0 to 5"),
        ("id_index", 6, "from -1 to 5"),
        ("id_index", -2, "from -1 to 5"),
    ],
)
def test_indices_beyond_the_values_of_an_anchor_are_refused(attribute, value, bound):
    operands = tensor(1, 9, 6), tensor(1, dtype="i32"), tensor(1, 9, dtype="i32")
    message = refusal("relax.vision.non_max_suppression", *operands, **{attribute: value})
    assert f"attribute '{attribute}' ({value}) must be {bound}" in message


@draws(30)
@given(SIZES, SIZES, SIZES, FLOATS)
def test_multibox_transform_loc(batch, classes, anchors, dtype):
    offsets = numpy.zeros((batch, 4 * anchors)).reshape(batch, -1, 4)
    boxes = offsets + numpy.zeros((1, anchors, 4))
    scores = tensor(batch, classes, anchors, dtype=dtype)
    operands = scores, tensor(batch, 4 * anchors, dtype=dtype), tensor(1, anchors, 4, dtype=dtype)
    assert infer("relax.vision.multibox_transform_loc", *operands) == [tensor(*boxes.shape, dtype=dtype), scores]


def test_multibox_transform_loc_of_unknown_sizes():
    name = "relax.vision.multibox_transform_loc"
    assert infer(name, tensor("n", 3, "a"), tensor("n", "4*a"), tensor(1, "a", 4), variances=0.1) == [
        tensor("n", "a", 4),
        tensor("n", 3, "a"),
    ]
    assert infer(name, unranked(), tensor(2, None), tensor(None, "a", None)) == [
        tensor(2, "a", 4),
        tensor(2, None, "a"),
    ]


@draws(40)
@given(st.tuples(*[SIZES] * 4), SIZES, st.tuples(SIZES, SIZES), st.booleans(), FLOATS)
def test_regions_are_pooled_to_one_size(sizes, regions, pooled, channels_last, dtype):
    array = numpy.zeros(sizes)
    channels = array.shape[3 if channels_last else 1]
    # One region after the other: each is [channels, height, width] in the data's layout.
    region = numpy.zeros((*pooled, channels) if channels_last else (channels, *pooled))
    expected = [tensor(*numpy.stack([region] * regions).shape, dtype=dtype)]
    operands = tensor(*sizes, dtype=dtype), tensor(regions, 5, dtype=dtype)
    layout = "NHWC" if channels_last else "NCHW"
    assert infer("relax.vision.roi_align", *operands, pooled, 0.25, layout=layout, mode="max") == expected
    if not channels_last:
        assert infer("relax.vision.roi_pool", *operands, pooled, 0.25) == expected


@pytest.mark.parametrize("op", ["relax.vision.roi_align", "relax.vision.roi_pool"])
def test_regions_of_unknown_sizes(op):
    assert infer(op, tensor(1, "c", 8, 8), tensor("r", None), 7, 1.0) == [tensor("r", "c", 7, 7)]
    assert infer(op, unranked(), unranked(), [7], 1.0) == [tensor(None, None, 7, 7)]


def test_the_builder_names_what_is_wrong():
    assert "must have size 5 in dimension 1 (batch index, x1, y1, x2, y2), got 4" in refusal(
        "relax.vision.roi_align", tensor(1, 3, 8, 8), tensor(2, 4), 7, 1.0
    )
    assert "misses attribute 'spatial_scale'" in refusal("relax.vision.roi_pool", tensor(1, 3, 8, 8), tensor(2, 5), 7)
    assert "attribute 'layout' expects one of 'NCHW', got 'NHWC'" in refusal(
        "relax.vision.roi_pool", tensor(1, 3, 8, 8), tensor(2, 5), 7, 1.0, layout="NHWC"
    )
