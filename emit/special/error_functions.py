# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relatives of the error function, and the normal distribution."""

from __future__ import annotations

import math

from ..numbers import Number, intrinsic, select
from .series import at_least, at_most, exp, in_f64, is_nan, log, series, size_of, sqrt


def _scaled_erfc(x: Number) -> Number:
    """Return erfc(x) * exp(x**2) for non-negative x."""
    finite = at_most(x, 1e300)
    return series("erfcx", (finite - 4.0) / (finite + 4.0), -1, 1) / (finite * 2.0 + 1.0)


@in_f64
def erfcx(x: Number) -> Number:
    """Return erfc(x) * exp(x**2)."""
    size = size_of(x)
    above = _scaled_erfc(size)
    made = select(x < 0.0, exp(x * x) * 2.0 - above, select(size == math.inf, 0.0, above))
    return select(is_nan(x), x, made)


@in_f64
def ndtr(x: Number) -> Number:
    """Return the normal distribution function at x."""
    return intrinsic("erfc", x * -math.sqrt(0.5)) * 0.5


@in_f64
def log_ndtr(x: Number) -> Number:
    """Return the logarithm of the normal distribution function."""
    t = x * math.sqrt(0.5)
    below = log(_scaled_erfc(at_least(-t, 0.0)) * 0.5) - t * t
    above = intrinsic("log1p", intrinsic("erfc", t) * -0.5)
    return select(x < -1.0, below, above)


def _erfinv_near(x: Number) -> Number:
    """Return erfinv(x) for |x| up to 0.5."""
    return x * series("erfinv_near", at_most(x * x, 0.25), 0, 0.25)


def _erfcinv_far(y: Number) -> Number:
    """Return the x with erfc(x) = y, for y below 0.5."""
    s = sqrt(-log(at_most(y, 0.52)))
    parts = [("erfcinv_3", 0.8, 3), ("erfcinv_8", 3, 8), ("erfcinv_28", 8, 28)]
    near, middle, far = (series(name, at_most(at_least(s, low), high), low, high) for name, low, high in parts)
    return s * select(s < 3.0, near, select(s < 8.0, middle, far))


@in_f64
def erfinv(x: Number) -> Number:
    """Return the inverse of erf."""
    size = size_of(x)
    far = intrinsic("copysign", select(size == 1.0, math.inf, _erfcinv_far(1.0 - size)), x)
    made = select(size <= 0.5, _erfinv_near(x), far)
    return select(size <= 1.0, made, math.nan)


@in_f64
def ndtri(p: Number) -> Number:
    """Return the inverse of ndtr."""
    smaller = select(p > 0.5, 1.0 - p, p)
    size = select(smaller == 0.0, math.inf, _erfcinv_far(smaller * 2.0))
    far = select(p > 0.5, size, -size)
    near = _erfinv_near(p * 2.0 - 1.0)
    made = select(smaller >= 0.25, near, far) * math.sqrt(2)
    return select((p >= 0.0) & (p <= 1.0), made, math.nan)


@in_f64
def entr(x: Number) -> Number:
    """Return -x * log(x)."""
    return select(x < 0.0, -math.inf, select(x == 0.0, 0.0, -x * log(x)))
