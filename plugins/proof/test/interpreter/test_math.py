# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""math: functions with a single rounding, and integers' bits."""

from __future__ import annotations

import math

import numpy
import pytest
from run_text import equal, run

X = numpy.array([-2.5, -0.5, 0.0, 0.5, 1.5, 2.5], numpy.float32)


def unary(name: str, x: numpy.ndarray) -> numpy.ndarray:
    text = f"func.func @main(%x: f32) -> f32 {{\n%0 = math.{name} %x : f32\nreturn %0 : f32\n}}"
    return numpy.array([run(text, each) for each in x])


@pytest.mark.parametrize(
    "name, expected",
    [("roundeven", [-2, -0.0, 0, 0, 2, 2]), ("round", [-3, -1, 0, 1, 2, 3]), ("floor", [-3, -1, 0, 0, 1, 2]),
     ("ceil", [-2, 0, 0, 1, 2, 3]), ("trunc", [-2, 0, 0, 0, 1, 2]), ("absf", [2.5, 0.5, 0, 0.5, 1.5, 2.5])],
)  # fmt: skip
def test_rounding(name: str, expected: list[float]) -> None:
    equal(unary(name, X), numpy.array(expected, numpy.float32))


@pytest.mark.parametrize("name", ["erf", "exp", "tanh", "sin", "expm1"])
def test_functions_are_the_nearest_floats(name: str) -> None:
    equal(unary(name, X), numpy.array([getattr(math, name)(float(x)) for x in X], numpy.float32))


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_predicates(name: str) -> None:
    text = f"func.func @main(%x: f32) -> i1 {{\n%0 = math.{name} %x : f32\nreturn %0 : i1\n}}"
    x = numpy.array([1.5, 0, 1e-42, numpy.inf, -numpy.inf, numpy.nan], numpy.float32)
    equal(numpy.array([run(text, each) for each in x]), getattr(numpy, name)(x))


def test_rsqrt() -> None:
    equal(unary("rsqrt", numpy.array([4, 0], numpy.float32)), [0.5, numpy.inf])


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_fma_is_rounded_once(dtype: str) -> None:
    """Compute x * x, which differs from 1 + 2 * epsilon by epsilon squared."""
    epsilon = 2.0**-12 if dtype == "f32" else 2.0**-30
    type_ = numpy.float32 if dtype == "f32" else numpy.float64
    x, z = type_(1 + epsilon), type_(-(1 + 2 * epsilon))
    text = f"""
        func.func @main(%x: {dtype}, %z: {dtype}) -> {dtype} {{
          %0 = math.fma %x, %x, %z : {dtype}
          return %0 : {dtype}
        }}"""
    assert run(text, x, z) == epsilon**2


def test_bits_of_integers() -> None:
    zeros, after, ones, alone = run("""
        %0 = arith.constant dense<[0, 1, -1, 24]> : vector<4xi8>
        %1 = math.ctlz %0 : vector<4xi8>
        %2 = math.cttz %0 : vector<4xi8>
        %3 = math.ctpop %0 : vector<4xi8>
        %4 = math.absi %0 : vector<4xi8>
        return %1, %2, %3, %4 : vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>""")
    equal(zeros, [8, 7, 0, 3])
    equal(after, [8, 0, 0, 3])
    equal(ones, [0, 1, 8, 2])
    equal(alone, [0, 1, 1, 24])


def test_powers() -> None:
    assert run("""
        %0 = arith.constant -3 : i32
        %1 = arith.constant 3 : i32
        %2 = math.ipowi %0, %1 : i32
        %3 = arith.constant -1.5 : f32
        %4 = math.fpowi %3, %1 : f32, i32
        %5 = math.copysign %4, %4 : f32
        return %2, %4, %5 : i32, f32, f32""") == (-27, -3.375, -3.375)
