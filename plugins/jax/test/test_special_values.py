# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations at the values where they differ most, in all types, beside StableHLO's interpreter."""

from __future__ import annotations

import itertools

import numpy
import pytest
from hlo_oracle import called, dtype_of, interpreted

UNARY = {
    "stablehlo": "abs cbrt ceil cosine exponential exponential_minus_one floor is_finite log log_plus_one logistic "
    "negate round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh",
    "chlo": "acos acosh asin asinh atan atanh bessel_i1e cosh digamma erf erf_inv erfc is_inf is_neg_inf is_pos_inf "
    "lgamma sinh square",
}
BINARY = "add atan2 divide maximum minimum multiply power remainder subtract"
BITS = "add and maximum minimum multiply or power shift_left shift_right_arithmetic shift_right_logical subtract xor"
TOLERANCES = {"f64": 1e-12, "f32": 2e-5, "f16": 2e-3}
FLOATS = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 7.25, numpy.inf, -numpy.inf, numpy.nan, 1e-3, 100, -100]
SIGNED, UNSIGNED = ("i8", "i16", "i32", "i64"), ("ui8", "ui16", "ui32", "ui64")


def _integers(dtype: str) -> numpy.ndarray:
    ends = numpy.iinfo(dtype_of(dtype))
    around = [-1, -2, -7] if ends.min else []
    return numpy.array(
        [0, 1, 2, 3, 5, 7, 100, ends.max, ends.max - 1, ends.min, ends.min + 1, *around], dtype_of(dtype)
    )


def _pairs(values: numpy.ndarray) -> list[numpy.ndarray]:
    return [numpy.array(each, values.dtype) for each in zip(*itertools.product(values, values), strict=True)]


def _check(names: list[str], dtype: str, arrays: list[numpy.ndarray]) -> None:
    """Check all operations in one function, and report the differences of all of them."""
    type_ = f"tensor<{arrays[0].size}x{dtype}>"
    arguments = [f"%a{index}" for index in range(len(arrays))]
    results = [type_.replace(dtype, "i1") if ".is_" in name else type_ for name in names]
    lines = [
        f'%r{index} = "{name}"({", ".join(arguments)}) : ({", ".join([type_] * len(arrays))}) -> {result}'
        for index, (name, result) in enumerate(zip(names, results, strict=True))
    ]
    text = f"""func.func @main({", ".join(f"{each}: {type_}" for each in arguments)}) -> ({", ".join(results)}) {{
      {chr(10).join(lines)}
      return {", ".join(f"%r{index}" for index in range(len(names)))} : {", ".join(results)}
    }}"""
    problems = []
    for name, found, expected in zip(names, called(text, arrays), interpreted(text, arrays), strict=True):
        tolerance = TOLERANCES.get(dtype, 0)
        try:
            numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 5e-2)
        except AssertionError as error:
            problems.append(f"{name}: {error}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("dialect", UNARY)
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_of_one_float(dtype: str, dialect: str) -> None:
    _check([f"{dialect}.{name}" for name in UNARY[dialect].split()], dtype, [numpy.array(FLOATS, dtype_of(dtype))])


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_of_two_floats(dtype: str) -> None:
    names = [f"stablehlo.{name}" for name in BINARY.split()]
    _check(names, dtype, _pairs(numpy.array(FLOATS, dtype_of(dtype))))


@pytest.mark.parametrize("dtype", (*SIGNED, *UNSIGNED))
def test_of_integers(dtype: str) -> None:
    values = _integers(dtype)
    one = "popcnt count_leading_zeros not negate" + (" abs sign" if dtype in SIGNED else "")
    _check([f"stablehlo.{name}" for name in one.split()], dtype, [values])
    _check([f"stablehlo.{name}" for name in BITS.split()], dtype, _pairs(values))


@pytest.mark.parametrize("dtype", (*SIGNED, *UNSIGNED))
def test_quotients_of_integers(dtype: str) -> None:
    """Check quotients and remainders except for cases that StableHLO leaves open: by zero, and of the least number by
    -1."""
    numerators, divisors = _pairs(_integers(dtype))
    is_least = numerators == numpy.iinfo(numerators.dtype).min
    is_open = (divisors == 0) | ((divisors.astype("int64") == -1) & is_least)
    names = [f"stablehlo.{name}" for name in ("divide", "remainder")]
    _check(names, dtype, [numerators[~is_open], divisors[~is_open]])
