# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers for which C leaves something open: halves, wrap-around, conversions at limits, types below a byte."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest
import relax_mlir as rx
from c_programs import CProgram, needs_compiler
from relax_mlir import relax

pytestmark = needs_compiler
ALL_HALVES = numpy.arange(65536, dtype="uint16")
COUNT = 4096
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _function(module: rx.Module, name: str, infos: list[Any], body: Callable[..., Any]) -> None:
    with module.function(name, infos) as f:
        f.returns(body(*f))


@functools.cache
def conversions() -> CProgram:
    """Compile the conversions of floats in one program."""
    module = rx.Module()
    for half in ("float16", "bfloat16"):
        _function(module, f"widen_{half}", [rx.tensor((65536,), half)], lambda x: relax.astype(x, dtype="float32"))
        for wide in ("float32", "float64"):
            info = rx.tensor((COUNT,), wide)
            narrow = functools.partial(relax.astype, dtype=half)
            _function(module, f"{half}_of_{wide}", [info], narrow)
    for wide in ("float32", "float64"):
        for integer in INTEGERS:
            to, back = functools.partial(relax.astype, dtype=integer), functools.partial(relax.astype, dtype=wide)
            _function(module, f"{integer}_of_{wide}", [rx.tensor((COUNT,), wide)], to)
            _function(module, f"{wide}_of_{integer}", [rx.tensor((COUNT,), integer)], back)
    return CProgram(module)


def difficult(dtype: str) -> Any:
    """Return numbers of all magnitudes, ties between halves, and the neighbours of ties."""
    random = numpy.random.default_rng(5)
    plain = random.normal(size=COUNT // 4) * 10.0 ** random.integers(-12, 9, COUNT // 4)
    halves = random.integers(0, 0x7C00, COUNT // 4).astype("uint16").view("float16").astype("float64")
    ties = (halves + numpy.nextafter(halves.astype("float16"), numpy.float16(numpy.inf)).astype("float64")) / 2
    adjacent = numpy.nextafter(ties.astype(dtype), numpy.array(0, dtype)).astype("float64")
    special = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 65504, 65519.99, 65520, 2.0**-24, 2.0**-25, 6.1e-5, 3.4e38]
    rest = numpy.resize(special, COUNT - 3 * (COUNT // 4))
    with numpy.errstate(over="ignore"):
        return numpy.concatenate([plain, ties, adjacent, rest]).astype(dtype)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_halves_widen_exactly(half: str) -> None:
    x = ALL_HALVES.view(numpy.dtype(half))
    (given,) = conversions()(x, function=f"widen_{half}")
    numpy.testing.assert_array_equal(given, x.astype("float32"))
    assert (numpy.signbit(given) == numpy.signbit(x.astype("float32")))[~numpy.isnan(given)].all()


@pytest.mark.parametrize("wide", ["float32", "float64"])
@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_halves_are_rounded_once(half: str, wide: str) -> None:
    x = difficult(wide)
    (given,) = conversions()(x, function=f"{half}_of_{wide}")
    with numpy.errstate(over="ignore"):
        expected = x.astype(half) if half == "float16" else _bfloat_of(x)
    numpy.testing.assert_array_equal(given.astype("float32"), expected.astype("float32"))


def _bfloat_of(x: Any) -> Any:
    """Round once, to the nearest neighbour. ml_dtypes does this only for float32."""
    if x.dtype == numpy.float32:
        return x.astype(ml_dtypes.bfloat16)
    near = x.astype("float32")
    odd = near.view("uint32").copy()
    is_off = (near.astype("float64") != x) & ~numpy.isnan(x) & (odd % 2 == 0)
    odd[is_off & (numpy.abs(near.astype("float64")) < numpy.abs(x))] += 1
    odd[is_off & (numpy.abs(near.astype("float64")) > numpy.abs(x))] -= 1
    return odd.view("float32").astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("wide", ["float32", "float64"])
@pytest.mark.parametrize("integer", INTEGERS)
def test_floats_and_integers(integer: str, wide: str) -> None:
    limits = numpy.iinfo(integer)
    random = numpy.random.default_rng(3)
    inside = random.uniform(max(limits.min, -(2**40)), min(limits.max, 2**40), COUNT - 4)
    x = numpy.concatenate([inside, [limits.min, 0.5, 0.99, min(limits.max, 2**23)]]).astype(wide)
    x = numpy.clip(x, limits.min, min(limits.max, 2**40))
    (given,) = conversions()(x, function=f"{integer}_of_{wide}")
    numpy.testing.assert_array_equal(given, x.astype(integer))
    y = random.integers(limits.min, limits.max, COUNT, dtype=integer, endpoint=True)
    (given,) = conversions()(y, function=f"{wide}_of_{integer}")
    numpy.testing.assert_array_equal(given, y.astype(wide))


def test_integers_wrap_around() -> None:
    module = rx.Module()
    for dtype in INTEGERS:
        infos = [rx.tensor((64,), dtype)] * 2
        for name in ("add", "subtract", "multiply", "left_shift", "right_shift", "maximum", "less"):
            _function(module, f"{name}_{dtype}", infos, getattr(relax, name))
    program, random = CProgram(module), numpy.random.default_rng(9)
    for dtype in INTEGERS:
        limits = numpy.iinfo(dtype)
        x, y = (random.integers(limits.min, limits.max, 64, dtype=dtype, endpoint=True) for _ in range(2))
        x[:2], y[:2] = limits.min, limits.max
        by = (y % limits.bits).astype(dtype)
        for name in ("add", "subtract", "multiply", "left_shift", "right_shift", "maximum", "less"):
            other = by if name.endswith("shift") else y
            (given,) = program(x, other, function=f"{name}_{dtype}")
            expected = getattr(numpy, name)(x, other)
            numpy.testing.assert_array_equal(given, expected, err_msg=f"{name} {dtype}")


def test_largest_and_smallest_with_zeros_and_nan() -> None:
    module = rx.Module()
    for name in ("maximum", "minimum"):
        _function(module, name, [rx.tensor((36,))] * 2, getattr(relax, name))
    values = numpy.array([0.0, -0.0, 1.0, -1.0, numpy.nan, numpy.inf], "float32")
    x, y = numpy.repeat(values, 6), numpy.tile(values, 6)
    program = CProgram(module)
    for name in ("maximum", "minimum"):
        (given,), (expected,) = program(x, y, function=name), program.expected(x, y, function=name)
        numpy.testing.assert_array_equal(given, expected)
        is_number = ~numpy.isnan(expected)
        assert (numpy.signbit(given) == numpy.signbit(expected))[is_number].all(), name


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float8_e4m3fn", "float8_e5m2"])
def test_small_types_lie_in_bytes(dtype: str) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((16,), dtype)]) as f:
        (x,) = f
        f.returns(relax.astype(x, dtype="float32"), relax.astype(relax.astype(x, dtype="float32"), dtype=dtype))
    x = (numpy.arange(16) - (8 if dtype == "int4" else 0)).astype(numpy.dtype(dtype))
    wide, same = CProgram(module)(x)
    numpy.testing.assert_array_equal(wide, x.astype("float32"))
    bits = 15 if dtype.endswith("int4") else 255
    numpy.testing.assert_array_equal(same.view("uint8") & bits, x.view("uint8") & bits)
