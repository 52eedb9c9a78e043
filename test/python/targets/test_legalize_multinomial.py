# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""multinomial_from_uniform, legalized by the default rules, compiled for llvm and run, against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from prim_jit import run_op

SYMBOLS = [("b", "v"), ("n", 1), ("n", 1)]


def ran(*arrays: Any, **options: Any) -> Any:
    return run_op("relax.multinomial_from_uniform", *arrays, **options)


def expected(prob: Any, uniform: Any, rows: Any) -> Any:
    """Return the first place where the running sum exceeds the sample."""
    wide = prob.astype("float64" if prob.dtype == "float64" else "float32")
    sums = numpy.cumsum(wide, axis=1)
    found = [numpy.searchsorted(sums[row], u, side="right") for u, row in zip(uniform[:, 0], rows[:, 0], strict=True)]
    return numpy.minimum(found, prob.shape[1] - 1).reshape(-1, 1)


def drawn(dtype: Any, rows: str = "int64", classes: int = 40) -> tuple[Any, Any, Any]:
    random = numpy.random.default_rng(4)
    prob = random.random((3, classes))
    prob /= prob.sum(1, keepdims=True)
    uniform = numpy.concatenate([random.random((30, 1)), [[0.0], [1.0], [2.0], [-1.0]]])
    return prob.astype(dtype), uniform.astype("float32"), random.integers(0, 3, (34, 1)).astype(rows)


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float32", "float64"], ids=str)
def test_every_type_of_probabilities(dtype: Any) -> None:
    for classes in (1, 2, 40):
        arrays = drawn(dtype, classes=classes)
        actual = ran(*arrays, symbols=SYMBOLS)
        assert actual.dtype == "int64"
        numpy.testing.assert_array_equal(actual, expected(*arrays))


@pytest.mark.parametrize("rows", ["int8", "uint8", "int32", "uint64"])
def test_types_of_rows_and_results(rows: str) -> None:
    arrays = drawn("float32", rows)
    for dtype in ("int32", "uint8", "float32"):
        actual = ran(*arrays, dtype=dtype)
        assert actual.dtype == dtype
        numpy.testing.assert_array_equal(actual, expected(*arrays))


def test_a_sum_equal_to_the_sample_is_not_counted() -> None:
    prob, uniform = numpy.array([[0.25, 0.25, 0.0, 0.5]]), numpy.array([[0.25], [0.5], [0.0], [numpy.nan]])
    actual = ran(prob, uniform, numpy.zeros((4, 1), "int32"))
    numpy.testing.assert_array_equal(actual, [[1], [3], [0], [3]])


def test_nothing_is_drawn() -> None:
    arrays = (numpy.ones((2, 3), "float32"), numpy.ones((0, 1), "float32"), numpy.ones((0, 1), "int64"))
    assert ran(*arrays, symbols=SYMBOLS).shape == (0, 1)


@pytest.mark.parametrize(("rows", "row"), [("int64", 3), ("int64", -1), ("uint8", 255), ("uint64", 2**63)])
def test_indices_of_missing_rows_are_refused(rows: str, row: int) -> None:
    prob, uniform, _ = drawn("float32")
    with pytest.raises(IndexError, match="there are 3 rows"):
        ran(prob, uniform[:2], numpy.array([[1], [row]], rows), symbols=SYMBOLS)


def test_no_classes() -> None:
    with pytest.raises(ValueError, match="there is no class to draw"):
        ran(numpy.ones((2, 0)), numpy.ones((1, 1)), numpy.zeros((1, 1), "int64"))


def test_samples_without_rows() -> None:
    prob, uniform, rows = drawn("float32")
    with pytest.raises(ValueError, match="differ"):
        ran(prob, uniform, rows[:3], symbols=[("b", "v"), ("n", 1), ("m", 1)])
