# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nonzero, legalized by the default rules, compiled for llvm and run, against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from prim_jit import run_op

DTYPES = (
    "float16", ml_dtypes.bfloat16, "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
    "uint64", "bool",
)  # fmt: skip


def check(data: Any, **options: Any) -> None:
    actual = run_op("relax.nonzero", data, **options)
    expected = numpy.stack(numpy.nonzero(numpy.atleast_1d(data)))
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    numpy.testing.assert_array_equal(actual, expected)


def sparse(dtype: Any, shape: tuple[int, ...], seed: int = 5) -> Any:
    return numpy.random.default_rng(seed).integers(0, 2, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type(dtype: Any) -> None:
    for shape in ((3, 4, 5), (1, 1, 1), (0, 2, 2), (2, 0, 2), (7, 1, 9)):
        check(sparse(dtype, shape), symbols=[("n", "m", "k")])
        check(numpy.zeros(shape, dtype), symbols=[("n", "m", "k")])
        check(numpy.ones(shape, dtype), symbols=[("n", "m", "k")])


def test_special_values() -> None:
    check(numpy.array([0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf, 1e-45, 1.0], "float32"))
    check(numpy.array([0, -128, 127, -1], "int8"))


@pytest.mark.parametrize("value", [0.0, 2.0])
def test_a_scalar_is_a_row_of_one(value: float) -> None:
    check(numpy.array(value))


@draws(8)
@given(st.lists(st.integers(0, 4), max_size=4), st.integers(0, 100))
def test_static_shapes(shape: list[int], seed: int) -> None:
    check(numpy.asarray(sparse("int32", tuple(shape), seed)))


@draws(50)
@given(st.lists(st.booleans(), max_size=50))
def test_every_size(flags: list[bool]) -> None:
    check(numpy.array(flags, "bool"), symbols=[("n",)])


def test_unknown_sizes() -> None:
    check(sparse("int64", (3, 4)), symbols=[(None, 4)])
