# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions by hand, and against onnxruntime; layouts, groups, sums of integers."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from interpreted import meant
from layout_arrays import in_layout
from onnx_oracle import run_onnx

ROW = numpy.array([1.0, 2.0, 3.0, 4.0]).reshape(1, 1, 4)
TAPS = numpy.array([1.0, 10.0]).reshape(1, 1, 2)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [21, 32, 43]),
        ({"padding": (1, 2)}, [10, 21, 32, 43, 4, 0]),
        ({"strides": (2,), "padding": (1, 0)}, [10, 32]),
        ({"dilation": (2,), "padding": (0, 1)}, [31, 42, 3]),
    ],
)
def test_a_row(attributes: Any, expected: Any) -> None:
    assert meant("nn.conv1d", ROW, TAPS, **attributes).ravel().tolist() == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [1, 12, 23, 34, 40]),
        ({"padding": (1, 0)}, [12, 23, 34, 40]),
        ({"strides": (2,), "output_padding": (1,)}, [1, 10, 2, 20, 3, 30, 4, 40, 0]),
        ({"dilation": (3,), "padding": (3,)}, [14]),
    ],
)
def test_a_row_transposed(attributes: Any, expected: Any) -> None:
    assert meant("nn.conv1d_transpose", ROW, TAPS, **attributes).ravel().tolist() == expected


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_onnx(spatial: int) -> None:
    random = numpy.random.default_rng(spatial)
    data = random.normal(size=(2, 4, *(5, 6, 7)[:spatial])).astype("float32")
    attributes: Any = {"strides": (2, 1, 3)[:spatial], "dilation": (1, 2, 1)[:spatial], "groups": 2}
    padding = (1, 2, 0, 0, 1, 1)[: 2 * spatial]
    given = {"strides": attributes["strides"], "dilations": attributes["dilation"], "pads": padding, "group": 2}
    weight = random.normal(size=(6, 2, *(3, 2, 2)[:spatial])).astype("float32")
    (expected,) = run_onnx("Conv", data, weight, **given)
    found = meant(f"nn.conv{spatial}d", data, weight, padding=padding, **attributes)
    numpy.testing.assert_allclose(found, expected, atol=1e-5)
    weight = random.normal(size=(4, 3, *(3, 2, 2)[:spatial])).astype("float32")
    (expected,) = run_onnx("ConvTranspose", data, weight, **given)
    found = meant(f"nn.conv{spatial}d_transpose", data, weight, padding=padding, **attributes)
    numpy.testing.assert_allclose(found, expected, atol=1e-5)


def test_layouts() -> None:
    random = numpy.random.default_rng(4)
    data, weight = random.normal(size=(2, 8, 5, 4)), random.normal(size=(6, 8, 3, 3))
    plain = meant("nn.conv2d", data, weight, padding=(1,))
    blocked = in_layout(data, "NCHW4c"), in_layout(weight, "OIHW4i2o", "OIHW")
    options = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i2o", "padding": (1,)}
    found = meant("nn.conv2d", *blocked, **options, out_layout="NHWC")
    numpy.testing.assert_allclose(found, in_layout(plain, "NHWC"))
    # Zeros fill the last block.
    numpy.testing.assert_allclose(meant("nn.conv2d", *blocked, **options), in_layout(plain, "NCHW4c"))


def test_integers() -> None:
    data, weight = numpy.full((1, 2, 1), 100, "int8"), numpy.full((1, 2, 1), 100, "int8")
    assert meant("nn.conv1d", data, weight).item() == 20000 % 256
    assert meant("nn.conv1d", data, weight, out_dtype="int32").item() == 20000
    assert meant("nn.conv1d", data, weight, out_dtype="float32").item() == 20000
    assert meant("nn.conv1d", data.astype("uint8"), -weight, out_dtype="int32").item() == -20000
    assert meant("nn.conv1d", data * 0.02, weight * 0.015, out_dtype="int32").item() == 4


def test_sizes() -> None:
    assert meant("nn.conv1d", ROW[:0], TAPS).shape == (0, 1, 3)
    assert meant("nn.conv1d", ROW[:, :0], TAPS[:, :0]).tolist() == [[[0, 0, 0]]]
    symbols: Any = [("n", "c", "w"), ("o", "i", "k")]
    with pytest.raises(ValueError, match="channels of the data and the weight: sizes 1 and 2 differ"):
        meant("nn.conv1d", ROW, TAPS.repeat(2, 1), symbols=symbols)
    with pytest.raises(ValueError, match="a size is negative"):
        meant("nn.conv1d", ROW[:, :, :1], TAPS.repeat(3, 2), symbols=symbols)
