# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""roi_align and roi_pool, legalized by the default rules, compiled for llvm and run, against onnxruntime."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from onnx_oracle import run_onnx
from prim_jit import run_op

SYMBOLS = [("b", "c", "h", "w"), ("r", 5)]
SCALE = 0.5


def ran(name: str, data: Any, rois: Any, **options: Any) -> Any:
    return run_op(f"relax.vision.{name}", data, rois, **options)


def regions(random: Any, count: int, images: int, size: float) -> Any:
    """Return regions inside of the data, across its border, and without an area."""
    first = random.uniform(-0.2 * size, size, (count, 2))
    second = first + random.uniform(-0.1 * size, 0.8 * size, (count, 2))
    return numpy.concatenate([random.integers(0, images, (count, 1)), first, second], 1).astype("float32")


def aligned(data: Any, rois: Any, **attributes: Any) -> Any:
    shift = "half_pixel" if attributes.pop("aligned", False) else "output_half_pixel"
    places = rois[:, 0].astype("int64")
    return run_onnx("RoiAlign", data, rois[:, 1:].copy(), places, coordinate_transformation_mode=shift, **attributes)[0]


@draws(30)
@given(st.integers(0, 1000), st.integers(1, 9), st.integers(1, 9))
def test_means(seed: int, height: int, width: int) -> None:
    random = numpy.random.default_rng(seed)
    data = random.normal(size=(2, 3, height, width)).astype("float32")
    rois = regions(random, 6, 2, 14.0)
    for samples in (0, 2):
        actual = ran(
            "roi_align", data, rois, pooled_size=(2, 3), spatial_scale=SCALE, sample_ratio=samples, symbols=SYMBOLS
        )
        expected = aligned(
            data, rois, output_height=2, output_width=3, spatial_scale=SCALE, sampling_ratio=samples, mode="avg"
        )
        numpy.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def interpolated(image: Any, y: float, x: float, mode: str) -> Any:
    """Return the interpolated image for all channels, or in max mode the largest weighted pixel."""
    _, height, width = image.shape
    if y < -1 or x < -1 or y > height or x > width:
        return numpy.zeros(len(image))
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    y, x = y - top, x - left
    shares = [
        image[:, row, column] * down * across
        for row, down in ((top, 1 - y), (bottom, y))
        for column, across in ((left, 1 - x), (right, x))
    ]
    return numpy.max(shares, 0) if mode == "max_share" else numpy.sum(shares, 0)


def sampled(data: Any, rois: Any, pooled: tuple[int, int], samples: int, *, is_aligned: bool, mode: str) -> Any:
    """Sample by TOPI's definition, in f64."""
    result = numpy.zeros((len(rois), data.shape[1], *pooled))
    for region, (image, x1, y1, x2, y2) in enumerate(rois.astype("float64")):
        starts = (y1 * SCALE, x1 * SCALE)
        sizes = ((y2 - y1) * SCALE, (x2 - x1) * SCALE)
        sizes = sizes if is_aligned else tuple(max(size, 1.0) for size in sizes)
        lengths = [size / bins for size, bins in zip(sizes, pooled, strict=True)]
        counts = [samples if samples > 0 else max(int(numpy.ceil(length)), 0) for length in lengths]
        for bin_ in numpy.ndindex(*pooled):
            values = [
                interpolated(data[int(image)], *(
                    start + (place + (part + 0.5) / count) * length
                    for start, place, part, count, length in zip(starts, bin_, parts, counts, lengths, strict=True)
                ), mode)
                for parts in numpy.ndindex(*counts)
            ]  # fmt: skip
            if values:
                row, column = bin_
                result[region, :, row, column] = numpy.mean(values, 0) if mode == "avg" else numpy.max(values, 0)
    return result


@pytest.mark.parametrize("mode", ["avg", "max", "max_share"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("is_aligned", [False, True])
def test_layouts_and_modes(mode: str, layout: str, is_aligned: bool) -> None:
    random = numpy.random.default_rng(8)
    options = {"pooled_size": (3, 2), "spatial_scale": SCALE, "layout": layout, "mode": mode, "aligned": is_aligned}
    for images, channels, height, width, count in ((2, 3, 7, 5, 12), (1, 1, 1, 1, 4), (1, 0, 4, 4, 2), (2, 2, 3, 3, 0)):
        data = random.normal(size=(images, channels, height, width)).astype("float64")
        rois = regions(random, count, images, 12.0)
        given = data if layout == "NCHW" else numpy.ascontiguousarray(numpy.moveaxis(data, 1, -1))
        for samples in (-1, 2):
            actual = ran("roi_align", given, rois.astype("float64"), sample_ratio=samples, symbols=SYMBOLS, **options)
            actual = actual if layout == "NCHW" else numpy.moveaxis(actual, -1, 1)
            expected = sampled(data, rois, (3, 2), samples, is_aligned=is_aligned, mode=mode)
            numpy.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 1e-3), (ml_dtypes.bfloat16, 8e-3)], ids=str)
def test_narrow_types_are_rounded_once(dtype: Any, tolerance: float) -> None:
    random = numpy.random.default_rng(8)
    data = random.normal(size=(1, 2, 9, 9)).astype(dtype)
    rois = regions(random, 5, 1, 16.0)
    options = {"pooled_size": (2, 2), "spatial_scale": SCALE}
    for name in ("roi_align", "roi_pool"):
        actual = ran(name, data, rois, **options)
        expected = ran(name, data.astype("float32"), rois, **options)
        assert actual.dtype == dtype
        numpy.testing.assert_allclose(actual.astype("float32"), expected, rtol=tolerance, atol=tolerance / 10)


# ---- maxima of parts ----


@draws(30)
@given(st.integers(0, 1000), st.integers(1, 9), st.integers(1, 9))
def test_maxima(seed: int, height: int, width: int) -> None:
    random = numpy.random.default_rng(seed)
    data = random.normal(size=(2, 3, height, width)).astype("float32")
    rois = regions(random, 6, 2, 14.0)
    # onnxruntime rounds halves away from zero, which differs only for negative numbers.
    rois[:, 1:] = numpy.where(rois[:, 1:] < 0, numpy.floor(rois[:, 1:]) - 0.25, rois[:, 1:])
    actual = ran("roi_pool", data, rois, pooled_size=(2, 3), spatial_scale=SCALE, symbols=SYMBOLS)
    (expected,) = run_onnx("MaxRoiPool", data, rois, pooled_shape=[2, 3], spatial_scale=SCALE)
    numpy.testing.assert_array_equal(actual, expected)


def test_nan_is_the_largest() -> None:
    data = numpy.array([1, numpy.nan, 3, -numpy.inf], "float32").reshape(1, 1, 2, 2)
    rois = numpy.array([[0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [0, 1, 1, 1, 1], [0, 7, 7, 9, 9]], "float32")
    actual = ran("roi_pool", data, rois, pooled_size=1, spatial_scale=1.0)
    numpy.testing.assert_array_equal(actual.ravel(), [numpy.nan, 3, -numpy.inf, 0])


# ---- regions that are none ----


@pytest.mark.parametrize("name", ["roi_align", "roi_pool"])
@pytest.mark.parametrize("image", [-1.0, 2.0, 1e30, numpy.nan, -numpy.inf])
def test_images_that_are_not_there(name: str, image: float) -> None:
    data = numpy.zeros((2, 1, 3, 3), "float32")
    rois = numpy.array([[0, 0, 0, 1, 1], [image, 0, 0, 1, 1]], "float32")
    with pytest.raises(IndexError, match="region 1 is in image"):
        ran(name, data, rois, pooled_size=(2, 3), spatial_scale=SCALE, symbols=SYMBOLS)


@pytest.mark.parametrize("name", ["roi_align", "roi_pool"])
def test_coordinates_that_are_no_numbers(name: str) -> None:
    data = numpy.ones((1, 1, 3, 3), "float32")
    for place in range(1, 5):
        for value in (numpy.nan, numpy.inf, -numpy.inf, *((3e9, -3e9, 1e30) if name == "roi_pool" else ())):
            rois = numpy.array([[0, 0, 0, 1, 1]], "float32")
            rois[0, place] = value
            actual = ran(name, data, rois, pooled_size=(2, 3), spatial_scale=SCALE, symbols=SYMBOLS)
            assert set(actual.ravel().tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("name", ["roi_align", "roi_pool"])
def test_data_without_elements(name: str) -> None:
    rois = numpy.array([[0, 0, 0, 1, 1]], "float32")
    for shape in ((1, 2, 0, 3), (1, 2, 3, 0)):
        actual = ran(
            name, numpy.zeros(shape, "float32"), rois, pooled_size=(2, 3), spatial_scale=SCALE, symbols=SYMBOLS
        )
        numpy.testing.assert_array_equal(actual, numpy.zeros((1, 2, 2, 3)))
