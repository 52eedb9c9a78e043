# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax and its logarithm, legalized by the default rules, compiled for llvm and run, against scipy in f64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
import scipy.special
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from prim_jit import run_op

BF16 = ml_dtypes.bfloat16
TOLERANCES = {"float16": 1e-3, BF16: 8e-3, "float32": 2e-6, "float64": 4e-15}
FLOATS = tuple(TOLERANCES)
REFERENCES = {"softmax": scipy.special.softmax, "log_softmax": scipy.special.log_softmax}


def ran(name: str, x: Any, **options: Any) -> Any:
    return run_op(f"relax.nn.{name}", x, **options)


def check(name: str, actual: Any, x: Any, axis: int, tolerance: float | None = None) -> None:
    dtype: Any = BF16 if x.dtype == BF16 else x.dtype.name
    assert actual.dtype == dtype and actual.shape == x.shape
    expected = REFERENCES[name](x.astype("float64"), axis=axis)
    rtol = TOLERANCES[dtype] if tolerance is None else tolerance
    # Differences of logarithms are of numbers as large as the data; tiny shares are rounded to subnormal numbers.
    atol = rtol * 2 if name == "log_softmax" else float(ml_dtypes.finfo(dtype).smallest_normal)
    numpy.testing.assert_allclose(actual.astype("float64"), expected, rtol=rtol, atol=atol, err_msg=name)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", REFERENCES)
def test_symbolic_sizes(name: str, dtype: Any) -> None:
    for shape in ((3, 5, 4), (1, 1, 1), (2, 300, 2), (0, 3, 2), (2, 0, 2)):
        x = (numpy.random.default_rng(7).normal(size=shape) * 3).astype(dtype)
        actual = ran(name, x, axis=1, symbols=[("n", "m", "k")])
        if 0 in shape:
            assert actual.shape == shape
        else:
            check(name, actual, x, 1)


@draws(25)
@given(st.data())
def test_any_axis(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4), label="shape"))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1), label="axis")
    name = data.draw(st.sampled_from(sorted(REFERENCES)), label="name")
    x = numpy.random.default_rng(3).normal(size=shape).astype("float32")
    check(name, ran(name, x, axis=axis), x, axis)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", REFERENCES)
def test_numbers_whose_exponentials_overflow(name: str, dtype: Any) -> None:
    x = numpy.array([[1000, 1001, 999], [-1000, -1001, 1000], [-30000, 30000, 0], [88, 89, 90]], dtype)
    check(name, ran(name, x), x, -1)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinities_and_nan(name: str, dtype: Any) -> None:
    """Give masked elements no share, and NaNs for rows of masked elements, infinities or NaN."""
    low, nan = -numpy.inf, numpy.nan
    x = numpy.array([[low, 1, 2], [low, low, 5], [nan, 1, 2], [low, low, low]], dtype)
    check(name, ran(name, x), x, -1)
    assert numpy.isnan(ran(name, numpy.array([[numpy.inf, numpy.inf, 0.0]], dtype)).astype("float64")[0, :2]).all()


@pytest.mark.parametrize("name", REFERENCES)
def test_a_nan_anywhere_takes_its_row(name: str) -> None:
    """Ignore NaN in the search for the largest element."""
    x = numpy.random.default_rng(4).normal(size=(70, 70)).astype("float32") * 30
    numpy.fill_diagonal(x, numpy.nan)
    x[7], x[9, 3], x[11, 4] = numpy.nan, -numpy.inf, numpy.inf
    x[13, 13] = 1.0
    expected = numpy.arange(70)[:, None] == 13
    numpy.testing.assert_array_equal(numpy.isfinite(ran(name, x)), numpy.broadcast_to(expected, x.shape))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", REFERENCES)
def test_long_rows(name: str, dtype: str) -> None:
    """Sum a vocabulary's shares as exactly as a short row's."""
    x = (numpy.random.default_rng(1).normal(size=(2, 50257)) * 2).astype(dtype)
    actual = ran(name, x)
    check(name, actual, x, -1)
    if name == "softmax" and dtype == "float32":
        numpy.testing.assert_allclose(actual.astype("float64").sum(axis=1), 1, rtol=1e-6)


def test_f32_is_as_exact_as_its_exp() -> None:
    """Compare with exp's error: on an H100 ex2.approx has a slightly larger one than on the emulator, 4.004e-7."""
    x = numpy.random.default_rng(2).normal(size=(20, 500)).astype("float32")
    check("softmax", ran("softmax", x), x, -1, tolerance=4.1e-7)
