# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, legalized by the default rules, compiled for llvm and run, against numpy."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy
import pytest
from compiling import array, built
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from prim_jit import run_op

import relax_mlir as rx
from relax_mlir import relax

BF16 = ml_dtypes.bfloat16
FLOATS = ("float16", BF16, "float32", "float64")
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
REFERENCES = {
    "sum": numpy.sum, "prod": numpy.prod, "max": numpy.max, "min": numpy.min, "mean": numpy.mean, "std": numpy.std,
    "variance": numpy.var, "argmax": numpy.argmax, "argmin": numpy.argmin,
}  # fmt: skip
MOMENTS = ("mean", "std", "variance")
POSITIONS = ("argmax", "argmin")
#: Relative errors: one rounding of a wide result, or a few of a narrow one.
TOLERANCES = {"float16": 1e-3, BF16: 8e-3, "float32": 1e-6, "float64": 3e-15}


def ran(name: str, array: Any, **options: Any) -> Any:
    return run_op(f"relax.{name}", array, **options)


def floats(dtype: Any, shape: tuple[int, ...]) -> Any:
    return numpy.random.default_rng(7).normal(1.0, 2.0, shape).astype(dtype)


def integers(dtype: str, shape: tuple[int, ...]) -> Any:
    limits = numpy.iinfo(dtype)
    return numpy.random.default_rng(7).integers(limits.min, limits.max, shape, dtype, endpoint=True)


def check_floats(actual: Any, expected: Any, dtype: Any, note: str = "") -> None:
    assert actual.dtype == dtype and actual.shape == expected.shape, note
    scale = numpy.max(numpy.abs(expected), initial=1.0, where=numpy.isfinite(expected))
    tolerance = TOLERANCES[dtype]
    numpy.testing.assert_allclose(
        actual.astype("float64"), expected, rtol=tolerance, atol=tolerance * scale / 10, err_msg=note
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_floats_of_symbolic_sizes(name: str, dtype: Any) -> None:
    for shape in ((3, 7, 2), (1, 1, 1), (2, 60, 0), (2, 300, 1)):
        x = floats(dtype, shape)
        x = numpy.abs(x) ** numpy.asarray(0.1, dtype) if name == "prod" else x
        actual = ran(name, x, symbols=[("n", "m", "k")], axis=1 if name in POSITIONS else (1,))
        expected = REFERENCES[name](x.astype("float64"), axis=1)
        if name in POSITIONS:
            numpy.testing.assert_array_equal(actual, expected)
        else:
            check_floats(actual, expected, dtype, f"{name} {shape}")


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", *POSITIONS])
def test_integers_wrap_around(name: str, dtype: str) -> None:
    """Wrap around in the operand's type, like numpy with dtype=."""
    options = {"dtype": dtype} if name in ("sum", "prod") else {}
    for shape in ((3, 5, 2), (2, 0, 2) if name in ("sum", "prod") else (4, 1, 1)):
        x = integers(dtype, shape)
        actual = ran(name, x, symbols=[("n", "m", "k")], axis=1 if name in POSITIONS else (1,))
        numpy.testing.assert_array_equal(actual, REFERENCES[name](x, axis=1, **options), err_msg=name, strict=True)


@pytest.mark.parametrize("dtype", INTS)
def test_means_of_integers_are_rounded_towards_zero(dtype: str) -> None:
    x = integers(dtype, (9, 6)) // (7 if dtype in ("int64", "uint64") else 1)
    exact = [sum(map(int, row)) for row in x]
    expected = [abs(total) // 6 * (-1 if total < 0 else 1) for total in exact]
    actual = ran("mean", x, symbols=[("n", "m")], axis=(-1,))
    numpy.testing.assert_array_equal(actual, numpy.array(expected, dtype), strict=True)


def test_booleans() -> None:
    x = numpy.array([[True, True], [False, True], [False, False]])
    for name, reference in (("sum", numpy.any), ("prod", numpy.all), ("max", numpy.any), ("min", numpy.all)):
        numpy.testing.assert_array_equal(ran(name, x, axis=(1,)), reference(x, axis=1), err_msg=name, strict=True)
    for name in POSITIONS:
        numpy.testing.assert_array_equal(ran(name, x, axis=1), REFERENCES[name](x, axis=1), err_msg=name)


@draws(30)
@given(st.data())
def test_reductions_take_axes_like_numpy(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4), label="shape"))
    name = data.draw(st.sampled_from(["sum", "variance", "argmin"]), label="name")
    axes = data.draw(st.none() | st.lists(st.sampled_from(range(len(shape))), unique=True) if shape else st.none())
    signed = axes if axes is None else [axis - len(shape) * data.draw(st.booleans()) for axis in axes]
    keepdims = data.draw(st.booleans(), label="keepdims")
    x = floats("float32", shape)
    if name in POSITIONS:
        axis: Any = signed[0] if signed else None
        if 0 in (shape if axis is None else (shape[axis],)):
            return
        expected = REFERENCES[name](x, axis=axis, keepdims=keepdims)
    else:
        axis = None if signed is None else tuple(signed)
        if 0 in shape and name == "variance":
            return
        expected = REFERENCES[name](x.astype("float64"), axis=axis, keepdims=keepdims)
    actual = ran(name, x, axis=axis, keepdims=keepdims)
    if name in POSITIONS:
        numpy.testing.assert_array_equal(actual, expected)
    else:
        check_floats(actual, numpy.asarray(expected), "float32")


SPECIAL = [
    [1.0, numpy.nan, 3.0, -1.0],
    [-numpy.nan, 1.0, numpy.nan, 1.0],
    [-numpy.inf, -numpy.inf, -numpy.inf, -numpy.inf],
    [numpy.inf, 1.0, numpy.inf, 2.0],
    [-numpy.inf, 1.0, numpy.inf, 2.0],
    [-0.0, 0.0, -0.0, 0.0],
    [5.0, 7.0, 7.0, 5.0],
]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", sorted(REFERENCES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values(name: str, dtype: Any) -> None:
    """Propagate NaN, take the first NaN as the extreme element, and the first of equal elements."""
    x = numpy.array(SPECIAL, dtype)
    actual = ran(name, x, axis=1 if name in POSITIONS else (1,))
    expected = REFERENCES[name](x.astype("float64"), axis=1)
    expected = expected.astype(actual.dtype)
    numpy.testing.assert_array_equal(actual.astype("float64"), expected.astype("float64"))


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_of_nothing(name: str) -> None:
    """Return the identity element for sums and products, 0 / 0 for means, and no position."""
    expected = {"sum": 0, "prod": 1, "max": -numpy.inf, "min": numpy.inf, "argmax": -1, "argmin": -1}
    for dtype in ("float32", "int8"):
        if dtype == "int8":
            expected |= {"max": -128, "min": 127, "mean": 0}
        if name in expected or dtype == "float32":
            x = numpy.zeros((0, 2), dtype)
            actual = ran(name, x, symbols=[("n", 2)], axis=0 if name in POSITIONS else (0,))
            numpy.testing.assert_array_equal(actual, numpy.array([expected.get(name, numpy.nan)] * 2, actual.dtype))


@pytest.mark.parametrize("symbols", [(), [("n",)]], ids=["static", "symbolic"])
@pytest.mark.parametrize("name", ["sum", *MOMENTS])
def test_long_sums_keep_their_digits(name: str, symbols: Any) -> None:
    """Check long sums: added one by one in f32, the sum of a million tenths is wrong in the third digit. numpy's is
    exact to the sixth."""
    x = numpy.full(1_000_000, 0.1, "float32") + numpy.arange(1_000_000, dtype="float32") % 7
    expected = REFERENCES[name](x.astype("float64"))
    numpy.testing.assert_allclose(ran(name, x, symbols=symbols), expected, rtol=2e-7)


def test_the_variance_around_a_large_mean() -> None:
    x = (numpy.random.default_rng(1).normal(size=(4, 1000)) + 1e4).astype("float32")
    expected = numpy.var(x.astype("float64"), axis=1)
    numpy.testing.assert_allclose(ran("variance", x, axis=(1,)), expected, rtol=1e-5)
    numpy.testing.assert_allclose(ran("std", x, axis=(1,)), numpy.sqrt(expected), rtol=1e-5)


def test_narrow_sums_do_not_overflow_on_their_way() -> None:
    x = numpy.array([60000, 60000, -60000], "float16")
    assert ran("sum", x) == 60000
    assert ran("mean", numpy.full(3000, 60000, "float16")) == 60000


# ---- median ----
@pytest.mark.parametrize("dtype", [*FLOATS, *INTS], ids=str)
def test_the_median_of_all_elements_is_the_lower_middle(dtype: Any) -> None:
    for shape in ((3, 4), (5, 3), (1, 1), (20, 30)):
        x = floats(dtype, shape) if dtype in FLOATS else integers(dtype, shape)
        actual = ran("median", x, symbols=[("n", "m")])
        numpy.testing.assert_array_equal(actual, numpy.sort(x.ravel())[(x.size - 1) // 2])


def test_median_over_two_axes() -> None:
    x = floats("float32", (3, 4, 5))
    actual = ran("median", x, axis=(0, -1), keepdims=True)
    expected = numpy.sort(x.swapaxes(0, 1).reshape(4, 15), axis=1)[:, 7]
    numpy.testing.assert_array_equal(actual, expected.reshape(1, 4, 1))


@pytest.mark.parametrize("dtype", ["float16", BF16, "float32", "float64", "int8", "uint64"], ids=str)
def test_median_and_where_it_stands(dtype: Any) -> None:
    x = numpy.random.default_rng(3).integers(0, 5, (6, 9, 4)).astype(dtype)
    values, places = ran("median", x, symbols=[("n", 9, "m")], axis=(1,))
    expected = numpy.sort(x, axis=1)[:, 4]
    numpy.testing.assert_array_equal(values, expected)
    numpy.testing.assert_array_equal(places, numpy.argmax(x == expected[:, None], axis=1))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_median_of_special_values(dtype: Any) -> None:
    values, places = ran("median", numpy.array(SPECIAL, dtype), axis=(-1,))
    expected = [numpy.nan, numpy.nan, -numpy.inf, 2.0, 1.0, 0.0, 5.0]
    numpy.testing.assert_array_equal(values.astype("float64"), expected)
    numpy.testing.assert_array_equal(places, [1, 0, 0, 3, 1, 0, 0])


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (1, 2)], ids=str)
def test_median_of_symbolic_sizes_over_any_axes(axes: tuple[int, ...]) -> None:
    """Keep median's keys in one place in all stages, also if loops over kept dimensions are collapsed."""
    median = built([rx.tensor(("a", "b", "c"))], lambda x: relax.median(x, axis=axes))
    for shape in ((3, 5, 7), (2, 8, 33), (1, 1, 1), (4, 0, 2)):
        x = floats("float32", shape)
        results = median["main"](x)
        values = array(results[0] if len(axes) == 1 else results)
        kept = [size for axis, size in enumerate(shape) if axis not in axes]
        rows = numpy.moveaxis(x, axes, range(-len(axes), 0)).reshape(*kept, math.prod(shape[axis] for axis in axes))
        nothing = numpy.full(kept, numpy.nan, "float32")
        expected = numpy.sort(rows, axis=-1)[..., (rows.shape[-1] - 1) // 2] if rows.shape[-1] else nothing
        numpy.testing.assert_array_equal(values, expected, err_msg=f"median over {axes} of {shape}")


def test_median_of_nothing() -> None:
    values, places = ran("median", numpy.zeros((0, 2), "float32"), symbols=[("n", 2)], axis=(0,))
    assert numpy.isnan(values).all() and (places == -1).all()


# ---- operators of more than one PrimFunc ----
@pytest.mark.parametrize("name", ["variance", "std"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_spread_of_integers(name: str, dtype: str) -> None:
    x = numpy.random.default_rng(5).integers(0, 10, (3, 8)).astype(dtype)
    expected = REFERENCES[name](x.astype("float64"), axis=1).astype(dtype)
    numpy.testing.assert_array_equal(ran(name, x, symbols=[("n", 8)], axis=(1,)), expected, strict=True)


def test_unknown_sizes_become_known() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((None, 4))]) as f:
        (x,) = f
        f.returns(relax.mean(x, axis=[1]), relax.argmax(x, axis=0))
    rx.LegalizeOps(target="llvm")(module)
    module.verify()
    assert "call_tir" in str(module) and '"relax.mean"(' not in str(module)


def test_an_unknown_rank_is_declined() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(None)]) as f:
        f.returns(relax.sum(*f))
    with pytest.raises(rx.RelaxError, match="the rank of an operand"):
        rx.LegalizeOps(target="llvm")(module)
