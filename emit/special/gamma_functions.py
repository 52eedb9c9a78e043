# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relatives of the gamma function: polygamma functions, incomplete gamma functions, Hurwitz's zeta function."""

from __future__ import annotations

import math
from fractions import Fraction

from ..loops import repeat_while
from ..numbers import Number, intrinsic, polynomial, select, unary
from .series import at_least, exp, in_f64, is_nan, log, size_of

# Bernoulli numbers B2, B4, ...
_BERNOULLI = [
    Fraction(*each)
    for each in (
        (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798),
        (-174611, 330), (854513, 138), (-236364091, 2730),
    )
]  # fmt: skip
# From here on, the asymptotic series is exact.
_FAR = 10
_EPSILON = 2.0**-53


def _is_whole(x: Number) -> Number:
    return unary("math.floor", x) == x


@in_f64
def digamma(x: Number) -> Number:
    """Return the derivative of log(gamma(x)), by reflection below 0; -inf and inf at 0 and -0."""
    is_below = x < 0.0
    y = select(is_below, 1.0 - x, x)
    total = y.constant(0.0)
    for _ in range(_FAR):
        is_near = y < float(_FAR)
        total = total - select(is_near, 1.0 / y, 0.0)
        y = select(is_near, y + 1.0, y)
    z = 1.0 / (y * y)
    tail = polynomial(z, [float(b / (2 * k)) for k, b in enumerate(_BERNOULLI[:8], 1)]) * z
    made = total + (log(y) - 0.5 / y - tail)
    made = select(is_below, made - math.pi / intrinsic("tanpi", x - unary("math.trunc", x)), made)
    made = select(is_below & _is_whole(x), math.nan, made)
    made = select(x == math.inf, x, made)
    return select(x == 0.0, intrinsic("copysign", x.constant(math.inf), -x), made)


@in_f64
def trigamma(x: Number) -> Number:
    """Return the second derivative of log(gamma(x)), by reflection below 0.5."""
    is_below = x < 0.5
    y = select(is_below, 1.0 - x, x)
    total = y.constant(0.0)
    for _ in range(_FAR):
        is_near = y < float(_FAR)
        total = total + select(is_near, 1.0 / (y * y), 0.0)
        y = select(is_near, y + 1.0, y)
    z = 1.0 / (y * y)
    tail = polynomial(z, [float(b) for b in _BERNOULLI[:8]])
    made = total + (1.0 + 0.5 / y + z * tail) / y
    sine = intrinsic("sinpi", x)
    return select(is_below, math.pi**2 / (sine * sine) - made, made)


@in_f64
def polygamma(x: Number, order: int) -> Number:
    """Return the derivatives of order 2 and higher of digamma."""
    factor = -math.factorial(order) if order % 2 == 0 else math.factorial(order)
    return _zeta(x.constant(order + 1.0), x) * float(factor)


@in_f64
def zeta(x: Number, q: Number) -> Number:
    return _zeta(x, q)


def _zeta(x: Number, q: Number) -> Number:
    """Return the sum of (q + k)**-x over k >= 0: the first terms, and the Euler-Maclaurin remainder."""
    is_summed = (x > 1.0) & ((q > 0.0) | _is_whole(x)) & ~((q <= 0.0) & _is_whole(q))
    start, power = select(is_summed, at_least(q, -1e6), 1.0), select(is_summed, x, 2.0)

    def step(a: Number, count: Number, total: Number) -> list[Number]:
        return [a + 1.0, count + 1.0, total + intrinsic("pow", a, -power)]

    zero = q.constant(0.0)
    a, _, total = repeat_while([start, zero, zero], lambda a, count, _: (count < 10.0) | (a < 10.0), step)
    last = intrinsic("pow", a, -power)
    total = total + last * a / (power - 1.0) + last * 0.5
    factor = last / a * power
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + factor * float(bernoulli / math.factorial(2 * k))
        factor = factor / (a * a) * (power + (2 * k - 1.0)) * (power + 2.0 * k)
    is_pole = (x == 1.0) | ((x > 1.0) & (q <= 0.0) & _is_whole(q))
    made = select(is_summed, total, select(is_pole, x.constant(math.inf), math.nan))
    return select(is_nan(x) | is_nan(q), math.nan, made)


# ---- incomplete gamma functions ----


def _prefactor(a: Number, x: Number) -> Number:
    """Return x**a * exp(-x) / gamma(a)."""
    return exp(a * log(x) - x - intrinsic("lgamma", a))


def _lower_by_series(a: Number, x: Number) -> Number:
    def step(n: Number, term: Number, total: Number) -> list[Number]:
        term = term * (x / n)
        return [n + 1.0, term, total + term]

    first = 1.0 / a
    state = [a + 1.0, first, first]
    _, _, total = repeat_while(state, lambda n, term, total: (term > total * _EPSILON) & (n < a + 20000.0), step)
    return total * _prefactor(a, x)


def _upper_by_fraction(a: Number, x: Number) -> Number:
    """Evaluate a continued fraction by Lentz's method."""
    tiny = 1e-300

    def step(n: Number, b: Number, c: Number, d: Number, h: Number, change: Number) -> list[Number]:
        an = -n * (n - a)
        b = b + 2.0
        d, c = an * d + b, b + an / c
        d, c = (select(size_of(number) < tiny, tiny, number) for number in (d, c))
        d = 1.0 / d
        change = d * c
        return [n + 1.0, b, c, d, h * change, change]

    b = x + 1.0 - a
    d = 1.0 / select(size_of(b) < tiny, tiny, b)
    state = [x.constant(1.0), b, x.constant(1 / tiny), d, d, x.constant(0.0)]
    *_, h, _ = repeat_while(state, lambda n, *rest: (size_of(rest[-1] - 1.0) > _EPSILON * 2) & (n < 20000.0), step)
    return h * _prefactor(a, x)


@in_f64
def incomplete_gamma(a: Number, x: Number, is_upper: bool) -> Number:
    """Return the regularized incomplete gamma function: the share of the gamma integral below x, or above x."""
    is_usual = (a > 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
    safe_a, safe_x = select(is_usual, a, 1.0), select(is_usual, x, 1.0)
    by_series = safe_x < safe_a + 1.0
    lower = _lower_by_series(safe_a, select(by_series, safe_x, safe_a * 0.5))
    upper = _upper_by_fraction(safe_a, select(by_series, safe_a + 1.0, safe_x))
    made = select(by_series, 1.0 - lower, upper) if is_upper else select(by_series, lower, 1.0 - upper)
    nothing, all_of_it = (1.0, 0.0) if is_upper else (0.0, 1.0)
    # An argument is 0 or infinite.
    edge = select((x == 0.0) | (a == math.inf), made.constant(nothing), all_of_it)
    is_wrong = ~((a >= 0.0) & (x >= 0.0)) | ((a == 0.0) & (x == 0.0)) | ((a == math.inf) & (x == math.inf))
    return select(is_wrong, math.nan, select(is_usual, made, edge))
