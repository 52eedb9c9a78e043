# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions that NumPy lacks, for several dialects. Floats are f64."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy

from .held_values import Elements, stored
from .integers import low_bits, width


def by_element(function: Callable[..., float]) -> Callable[..., Elements]:
    """Apply a function of Python floats to arrays, element by element."""

    def found(*arrays: Elements) -> Elements:
        wanted = numpy.broadcast(*arrays)
        return numpy.array([function(*map(float, each)) for each in wanted], float).reshape(wanted.shape)[()]

    return found


erf = by_element(math.erf)
erfc = by_element(math.erfc)


def _gamma(x: float) -> float:
    if math.isnan(x) or x == -math.inf or (x < 0 and x == math.floor(x)):
        return math.nan
    if x == 0:
        return math.copysign(math.inf, x)
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf


def _log_gamma(x: float) -> float:
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else math.lgamma(x)


def _remainder(x: float, y: float) -> float:
    return math.nan if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0 else math.remainder(x, y)


def _fma(x: float, y: float, z: float) -> float:
    if not all(map(math.isfinite, (x, y, z))):
        # Infinite factors and infinite sums need no rounding.
        return x * y + z if not (math.isfinite(x) and math.isfinite(y)) else z
    if not (total := Fraction(x) * Fraction(y) + Fraction(z)):
        return x * y + z
    try:
        return float(total)
    except OverflowError:
        return math.copysign(math.inf, total)


gamma = by_element(_gamma)
log_gamma = by_element(_log_gamma)
remainder = by_element(_remainder)
exact_fma = by_element(_fma)


def rounded_away(x: Elements) -> Elements:
    """Round to the nearest integer, halves away from zero."""
    return numpy.copysign(numpy.where(numpy.abs(x) < 2**52, numpy.floor(numpy.abs(x) + 0.5), numpy.abs(x)), x)[()]


def smallest_normal(dtype: str) -> float:
    return float(ml_dtypes.finfo(stored(dtype)).smallest_normal)


def is_normal(x: Elements, dtype: str) -> Elements:
    return numpy.isfinite(x) & (numpy.abs(x) >= smallest_normal(dtype))


# ---- integers ----


def integer_power(x: Elements, y: Elements, dtype: str) -> Elements:
    """Return x**y. For a negative y the inverse is an integer only for 1 and -1."""
    bits = width(dtype)

    def power(base: int, exponent: int) -> int:
        if exponent >= 0:
            return pow(base, exponent, 1 << bits) if base >= 0 else pow(base, exponent)
        return base**-exponent if base in (1, -1) else 0

    wanted = numpy.broadcast(x, y)
    values = [power(int(base), int(exponent)) for base, exponent in wanted]
    return low_bits(numpy.array(values, object).reshape(wanted.shape), dtype)


def _apply_by_integer(function: Callable[[int, int], int]) -> Callable[[Elements, int], Elements]:
    """Apply a function of unsigned integers and of their width to arrays."""

    def found(x: Elements, bits: int) -> Elements:
        values = [function(int(each), bits) for each in numpy.ravel(x)]
        return numpy.array(values, numpy.uint64).reshape(numpy.shape(x))[()]

    return found


bits_set = _apply_by_integer(lambda x, bits: bin(x).count("1"))
zeros_before = _apply_by_integer(lambda x, bits: bits - x.bit_length())
zeros_after = _apply_by_integer(lambda x, bits: (x & -x).bit_length() - 1 if x else bits)
bits_reversed = _apply_by_integer(lambda x, bits: int(f"{x:0{bits}b}"[::-1], 2))
