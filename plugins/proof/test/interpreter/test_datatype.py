# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions between element types, and bits that stay."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from interpreted import meant


@pytest.mark.parametrize(
    "dtype, expected",
    [
        ("int8", [0, 127, -128, -2, 127, 0]),
        ("uint8", [0, 255, 0, 0, 255, 0]),
        ("int4", [0, 7, -8, -2, 7, 0]),
        ("int64", [0, 2**63 - 1, -(2**63), -2, 10**20, 0]),
        ("bool", [True, True, True, True, True, False]),
    ],
)
def test_of_floats(dtype: str, expected: list[int]) -> None:
    """Truncate, saturate, and convert NaN to 0 or true."""
    x = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -2.9, 1e20, -0.0])
    wanted = [min(each, 2**63 - 1) for each in expected]
    assert meant("astype", x, dtype=dtype).astype(object).tolist() == wanted


def test_of_integers() -> None:
    x = numpy.array([300, -1, 2**31], "int64")
    assert meant("astype", x, dtype="int8").tolist() == [44, -1, 0]
    assert meant("astype", x, dtype="uint64").tolist() == [300, 2**64 - 1, 2**31]
    # Halfway between two numbers of f32, and a bit above: by way of f64 it would be rounded down.
    assert meant("astype", numpy.array([2**60 + 2**36 + 1]), dtype="float32").tolist() == [2.0**60 + 2**37]
    assert meant("astype", numpy.array([2**40 + 2**32 + 1]), dtype="bfloat16").tolist() == [2.0**40 + 2**33]


def test_of_small_floats() -> None:
    x = numpy.array([300.0, 500.0, 1 + 2**-4 + 2**-40, numpy.inf])
    found = meant("astype", x, dtype="float8_e4m3fn").astype(float)
    assert found.tolist()[0] == 288.0 and numpy.isnan(found[1]) and found[2] == 1.125 and numpy.isnan(found[3])
    assert meant("astype", x, dtype="float8_e5m2").astype(float).tolist() == [320.0, 512.0, 1.0, numpy.inf]


@pytest.mark.parametrize(
    "values, dtype, expected",
    [
        (numpy.float32([1.0, -0.0]), "int32", [0x3F800000, -(2**31)]),
        (numpy.array([0, 2, 255], "uint8"), "bool", [False, True, True]),
        (numpy.array([True, False]), "int8", [1, 0]),
        (numpy.array([-1, 7], ml_dtypes.int4), "uint4", [15, 7]),
        (numpy.array([15, 7], ml_dtypes.uint4), "int4", [-1, 7]),
        (numpy.array([1.0, -2.0], ml_dtypes.bfloat16), "int16", [0x3F80, -0x4000]),
        (numpy.array([0x7F], "uint8"), "float8_e4m3fn", [numpy.nan]),
    ],
)
def test_bits(values: Any, dtype: str, expected: list[Any]) -> None:
    found = meant("bitcast", values, dtype=dtype)
    numpy.testing.assert_array_equal(found.astype(float), numpy.array(expected, float))


def test_moved_elements_keep_their_bits() -> None:
    """Keep the bits of a NaN, too."""
    x = numpy.array([0x7F, 0xFF], "uint8").view(ml_dtypes.float8_e4m3fn)
    for name, options in (("flip", {"axis": 0}), ("reshape", {"shape": (2, 1)}), ("tile", {"repeats": [1]})):
        assert sorted(meant(name, x, **options).view("uint8").ravel().tolist()) == [0x7F, 0xFF]
