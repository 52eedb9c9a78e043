# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""asin, acos, atan, atan2: a polynomial near 0, and identities that lead there."""

from __future__ import annotations

import math

from ....emit.numbers import Number, bits_of, fma, select
from .expansion import expansion, fitted, magnitude, parts, square_root, with_sign_of

PI = (math.pi, 1.2246467991473532e-16)
HALF_PI = (math.pi / 2, 6.123233995736766e-17)
QUARTER_PI = (math.pi / 4, 3.061616997868383e-17)
_TAN_EIGHTH_PI, _TAN_3_EIGHTHS_PI = math.sqrt(2) - 1, math.sqrt(2) + 1


def _atan_of_ratio(top: Number, bottom: Number) -> Number:
    """atan(top / bottom) for numbers that are not negative, with one division.

    atan(t) is pi/4 + atan((t - 1) / (t + 1)) and pi/2 - atan(1 / t).
    """
    is_large = top > bottom * _TAN_3_EIGHTHS_PI
    is_middle = (top > bottom * _TAN_EIGHTH_PI) ^ is_large
    numerator = select(is_large, -bottom, select(is_middle, top - bottom, top))
    denominator = select(is_large, top, select(is_middle, top + bottom, bottom))
    t = numerator / denominator
    z = t * t
    half, half_low = parts(t, *HALF_PI)
    quarter, quarter_low = parts(t, *QUARTER_PI)
    start = select(is_large, half, select(is_middle, t.constant(quarter), 0.0))
    start_low = select(is_large, half_low, select(is_middle, t.constant(quarter_low), 0.0))
    return start + (t + fma(t * z, fitted("atan", z), start_low))


@expansion("tir.atan")
def atan(x: Number) -> Number:
    return with_sign_of(_atan_of_ratio(magnitude(x), x.constant(1.0)), x)


@expansion("tir.atan2")
def atan2(y: Number, x: Number) -> Number:
    top, bottom = magnitude(y), magnitude(x)
    # The sums of both must not overflow, and infinities count as equal.
    is_huge = (top > 2.0**120) | (bottom > 2.0**120) if x.dtype == "f32" else (top > 2.0**1000) | (bottom > 2.0**1000)
    both_infinite = (top == math.inf) & (bottom == math.inf)
    top = select(both_infinite, 1.0, select(is_huge, top * 0.125, top))
    bottom = select(both_infinite, 1.0, select(is_huge, bottom * 0.125, bottom))
    bottom = select((top == 0.0) & (bottom == 0.0), 1.0, bottom)
    angle = _atan_of_ratio(top, bottom)
    high, low = parts(x, *PI)
    angle = select(bits_of(x) < 0, high - (angle - low), angle)
    return with_sign_of(select(x == x, angle, x), y)


def _asin_near_0(x: Number) -> Number:
    """asin for |x| up to 1/2."""
    z = x * x
    return fma(x * z, fitted("asin", z), x)


def _half_complement(size: Number) -> Number:
    """asin(sqrt((1 - size) / 2)), half of acos(size); NaN beyond 1."""
    return _asin_near_0(square_root((1.0 - size) * 0.5))


@expansion("tir.asin")
def asin(x: Number) -> Number:
    size = magnitude(x)
    high, low = parts(x, *HALF_PI)
    far = high - fma(_half_complement(size), 2.0, -low)
    return with_sign_of(select(size > 0.5, far, _asin_near_0(size)), x)


@expansion("tir.acos")
def acos(x: Number) -> Number:
    size = magnitude(x)
    twice = _half_complement(size) * 2.0
    high, low = parts(x, *PI)
    far = select(x < 0.0, high - (twice - low), twice)
    half, half_low = parts(x, *HALF_PI)
    near = half - (_asin_near_0(x) - half_low)
    return select(size > 0.5, far, near)
