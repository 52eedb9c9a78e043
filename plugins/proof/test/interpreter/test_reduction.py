# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Semantics of reductions and scans: empty inputs, integers, NaN, positions."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from interpreted import meant

NAN = numpy.nan


@pytest.mark.parametrize(
    "name, dtype, expected",
    [
        ("sum", "float32", 0.0), ("prod", "int8", 1), ("max", "float32", -numpy.inf), ("min", "float32", numpy.inf),
        ("max", "int8", -128), ("min", "uint8", 255), ("max", "bool", False), ("min", "bool", True),
        ("mean", "int32", 0), ("mean", "float32", NAN), ("variance", "int32", 0), ("std", "float32", NAN),
    ],
)  # fmt: skip
def test_of_no_elements(name: str, dtype: str, expected: Any) -> None:
    found = meant(name, numpy.ones((2, 0), dtype), axis=[1], symbols=[("n", "m")])
    assert found.dtype == dtype and found.shape == (2,)
    numpy.testing.assert_array_equal(found, [expected] * 2)


def test_integers() -> None:
    x = numpy.array([[100, 100, -7], [-1, -1, 0]], "int8")
    assert meant("sum", x, axis=[1]).tolist() == [-63, -2]
    assert meant("mean", x, axis=[1]).tolist() == [64, 0]
    assert meant("mean", -x, axis=[1], keepdims=True).tolist() == [[-64], [0]]
    assert meant("variance", x, axis=[-1]).tolist() == [127, 0]
    assert meant("std", x, axis=[-1]).tolist() == [50, 0]
    assert meant("sum", x > 0, axis=None).tolist() is True
    assert meant("prod", x > 0, axis=[1]).tolist() == [False, False]
    assert meant("sum", x, axis=[]).tolist() == x.tolist()


def test_positions() -> None:
    x = numpy.array([[3.0, 5.0, 5.0], [1.0, NAN, NAN]], "float32")
    assert meant("argmax", x, axis=1).tolist() == [1, 1]
    assert meant("argmin", x, axis=1, keepdims=True).tolist() == [[0], [1]]
    assert meant("argmax", x).tolist() == 4
    assert meant("argmax", numpy.ones((2, 0)), axis=1, symbols=[("n", "m")]).tolist() == [-1, -1]
    assert meant("argmin", numpy.array([0.0, -0.0])).tolist() == 0


def test_medians() -> None:
    values, places = meant("median", numpy.array([[4, 1, 3, 2], [2, 2, 9, 0]], "int16"), axis=[1])
    assert (values.tolist(), places.tolist()) == ([2, 2], [3, 0])
    values, places = meant("median", numpy.array([1.0, NAN, 0.0, NAN]), axis=[0], keepdims=True)
    assert numpy.isnan(values).tolist() == [True] and places.tolist() == [1]
    assert meant("median", numpy.array([[4.0, 1.0], [3.0, 2.0]])).tolist() == 2.0
    values, places = meant("median", numpy.ones(0, "int8"), axis=[0], symbols=[("n",)])
    assert (values.tolist(), places.tolist()) == (-128, -1)


def test_running_totals() -> None:
    x = numpy.array([[100, 100], [2, 3]], "int8")
    assert meant("cumsum", x, axis=1).tolist() == [[100, -56], [2, 5]]
    assert meant("cumsum", x, axis=0, dtype="int32", exclusive=True).tolist() == [[0, 0], [100, 100]]
    assert meant("cumprod", x, dtype="int64").tolist() == [100, 10000, 20000, 60000]
    assert meant("cumsum", numpy.array([1.9, -1.9, numpy.nan]), axis=0, dtype="int8").tolist() == [1, 0, 0]
    assert meant("cumsum", numpy.array([True, True]), axis=0, dtype="int8").tolist() == [1, 2]
    assert meant("cumprod", numpy.ones((2, 0)), axis=1, exclusive=True, symbols=[("n", "m")]).shape == (2, 0)
