# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting with NaN and equal elements; unique elements; positions."""

from __future__ import annotations

import numpy
import pytest
from interpreted import meant

NAN = numpy.nan
X = numpy.array([2.0, NAN, -0.0, 0.0, 2.0, -1.0], "float32")


def test_nan_comes_last_and_equal_elements_stay_in_their_order() -> None:
    assert meant("argsort", X).tolist() == [5, 2, 3, 0, 4, 1]
    assert meant("argsort", X, descending=True, dtype="float32").tolist() == [0, 4, 2, 3, 5, 1]
    numpy.testing.assert_array_equal(meant("sort", X, descending=True), [2, 2, -0.0, 0.0, -1, NAN])
    assert meant("sort", numpy.array([[3, 1], [-128, 127]], "int8"), axis=0).tolist() == [[-128, 1], [3, 127]]


def test_topk_returns_the_first_of_equal_elements() -> None:
    values, places = meant("topk", X, k=3)
    assert (values.tolist(), places.tolist()) == ([2, 2, 0], [0, 4, 2])
    assert meant("topk", X, k=2, largest=False, ret_type="indices", dtype="int64").tolist() == [5, 2]
    assert len(meant("topk", X, k=0, ret_type="values")) == 6
    with pytest.raises(ValueError, match="7 elements are asked for along axis 0 of size 6"):
        meant("topk", X, k=7, ret_type="values", symbols=[("n",)])


def test_unique_elements() -> None:
    x = numpy.array([3, 1, 3, 2, 1], "int8")
    values, firsts, inverse, counts = meant("unique", x, True, True, True, True)
    assert [each.tolist() for each in (values, firsts, inverse, counts)] == [
        [1, 2, 3], [1, 3, 0], [2, 0, 2, 1, 0], [2, 1, 2],
    ]  # fmt: skip
    values, inverse = meant("unique", x, False, False, True, False)
    assert (values.tolist(), inverse.tolist()) == ([3, 1, 2], [0, 1, 0, 2, 1])
    assert len(meant("unique", numpy.array([NAN, 1.0, NAN]))) == 2
    assert meant("unique", numpy.array(7)).tolist() == [7]
    assert meant("unique", numpy.ones(0), symbols=[("n",)]).shape == (0,)


def test_unique_slices() -> None:
    x = numpy.array([[2, 1, 2], [0, 5, 0], [0, 1, 0]])
    values, counts = meant("unique", x, True, False, False, True, 1)
    assert (values.tolist(), counts.tolist()) == ([[1, 2], [5, 0], [1, 0]], [1, 2])
    assert meant("unique", x, axis=0).tolist() == [[0, 1, 0], [0, 5, 0], [2, 1, 2]]


def test_places() -> None:
    assert meant("nonzero", numpy.array([[0.0, NAN], [-0.0, 2.0]])).tolist() == [[0, 1], [1, 1]]
    assert meant("nonzero", numpy.array(True)).tolist() == [[0]]
    bounds = numpy.array([1, 2, 2, 5])
    assert meant("bucketize", numpy.array([2.0, 0.5, NAN]), bounds).tolist() == [1, 0, 4]
    assert meant("bucketize", numpy.array([2]), bounds, right=True, out_int32=True).tolist() == [3]


def test_classes_are_drawn() -> None:
    prob = numpy.array([[0.25, 0.25, 0.5], [0.0, 0.0, 0.0]])
    samples, rows = numpy.array([[0.25], [0.2], [0.99], [0.0]]), numpy.array([[0], [0], [0], [1]])
    assert meant("multinomial_from_uniform", prob, samples, rows).ravel().tolist() == [1, 0, 2, 2]
    with pytest.raises(IndexError, match="sample 0 is of row 2, but there are 2 rows of probabilities"):
        meant("multinomial_from_uniform", prob, samples[:1], rows[:1] + 2)


def test_bounds() -> None:
    x = numpy.array([-100, 0, 100], "int8")
    assert meant("clip", x, -1000, 2.9).tolist() == [-100, 0, 2]
    assert meant("clip", x, 50, 10).tolist() == [10, 10, 10]
    assert meant("clip", x, numpy.float64(-numpy.inf), numpy.float64(NAN)).tolist() == [-100, 0, 0]
    assert numpy.isnan(meant("clip", X, 0.0, NAN)).all()
    assert meant("clip", X[2:], 0.5, 1.5).tolist() == [0.5, 0.5, 1.5, 0.5]
    assert meant("where", x > 0, x, numpy.array(1, "int8")).tolist() == [1, 1, 100]
