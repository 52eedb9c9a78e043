# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cumulative sums and products, legalized by the default rules, compiled for llvm and run, against numpy."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from prim_jit import run_op

BF16 = ml_dtypes.bfloat16
FLOATS = {"float16": 1e-3, BF16: 8e-3, "float32": 1e-6, "float64": 1e-14}
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
REFERENCES = {"cumsum": numpy.cumsum, "cumprod": numpy.cumprod}


def ran(name: str, x: Any, **options: Any) -> Any:
    return run_op(f"relax.{name}", x, **options)


def exclusive(name: str, inclusive: Any, axis: int) -> Any:
    """Shift the totals by one, with the empty sum or product in front."""
    size = inclusive.shape[axis]
    start = numpy.full_like(inclusive.take([0], axis) if size else inclusive, name == "cumprod")
    return numpy.concatenate([start, inclusive], axis).take(range(size), axis)


@pytest.mark.parametrize("is_exclusive", [False, True])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", REFERENCES)
def test_floats(name: str, dtype: Any, is_exclusive: bool) -> None:
    for shape in ((3, 5, 2), (1, 1, 1), (2, 0, 3), (1, 40, 1)):
        x = (numpy.random.default_rng(3).uniform(0.5, 1.5, shape)).astype(dtype)
        expected = REFERENCES[name](x.astype("float64"), axis=1)
        expected = exclusive(name, expected, 1) if is_exclusive else expected
        actual = ran(name, x, axis=1, exclusive=is_exclusive, symbols=[("n", "m", "k")])
        assert actual.dtype == dtype and actual.shape == shape
        numpy.testing.assert_allclose(actual.astype("float64"), expected, rtol=FLOATS[dtype], err_msg=f"{shape}")


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", REFERENCES)
def test_integers_wrap_around(name: str, dtype: str) -> None:
    limits = numpy.iinfo(dtype)
    x = numpy.random.default_rng(3).integers(limits.min, limits.max, (4, 6), dtype, endpoint=True)
    actual = ran(name, x, axis=-1, symbols=[("n", "m")])
    numpy.testing.assert_array_equal(actual, REFERENCES[name](x, axis=1, dtype=dtype), strict=True)


@draws(25)
@given(st.data())
def test_any_axis(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4), label="shape"))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1), label="axis")
    is_exclusive = data.draw(st.booleans(), label="exclusive")
    x = numpy.random.default_rng(3).integers(-3, 4, shape)
    expected = numpy.cumsum(x, axis=axis)
    expected = exclusive("cumsum", expected, axis) if is_exclusive else expected
    numpy.testing.assert_array_equal(ran("cumsum", x, axis=axis, exclusive=is_exclusive), expected, strict=True)


@pytest.mark.parametrize("symbols", [(), [("n", "m", 2)]], ids=["static", "symbolic"])
@pytest.mark.parametrize("name", REFERENCES)
def test_without_an_axis_along_everything(name: str, symbols: Any) -> None:
    x = numpy.random.default_rng(3).uniform(0.5, 1.5, (3, 4, 2))
    numpy.testing.assert_allclose(ran(name, x, symbols=symbols), REFERENCES[name](x), rtol=1e-14)


@pytest.mark.parametrize(
    ("source", "target"),
    [("int8", "int64"), ("bool", "int32"), ("uint8", "float32"), ("float32", "float64"), ("float64", "int16"),
     ("int32", "float16"), ("uint16", "int8")],
)  # fmt: skip
@pytest.mark.parametrize("name", REFERENCES)
def test_elements_are_converted_first(name: str, source: str, target: str) -> None:
    x = (numpy.array([[1, 100, 3, 0, 27], [2, 1, 1, 2, 3]]) * (1.0 if source[0] != "f" else 1.25)).astype(source)
    actual = ran(name, x, axis=1, dtype=target)
    expected = REFERENCES[name](x.astype(target), axis=1, dtype=target)
    numpy.testing.assert_array_equal(actual, expected, strict=True)


@pytest.mark.parametrize("symbols", [(), [("n", "m", "k")]], ids=["static", "symbolic"])
def test_columns_go_together(symbols: Any) -> None:
    """Scan columns in chunks with a smaller last one, separately for each matrix."""
    for shape in ((3, 5, 700), (2, 3, 256), (1, 40, 1), (2, 3, 0)):
        x = numpy.random.default_rng(5).normal(size=shape)
        x[..., 1::7] = numpy.nan
        expected = numpy.cumsum(x, axis=1)
        # A GPU's threads put elements together in another order.
        close = functools.partial(numpy.testing.assert_allclose, rtol=1e-13, atol=1e-14)
        close(ran("cumsum", x, axis=1, symbols=symbols), expected)
        after = exclusive("cumsum", expected, 1)
        close(ran("cumsum", x, axis=1, exclusive=True, symbols=symbols), after)


def test_nan_and_infinity_go_on() -> None:
    x = numpy.array([1.0, numpy.inf, 2.0, -numpy.inf, 3.0, numpy.nan, 1.0], "float32")
    with numpy.errstate(invalid="ignore"):
        numpy.testing.assert_array_equal(ran("cumsum", x, axis=0), numpy.cumsum(x))


def test_narrow_totals_are_carried_wide() -> None:
    """Carry totals in a wider type: in f16 a total of 2048 would not grow by ones any more."""
    ones = numpy.ones(4096, "float16")
    numpy.testing.assert_array_equal(ran("cumsum", ones, axis=0)[[2047, 2049, 4095]], [2048, 2050, 4096])
