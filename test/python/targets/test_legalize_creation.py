# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that make tensors, legalized by the default rules, compiled and run, against numpy and scipy."""

from __future__ import annotations

import functools
import itertools
import re
from typing import Any

import ml_dtypes
import numpy
import pytest
import scipy.signal
from compiling import array, built
from element_arrays import same_bits
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from prim_jit import called, dtype_name, run_built, run_op
from relax_mlir.dialects.core.infos import ScalarInfo
from relax_mlir.passes.legalize.rules import all_rules

import relax_mlir as rx
from relax_mlir import relax

FLOAT8 = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e3m4)
INTS = tuple(map(numpy.dtype, "int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()))
FLOATS = tuple(map(numpy.dtype, ("float16", ml_dtypes.bfloat16, "float32", "float64", *FLOAT8)))
DTYPES = (numpy.dtype(bool), *INTS, *FLOATS)


def ran(name: str, *arguments: Any, **options: Any) -> Any:
    return run_op(f"relax.{name}", *arguments, **options)


@functools.lru_cache(maxsize=64)
def with_scalars(name: str, dtypes: tuple[Any, ...], attributes: tuple[tuple[str, Any], ...]) -> Any:
    """Return the operator as a function of scalars, and of arrays where a shape is given instead of an element type."""
    infos = [ScalarInfo(dtype) if isinstance(dtype, str) else dtype for dtype in dtypes]
    module = rx.Module()
    with module.function("main", infos) as f:
        f.returns(rx.find_op(f"relax.{name}")(*f, **dict(attributes)))
    return rx.compile(module, target="llvm")


def with_run_time_scalars(name: str, *scalars: Any, **attributes: Any) -> Any:
    kinds = {bool: "i1", int: "i64", float: "f64"}
    infos = tuple(kinds.get(type(each)) or rx.tensor([None] * each.ndim, dtype_name(each)) for each in scalars)
    return called(with_scalars(name, infos, tuple(attributes.items())), *scalars)


# ---- one value ----


@pytest.mark.parametrize("value", [7, -2.5, True])
def test_a_scalar_as_a_tensor(value: Any) -> None:
    """Pass a scalar at compile time and at run time."""
    for result in (ran("scalar_to_tensor", value), with_run_time_scalars("scalar_to_tensor", value)):
        numpy.testing.assert_array_equal(result, numpy.array(value), strict=True)


def test_scalars_stand_for_tensors() -> None:
    x = numpy.arange(6, dtype="int64").reshape(2, 3)

    def body(x: Any) -> Any:
        n = relax.prim_value("2*n")
        return relax.add(x, n), relax.where(relax.less(x, n), n, x), relax.full((2,), relax.prim_value(5))

    results = built([rx.tensor(("n", 3), "int64")], body)["main"](x)
    for result, expected in zip(results, (x + 4, numpy.maximum(x, 4), numpy.full(2, 5)), strict=True):
        numpy.testing.assert_array_equal(array(result), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_element_type(dtype: Any) -> None:
    same_bits(ran("zeros", shape=(2, 3), dtype=dtype.name), numpy.zeros((2, 3), dtype))
    like = numpy.zeros((3, 2), dtype)
    same_bits(ran("ones_like", like, symbols=[("n", "m")]), numpy.ones((3, 2), dtype))
    value = numpy.array(1.5).astype(dtype)
    same_bits(ran("full_like", like, value, symbols=[("n", 2), ()]), numpy.full((3, 2), value))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3, 4)], ids=str)
def test_filled(shape: tuple[int, ...]) -> None:
    same_bits(ran("ones", shape=shape, dtype="int16"), numpy.ones(shape, "int16"))
    value = numpy.array(2.5, "float32")
    same_bits(run_full(value, shape), numpy.full(shape, value))
    same_bits(run_full(value, shape, dtype="float64"), numpy.full(shape, value, "float64"))
    like = numpy.zeros(shape, "float64")
    symbols = ["n", "m", "k"][: len(shape)]
    same_bits(ran("zeros_like", like, symbols=[symbols]), like)
    same_bits(ran("zeros_like", like, symbols=[[None] * len(shape)], dtype="int8"), like.astype("int8"))
    same_bits(ran("full_like", like, value, symbols=[symbols, ()], dtype="int32"), numpy.full(shape, 2, "int32"))


def run_full(value: Any, shape: tuple[int, ...], **attributes: Any) -> Any:
    return run_built(lambda x: rx.relax.full(shape, x, **attributes), value)


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3)], ids=str)
def test_size(shape: tuple[int, ...]) -> None:
    x = numpy.zeros(shape, "float32")
    same_bits(ran("size", x), numpy.array(x.size, "int64"))
    same_bits(ran("size", x, symbols=[["n", "m"][: len(shape)]]), numpy.array(x.size, "int64"))
    same_bits(ran("size", x, symbols=[[None] * len(shape)]), numpy.array(x.size, "int64"))


# ---- matrices ----


@draws(15)
@given(st.integers(0, 5), st.integers(0, 5), st.integers(-6, 6) | st.sampled_from([2**63 - 1, -(2**63)]))
def test_diagonals_known_at_run_time_only(rows: int, columns: int, k: int) -> None:
    inside = max(-7, min(k, 7))
    same_bits(with_run_time_scalars("eye", rows, columns, k), numpy.eye(rows, columns, inside, "float32"))
    x = numpy.random.default_rng(1).normal(size=(2, rows, columns))
    same_bits(with_run_time_scalars("tril", x, k), numpy.tril(x, inside))
    same_bits(with_run_time_scalars("triu", x, k), numpy.triu(x, inside))
    flat = x[0].astype("float32")
    same_bits(with_run_time_scalars("eye_like", flat, k), numpy.eye(rows, columns, inside, "float32"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_matrices_of_every_element_type(dtype: Any) -> None:
    same_bits(ran("eye", 4, 5, 1, dtype=dtype.name), numpy.eye(4, 5, 1).astype(dtype))
    x = numpy.frombuffer(bytearray(numpy.random.default_rng(2).bytes(20 * dtype.itemsize)), dtype).reshape(4, 5)
    x = x.view("uint8") % 2 == 1 if dtype.kind == "b" else x
    same_bits(ran("tril", x, -1, symbols=[("n", "m")]), numpy.where(numpy.tri(4, 5, -1, bool), x, numpy.zeros_like(x)))


def test_eye_of_defaults() -> None:
    same_bits(ran("eye", 3), numpy.eye(3, dtype="float32"))
    x = numpy.full((3, 4), 7, "int8")
    same_bits(ran("eye_like", x), numpy.eye(3, 4, dtype="int8"))
    same_bits(ran("eye_like", x, -1, dtype="float16", symbols=[("n", None)]), numpy.eye(3, 4, -1, "float16"))
    same_bits(ran("triu", numpy.full((2, 0, 3), 1.0)), numpy.zeros((2, 0, 3)))
    with pytest.raises(ValueError, match="'n' is a size and cannot be -1"):
        with_run_time_scalars("eye", -1, 2, 0)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_one_hot(dtype: Any) -> None:
    limits = numpy.iinfo(dtype)
    indices = numpy.array([[0, 1, 4], [5, limits.min, limits.max]], dtype)
    for axis in (-1, 0, 1):
        places = numpy.expand_dims(indices, axis)
        numbers = numpy.arange(5).reshape([5 if each == axis % 3 else 1 for each in range(3)])
        is_on = places.astype(object) == numbers.astype(object)
        expected = numpy.where(is_on.astype(bool), 2.5, -1.0)
        same_bits(ran("one_hot", indices, 2.5, -1.0, depth=5, axis=axis), expected)
    same_bits(
        ran("one_hot", indices, 7, 0, depth=5, symbols=[("n", None)]), numpy.where(expected_hot(indices, 5), 7, 0)
    )
    if dtype == numpy.int8:
        same_bits(with_run_time_scalars("one_hot", indices, True, False, depth=5), expected_hot(indices, 5))
        same_bits(ran("one_hot", numpy.array(indices[0, 0]), 1, 0, depth=2), numpy.array([1, 0]))


def expected_hot(indices: Any, depth: int) -> Any:
    return numpy.array([index == place for index in indices.ravel().tolist() for place in range(depth)]).reshape(
        *indices.shape, depth
    )


# ---- sequences ----


@draws(40)
@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-7, 7).filter(bool))
def test_ranges_of_integers(start: int, end: int, step: int) -> None:
    expected = numpy.arange(start, end, step)
    same_bits(with_run_time_scalars("arange", start, end, step), expected)
    same_bits(with_run_time_scalars("arange", start, end, step, dtype="float32"), expected.astype("float32"))
    same_bits(with_run_time_scalars("arange", start, end, step, dtype="uint8"), expected.astype("uint8"))
    same_bits(with_run_time_scalars("arange", start, end, step, dtype="bfloat16"), expected.astype(ml_dtypes.bfloat16))


@draws(40)
@given(*[st.floats(-20, 20, width=32)] * 2, st.floats(0.25, 5, width=32), st.booleans())
def test_ranges_of_floats(start: float, end: float, step: float, down: bool) -> None:
    step = -step if down else step
    count = max(0, int(numpy.ceil((end - start) / step)))
    expected = start + numpy.arange(count) * step
    same_bits(with_run_time_scalars("arange", start, end, step, dtype="float64"), expected)
    same_bits(with_run_time_scalars("arange", start, end, step), expected.astype("float32"))
    same_bits(with_run_time_scalars("arange", start, end, step, dtype="int32"), expected.astype("int32"))


def test_ranges() -> None:
    same_bits(ran("arange", 5), numpy.arange(5))
    same_bits(ran("arange", 2, -7, -2), numpy.arange(2, -7, -2))
    same_bits(ran("arange", 3, 3, 1), numpy.arange(0))
    same_bits(ran("arange", 0.5, 3), numpy.arange(0.5, 3, dtype="float32"))
    same_bits(ran("arange", 0, 2**62, 2**60, dtype="float32"), numpy.arange(0, 2**62, 2**60).astype("float32"))
    same_bits(ran("arange", -(2**63), 2**63 - 1, 2**62), numpy.arange(-(2**63), 2**63 - 1, 2**62))
    same_bits(with_run_time_scalars("arange", -(2**63), 2**63 - 1, 2**62), numpy.arange(-(2**63), 2**63 - 1, 2**62))
    same_bits(with_run_time_scalars("arange", 2**63 - 1, -(2**63), -(2**63)), numpy.array([2**63 - 1, -1]))
    for dtype in ("int8", "uint64", "float16", "float8_e5m2"):
        want = numpy.arange(0, 100, 7).astype(numpy.dtype(getattr(ml_dtypes, dtype, dtype)))
        same_bits(ran("arange", 0, 100, 7, dtype=dtype), want)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((0, 5, 0), "the step must not be zero"),
        ((0.0, 5.0, 0.0), "the step must not be zero"),
        ((0.0, float("nan"), 1.0), "the steps lead nowhere"),
        ((0.0, float("inf"), 1.0), "the steps lead nowhere"),
        ((-(2**63), 2**63 - 1, 1), "more of them than a tensor can have"),
    ],
)
def test_ranges_that_cannot_be(values: Any, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        with_run_time_scalars("arange", *values)


def test_a_range_up_to_a_size() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 2))]) as f:
        f.returns(rx.relax.arange("n - 1", "3*n", 2))
    executable = rx.compile(module, target="llvm")
    for n in range(4):
        same_bits(called(executable, numpy.zeros((n, 2), "float32")), numpy.arange(n - 1, 3 * n, 2))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_hamming_windows(dtype: str) -> None:
    element = numpy.dtype(getattr(ml_dtypes, dtype, dtype))
    tolerance = {"float64": 1e-14, "float32": 1e-7}.get(dtype, 4e-3)
    for size, alpha, periodic in itertools.product((1, 2, 7, 100), (0.54, 0.3), (True, False)):
        window = scipy.signal.windows.general_hamming(size, alpha, sym=not periodic)
        actual = with_run_time_scalars("hamming_window", size, periodic, alpha, 1 - alpha, dtype=dtype)
        assert actual.dtype == element
        numpy.testing.assert_allclose(actual.astype("float64"), window, rtol=tolerance, atol=tolerance)
    same_bits(with_run_time_scalars("hamming_window", 0, True, 0.5, 0.5, dtype=dtype), numpy.zeros(0, element))
    with pytest.raises(ValueError, match="'window_size' is a size and cannot be -3"):
        with_run_time_scalars("hamming_window", -3, True, 0.5, 0.5, dtype=dtype)


@pytest.mark.parametrize("periodic", [True, False])
def test_a_hamming_window_of_known_numbers(periodic: bool) -> None:
    expected = with_run_time_scalars("hamming_window", 7, periodic, 0.54, 0.46, dtype="float32")
    same_bits(ran("hamming_window", 7, periodic, 0.54, 0.46, dtype="float32"), expected)


def test_every_rule_is_of_an_operator_that_is_run_here() -> None:
    run = "full full_like ones ones_like zeros zeros_like arange eye eye_like tril triu one_hot hamming_window size"
    run += " scalar_to_tensor"
    rules = [rule for rule in all_rules("llvm") if "legalize_creation" in rule.place]
    assert {rule.op.removeprefix("relax.") for rule in rules} == set(run.split())
