# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""unique, legalized by the default rules, compiled for llvm and run, against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from element_arrays import several
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from prim_jit import run_op

INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = ("float16", ml_dtypes.bfloat16, "float32", "float64", *INTS, "bool")
#: In the order of the results.
FLAGS = ("return_index", "return_inverse", "return_counts")
ALL = dict.fromkeys(FLAGS, True)


def ran(data: Any, **options: Any) -> tuple[Any, ...]:
    result = run_op("relax.unique", data, **options)
    return result if isinstance(result, tuple) else (result,)


def reference(data: Any, axis: int | None = None, *, is_sorted: bool = True) -> tuple[Any, ...]:
    """Return numpy's four results, with groups reordered by their first occurrence unless sorted."""
    keys = data.astype("float32") if data.dtype == ml_dtypes.bfloat16 else data
    values, first, inverse, counts = numpy.unique(keys, True, True, True, axis=axis)
    inverse = inverse.ravel()
    if not is_sorted:
        order = numpy.argsort(first)
        numbers = numpy.empty_like(order)
        numbers[order] = numpy.arange(len(order))
        first, inverse, counts = first[order], numbers[inverse], counts[order]
        values = numpy.take(values, order, 0 if axis is None else axis)
    return values.astype(data.dtype), first, inverse, counts


def check(actual: tuple[Any, ...], expected: tuple[Any, ...], note: Any = "") -> None:
    for got, wanted in zip(actual, expected, strict=True):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape, note
        # numpy does not see that a NaN of ml_dtypes is one.
        is_small = got.dtype == ml_dtypes.bfloat16
        pair = [each.astype("float32") if is_small else each for each in (got, wanted)]
        numpy.testing.assert_array_equal(*pair, err_msg=str(note))


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type(dtype: Any, is_sorted: bool) -> None:
    for shape in ((4, 20), (1, 1), (0, 3), (3, 2), (20, 30)):
        data = several(dtype, shape)
        expected = reference(data, is_sorted=is_sorted)
        check(ran(data, sorted=is_sorted, symbols=[("n", "m")], **ALL), expected, shape)
        first = expected[1]
        values = ran(data, sorted=is_sorted, symbols=[("n", "m")])[0]
        # Of equal elements, 0.0 and -0.0, it is the first.
        assert values.tobytes() == data.ravel()[first].tobytes()


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_slices(axis: int, is_sorted: bool) -> None:
    for seed, shape in enumerate([(9, 2, 2), (2, 9, 2), (2, 2, 9), (1, 1, 1), (3, 1, 0), (0, 2, 2), (30, 30, 1)]):
        data = numpy.random.default_rng(seed).integers(-1, 1, shape, "int16")
        actual = ran(data, sorted=is_sorted, axis=axis, symbols=[("n", "m", "k")], **ALL)
        check(actual, reference(data, axis, is_sorted=is_sorted), shape)


def test_slices_of_unsigned_numbers_are_in_their_order() -> None:
    data = numpy.array([[0, 200], [0, 100], [250, 0], [0, 100]], "uint8")
    check(ran(data, axis=0, **ALL), reference(data, 0))


def test_nan_equals_nan_in_slices() -> None:
    data = numpy.array([[numpy.nan, 1], [0, 1], [numpy.nan, 1]], "float32")
    values, first, inverse, counts = ran(data, axis=0, **ALL)
    numpy.testing.assert_array_equal(values, data[[1, 0]])
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([1, 0], [1, 0, 1], [1, 2])


@pytest.mark.parametrize("is_sorted", [True, False])
def test_results_that_are_asked_for(is_sorted: bool) -> None:
    data = several("int32", (40,))
    expected = reference(data, is_sorted=is_sorted)
    for chosen in ([], ["return_counts"], ["return_index", "return_inverse"], ["return_inverse", "return_counts"]):
        flags = {flag: flag in chosen for flag in FLAGS}
        wanted = [result for result, asked in zip(expected[1:], flags.values(), strict=True) if asked]
        check(ran(data, sorted=is_sorted, **flags), (expected[0], *wanted), flags)


@pytest.mark.parametrize("is_sorted", [True, False])
def test_a_scalar(is_sorted: bool) -> None:
    check(ran(numpy.array(2.5), sorted=is_sorted, **ALL), reference(numpy.array(2.5)))


@draws(60)
@given(st.lists(st.integers(-4, 4), max_size=60), st.booleans())
def test_every_size(numbers: list[int], is_sorted: bool) -> None:
    data = numpy.array(numbers, "int8")
    check(ran(data, sorted=is_sorted, symbols=[("n",)], **ALL), reference(data, is_sorted=is_sorted))


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint16"])
@pytest.mark.parametrize("distinct", [511, 512, 513])
def test_unique_by_hash_table_and_by_sorting_agrees_with_numpy(distinct: int, dtype: str, is_sorted: bool) -> None:
    """Find up to 512 distinct elements by a hash table, and more by sorting, with NaN and both zeros."""
    random = numpy.random.default_rng(distinct)
    data = numpy.concatenate([numpy.arange(distinct), random.integers(0, distinct, 1500)])
    random.shuffle(data)
    data = (data * 127 - 500).astype(dtype)
    if dtype == "float32":
        data[data == data.max()] = numpy.nan
        data[::7] = numpy.where(data[::7] == data[0], -0.0, data[::7])
    assert abs(len(numpy.unique(data)) - distinct) <= 1
    check(ran(data, sorted=is_sorted, **ALL), reference(data, is_sorted=is_sorted))


def test_unknown_sizes() -> None:
    data = several("int32", (3, 9))
    check(ran(data, symbols=[(None, 9)], **ALL), reference(data))
    check(ran(data, symbols=[(None, 9)], axis=1, **ALL), reference(data, 1))


def test_unique_is_not_quadratic() -> None:
    data = numpy.random.default_rng(1).integers(0, 100_000, 300_000)
    check(ran(data, **ALL), reference(data))
