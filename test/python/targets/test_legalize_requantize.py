# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax.requantize, compiled and run, equals rx.Requantize.apply in each bit."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy
import pytest
from prim_jit import run_op
from relax_mlir.support.requantization import ROUNDINGS, Multiplier

import relax_mlir as rx

CHANNELS = 16
FORMS = ("float", "q31>>shift", "q15>>shift", "power_of_two", "double")
ARITHMETICS = [(form, rounding) for form in FORMS for rounding in ROUNDINGS]
#: Result types with types of the zero point.
RESULTS = [("int8", "int8"), ("uint8", "uint8"), ("int16", "int32"), ("int8", "int32"), ("int32", "int32")]
RESULTS += [("uint16", "uint16"), ("int4", "int4"), ("uint32", "uint32")]


def arithmetic(form: str, rounding: str, saturate: bool = True) -> rx.Requantize:
    is_double = form == "double"
    return rx.Requantize("q31>>shift" if is_double else form, rounding, saturate, is_double)


def sums_of(random: Any, rows: int) -> Any:
    """Return sums of all magnitudes: the limits of i32, small numbers, and odd multiples of powers of two."""
    wide = random.integers(-(2**31), 2**31, (rows, CHANNELS)) >> random.integers(0, 31, (rows, CHANNELS))
    wide[:3] = [[-(2**31)], [2**31 - 1], [-(2**31) + 1]]
    wide[3:83] = numpy.arange(-40, 40)[:, None]
    # Multipliers that are powers of two make ties of them.
    odd = random.integers(-300, 300, (rows // 4, CHANNELS)) * 2 + 1
    wide[83 : 83 + len(odd)] = odd << random.integers(0, 12, odd.shape)
    return wide.astype("int32")


def reals_of(random: Any, shape: tuple[int, ...]) -> Any:
    """Return multipliers of all magnitudes. Half of several, or of the draws of a single one, are powers of two."""
    reals = 2.0 ** random.uniform(-14, 4, shape)
    powers = 2.0 ** random.integers(-14, 4, shape)
    is_power = numpy.arange(CHANNELS) % 2 == 0 if shape else bool(random.integers(2))
    return numpy.where(is_power, powers, reals)


def zeros_of(random: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    limits = ml_dtypes.iinfo(getattr(ml_dtypes, dtype, dtype))
    wide = random.integers(int(limits.min), int(limits.max), shape, endpoint=True)
    near = numpy.asarray(wide % 200 if dtype in ("int32", "uint32") else wide)
    return near.astype("int64").astype(getattr(ml_dtypes, dtype, dtype))


def check(how: rx.Requantize, random: Any, rows: int, result: str, zero_type: str, **shapes: Any) -> None:
    """Compare the compiled operator with the reference."""
    shape = shapes.pop("shape")
    sums = sums_of(random, rows)
    chosen = how.parameters(reals_of(random, shape))
    zero = zeros_of(random, zero_type, shapes.pop("zero_shape", shape))
    symbols = (("n", CHANNELS), shape, shape, zero.shape)
    found = run_op("relax.requantize", sums, *chosen, zero, symbols=symbols, out_dtype=result, **how.attributes())
    expected = how.apply(sums, chosen, zero, result)
    assert found.dtype == expected.dtype
    assert numpy.count_nonzero(found.astype("int64") != expected.astype("int64")) == 0


@pytest.mark.parametrize(("form", "rounding"), ARITHMETICS)
def test_every_arithmetic(form: str, rounding: str) -> None:
    """Each arithmetic has another of the result types."""
    index = ARITHMETICS.index((form, rounding))
    random = numpy.random.default_rng(index)
    shape = () if index % 3 == 2 else (CHANNELS,)
    # The index in the form shifts the types between forms.
    result, zero_type = RESULTS[(index + index // 8) % len(RESULTS)]
    check(arithmetic(form, rounding, index % 4 != 1), random, 640, result, zero_type, shape=shape)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "rounding"), ARITHMETICS)
def test_a_million_sums(form: str, rounding: str) -> None:
    """Every arithmetic with every result type, clamped or not, for tensors and for channels: a million sums each."""
    random = numpy.random.default_rng(ARITHMETICS.index((form, rounding)) + 1000)
    for (result, zero_type), saturate in itertools.product(RESULTS, (True, False)):
        how = arithmetic(form, rounding, saturate)
        check(how, random, 31_250, result, zero_type, shape=(CHANNELS,))
        check(how, random, 31_250, result, zero_type, shape=(), zero_shape=(CHANNELS,))


@pytest.mark.parametrize("form", FORMS[1:])
def test_extreme_parameters(form: str) -> None:
    """Multipliers of all bits and shifts of all integers have a result. Far shifts count as the limits."""
    sums = numpy.array([-(2**31), 2**31 - 1, -1, 0, 1, 3, -3, 12345], "int32")
    shifts = (-(2**31), -31, -17, -1, 0, 1, 31, 32, 2**31 - 1)
    for rounding in ROUNDINGS:
        how = arithmetic(form, rounding)
        kind = numpy.dtype("int16" if how.form == "q15" else "int32")
        scales = [numpy.iinfo(kind).min, numpy.iinfo(kind).max, -1, 0, 1]
        scale, shift = numpy.array(list(itertools.product(scales, shifts))).T
        chosen = Multiplier(scale.astype(kind), shift.clip(-31, 31).astype("int32"))
        grid = numpy.ascontiguousarray(numpy.broadcast_to(sums[:, None], (len(sums), len(scale))))
        zero = numpy.array(5, "int32")
        operands = (grid, chosen.multiplier, shift.astype("int32"), zero)
        found = run_op("relax.requantize", *operands, out_dtype="int32", **how.attributes())
        numpy.testing.assert_array_equal(found, how.apply(grid, chosen, zero, "int32"))


def test_special_floats() -> None:
    """Products out of range saturate to i32, and NaN counts as 0."""
    sums = numpy.array([[-(2**31), 0, 7, 2**31 - 1]], "int32").T
    scales = numpy.array([numpy.inf, -numpy.inf, numpy.nan, 1e38, 1e-45, 0.0, -1.0, 1.0], "float32")
    chosen = Multiplier(scales, numpy.zeros(8, "int32"))
    for rounding, saturate, (result, zero_type) in itertools.product(ROUNDINGS, (True, False), RESULTS[:5]):
        if rounding in ("up", "down") and result != "int8":
            continue
        how = rx.Requantize("float", rounding, saturate)
        grid, zero = numpy.ascontiguousarray(numpy.broadcast_to(sums, (4, 8))), numpy.array(3, zero_type)
        found = run_op("relax.requantize", grid, *chosen, zero, out_dtype=result, **how.attributes())
        numpy.testing.assert_array_equal(found, how.apply(grid, chosen, zero, result))


def test_along_axes() -> None:
    random = numpy.random.default_rng(4)
    sums = random.integers(-999, 999, (2, 3, 4)).astype("int32")
    how = rx.Requantize("q31>>shift", "half_up")
    for axis, size in ((0, 2), (-2, 3), (1, 3), (-1, 4)):
        chosen, zero = how.parameters(random.uniform(0.01, 0.5, size)), random.integers(-9, 9, 1).astype("int8")
        found = run_op("relax.requantize", sums, *chosen, zero, axis=axis, **how.attributes())
        numpy.testing.assert_array_equal(found, how.apply(sums, chosen, zero, "int8", axis=axis))
    single = numpy.array(77, "int32")
    chosen = how.parameters([0.5])
    found = run_op("relax.requantize", single, *chosen, numpy.array(1, "int8"), **how.attributes())
    assert found == how.apply(single, chosen, 1, "int8") == 40


def test_sizes_that_do_not_fit() -> None:
    sums, one = numpy.ones((2, 3), "int32"), numpy.array(0, "int8")
    scale, shift = numpy.ones(2, "float32"), numpy.zeros(2, "int32")
    with pytest.raises(ValueError, match="sizes 2 and 3 differ"):
        run_op("relax.requantize", sums, scale, shift, one, symbols=(("n", "m"), ("k",), ("k",), ()))
