# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sin, cos and tan: a polynomial after the reduction by quarter turns (quarter_turns.py).

The inverse functions use a polynomial near 0, and identities that map other arguments there.
"""

from __future__ import annotations

import math

from ....emit.arithmetic import bits_of, from_bits
from ....emit.numbers import Number, fma, select, unary
from .expansion import expansion, fitted, magnitude, nearest_integer, parts, pick, square_root, with_sign_of
from .quarter_turns import HALF_PI, Angle, reduced

PI = (math.pi, 1.2246467991473532e-16)


def _sin_near_0(angle: Angle) -> Number:
    r = angle.rest
    z = r * r
    y = fma(r * z, fitted("sin", z), r)
    return y if angle.rest_low is None else y + fma(angle.rest_low * -0.5, z, angle.rest_low)


def _cos_near_0(angle: Angle) -> Number:
    r = angle.rest
    z = r * r
    half = z * 0.5
    top = 1.0 - half
    # The rounding error of the subtraction is added to the small terms.
    small = fma(z * z, fitted("cos", z), (1.0 - top) - half)
    return top + (small if angle.rest_low is None else fma(-r, angle.rest_low, small))


def _negated_if(y: Number, bit: Number) -> Number:
    """Return -y if the lowest bit is set, else y."""
    return from_bits(bits_of(y) ^ (bit << (y.bits - 1)), y.element)


def _sin(angle: Angle, turn: int = 0) -> Number:
    """Return the sine, `turn` quarter turns ahead."""
    quarters = angle.quarters + turn if turn else angle.quarters
    is_odd = (quarters & 1) == 1
    return _negated_if(select(is_odd, _cos_near_0(angle), _sin_near_0(angle)), quarters >> 1)


def _tan(angle: Angle) -> Number:
    is_odd = (angle.quarters & 1) == 1
    sin, cos = _sin_near_0(angle), _cos_near_0(angle)
    return _negated_if(select(is_odd, cos, sin) / select(is_odd, sin, cos), angle.quarters)


@expansion("tir.sin")
def sin(x: Number) -> Number:
    return select(x == 0.0, x, _sin(reduced(x)))


@expansion("tir.cos")
def cos(x: Number) -> Number:
    return _sin(reduced(x), turn=1)


@expansion("tir.tan")
def tan(x: Number) -> Number:
    return select(x == 0.0, x, _tan(reduced(x)))


def _reduced_fast(x: Number) -> Angle:
    """Reduce an angle with an absolute error that grows with |x|. Beyond 2**20 the result is any number."""
    n_float, n = nearest_integer(x, 2 / math.pi)
    high, low = parts(x, *HALF_PI)
    return Angle(n, fma(n_float, -low, fma(n_float, -high, x)))


@expansion("tir.sin", fast_math=True)
def sin_fast(x: Number) -> Number:
    return _sin(_reduced_fast(x))


@expansion("tir.cos", fast_math=True)
def cos_fast(x: Number) -> Number:
    return _sin(_reduced_fast(x), turn=1)


@expansion("tir.tan", fast_math=True)
def tan_fast(x: Number) -> Number:
    return _tan(_reduced_fast(x))


def _make_half_turn_angle(x: Number) -> Angle:
    """Return the angle pi * x. Whole turns are subtracted exactly."""
    x = fma(unary("math.roundeven", x * 0.5), -2.0, x)
    n_float, n = nearest_integer(x * 2.0)
    rest = fma(n_float, -0.5, x)
    high, low = parts(x, *PI)
    product = rest * high
    return Angle(n, product, fma(rest, low, fma(rest, high, -product)))


def _is_whole(x: Number) -> Number:
    return unary("math.roundeven", x) == x


@expansion("tir.sinpi")
def sinpi(x: Number) -> Number:
    zero = with_sign_of(x.constant(0.0), x)
    return select(_is_whole(x) & (magnitude(x) < math.inf), zero, _sin(_make_half_turn_angle(x)))


@expansion("tir.cospi")
def cospi(x: Number) -> Number:
    y = _sin(_make_half_turn_angle(x), turn=1)
    return select(y == 0.0, 0.0, y)


@expansion("tir.tanpi")
def tanpi(x: Number) -> Number:
    """Return tan(pi * x). Zeros and poles have C23's signs: +0 at even and -0 at odd positive integers."""
    zero = with_sign_of(x.constant(0.0), x)
    half = x * 0.5
    is_odd = _is_whole(x) & (unary("math.roundeven", half) != half)
    y = select(is_odd, -zero, zero)
    is_finite = magnitude(x) < math.inf
    # Between an even integer and the next odd integer, the function rises to +inf.
    below = unary("math.floor", x)
    is_up = unary("math.floor", below * 0.5) * 2.0 == below
    pole = select(is_up, math.inf, x.constant(-math.inf))
    # The distance to the integer below is no substitute: that of -0.49999997 is rounded to a half.
    between = select(_is_whole(x * 2.0) & is_finite, pole, _tan(_make_half_turn_angle(x)))
    return select(_is_whole(x) & is_finite, y, between)


@expansion("tir.sinc")
def sinc(x: Number) -> Number:
    y = sinpi(select(magnitude(x) == math.inf, 0.0, x)) / (x * math.pi)
    return select(magnitude(x) < pick(x, 2.0**-30, 2.0**-60), 1.0, select(x == x, y, x))


# ---- inverses ----

QUARTER_PI = (math.pi / 4, 3.061616997868383e-17)
_TAN_EIGHTH_PI, _TAN_3_EIGHTHS_PI = math.sqrt(2) - 1, math.sqrt(2) + 1


def _atan_of_ratio(top: Number, bottom: Number) -> Number:
    """Return atan(top / bottom) for non-negative numbers, with one division.

    atan(t) equals pi/4 + atan((t - 1) / (t + 1)) and pi/2 - atan(1 / t).
    """
    is_large = top > bottom * _TAN_3_EIGHTHS_PI
    is_middle = (top > bottom * _TAN_EIGHTH_PI) ^ is_large
    numerator = select(is_large, -bottom, select(is_middle, top - bottom, top))
    t = numerator / select(is_large, top, select(is_middle, top + bottom, bottom))
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
    """Return asin(x) for |x| up to 1/2."""
    z = x * x
    return fma(x * z, fitted("asin", z), x)


def _half_complement(size: Number) -> Number:
    """Return asin(sqrt((1 - size) / 2)), half of acos(size); NaN beyond 1."""
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
