# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsics with exact results, lowered for llvm and run: integers, predicates, parts of floats; vectors; fast
math."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from intrinsic_jit import NUMPY_TYPES, run_intrinsic
from intrinsic_oracle import LONG, ORACLES, distance, samples

Array = Any


def _patterns(dtype: str, seed: int = 0) -> Array:
    info = np.iinfo(NUMPY_TYPES[dtype])
    rng = np.random.default_rng(seed)
    drawn = rng.integers(info.min, info.max, 200, dtype=info.dtype, endpoint=True)
    edges = np.array([0, 1, -1, 2, 3, 7, info.min, info.max, info.min + 1, info.max - 1], info.dtype)
    return np.roll(np.concatenate([drawn, rng.integers(-9, 9, 200).astype(info.dtype), edges]), 7 * seed)


def _wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _saturated(value: int, bits: int) -> int:
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, value))


def _unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


INTEGERS: dict[str, tuple[int, Callable[..., int]]] = {
    "popcount": (1, lambda w, x: _unsigned(x, w).bit_count()),
    "ctpop": (1, lambda w, x: _unsigned(x, w).bit_count()),
    "clz": (1, lambda w, x: w - _unsigned(x, w).bit_length()),
    "ctz": (1, lambda w, x: (x & -x).bit_length() - 1 if x else w),
    "bitreverse": (1, lambda w, x: int(f"{_unsigned(x, w):0{w}b}"[::-1], 2)),
    "fshl": (3, lambda w, x, y, s: ((_unsigned(x, w) << w | _unsigned(y, w)) << _unsigned(s, w) % w) >> w),
    "fshr": (3, lambda w, x, y, s: (_unsigned(x, w) << w | _unsigned(y, w)) >> _unsigned(s, w) % w),
    "gcd": (2, lambda w, x, y: math.gcd(x, y)),
    "lcm": (2, lambda w, x, y: math.lcm(x, y)),
    "sadd_sat": (2, lambda w, x, y: _saturated(x + y, w)),
    "ssub_sat": (2, lambda w, x, y: _saturated(x - y, w)),
    "uadd_sat": (2, lambda w, x, y: min(_unsigned(x, w) + _unsigned(y, w), (1 << w) - 1)),
    "usub_sat": (2, lambda w, x, y: max(_unsigned(x, w) - _unsigned(y, w), 0)),
    "abs": (1, lambda w, x: abs(x)),
    "sign": (1, lambda w, x: (x > 0) - (x < 0)),
    "square": (1, lambda w, x: x * x),
    "floordiv": (2, lambda w, x, y: x // y),
    "floormod": (2, lambda w, x, y: x % y),
    "clip": (3, lambda w, x, a, b: min(max(x, a), b)),
}


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integer_intrinsic(name: str, dtype: str) -> None:
    count, function = INTEGERS[name]
    operands = [_patterns(dtype, seed) for seed in range(count)]
    bits = operands[0].itemsize * 8
    if name.startswith("floor"):
        operands[1][(operands[1] == 0) | (operands[1] == -1)] = 3  # division by 0, and the overflow
    got = run_intrinsic(f"tir.{name}", *operands)
    expected = [_wrapped(function(bits, *map(int, values)), bits) for values in zip(*operands, strict=True)]
    assert got.tolist() == expected


@given(st.lists(st.tuples(*[st.integers(-(2**31), 2**31 - 1)] * 2, st.integers(-31, 7)), min_size=1, max_size=20))
@draws(10)
def test_q_multiply_shift(rows: list[tuple[int, int, int]]) -> None:
    x, y, s = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    y = y >> 8
    got = run_intrinsic("tir.q_multiply_shift", x, y, s, attributes="{q = 31 : i64}")
    expected = [
        _wrapped(math.floor((int(a) * int(b) << 100 >> (31 - int(c))) + (1 << 99)) >> 100, 32)
        for a, b, c in zip(x, y, s, strict=True)
    ]
    assert got.tolist() == expected


@pytest.mark.parametrize(("left", "right"), [(True, True), (True, False), (False, True)])
def test_q_multiply_shift_per_axis(left: bool, right: bool) -> None:
    x, y = np.array([1000, -77, 5, 2**20], np.int32), np.array([2**30, 2**29, -(2**30), 12345678], np.int32)
    ls, rs = np.array([1, 2, 3, 4], np.int32), np.array([2, 1, 0, 3], np.int32)
    flags = f"is_lshift_required = {str(left).lower()}, is_rshift_required = {str(right).lower()}"
    got = run_intrinsic("tir.q_multiply_shift_per_axis", x, y, ls, rs, attributes=f"{{q = 31 : i64, {flags}}}")
    shifts = [31 + int(r) * right for r in rs]
    rows = zip(x, y, ls, shifts, strict=True)
    assert got.tolist() == [((int(a) << int(s) * left) * int(b) + (1 << r - 1)) >> r for a, b, s, r in rows]


QUESTIONS: dict[str, Callable[[Array], Array]] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isposinf": lambda x: x == np.inf,
    "isneginf": lambda x: x == -np.inf,
    "isnormal": lambda x: np.isfinite(x) & (np.abs(x) >= ml_dtypes.finfo(x.dtype).tiny),
    "signbit": np.signbit,
}


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_question(name: str, dtype: str) -> None:
    x = samples(NUMPY_TYPES[dtype], 200, 0)
    got = run_intrinsic(f"tir.{name}", x, outs=["i1"])
    assert got.tolist() == QUESTIONS[name](x).tolist()


def _same(got: Array, expected: Array) -> bool:
    """Compare with signs of zeros, and with equal NaNs."""
    return np.array_equal(got, expected, equal_nan=True) and not np.any(
        (np.signbit(got) != np.signbit(expected)) & ~np.isnan(expected)
    )


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_nextafter(dtype: str) -> None:
    x = samples(NUMPY_TYPES[dtype], 200, 0)
    y = np.roll(x, 7)
    assert _same(run_intrinsic("tir.nextafter", x, y), np.nextafter(x, y))


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_spacing(dtype: str) -> None:
    x = samples(NUMPY_TYPES[dtype], 200, 0)
    x = x[~(np.abs(x) == np.finfo(x.dtype).max)]
    with np.errstate(all="ignore"):
        # Like np.spacing, which gives a result without a sign for f16.
        gap = np.nextafter(np.abs(x), x.dtype.type(np.inf)) - np.abs(x)
    assert _same(run_intrinsic("tir.spacing", x), np.where(x < 0, -gap, gap))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_frexp(dtype: str) -> None:
    x = samples(NUMPY_TYPES[dtype], 200, 0)
    mantissa, exponent = run_intrinsic("tir.frexp", x, outs=[dtype, "i32"])
    expected, expected_exponent = np.frexp(x.astype(np.float64))
    assert _same(mantissa.astype(np.float64), expected)
    finite = np.isfinite(x)
    assert exponent[finite].tolist() == expected_exponent[finite].tolist()


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_modf(dtype: str) -> None:
    x = samples(NUMPY_TYPES[dtype], 200, 0)
    fraction, whole = run_intrinsic("tir.modf", x, outs=[dtype, dtype])
    expected = np.modf(x.astype(np.float64))
    assert _same(fraction.astype(np.float64), expected[0]) and _same(whole.astype(np.float64), expected[1])


@pytest.mark.parametrize("name", ["ldexp", "scalbn"])
@pytest.mark.parametrize(("dtype", "exponents"), [("f32", "i32"), ("f64", "i32"), ("f64", "i8"), ("f16", "i64")])
def test_ldexp_rounds_once(name: str, dtype: str, exponents: str) -> None:
    x = samples(NUMPY_TYPES[dtype], 400, 0)
    rng = np.random.default_rng(1)
    n = rng.integers(-120, 120, x.size) * (1 if exponents == "i8" else rng.integers(1, 20, x.size))
    n = n.astype(NUMPY_TYPES[exponents])
    with np.errstate(all="ignore"):
        expected = np.ldexp(x.astype(LONG), n.astype(np.int64)).astype(x.dtype)
    assert _same(run_intrinsic(f"tir.{name}", x, n), expected)


def test_ilogb() -> None:
    x = np.array([1.0, 0.75, -8.0, 1e-40, 3e38, 0.0, np.inf, np.nan], np.float32)
    assert run_intrinsic("tir.ilogb", x, outs=["i32"]).tolist() == [
        0, -1, 3, -133, 127, -(2**31), 2**31 - 1, -(2**31)]  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), [("lround", [3, -3, 2, 4]), ("lrint", [2, -2, 2, 4])])
def test_rounding_to_integers(name: str, expected: list[int]) -> None:
    x = np.array([2.5, -2.5, 1.75, 3.5], np.float32)
    assert run_intrinsic(f"tir.{name}", x, outs=["i64"]).tolist() == expected
    got = run_intrinsic(f"tir.{name}", x, outs=["i16"], attributes="{dtype = i16}")
    assert got.tolist() == expected


def test_remquo() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(300) * 50, rng.standard_normal(300)
    rest, quotient = run_intrinsic("tir.remquo", x, y, outs=["f64", "i32"])
    expected = [math.remainder(a, b) for a, b in zip(x, y, strict=True)]
    assert rest.tolist() == expected
    whole = np.rint((x - rest) / y).astype(int)
    assert np.array_equal(quotient % 8, whole % 8) and np.all(quotient * np.sign(whole) >= 0)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_floordiv_of_floats(dtype: str) -> None:
    x, y = samples(NUMPY_TYPES[dtype], 100, 0)[100:], samples(NUMPY_TYPES[dtype], 100, 1)[100:]
    with np.errstate(all="ignore"):
        expected = np.floor_divide(x, y)
    got = run_intrinsic("tir.floordiv", x, y)
    assert np.array_equal(got, expected, equal_nan=True)


def test_tanpi_and_sinc() -> None:
    x = np.array([0.0, -0.0, 0.25, 0.5, 1.0, -0.5, 1.5, 2.0, 1e30, np.inf])
    with np.errstate(all="ignore"):
        tangent, sinc = run_intrinsic("tir.tanpi", x), run_intrinsic("tir.sinc", x)
    expected = np.array([0, -0.0, 1, np.inf, -0.0, -np.inf, -np.inf, 0, 0, np.nan])
    assert _same(tangent, expected)
    assert np.allclose(sinc[:8], np.sinc(x[:8]), rtol=0, atol=1e-15) and sinc[8] == 0


def test_tanpi_next_to_its_poles() -> None:
    """Check numbers next to a half, also where the distance to the integer below rounds to a half."""
    poles = np.array([0.5, -0.5, 1.5, -1.5, 7.5, -7.5], np.float32)
    x = np.concatenate([np.nextafter(poles, np.inf), np.nextafter(poles, -np.inf)], dtype=poles.dtype)
    got = run_intrinsic("tir.tanpi", x)
    error = distance(got, ORACLES["tanpi"].function(x.astype(LONG)))
    assert error.max() < 4, f"tanpi({x[np.argmax(error)]!r}) = {got[np.argmax(error)]!r}"


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sigmoid", "sin", "cos", "pow", "gcd", "lgamma"])
def test_vectors_give_what_scalars_give(name: str) -> None:
    dtype = "i32" if name == "gcd" else "f32"
    operands = [_patterns("i32")[:64] if dtype == "i32" else samples(NUMPY_TYPES[dtype], 16, 3)[:64]]
    operands *= 2 if name in ("pow", "gcd") else 1
    one = run_intrinsic(f"tir.{name}", *operands)
    several = run_intrinsic(f"tir.{name}", *operands, lanes=16)
    assert np.array_equal(one, several, equal_nan=dtype == "f32")


FAST = {"exp": 80, "sigmoid": 80, "sin": 100, "cos": 100}


@pytest.mark.parametrize("dtype", ["bf16", "f32", "f64"])
@pytest.mark.parametrize("name", FAST)
def test_fast_math_is_near(name: str, dtype: str) -> None:
    x = np.linspace(-FAST[name], FAST[name], 999).astype(NUMPY_TYPES[dtype])
    got = run_intrinsic(f"tir.{name}", x, fast_math=True)
    error = distance(got, ORACLES[name].function(x.astype(LONG)))
    is_far_from_0 = np.abs(got.astype(np.float64)) > 0.01 if name in ("sin", "cos") else np.ones(x.size, bool)
    assert error[is_far_from_0].max() < (8 if dtype != "f64" else 40)


def test_fast_tanh_and_log() -> None:
    x = np.linspace(-30, 30, 999)
    assert np.abs(run_intrinsic("tir.tanh", x, fast_math=True) - np.tanh(x)).max() < 1e-15
    positive = np.exp(x)
    assert np.abs(run_intrinsic("tir.log", positive, fast_math=True) - np.log(positive)).max() < 1e-14
