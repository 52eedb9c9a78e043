# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Orthogonal polynomials of x, with a degree that is only known at run time."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..loops import repeat_while
from ..numbers import Number, intrinsic, select
from .series import in_f64, size_of

#: Function from (before, last, k, x) to the polynomial of degree k + 1.
Recurrence = Callable[[Number, Number, Number, Number], Number]


def _evaluate_recurrence(x: Number, n: Number, first: Number, next_of: Recurrence) -> Number:
    """Evaluate the recurrence upwards from degrees 0 and 1. Return 0 for a negative degree."""

    def step(k: Number, before: Number, last: Number) -> list[Number]:
        return [k + 1.0, last, next_of(before, last, k, x)]

    one = x.constant(1.0)
    _, _, last = repeat_while([one, one, first], lambda k, _, last: (k < n) & (last == last), step)
    return select(n < 0.0, 0.0, select(n == 0.0, 1.0, last))


def _chebyshev_step(before: Number, last: Number, k: Number, x: Number) -> Number:
    return (x + x) * last - before


def _chebyshev(kind: str, x: Number, n: Number) -> Number:
    """Return a Chebyshev polynomial. Within (-1, 1), high degrees are waves of the angle, which need no recurrence."""
    one = x.constant(1.0)
    double = x + x
    first = {"t": x, "u": double, "v": double - 1.0, "w": double + 1.0}[kind]
    many = n + n + 1.0
    at_one = {"t": one, "u": n + 1.0, "v": one, "w": many}[kind]
    at_minus_one = {"t": one, "u": n + 1.0, "v": many, "w": one}[kind]
    at_end = select(x > 0.0, at_one, select(intrinsic("fmod", n, n.constant(2.0)) != 0.0, -at_minus_one, at_minus_one))
    is_end, is_inside = size_of(x) == 1.0, size_of(x) < 1.0
    angle = intrinsic("acos", select(is_inside, x, 0.0))
    half = angle * 0.5
    wave = {
        "t": lambda: intrinsic("cos", n * angle),
        "u": lambda: intrinsic("sin", (n + 1.0) * angle) / intrinsic("sin", angle),
        "v": lambda: intrinsic("cos", (n + 0.5) * angle) / intrinsic("cos", half),
        "w": lambda: intrinsic("sin", (n + 0.5) * angle) / intrinsic("sin", half),
    }[kind]()
    is_wave = is_inside & (n > 8.0)
    repeated = _evaluate_recurrence(x, select(is_wave, 0.0, n), first, _chebyshev_step)
    made = select(is_end, at_end, select(is_wave, wave, repeated))
    return select(n < 0.0, 0.0, made)


@in_f64
def chebyshev(x: Number, n: Number, kind: str, is_shifted: bool) -> Number:
    """Return a Chebyshev polynomial of kind t, u, v or w; shifted polynomials are on [0, 1]."""
    return _chebyshev(kind, x * 2.0 - 1.0 if is_shifted else x, intrinsic("trunc", n))


@in_f64
def hermite(x: Number, n: Number, is_physical: bool, limit: int) -> Number:
    """Return a physicists' or probabilists' Hermite polynomial, or NaN beyond a degree."""
    n = intrinsic("trunc", n)
    by = 2.0 if is_physical else 1.0
    made = _evaluate_recurrence(x, select(n > float(limit), 0.0, n), x * by, lambda p, q, k, x: (x * q - k * p) * by)
    return select(n > float(limit), math.nan, made)


@in_f64
def laguerre(x: Number, n: Number) -> Number:
    n = intrinsic("trunc", n)
    return _evaluate_recurrence(x, n, 1.0 - x, lambda p, q, k, x: ((k + k + (1.0 - x)) * q - k * p) / (k + 1.0))


@in_f64
def legendre(x: Number, n: Number) -> Number:
    n = intrinsic("trunc", n)
    return _evaluate_recurrence(x, n, x, lambda p, q, k, x: ((k + k + 1.0) * x * q - k * p) / (k + 1.0))
