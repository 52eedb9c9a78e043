# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Winograd's convolutions against direct ones, with kernels transformed by definition; empty batches; gradients."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from interpreted import meant
from layout_arrays import in_layout

#: Points above zero, and the divisor of the polynomials at each point.
POINTS: Any = {4: [0, 1, -1], 6: [0, 0.625, -0.625, 1.5, -1.5]}


def transformed(weight: Any, side: int) -> Any:
    """Return [one panel, points, channels, columns] of OIHW."""
    points = numpy.array(POINTS[side])
    rows = [point ** numpy.arange(3) / numpy.prod(point - points[points != point]) for point in points]
    matrix = numpy.array([*rows, [0, 0, 1]])
    return numpy.einsum("ay,oiyx,bx->abio", matrix, weight, matrix).reshape(1, side * side, *weight.shape[1::-1])


@pytest.mark.parametrize("side", [4, 6])
@pytest.mark.parametrize("padding", [(0, 0, 0, 0), (1, 0, 1, 1)])
def test_winograd_equals_direct_convolution(side: int, padding: Any) -> None:
    random = numpy.random.default_rng(side)
    data, weight = random.normal(size=(2, 4, 5, 9)), random.normal(size=(8, 4, 3, 3))
    bias = random.normal(size=(1, 8))
    direct = meant("nn.conv2d", data, weight, padding=padding) + bias.reshape(8, 1, 1)
    residual = random.normal(size=direct.shape)
    given = in_layout(data, "NCHW4c"), transformed(weight, side), bias, in_layout(residual, "NCHW4c")
    arrays = [each.astype("float32") for each in given]
    found = meant("nn.conv2d_winograd", *arrays, padding=padding, relu=True)
    numpy.testing.assert_allclose(found, in_layout(numpy.maximum(direct + residual, 0), "NCHW4c"), atol=2e-5)
    plain = meant("nn.conv2d_winograd", *arrays[:2], padding=padding)
    numpy.testing.assert_allclose(plain, in_layout(direct - bias.reshape(8, 1, 1), "NCHW4c"), atol=2e-5)


def test_a_batch_of_none() -> None:
    data, weight = numpy.zeros((0, 1, 5, 9, 4), "float32"), numpy.zeros((1, 16, 4, 8), "float32")
    assert meant("nn.conv2d_winograd", data, weight, padding=(1, 1, 1, 1)).shape == (0, 2, 5, 9, 4)


def test_marks_for_derivatives() -> None:
    x = numpy.array([numpy.nan, 1.0])
    for name in ("no_grad", "start_checkpoint", "end_checkpoint"):
        numpy.testing.assert_array_equal(meant(f"grad.{name}", x), x)
