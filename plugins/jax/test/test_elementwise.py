# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on each element, beside StableHLO's interpreter."""

from __future__ import annotations

import numpy
import pytest
from hlo_oracle import assert_same, called, check, dtype_of, module_of

FLOAT = "abs ceil cosine exponential exponential_minus_one floor logistic negate round_nearest_afz round_nearest_even sign sine tan tanh cbrt"  # noqa: E501
BINARY = "add subtract multiply maximum minimum divide remainder atan2"
INTEGER = "add subtract multiply maximum minimum and or xor"
COMPLEX = "negate exponential log sine cosine tanh sqrt rsqrt sign"
T, INT, U, B, C = "tensor<3x4xf32>", "tensor<3x4xi32>", "tensor<3x4xui8>", "tensor<3x4xi1>", "tensor<3x4xcomplex<f32>>"


@pytest.mark.parametrize("name", FLOAT.split())
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
def test_of_one_float(name: str, dtype: str) -> None:
    type_ = f"tensor<3x4x{dtype}>"
    check(f"stablehlo.{name} %0 : {type_}", [type_], type_, 2e-2 if dtype == "f16" else 1e-5)


@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "log", "log_plus_one"])
def test_of_one_positive_float(name: str) -> None:
    arrays = [numpy.random.default_rng(0).uniform(0.1, 5, (3, 4)).astype("float32")]
    assert_same(module_of(f"stablehlo.{name} %0 : {T}", [T], T), arrays)


@pytest.mark.parametrize("name", BINARY.split())
def test_of_two_floats(name: str) -> None:
    check(f"stablehlo.{name} %0, %1 : {T}", [T, T], T)


@pytest.mark.parametrize("name", INTEGER.split())
@pytest.mark.parametrize("type_", [INT, U, B])
def test_of_two_integers(name: str, type_: str) -> None:
    if type_ == B and name == "subtract":
        return  # of truth values it is not defined
    check(f"stablehlo.{name} %0, %1 : {type_}", [type_, type_], type_)


@pytest.mark.parametrize("name", ["divide", "remainder"])
def test_quotients_of_integers_are_truncated(name: str) -> None:
    left, right = numpy.int32([[7, -7, 7, -7, 0]]), numpy.int32([[2, 2, -2, -2, 3]])
    type_ = "tensor<1x5xi32>"
    assert_same(module_of(f"stablehlo.{name} %0, %1 : {type_}", [type_, type_], type_), [left, right])


@pytest.mark.parametrize("name", ["shift_left", "shift_right_arithmetic", "shift_right_logical"])
@pytest.mark.parametrize("dtype", ["i32", "ui32", "i8"])
def test_shifts_by_as_many_bits_as_there_are_leave_nothing(name: str, dtype: str) -> None:
    type_, numpy_type = f"tensor<6x{dtype}>", {"i32": "int32", "ui32": "uint32", "i8": "int8"}[dtype]
    count = 8 if dtype == "i8" else 32
    values = numpy.array([1, 5, 100, 3, 77, 9]).astype(numpy_type)
    values[-2:] = -values[-2:].astype("int64").astype(numpy_type) if dtype != "ui32" else values[-2:]
    arrays = [values, numpy.array([0, 1, 3, count - 1, count, count + 5]).astype(numpy_type)]
    assert_same(module_of(f"stablehlo.{name} %0, %1 : {type_}", [type_, type_], type_), arrays)


@pytest.mark.parametrize("direction", "EQ NE LT LE GT GE".split())
@pytest.mark.parametrize("type_", [T, INT, U, B])
def test_comparisons(direction: str, type_: str) -> None:
    check(f"stablehlo.compare {direction}, %0, %1 : ({type_}, {type_}) -> {B}", [type_, type_], B)


def test_total_order() -> None:
    type_, values = "tensor<5xf32>", numpy.float32([-0.0, 0.0, numpy.nan, -numpy.inf, 1])
    operation = f"stablehlo.compare LT, %0, %1, TOTALORDER : ({type_}, {type_}) -> tensor<5xi1>"
    assert_same(module_of(operation, [type_, type_], "tensor<5xi1>"), [values, values[::-1].copy()])


@pytest.mark.parametrize("name", "add subtract multiply divide maximum minimum atan2".split())
def test_of_two_complex_numbers(name: str) -> None:
    check(f"stablehlo.{name} %0, %1 : {C}", [C, C], C, 1e-4)


def test_complex_numbers_are_ordered_by_the_real_part_first() -> None:
    type_ = "tensor<4xcomplex<f32>>"
    parts = [[1.5, 1.5, 0, 0], [2.5, 7.5, 1.5, 1.5], [7.5, 1.5, -0.0, 0], [1.5, 2.5, 2.5, 1.5]]
    for name in ("maximum", "minimum"):
        assert_same(
            module_of(f"stablehlo.{name} %0, %1 : {type_}", [type_, type_], type_),
            [numpy.array(each, "float32") for each in parts],
        )


@pytest.mark.parametrize("name", COMPLEX.split())
def test_of_one_complex_number(name: str) -> None:
    check(f"stablehlo.{name} %0 : {C}", [C], C, 1e-4)


def test_select_clamp_convert() -> None:
    check(f"stablehlo.select %0, %1, %2 : {B}, {T}", [B, T, T], T)
    check(f"stablehlo.clamp %0, %1, %2 : {T}", [T, T, T], T)
    check(f"stablehlo.convert %0 : ({INT}) -> {T}", [INT], T)
    check(f"stablehlo.convert %0 : ({INT}) -> {B}", [INT], B)
    check(f"stablehlo.convert %0 : ({C}) -> {T}", [C], T)
    check(f"stablehlo.convert %0 : ({T}) -> {C}", [T], C)


@pytest.mark.parametrize(
    ("given", "made"),
    [("tensor<3xf32>", "tensor<3xi32>"), ("tensor<3xf32>", "tensor<3x4xi8>"), ("tensor<3x2xui16>", "tensor<3xui32>")],
)
def test_bitcast_convert(given: str, made: str) -> None:
    check(f"stablehlo.bitcast_convert %0 : ({given}) -> {made}", [given], made)


@pytest.mark.parametrize("format_", ["e5m10", "e8m7", "e4m3"])
def test_reduce_precision(format_: str) -> None:
    check(f"stablehlo.reduce_precision %0, format = {format_} : {T}", [T], T)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_reduce_precision_without_mantissa_bits_has_no_nan(dtype: str) -> None:
    x = numpy.array([numpy.nan, -numpy.nan, 3, 0.25, -numpy.inf], dtype_of(dtype))
    (found,) = called(
        module_of(
            "stablehlo.reduce_precision %0, format = e5m0 : " + f"tensor<5x{dtype}>",
            [f"tensor<5x{dtype}>"],
            f"tensor<5x{dtype}>",
        ),
        [x],
    )
    assert found.tolist() == [numpy.inf, -numpy.inf, 2, 0.25, -numpy.inf]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_small_complex_numbers_keep_both_parts(dtype: str) -> None:
    """Check that e^x - 1 and log(1 + x) have no cancellation near 0."""
    real, imag = (numpy.array(each, dtype_of(dtype)) for each in ([1e-20, 1e-8, -1e-8], [5e-21, 1e-8, 1e-20]))
    type_ = f"tensor<3xcomplex<{dtype}>>"
    for name, half in (("exponential_minus_one", 0.5), ("log_plus_one", -0.5)):
        found = called(module_of(f"stablehlo.{name} %0 : {type_}", [type_], type_), [real, imag])
        # The first two terms of the series: x + half * x^2.
        expected = real + half * (real**2 - imag**2), imag + half * 2 * real * imag
        numpy.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "f32" else 1e-14)


def test_a_complex_number_is_true_by_its_real_part() -> None:
    text = module_of(
        "stablehlo.convert %0 : (tensor<3xcomplex<f32>>) -> tensor<3xi1>", ["tensor<3xcomplex<f32>>"], "tensor<3xi1>"
    )
    (found,) = called(text, [numpy.array(each, "float32") for each in ([-1, 0, numpy.nan], [0, 1, 0])])
    assert found.tolist() == [True, False, True]


@pytest.mark.parametrize("name", ["popcnt", "count_leading_zeros"])
def test_bits(name: str) -> None:
    check(f"stablehlo.{name} %0 : {INT}", [INT], INT)


def test_complex_arc_function_kernels_match_jax() -> None:
    z = "tensor<9xcomplex<f32>>"
    check(f'"chlo._asin_acos_kernel"(%0) : ({z}) -> {z}', [z], z, 1e-4)


def test_parts_of_different_shapes() -> None:
    real, imag, result = "tensor<f32>", "tensor<3xf32>", "tensor<3xcomplex<f32>>"
    check(f'"chlo.broadcast_complex"(%0, %1) : ({real}, {imag}) -> {result}', [real, imag], result)
