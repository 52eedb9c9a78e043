# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resized and sampled images: coordinates, and elements outside of the image."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from interpreted import meant

ROW = numpy.array([[[[0.0, 1.0, 2.0, 3.0]]]], "float32")


def resized(count: int, **options: Any) -> Any:
    return meant("image.resize2d", ROW, (1, count), **options)[0, 0, 0].tolist()


@pytest.mark.parametrize(
    "mode, expected",
    [
        ("half_pixel", [0.5, 2.5]), ("align_corners", [0, 3]), ("asymmetric", [0, 2]),
        ("pytorch_half_pixel", [0.5, 2.5]), ("tf_half_pixel_for_nn", [1, 3]),
    ],
)  # fmt: skip
def test_coordinates(mode: str, expected: list[float]) -> None:
    assert resized(2, coordinate_transformation_mode=mode) == expected


@pytest.mark.parametrize(
    "rounding, expected",
    [("round", [0, 2]), ("floor", [0, 2]), ("ceil", [1, 3]), ("round_prefer_floor", [0, 2]),
     ("round_prefer_ceil", [1, 3]), ("", [0, 2])],
)  # fmt: skip
def test_nearest_elements(rounding: str, expected: list[float]) -> None:
    """Sample at 0.5 and 2.5."""
    assert resized(2, method="nearest_neighbor", rounding_method=rounding) == expected


def test_regions() -> None:
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}
    assert resized(3, roi=[0.0, 0.5, 0.0, 1.5], **options) == [1.5, 3.0, 9.0]
    assert resized(1, roi=[0.0, 0.0, 0.0, 1.0], **options) == [1.5]
    assert resized(1, coordinate_transformation_mode="pytorch_half_pixel") == [0.0]


def test_cubic_interpolation() -> None:
    inner = resized(2, method="cubic")
    numpy.testing.assert_allclose(inner, [0.40625, 2.59375])
    excluded = resized(2, method="cubic", cubic_exclude=1, cubic_alpha=-0.5)
    numpy.testing.assert_allclose(excluded, [(0.5625 + 2 * -0.0625) / 1.0625 + 0.0, 3 - (0.5625 - 0.125) / 1.0625])


def test_layouts_and_types() -> None:
    x = numpy.arange(8, dtype="uint8").reshape(1, 2, 2, 2)
    found = meant("image.resize2d", x, (1, 1), layout="NHWC", out_dtype="float32")
    assert (found.shape, found.ravel().tolist()) == ((1, 1, 1, 2), [3, 4])
    assert meant("image.resize2d", x, ("n", 4), layout="NHWC", symbols=[(1, "n", 2, 2)]).shape == (1, 2, 4, 2)
    with pytest.raises(ValueError, match="the image is empty"):
        meant("image.resize2d", x[:, :0], (1, 1), layout="NHWC", symbols=[(1, "n", 2, 2)])


@pytest.mark.parametrize(
    "padding, expected", [("zeros", [0.0, 0.0, 3.0]), ("border", [0.0, 0.0, 3.0]), ("reflection", [1.5, 0.0, 3.0])]
)
def test_sampled_outside(padding: str, expected: list[float]) -> None:
    """Sample at -2, -1 and 1. The latter two are the centers of the row's first and last elements."""
    grid = numpy.array([[[[-2.0, -1.0, 1.0]], [[0.0, 0.0, 0.0]]]], "float32")
    found = meant("image.grid_sample", ROW, grid, padding_mode=padding, align_corners=True)
    assert found[0, 0, 0].tolist() == expected
    nearest = meant("image.grid_sample", ROW, grid, padding_mode=padding, align_corners=True, method="nearest")
    assert nearest[0, 0, 0].tolist()[1:] == [0, 3]


def test_sampled_between() -> None:
    grid = numpy.array([[[[0.0]], [[0.0]]]], "float32")
    assert meant("image.grid_sample", ROW, grid).tolist() == [[[[1.5]]]]
    cubic = meant("image.grid_sample", ROW + 1, grid, method="bicubic", padding_mode="border").ravel()
    numpy.testing.assert_allclose(cubic, [2.5])
    assert numpy.isnan(meant("image.grid_sample", ROW, grid * numpy.nan)).all()


def test_grids() -> None:
    matrix = numpy.array([[[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]]])
    found = meant("image.affine_grid", matrix, (1, 3), align_corners=True)
    assert found.tolist() == [[[[-0.5, 0.5, 1.5]], [[0.0, 0.0, 0.0]]]]
    found = meant("image.affine_grid", matrix, (2, 1), align_corners=False)
    assert found.tolist() == [[[[0.5], [0.5]], [[-1.0], [1.0]]]]
