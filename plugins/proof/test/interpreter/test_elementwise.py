# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Subtle semantics of elementwise operators: integer overflow, division by zero, bits, NaN."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
import relax_mlir as rx
from interpreted import meant
from run_text import equal


def ints(*values: int, dtype: Any = "int8") -> Any:
    return numpy.array(values, dtype)


@pytest.mark.parametrize(
    "name, x1, x2, expected",
    [
        ("add", [127, -128], [1, -1], [-128, 127]),
        ("multiply", [64, 100], [2, 3], [-128, 44]),
        ("divide", [7, -7, 7, 5, -128], [2, 2, -2, 0, -1], [3, -3, -3, 0, -128]),
        ("floor_divide", [7, -7, 7, 5, -128], [2, 2, -2, 0, -1], [3, -4, -4, 0, -128]),
        ("mod", [7, -7, 7, 5, -128], [2, 2, -2, 0, -1], [1, -1, 1, 0, 0]),
        ("floor_mod", [7, -7, 7, 5, -128], [2, 2, -2, 0, -1], [1, 1, -1, 0, 0]),
        ("power", [2, 2, -1, -1, 1, 0, 3], [7, -1, -3, -2, -9, -1, 0], [-128, 0, -1, 1, 1, 0, 1]),
        ("left_shift", [1, 1, 1, -1], [7, 8, -1, 4], [-128, 0, 0, -16]),
        ("right_shift", [-128, -1, 127, -2, 5], [7, 9, 8, -1, 1], [-1, -1, 0, -1, 2]),
        ("atan2", [1, -1], [0, -1], [1, -2]),
        ("log_add_exp", [5, 0], [5, 0], [5, 0]),
    ],
)
def test_integers(name: str, x1: list[int], x2: list[int], expected: list[int]) -> None:
    found = meant(name, ints(*x1), ints(*x2))
    assert (found.dtype, found.tolist()) == ("int8", expected)


def test_integers_without_a_sign() -> None:
    x = ints(3, 255, 200, dtype="uint8")
    assert meant("subtract", x, ints(5, 255, 1, dtype="uint8")).tolist() == [254, 0, 199]
    assert meant("right_shift", x, ints(1, 200, 8, dtype="uint8")).tolist() == [1, 0, 0]
    assert meant("negative", x).tolist() == [253, 1, 56]
    large = ints(2**64 - 1, dtype="uint64")
    assert meant("floor_divide", large, ints(2, dtype="uint64")).tolist() == [2**63 - 1]
    assert meant("power", large, large).tolist() == [2**64 - 1]


@pytest.mark.parametrize("name, expected", [("int4", [-8, 7, 0]), ("uint4", [8, 7, 0])])
def test_integers_of_less_than_a_byte(name: str, expected: list[int]) -> None:
    dtype = getattr(ml_dtypes, name)
    x, y = numpy.array([7, 6, 1], dtype), numpy.array([1, 1, 4], dtype)
    assert meant("add", x, y).astype(int).tolist()[:2] == expected[:2]
    assert meant("left_shift", x, y).astype(int).tolist()[2] == expected[2]


def test_the_smallest_integer_has_no_absolute_value() -> None:
    assert meant("abs", ints(-128, -3)).tolist() == [-128, 3]


def test_floats_are_rounded_once() -> None:
    """Compute in f64 and round once to the element type. ml_dtypes would round by way of f32."""
    wide, narrow = numpy.array([1 + 2**-8 + 2**-40]), numpy.array([1.0])
    assert meant("astype", wide * narrow, dtype="bfloat16").tolist() == [1.0078125]
    x = numpy.array([2049.0], "float16")
    assert meant("divide", x, numpy.array([3.0], "float16")).tolist() == numpy.float16([2048 / 3]).tolist()


def test_wide_floats_are_not_rounded() -> None:
    x = numpy.array([1.0], "float32")
    found = meant("divide", x, numpy.array([3.0], "float32"), wide=True)
    assert (found.dtype, found.tolist()) == ("float64", [1 / 3])


def test_fused_products_are_rounded_once() -> None:
    x = numpy.array([1 + 2.0**-30, numpy.inf, 2.0])
    z = numpy.array([-1 - 2.0**-29, 1.0, numpy.nan])
    assert meant("ewise_fma", x, x, z).tolist()[:2] == [2.0**-60, numpy.inf]
    assert meant("ewise_fma", ints(100), ints(2), ints(1)).tolist() == [-55]


def test_special_numbers() -> None:
    x = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.5, 1.5, -2.5], "float32")
    assert meant("round", x).tolist()[4:] == [0.0, 2.0, -2.0]
    assert numpy.signbit(meant("round", x)[3])
    assert meant("sign", x).tolist()[1:] == [1, -1, 0, 1, 1, -1]
    assert meant("maximum", x, x[::-1].copy()).tolist()[1:6] == [numpy.inf, 0.5, 0.0, 0.5, numpy.inf]
    assert numpy.isnan(meant("minimum", x, x[::-1].copy())[[0, -1]]).all()
    assert meant("sigmoid", x).tolist()[1:3] == [1.0, 0.0]
    assert meant("isinf", x).tolist() == [False, True, True] + [False] * 4
    assert meant("floor_divide", x[4:], numpy.zeros(3, "float32")).tolist() == [numpy.inf, numpy.inf, -numpy.inf]


def test_floor_of_the_exact_quotient() -> None:
    """Compute the exact quotient like numpy and torch. Rounded to f32, 2.5 / 0.001 is 2500."""
    assert meant("floor_divide", numpy.float32([2.5]), numpy.float32([0.001])).tolist() == [2499.0]


def test_broadcast_and_empty() -> None:
    found = meant(
        "add", numpy.ones((2, 0, 1), "float16"), numpy.ones((1, 3), "float16"), symbols=[("a", "b", 1), (1, "c")]
    )
    assert (found.shape, found.dtype) == ((2, 0, 3), "float16")
    assert meant("equal", numpy.array(1, "int64"), numpy.array(1, "int64")).shape == ()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ml_dtypes.bfloat16])
def test_functions_of_floats(dtype: Any) -> None:
    x = numpy.array([0.25, 0.5, 0.75], dtype)
    tolerance = {1: 1e-2, 2: 1e-2, 4: 1e-6, 8: 1e-14}[x.dtype.itemsize]
    pairs = [("sin", "asin"), ("cos", "acos"), ("tan", "atan"), ("sinh", "asinh"), ("tanh", "atanh"), ("exp", "log")]
    for one, other in pairs:
        numpy.testing.assert_allclose(meant(other, meant(one, x)).astype(float), x.astype(float), rtol=tolerance)
    numpy.testing.assert_allclose(meant("acosh", meant("cosh", x)).astype(float), x.astype(float), rtol=4 * tolerance)
    numpy.testing.assert_allclose(meant("rsqrt", x).astype(float) ** -2, x.astype(float), rtol=tolerance)
    numpy.testing.assert_allclose(
        meant("erf", x).astype(float), [0.2763264, 0.5204999, 0.7111556], rtol=max(tolerance, 1e-6)
    )


def test_half_powers_of_infinities() -> None:
    """Check a scalar exponent of 0.5: the power of -inf is inf, although its square root is NaN."""
    module = rx.Module()
    with module.function("main", [rx.tensor((3,)), rx.tensor(())]) as f:
        f.returns(rx.relax.power(*f.args))
    x = numpy.array([-numpy.inf, numpy.inf, 4], "float32")
    equal(rx.reference(module)["main"](x, numpy.float32(0.5)), [numpy.inf, numpy.inf, 2])
    equal(rx.compile(module)["main"](x, numpy.array(0.5, "float32")), [numpy.inf, numpy.inf, 2])
