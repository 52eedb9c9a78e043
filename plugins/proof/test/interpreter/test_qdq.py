# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization and its inverse: halves, limits, zero points, axes, small floats, in f32."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from interpreted import meant

ONE, NONE = numpy.array(1, "float32"), numpy.array(0, "int8")


@pytest.mark.parametrize(
    ("dtype", "zero_point", "expected"),
    [
        ("int8", 0, [0, 2, 2, -2, 127, -128, 127, -128, 0]),
        ("int8", -3, [-3, -1, -1, -5, 127, -128, 127, -128, 0]),
        ("uint8", 128, [128, 130, 130, 126, 255, 0, 255, 0, 0]),
        ("int4", 1, [1, 3, 3, -1, 7, -8, 7, -8, 0]),
    ],
)
def test_to_integers(dtype: str, zero_point: int, expected: Any) -> None:
    x = numpy.array([0.5, 1.5, 2.5, -2.5, 1e9, -1e9, numpy.inf, -numpy.inf, numpy.nan], "float32")
    zero = numpy.array(zero_point, numpy.dtype(getattr(ml_dtypes, dtype, dtype)))
    found = meant("quantize", x, ONE, zero, out_dtype=dtype)
    assert found.astype(int).tolist() == expected


def test_quotients_are_of_f32() -> None:
    """Divide in f32, where 1.05 / 0.7 is the tie 1.5, which is smaller in f64."""
    x, scale = numpy.array([1.05], "float32"), numpy.array(0.7, "float32")
    assert numpy.rint(x.astype(float) / scale.astype(float)).item() == 1
    assert meant("quantize", x, scale, NONE).tolist() == [2]
    assert meant("quantize", x, scale, NONE, wide=True).tolist() == [1]


def test_large_zero_points_are_exact() -> None:
    zero = numpy.array(-(2**24) - 1, "int32")
    assert meant("quantize", numpy.array([2.0**24], "float32"), ONE, zero, out_dtype="int16").tolist() == [-1]
    found = meant("dequantize", numpy.array([2**31 - 1], "int32"), ONE, numpy.array(2**31 - 3, "int32"))
    assert found.tolist() == [2]


def test_to_small_floats() -> None:
    x = numpy.array([0.3, 500.0, -500.0, numpy.inf, numpy.nan], "float32")
    found = meant("quantize", x, ONE, numpy.array(0, ml_dtypes.float8_e4m3fn), out_dtype="f8E4M3FN")
    numpy.testing.assert_array_equal(found.astype(float), [0.3125, 448, -448, 448, numpy.nan])
    found = meant("quantize", x, ONE, numpy.array(0, ml_dtypes.bfloat16), out_dtype="f4E2M1FN")
    assert found[:4].astype(float).tolist() == [0.5, 6, -6, 6]


def test_axes() -> None:
    x, scale = numpy.full((2, 3), 6.0, "float32"), numpy.array([1.0, 2.0, 3.0], "float32")
    zero = numpy.array([0, 1, 2], "int8")
    quantized = meant("quantize", x, scale, zero)
    assert quantized.tolist() == [[6, 4, 4]] * 2
    assert meant("dequantize", quantized, scale, zero).tolist() == x.tolist()
    assert meant("dequantize", quantized.T.copy(), scale, zero, axis=-2).tolist() == x.T.tolist()
    assert meant("quantize", x, scale[:1], zero[2:]).tolist() == [[8] * 3] * 2
    assert meant("quantize", numpy.array(6, "float32"), scale[1:2], NONE).item() == 3
    with pytest.raises(ValueError, match="sizes 3 and 2 differ"):
        meant("quantize", x[:, :2], scale, zero, symbols=[("n", "m"), ("k",), ("k",)])


def test_from_floats() -> None:
    x = numpy.array([1.5, numpy.nan, numpy.inf], ml_dtypes.float8_e5m2)
    found = meant("dequantize", x, numpy.array(2, "float16"), numpy.array(1, "float16"), out_dtype="float16")
    numpy.testing.assert_array_equal(found, numpy.array([1, numpy.nan, numpy.inf], "float16"), strict=True)
