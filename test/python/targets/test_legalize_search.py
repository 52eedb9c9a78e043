# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bucketize, legalized by the default rules, compiled and run, against numpy's searchsorted."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from prim_jit import run_op

INTS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = ("float16", "float32", "float64")


def bucketized(x: Any, boundaries: Any, **options: Any) -> Any:
    return run_op("relax.bucketize", x, boundaries, **options)


def same(actual: Any, expected: Any, dtype: str = "int64") -> None:
    assert actual.dtype == dtype
    numpy.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_every_element_type(dtype: str, right: bool) -> None:
    points = numpy.array([0, 1, 2, 2, 5, 9, 100], dtype)
    if dtype in FLOATS:
        points = numpy.array([-numpy.inf, -1, -0.0, 0.5, 0.5, 3, numpy.inf], dtype)
    x = numpy.concatenate([points, points + points.dtype.type(1), numpy.array([3, 4, 7], dtype)])
    if dtype in FLOATS:
        x = numpy.concatenate([x, numpy.array([numpy.nan, -numpy.inf, 0.0], dtype)])
    else:
        limits = numpy.iinfo(dtype)
        x = numpy.concatenate([x, numpy.array([limits.min, limits.max], dtype)])
    same(bucketized(x, points, right=right), numpy.searchsorted(points, x, "right" if right else "left"))


MIXED = [
    ("float32", "float64"),
    ("int32", "float32"),
    ("float32", "int64"),
    ("int8", "int64"),
    ("uint8", "int8"),
    ("int64", "uint32"),
    ("uint64", "int64"),
    ("float16", "float32"),
]


@pytest.mark.parametrize("dtypes", MIXED, ids=str)
def test_two_element_types(dtypes: Any) -> None:
    x = numpy.arange(0, 12).astype(dtypes[0])
    boundaries = numpy.array([1, 3, 3, 7, 11]).astype(dtypes[1])
    if numpy.dtype(dtypes[0]).kind != "u":
        x = numpy.concatenate([x, -x])
    if numpy.dtype(dtypes[1]).kind == "f":
        boundaries += dtypes[1] and numpy.dtype(dtypes[1]).type(0.5)
    same(bucketized(x, boundaries), numpy.searchsorted(boundaries.astype("float64"), x.astype("float64")))


@draws(60)
@given(
    st.lists(st.one_of(st.integers(-4, 4), st.just(numpy.nan), st.just(numpy.inf)), max_size=9),
    st.lists(st.lists(st.one_of(st.integers(-5, 5), st.just(numpy.nan)), min_size=3, max_size=3), max_size=3),
    st.booleans(),
)
def test_drawn_boundaries(boundaries: Any, x: Any, right: bool) -> None:
    ordered = numpy.sort(numpy.array(boundaries, "float32"))
    given_ = numpy.array(x, "float32").reshape(len(x), 3)
    actual = bucketized(given_, ordered, right=right, symbols=[("n", 3), ("m",)])
    same(actual, numpy.searchsorted(ordered, given_, "right" if right else "left"))


def test_narrow_results() -> None:
    x = numpy.array(2.5, "float32")
    same(bucketized(x, numpy.arange(5, dtype="float32"), out_int32=True), 3, "int32")


# ---- elements that are not zero ----


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32"])
@pytest.mark.parametrize("shape", [(), (7,), (3, 4), (2, 1, 3), (0, 2)])
def test_nonzero(shape: tuple[int, ...], dtype: str) -> None:
    x = numpy.asarray(numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape) % 3 - 1, dtype)
    same(run_op("relax.nonzero", x), numpy.array(numpy.nonzero(numpy.atleast_1d(x))))


@pytest.mark.parametrize("x", [0.0, -0.0, numpy.nan, 2.5])
def test_nonzero_of_a_scalar_is_that_of_a_row_of_one(x: float) -> None:
    same(run_op("relax.nonzero", numpy.array(x, "float32")), numpy.array(numpy.nonzero(numpy.array([x]))))
