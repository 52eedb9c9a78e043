# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requantization of the vector unit: sign and magnitude, shifts and adds, as data_sheet.md describes it."""

from __future__ import annotations

import numpy

from .isa import FORMS, FRACTION_BITS, ROUNDINGS, Mode

Array = numpy.ndarray
_MOST, _LEAST = 2**31 - 1, -(2**31)
#: Bits of a float's significand.
_DIGITS = 24


def requantize(mode: Mode, result: str, sums: Array, multiplier: Array, shift: Array, zero: Array) -> Array:
    """Return the results as i32: the low bits of the result's type, with its highest bit as the sign.

    All operands are i32. Multipliers of form "float" are the bits of f32.
    """
    wide = [each.astype(numpy.int64) for each in (sums, multiplier, shift)]
    form, rounding = FORMS[mode.form], ROUNDINGS[mode.rounding]
    if form == "float":
        whole = _multiply_floats(wide[0], wide[1], rounding)
    elif mode.is_double:
        whole = _multiply_twice(*wide, rounding)
    else:
        whole = _multiply(*wide, form, rounding)
    whole = whole + zero
    bits, is_unsigned = int(result[1:]), result[0] == "u"
    if mode.saturate:
        low = 0 if is_unsigned else -(1 << bits - 1)
        whole = whole.clip(low, low + (1 << bits) - 1)
    unused = 64 - bits
    return (whole << unused >> unused).astype(numpy.int32)


def _multiply(sums: Array, multiplier: Array, shift: Array, form: str, rounding: str) -> Array:
    """Return sum * multiplier / 2**(bits + shift), rounded once."""
    product = abs(sums) if form == "power_of_two" else abs(sums) * abs(multiplier)
    is_negative = sums < 0 if form == "power_of_two" else (sums < 0) ^ (multiplier < 0)
    places = shift + FRACTION_BITS[form]
    product <<= (-places).clip(0)
    return _signed(_shifted(product, places.clip(0), is_negative, rounding), is_negative)


def _multiply_twice(sums: Array, multiplier: Array, shift: Array, rounding: str) -> Array:
    """Return the high half of the doubled product, ties up, then shifted to the right."""
    left = (sums << (-shift).clip(0)) << 32 >> 32
    is_negative = (left < 0) ^ (multiplier < 0)
    places = numpy.full_like(shift, 31)
    high = _signed(_shifted(abs(left) * abs(multiplier), places, is_negative, "half_up"), is_negative).clip(max=_MOST)
    return _signed(_shifted(abs(high), shift.clip(0), high < 0, rounding), high < 0)


def _multiply_floats(sums: Array, bits: Array, rounding: str) -> Array:
    """Return the product of floats as an integer, limited to i32. NaN is 0."""
    field, fraction = bits >> 23 & 255, bits & (1 << 23) - 1
    significand = fraction | (field > 0).astype(numpy.int64) << 23
    number, power = _float(abs(sums), numpy.zeros_like(sums))
    product, power = _float(number * significand, power + field.clip(1) - 150)
    is_negative = (sums < 0) ^ (bits < 0)
    # A significand shifted by 32 places is above i32 already, one shifted to the right by 60 below a half.
    whole = _shifted(product << power.clip(0, 32), (-power).clip(0, 60), is_negative, rounding)
    is_infinite = (field == 255) & (fraction == 0) & (sums != 0)
    whole = numpy.where(is_infinite, -_LEAST, numpy.where(field == 255, 0, whole))
    return _signed(whole, is_negative).clip(_LEAST, _MOST)


def _float(number: Array, power: Array) -> tuple[Array, Array]:
    """Return number * 2**power with at most 24 digits, rounded to even."""
    excess = (_length(number) - _DIGITS).clip(0)
    return _shifted(number, excess, numpy.zeros(number.shape, bool), "half_even"), power + excess


def _length(number: Array) -> Array:
    """Return the number of digits."""
    length = numpy.zeros_like(number)
    for step in (32, 16, 8, 4, 2, 1):
        is_longer = number >> step > 0
        length += step * is_longer
        number = numpy.where(is_longer, number >> step, number)
    return length + number


def _shifted(magnitude: Array, places: Array, is_negative: Array, rounding: str) -> Array:
    """Return a magnitude shifted to the right. The first lost bit, and the others together, decide on one more."""
    kept = magnitude >> places
    first = (magnitude << 1 >> places & 1).astype(bool)
    others = (magnitude & (1 << (places - 1).clip(0)) - 1) != 0
    is_odd = (kept & 1).astype(bool)
    is_more = {
        "half_even": first & (others | is_odd),
        "half_up": first & (others | ~is_negative),
        "half_down": first & (others | is_negative),
        "half_away": first,
        "half_to_zero": first & others,
        "up": (first | others) & ~is_negative,
        "down": (first | others) & is_negative,
        "to_zero": numpy.zeros_like(first),
    }[rounding]
    return kept + (is_more & (places > 0))


def _signed(magnitude: Array, is_negative: Array) -> Array:
    return numpy.where(is_negative, -magnitude, magnitude)
