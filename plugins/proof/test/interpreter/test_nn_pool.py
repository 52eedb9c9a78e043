# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling by hand: windows beyond the end, divisors of means, integers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from interpreted import meant
from layout_arrays import in_layout

ROW = numpy.array([1.0, 2.0, 3.0, 4.0, -9.0]).reshape(1, 1, 5)


@pytest.mark.parametrize(
    ("attributes", "largest", "inside", "padded"),
    [
        ({"pool_size": (2,)}, [2, 3, 4, 4], [1.5, 2.5, 3.5, -2.5], [1.5, 2.5, 3.5, -2.5]),
        ({"pool_size": (2,), "strides": (2,)}, [2, 4], [1.5, 3.5], [1.5, 3.5]),
        ({"pool_size": (2,), "strides": (2,), "ceil_mode": True}, [2, 4, -9], [1.5, 3.5, -9], [1.5, 3.5, -9]),
        ({"pool_size": (2,), "strides": (3,), "padding": (1, 0)}, [1, 4], [1, 3.5], [0.5, 3.5]),
        # The last window would start behind the data.
        ({"pool_size": (2,), "strides": (3,), "padding": (0, 2), "ceil_mode": True}, [2, 4], [1.5, -2.5],
         [1.5, -2.5]),
        ({"pool_size": (2,), "strides": (4,), "padding": (1,), "ceil_mode": True}, [1, 4], [1, -2.5], [0.5, -2.5]),
        ({"pool_size": (2,), "dilation": (3,), "padding": (1,)}, [3, 4, 2, 3], [3, 2.5, -3.5, 3],
         [1.5, 2.5, -3.5, 1.5]),
    ],
)  # fmt: skip
def test_a_row(attributes: Any, largest: Any, inside: Any, padded: Any) -> None:
    assert meant("nn.max_pool1d", ROW, **attributes).ravel().tolist() == largest
    assert meant("nn.avg_pool1d", ROW, **attributes, count_include_pad=False).ravel().tolist() == inside
    assert meant("nn.avg_pool1d", ROW, **attributes, count_include_pad=True).ravel().tolist() == padded


def test_windows_of_padding_alone() -> None:
    options = {"pool_size": (1,), "padding": (0, 1)}
    assert meant("nn.max_pool1d", ROW, **options).ravel()[-1] == -numpy.inf
    assert meant("nn.max_pool1d", ROW.astype("uint8"), **options).ravel()[-1] == 0
    assert meant("nn.max_pool1d", ROW.astype("int8"), **options).ravel()[-1] == -128
    assert meant("nn.avg_pool1d", ROW, **options, count_include_pad=False).ravel()[-1] == 0


def test_elements() -> None:
    nan = numpy.array([1.0, numpy.nan, 3.0]).reshape(1, 1, 3)
    numpy.testing.assert_array_equal(meant("nn.max_pool1d", nan, pool_size=(2,)).ravel(), [numpy.nan] * 2)
    thirds = numpy.array([-1, -1, 0, 127, 127, 127], "int8").reshape(1, 1, 6)
    assert meant("nn.avg_pool1d", thirds, pool_size=(3,), strides=(3,)).ravel().tolist() == [0, 127]
    large = numpy.full((1, 1, 2), 2**64 - 1, "uint64")
    assert meant("nn.max_pool1d", large, pool_size=(2,)).item() == 2**64 - 1
    small = ROW.astype(ml_dtypes.float8_e4m3fn)
    assert meant("nn.avg_pool1d", small, pool_size=(2,)).ravel().tolist() == [1.5, 2.5, 3.5, -2.5]


def test_windows_for_a_size() -> None:
    assert meant("nn.adaptive_avg_pool1d", ROW, output_size=(2,)).ravel().tolist() == [2, -2 / 3]
    assert meant("nn.adaptive_avg_pool1d", ROW[:, :, :2], output_size=(3,)).ravel().tolist() == [1, 1.5, 2]
    assert meant("nn.adaptive_avg_pool1d", ROW).tolist() == ROW.tolist()


def test_layouts() -> None:
    x = numpy.random.default_rng(3).normal(size=(2, 4, 5, 6))
    options: Any = {"pool_size": (2, 3), "padding": (1, 0)}
    for name in ("max_pool2d", "avg_pool2d"):
        expected = meant(f"nn.{name}", x, **options)
        found = meant(f"nn.{name}", in_layout(x, "NCHW2c"), **options, layout="NCHW2c", out_layout="NHWC")
        numpy.testing.assert_allclose(found, in_layout(expected, "NHWC"), rtol=1e-12)
    found = meant("nn.adaptive_avg_pool2d", in_layout(x, "NHWC"), output_size=(2,), layout="NHWC")
    expected = meant("nn.adaptive_avg_pool2d", x, output_size=(2,))
    numpy.testing.assert_allclose(found, in_layout(expected, "NHWC"), rtol=1e-12)
    with pytest.raises(ValueError, match="blocks of C in layout NCHW2c: sizes 3 and 2 differ"):
        symbols = [("n", "c", "h", "w", "b")]
        meant("nn.max_pool2d", numpy.ones((1, 1, 2, 2, 3)), layout="NCHW2c", symbols=symbols)
