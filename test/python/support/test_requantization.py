# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requantize against exact fractions of Python, gemmlowp's formulas, and TFLite's QuantizeMultiplier."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import pytest
from relax_mlir.support.requantization import FRACTION_BITS, ROUNDINGS, Multiplier

import relax_mlir as rx

HALF = Fraction(1, 2)
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}


def _half_even(x: Fraction) -> int:
    return round(x)


def _half_up(x: Fraction) -> int:
    return math.floor(x + HALF)


def _half_down(x: Fraction) -> int:
    return math.ceil(x - HALF)


EXACT: dict[str, Callable[[Fraction], int]] = {
    "half_even": _half_even,
    "half_up": _half_up,
    "half_down": _half_down,
    "half_away": lambda x: _half_up(x) if x > 0 else _half_down(x),
    "half_to_zero": lambda x: _half_down(x) if x > 0 else _half_up(x),
    "up": math.ceil,
    "down": math.floor,
    "to_zero": math.trunc,
}
FORMS = ("float", "q31>>shift", "q15>>shift", "power_of_two")


def sums_of(random: Any, count: int) -> Any:
    """Return sums of all magnitudes, with the limits and small numbers."""
    wide = random.integers(-(2**31), 2**31, count) >> random.integers(0, 31, count)
    return numpy.concatenate([[-(2**31), 2**31 - 1, -1, 0, 1], numpy.arange(-40, 40), wide]).astype("int32")


def exact(how: rx.Requantize, total: int, multiplier: Any, shift: int, zero: int, dtype: str) -> int:
    """Return the result by exact fractions."""
    if how.form == "float":
        product = float(numpy.float32(total) * numpy.float32(multiplier))
        whole = max(-(2**31), min(2**31 - 1, EXACT[how.rounding](Fraction(product))))
    elif how.double_rounding:
        whole = doubled(total, int(multiplier), shift, how.rounding)
    else:
        factor = 1 if how.form == "power_of_two" else int(multiplier)
        power = Fraction(2) ** -(FRACTION_BITS[how.form] + shift)
        whole = EXACT[how.rounding](total * factor * power)
    low, high = LIMITS[dtype]
    if how.saturate:
        return max(low, min(high, whole + zero))
    return (whole + zero - low) % (high - low + 1) + low


def doubled(total: int, multiplier: int, shift: int, rounding: str) -> int:
    """Return MultiplyByQuantizedMultiplier with another rounding of its shift, by fractions."""
    shifted = (total * 2 ** max(-shift, 0) + 2**31) % 2**32 - 2**31
    high = min(_half_up(Fraction(shifted * multiplier, 2**31)), 2**31 - 1)
    return EXACT[rounding](Fraction(high, 2 ** max(shift, 0)))


def parameters(how: rx.Requantize, random: Any, count: int) -> Multiplier:
    """Return parameters of all magnitudes, and some that give ties."""
    reals = 2.0 ** random.uniform(-12, 3, count)
    reals[::3] = 2.0 ** random.integers(-12, 3, reals[::3].size)
    return how.parameters(reals)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("form", [*FORMS, "double"])
def test_every_mode_against_fractions(form: str, rounding: str) -> None:
    random = numpy.random.default_rng(7)
    is_double = form == "double"
    for saturate, dtype in ((True, "int8"), (True, "int32"), (False, "uint8"), (False, "int16")):
        how = rx.Requantize("q31>>shift" if is_double else form, rounding, saturate, is_double)
        sums = sums_of(random, 215)
        chosen = parameters(how, random, sums.size)
        zeros = random.integers(-20, 20, sums.size)
        found = how.apply(sums, chosen, zeros, dtype)
        expected = [
            exact(how, int(total), scale, int(shift), int(zero), dtype)
            for total, scale, shift, zero in zip(sums, *chosen, zeros, strict=True)
        ]
        assert found.dtype == dtype and found.tolist() == expected


@pytest.mark.parametrize("form", [*FORMS[1:], "double"])
def test_limits_of_shifts_and_multipliers(form: str) -> None:
    """Every i32 multiplier and every shift stays exact, though `parameters` returns normalized ones."""
    is_double = form == "double"
    sums = numpy.array([-(2**31), 2**31 - 1, -1, 1, 3, -3, 12345], "int32")
    for rounding in ROUNDINGS:
        how = rx.Requantize("q31>>shift" if is_double else form, rounding, True, is_double)
        kind = numpy.dtype("int16" if how.form == "q15" else "int32")
        for scale in (numpy.iinfo(kind).min, numpy.iinfo(kind).max, -1, 0, 1):
            for shift in (-31, -16, -15, -1, 0, 1, 30, 31):
                chosen = Multiplier(numpy.array(scale, kind), numpy.array(shift, "int32"))
                found = how.apply(sums, chosen, 5, "int32")
                assert found.tolist() == [exact(how, int(total), scale, shift, 5, "int32") for total in sums]


def test_double_rounding_is_gemmlowps() -> None:
    """Compare with the formulas in C, with a division that truncates."""

    def multiply(x: int, quantized: int, shift: int) -> int:
        product = (x << max(-shift, 0)) * quantized
        nudged = product + (2**30 if product >= 0 else 1 - 2**30)
        high = abs(nudged) // 2**31 * (1 if nudged >= 0 else -1)
        mask = (1 << max(shift, 0)) - 1
        return (high >> max(shift, 0)) + ((high & mask) > (mask >> 1) + (high < 0))

    random = numpy.random.default_rng(3)
    how = rx.Requantize("q31>>shift", "half_away", double_rounding=True)
    sums = random.integers(-(2**27), 2**27, 500).astype("int32")
    chosen = how.parameters(2.0 ** random.uniform(-12, 3, 500))
    found = how.apply(sums, chosen, 0, "int32")
    assert found.tolist() == [multiply(int(x), int(m), int(s)) for x, m, s in zip(sums, *chosen, strict=True)]
    once = rx.Requantize("q31>>shift", "half_away").apply(sums, chosen, 0, "int32")
    assert 0 < numpy.count_nonzero(once != found) < 50


def test_parameters_are_tflites() -> None:
    """TFLite's tests of QuantizeMultiplier, with the opposite sign of the shift."""
    how = rx.Requantize("q31>>shift")
    cases = {0.25: (2**30, 1), 0.5: (2**30, 0), 1.0: (2**30, -1), 1 - 2.0**-40: (2**30, -1), 2.0**-32: (2**30, 31)}
    cases |= {math.pi: (1686629713, -2), 0.7: (1503238554, 0), 2.0**30: (2**30, -31)}
    found = how.parameters(list(cases))
    assert list(zip(found.multiplier.tolist(), found.shift.tolist(), strict=True)) == list(cases.values())
    assert found.multiplier.dtype == found.shift.dtype == "int32"
    single = how.parameters(0.7)
    assert single.multiplier.shape == single.shift.shape == () and single.multiplier == 1503238554
    short = rx.Requantize("q15>>shift").parameters([0.7, 1 - 2.0**-17])
    assert short.multiplier.dtype == "int16" and short.multiplier.tolist() == [22938, 2**14]
    assert short.shift.tolist() == [0, -1]


def test_reals() -> None:
    reals = 2.0 ** numpy.random.default_rng(2).uniform(-20, 8, 100)
    for form, error in (("float", 2.0**-24), ("q31>>shift", 2.0**-31), ("q15>>shift", 2.0**-15)):
        how = rx.Requantize(form)
        assert numpy.all(abs(how.reals(how.parameters(reals)) / reals - 1) <= error)
    power = rx.Requantize("power_of_two")
    assert power.reals(power.parameters([0.25, 0.37, 0.38, 3.1, 2.9])).tolist() == [0.25, 0.25, 0.5, 4, 2]
    assert power.parameters(0.25) == (1, 2)


def test_axes_and_types() -> None:
    how = rx.Requantize("power_of_two")
    sums = numpy.array([[5, 6, 7], [-5, -6, -7]], "int32")
    assert how.apply(sums, how.parameters([1, 0.5, 0.25]), [0, 1, 2], "i8").tolist() == [[5, 4, 4], [-5, -2, 0]]
    assert how.apply(sums, how.parameters([1, 0.5]), 0, numpy.int16, axis=0).tolist() == [[5, 6, 7], [-2, -3, -4]]
    assert how.apply(sums, how.parameters([1.0]), 0, "int4").dtype.name == "int4"
    assert how.apply(sums, how.parameters(2), 0, "ui4").astype(int).tolist() == [[10, 12, 14], [0, 0, 0]]
    wrapped = rx.Requantize("power_of_two", saturate=False).apply(sums, how.parameters(2), 0, "i4")
    assert wrapped.astype(int).tolist() == [[-6, -4, -2], [6, 4, 2]]
    assert how.attributes() == {
        "form": "power_of_two", "rounding": "half_even", "saturate": True, "double_rounding": False
    }  # fmt: skip


BYTES = numpy.ones((2, 3), "int32")
ONE = Multiplier(numpy.array(2**30, "int32"), numpy.array(0, "int32"))


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: rx.Requantize("q31>shift"), "multiplier= expects one of 'float', .*; did you mean 'q31>>shift'"),
        (
            lambda: rx.Requantize(rounding="half-evn"),
            "rounding= expects one of .*, got 'half-evn'; did you mean 'half_",
        ),
        (lambda: rx.Requantize(saturate=1), "saturate= expects true or false, got 1"),  # type: ignore[arg-type]
        (lambda: rx.Requantize(double_rounding=True), "double_rounding=True expects multiplier='q31>>shift', got 'flo"),
        (lambda: rx.Requantize().parameters([1, 0.0]), "channel 1: the real multiplier is 0.0, expected a finite numb"),
        (lambda: rx.Requantize().parameters([-0.5]), "channel 0: the real multiplier is -0.5, expected a finite numbe"),
        (lambda: rx.Requantize().parameters(math.nan), "parameters: the real multiplier is nan, expected a finite num"),
        (lambda: rx.Requantize().parameters(math.inf), "the real multiplier is inf, expected a finite number greater"),
        (lambda: rx.Requantize().parameters(1e39), r"the real multiplier is 1e\+39, expected a number in the range of"),
        (lambda: rx.Requantize().parameters(1e-60), "the real multiplier is 1e-60, expected a number in the range of "),
        (lambda: rx.Requantize().parameters([[1.0]]), r"have shape \(1, 1\), expected one number, or one per channel"),
        (
            lambda: rx.Requantize("q31>>shift").parameters([1, 2.0**31]),
            "channel 1: the real multiplier 2147483648.0 needs a shift of -32, expected -31 to 31",
        ),
        (
            lambda: rx.Requantize("q15>>shift").parameters(2.0**-40),
            "parameters: the real multiplier 9.09.* needs a shift of 39, expected -31 to 31",
        ),
        (lambda: rx.Requantize("q31>>shift").apply([2**40], ONE, 0, "i8"), "sums are int64, expected integers that fi"),
        (lambda: rx.Requantize("q15>>shift").apply(BYTES, ONE, 0, "i8"), "multiplier is int32, expected int16 for fo"),
        (lambda: rx.Requantize("q31>>shift").apply(BYTES, ONE, 0.5, "i8"), "zero_point= is float64, expected integer"),
        (lambda: rx.Requantize("q31>>shift").apply(BYTES, ONE, 2**32, "i8"), "zero_point= contains 4294967296, expec"),
        (lambda: rx.Requantize("q31>>shift").apply(BYTES, ONE, 0, "f32"), "dtype= expects an integer type of at most"),
        (
            lambda: rx.Requantize("q31>>shift").apply(BYTES, ONE, [1, 2], "i8"),
            r"zero_point= has shape \(2,\), expected 1 element, or 3 as the sums have along axis -1",
        ),
        (lambda: rx.Requantize("q31>>shift").apply(BYTES, ONE, [1, 2], "i8", axis=2), "axis= expects -2 to 1, got 2"),
        (
            lambda: rx.Requantize("q31>>shift").apply(BYTES, ONE._replace(shift=numpy.array(32)), 0, "i8"),
            "shift= contains 32, expected -31 to 31",
        ),
    ],
)
def test_refusals(refused: Callable[[], object], message: str) -> None:
    with pytest.raises(rx.OptionError, match=message):
        refused()
