# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Suppression of boxes and their decoding, legalized by the default rules, compiled for llvm and run."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import scipy.special
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from onnx_oracle import run_onnx
from prim_jit import run_op


def ran(name: str, *arrays: Any, **options: Any) -> Any:
    return run_op(f"relax.vision.{name}", *arrays, **options)


def boxes(random: Any, *sizes: int) -> Any:
    """Return boxes that often overlap, with corners in any order."""
    first = random.random((*sizes, 2))
    second = first + random.uniform(-0.4, 0.4, (*sizes, 2))
    return numpy.concatenate([first, second], -1).astype("float32")


# ---- all classes ----

SYMBOLS = [("b", "n", 4), ("b", "c", "n"), (), (1,), (1,)]


def limits(most: int, iou: float, score: float) -> tuple[Any, ...]:
    return numpy.array(most), numpy.array([iou], "float32"), numpy.array([score], "float32")


@draws(40)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 40)),
    st.integers(0, 10),
    st.floats(0.05, 0.95),
    st.sampled_from([-1.0, 0.0, 0.3, 0.9, 2.0]),
    st.integers(0, 1000),
)
def test_suppression_of_all_classes_equals_onnxruntime(
    sizes: tuple[int, int, int], most: int, iou: float, score: float, seed: int
) -> None:
    random = numpy.random.default_rng(seed)
    batch, classes, count = sizes
    arrays = (boxes(random, batch, count), random.normal(0.3, 0.4, sizes).astype("float32"), *limits(most, iou, score))
    actual, total = ran("all_class_non_max_suppression", *arrays, symbols=SYMBOLS)
    # onnxruntime wants all limits 1-D.
    (expected,) = run_onnx("NonMaxSuppression", *arrays[:2], arrays[2].reshape(1), *arrays[3:])
    numpy.testing.assert_array_equal(actual, expected.reshape(-1, 3))
    assert total.tolist() == [len(expected)]
    pairs, scores, totals = ran("all_class_non_max_suppression", *arrays, symbols=SYMBOLS, output_format="tensorflow")
    assert pairs.shape == (batch, classes * count, 2) and scores.dtype == "float32" and totals.dtype == "int64"
    for image in range(batch):
        rows = expected[expected[:, 0] == image, 1:]
        assert totals[image] == len(rows)
        numpy.testing.assert_array_equal(pairs[image, : len(rows)], rows)
        numpy.testing.assert_array_equal(scores[image, : len(rows)], arrays[1][image, rows[:, 0], rows[:, 1]])
        assert not pairs[image, len(rows) :].any() and not scores[image, len(rows) :].any()


def test_equal_scores_and_no_scores() -> None:
    far = numpy.array([[[i, i, i + 0.5, i + 0.5] for i in range(5)]], "float32")
    scores = numpy.array([[[1, 2, numpy.nan, 2, 0]]], "float32")
    rows, _ = ran("all_class_non_max_suppression", far, scores, *limits(9, 0.5, 0.0))
    assert rows[:, 2].tolist() == [1, 3, 0]
    rows, total = ran("all_class_non_max_suppression", far, scores, *limits(9, 0.0, 0.0))
    assert (rows.shape, total.tolist()) == ((0, 3), [0])


def test_boxes_overlap_from_the_threshold_on() -> None:
    halves = numpy.array([[[0, 0, 1, 1], [0, 0, 1, 2], [5, 5, 5, 5]]], "float32")
    scores = numpy.array([[[3, 2, 1]]], "float32")
    rows, _ = ran("all_class_non_max_suppression", halves, scores, *limits(9, 0.5, 0.0))
    assert rows[:, 2].tolist() == [0, 2]
    rows, _ = ran("all_class_non_max_suppression", halves, scores, *limits(9, 0.51, 0.0))
    assert rows[:, 2].tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_all_classes_of_other_types(dtype: str) -> None:
    random = numpy.random.default_rng(2)
    arrays = (boxes(random, 1, 30).astype(dtype), random.random((1, 2, 30)).astype(dtype))
    wide = tuple(array.astype("float32") for array in arrays)
    rows, _ = ran("all_class_non_max_suppression", *arrays, *limits(8, 0.4, 0.2))
    (expected,) = run_onnx("NonMaxSuppression", *wide, numpy.array([8]), *limits(8, 0.4, 0.2)[1:])
    numpy.testing.assert_array_equal(rows, expected)


def test_scores_without_boxes() -> None:
    arrays = numpy.zeros((1, 3, 4), "float32"), numpy.zeros((1, 1, 4), "float32"), *limits(8, 0.4, 0.2)
    with pytest.raises(ValueError, match="differ"):
        ran("all_class_non_max_suppression", *arrays, symbols=[(1, "n", 4), (1, 1, "m"), (), (1,), (1,)])


# ---- one class for each box ----


def overlap(one: Any, other: Any) -> Any:
    low = numpy.maximum(numpy.minimum(one[:2], one[2:]), numpy.minimum(other[:2], other[2:]))
    high = numpy.minimum(numpy.maximum(one[:2], one[2:]), numpy.maximum(other[:2], other[2:]))
    width, height = numpy.maximum(high - low, 0)
    areas = numpy.prod(numpy.abs(one[2:] - one[:2])) + numpy.prod(numpy.abs(other[2:] - other[:2]))
    union = areas - height * width
    return height * width / union if union > 0 else numpy.float32(0)


def suppressed(data: Any, valid: int, **options: Any) -> list[tuple[int, int, float]]:
    """Return (place in order, box, score) of the remaining boxes by TOPI's algorithm."""
    threshold = numpy.float32(options.get("iou_threshold", 0.5))
    most, top = options.get("max_output_size", -1), options.get("top_k", -1)
    id_index, force = options.get("id_index", 0), options.get("force_suppress", False)
    sigma, least = options.get("soft_nms_sigma", 0.0), options.get("score_threshold", 0.0)
    valid = max(0, min(valid, len(data)))
    order = list(numpy.argsort(-data[:valid, 1], kind="stable"))[: top if top > 0 else None]
    rest = [(place, int(box), data[box, 1]) for place, box in enumerate(order)]
    stay: list[tuple[int, int, float]] = []
    while rest and (most <= 0 or len(stay) < most):
        best = max(range(len(rest)), key=lambda i: rest[i][2])
        # The first takes the place of the best.
        rest[0], rest[best] = rest[best], rest[0]
        taken, *others = rest
        if not taken[2] > (least if sigma else 0.0):
            break
        stay.append(taken)
        rest = []
        for place, box, score in others:
            shared = overlap(data[taken[1], 2:6], data[box, 2:6])
            if not (force or id_index < 0 or data[taken[1], id_index] == data[box, id_index]):
                rest.append((place, box, score))
            elif shared < threshold:
                rest.append((place, box, score * numpy.exp(-0.5 / sigma * shared**2) if sigma else score))
    return stay


def detections(seed: int, batch: int, anchors: int) -> Any:
    random = numpy.random.default_rng(seed)
    classes, scores = random.integers(0, 2, (batch, anchors, 1)), random.normal(0.5, 0.4, (batch, anchors, 1))
    return numpy.concatenate([classes, scores, boxes(random, batch, anchors), random.random((batch, anchors, 1))], -1)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"iou_threshold": 0.2, "force_suppress": True},
    {"id_index": -1, "max_output_size": 4, "top_k": 12},
    {"soft_nms_sigma": 0.3, "iou_threshold": 0.6, "score_threshold": 0.2},
    {"soft_nms_sigma": 0.5, "iou_threshold": 1.0, "force_suppress": True, "max_output_size": 5},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_boxes_that_do_not_overlap(options: dict[str, Any]) -> None:
    is_soft = "soft_nms_sigma" in options
    for seed, (batch, anchors) in enumerate([(2, 20), (1, 1), (1, 0), (3, 50), (0, 3), (2, 7)]):
        data = detections(seed, batch, anchors).astype("float32")
        valid = numpy.random.default_rng(seed).integers(-1, anchors + 2, batch, "int32")
        indices = numpy.random.default_rng(seed).integers(0, 99, (batch, anchors), "int32")
        arrays, symbols = (data, valid, indices), [("b", "n", "v"), ("b",), ("b", "n")]
        *moved, places, counts = ran("non_max_suppression", *arrays, symbols=symbols, **options)
        kept = {"return_indices": False, **options}
        in_place = ran("non_max_suppression", *arrays, symbols=symbols, **kept)
        at_front = ran("non_max_suppression", *arrays, symbols=symbols, invalid_to_bottom=True, **kept)
        for image in range(batch):
            stay = suppressed(data[image], int(valid[image]), **options)
            assert counts[image] == len(stay)
            expected = [indices[image, box] for _, box, _ in stay] + [-1] * (anchors - len(stay))
            numpy.testing.assert_array_equal(places[image], expected)
            wanted = numpy.full((2, *data[image].shape), -1, "float32")
            for number, (place, box, score) in enumerate(stay):
                for target, row in ((wanted[0], number if is_soft else place), (wanted[1], number)):
                    target[row] = data[image, box]
                    target[row, 1] = score
            numpy.testing.assert_allclose(in_place[image], wanted[0], rtol=1e-5)
            numpy.testing.assert_allclose(at_front[image], wanted[1], rtol=1e-5)
            for out in moved:
                numpy.testing.assert_allclose(out[image], wanted[1], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_suppression_of_other_types(dtype: str) -> None:
    data = detections(3, 1, 30).astype(dtype)
    indices = numpy.arange(30, dtype="int32").reshape(1, 30)
    places, counts = ran("non_max_suppression", data, numpy.array([30], "int32"), indices)
    stay = suppressed(data[0].astype("float32" if dtype == "float16" else dtype), 30)
    assert places[0, : counts[0, 0]].tolist() == [box for _, box, _ in stay]


def test_places_of_values() -> None:
    data = detections(5, 2, 25).astype("float32")
    indices, valid = numpy.arange(50, dtype="int32").reshape(2, 25), numpy.array([25, 20], "int32")
    expected = ran("non_max_suppression", data, valid, indices)
    moved = numpy.ascontiguousarray(data[:, :, [6, 2, 3, 4, 5, 1, 0]])
    actual = ran("non_max_suppression", moved, valid, indices, coord_start=1, score_index=5, id_index=6)
    for got, wanted in zip(actual, expected, strict=True):
        numpy.testing.assert_array_equal(got, wanted)


def test_indices_of_missing_values_are_refused() -> None:
    arrays = numpy.zeros((1, 2, 5), "float32"), numpy.ones(1, "int32"), numpy.zeros((1, 2), "int32")
    with pytest.raises(ValueError, match="6 is larger than 5"):
        ran("non_max_suppression", *arrays, symbols=[(1, 2, "v"), (1,), (1, 2)])


# ---- boxes that count ----


@pytest.mark.parametrize("id_index", [-1, 0])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_valid_counts(dtype: str, id_index: int) -> None:
    for batch, anchors in ((2, 9), (1, 0), (0, 2), (3, 1)):
        data = numpy.random.default_rng(2).normal(0.3, 0.5, (batch, anchors, 3)).astype(dtype)
        data[:, 3:4] = numpy.nan
        counts, out, places = ran(
            "get_valid_counts", data, score_threshold=0.25, id_index=id_index, symbols=[("b", "n", 3)]
        )
        assert out.dtype == dtype and counts.dtype == places.dtype == "int32"
        for image in range(batch):
            is_valid = data[image, :, 1] > 0.25
            if id_index >= 0:
                is_valid &= data[image, :, id_index] >= 0
            (found,) = numpy.nonzero(is_valid)
            padding = anchors - len(found)
            assert counts[image] == len(found)
            assert places[image].tolist() == [*found, *[-1] * padding]
            numpy.testing.assert_array_equal(
                out[image], numpy.concatenate([data[image, found], -numpy.ones((padding, 3))])
            )


# ---- decoding ----


def decoded(locations: Any, anchors: Any, variances: Any, *, clip: bool) -> Any:
    left, top, right, bottom = numpy.moveaxis(anchors, -1, 0)
    x, y, width, height = numpy.moveaxis(locations.reshape(len(locations), anchors.shape[1], 4) * variances, -1, 0)
    center_y, center_x = y * (bottom - top) + (top + bottom) / 2, x * (right - left) + (left + right) / 2
    half_y, half_x = numpy.exp(height) * (bottom - top) / 2, numpy.exp(width) * (right - left) / 2
    result = numpy.stack([center_y - half_y, center_x - half_x, center_y + half_y, center_x + half_x], -1)
    return numpy.clip(result, 0, 1) if clip else result


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"clip": True, "threshold": 0.3, "keep_background": False, "variances": (0.1, 0.2, 0.3, 0.4)},
        {"apply_softmax": False, "threshold": 0.1},
    ],
    ids=str,
)
def test_multibox(options: dict[str, Any], dtype: str) -> None:
    random = numpy.random.default_rng(6)
    tolerance = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
    for batch, classes, anchors in ((2, 3, 5), (1, 1, 0), (0, 2, 3), (1, 4, 1)):
        scores = random.normal(size=(batch, classes, anchors)).astype(dtype)
        locations = random.normal(size=(batch, 4 * anchors)).astype(dtype)
        corners = random.random((1, anchors, 4)).astype(dtype)
        symbols = [("b", "c", "n"), ("b", "4 * n"), (1, "n", 4)]
        actual = ran("multibox_transform_loc", scores, locations, corners, symbols=symbols, **options)
        wide = [array.astype("float64") for array in (scores, locations, corners)]
        clip, variances = options.get("clip", False), options.get("variances", (1.0,) * 4)
        expected_boxes = decoded(*wide[1:], variances, clip=clip)
        expected = scipy.special.softmax(wide[0], axis=1) if options.get("apply_softmax", True) else wide[0]
        expected = numpy.where(expected < options.get("threshold", 0.0), 0.0, expected)
        if not options.get("keep_background", True):
            expected[:, 0] = 0
        for got, wanted in zip(actual, (expected_boxes, expected), strict=True):
            assert got.dtype == dtype
            numpy.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * 10)


def test_scores_that_are_no_numbers() -> None:
    scores = numpy.array([[[numpy.nan, -numpy.inf, numpy.inf, 0.25]]], "float32")
    locations, corners = numpy.zeros((1, 16), "float32"), numpy.zeros((1, 4, 4), "float32")
    _, kept = ran("multibox_transform_loc", scores, locations, corners, apply_softmax=False, threshold=0.25)
    numpy.testing.assert_array_equal(kept, [[[numpy.nan, 0, numpy.inf, 0.25]]])
