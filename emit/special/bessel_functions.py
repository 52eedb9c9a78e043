# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bessel and Airy functions."""

from __future__ import annotations

import math

from ..numbers import Number, intrinsic, select
from .series import at_least, at_most, exp, in_f64, is_nan, log, series, size_of, sqrt

# ---- modified Bessel functions ----


def _scaled_i(order: int, size: Number) -> Number:
    """Return exp(-x) times the modified function of the first kind, for non-negative x."""
    low = at_most(size, 8.0)
    near = series(f"i{order}e_near", low, 0, 8)
    if order:
        near = near * low
    inner = at_least(size, 8.0)
    far = series(f"i{order}e_far", 16.0 / inner, 0, 2) / sqrt(inner)
    return select(size > 8.0, far, near)


def _scaled_k(order: int, x: Number) -> Number:
    """Return exp(x) times the modified function of the second kind, for x above 0."""
    low = at_most(x, 2.0)
    growing = log(low * 0.5) * _scaled_i(order, low) * exp(low)
    rest = series(f"k{order}_near", low * low, 0, 4)
    near = (growing + rest / low if order else rest - growing) * exp(low)
    high = at_least(x, 2.0)
    far = series(f"k{order}e_far", 4.0 / high, 0, 2) / sqrt(high)
    made = select(x > 2.0, far, near)
    return select(x > 0.0, made, select(x == 0.0, x.constant(math.inf), math.nan))


def _with_sign(order: int, size: Number, x: Number) -> Number:
    made = size if order == 0 else size * intrinsic("copysign", x.constant(1.0), x)
    return select(is_nan(x), x, made)


@in_f64
def modified_i(x: Number, order: int, is_scaled: bool) -> Number:
    """Return the modified function of the first kind, scaled by exp(-abs(x)) if requested."""
    size = size_of(x)
    made = _scaled_i(order, size)
    if not is_scaled:
        half = exp(size * 0.5)  # overflows only where the product does
        made = made * half * half
        made = select(size == math.inf, math.inf, made)
    return _with_sign(order, made, x)


@in_f64
def modified_k(x: Number, order: int, is_scaled: bool) -> Number:
    """Return the modified function of the second kind, scaled by exp(x) if requested."""
    made = _scaled_k(order, x)
    if not is_scaled:
        made = select(x == 0.0, made, made * exp(-x))
    return select(is_nan(x), x, select(x == math.inf, 0.0, made))


# ---- first and second kind ----


def _wave(order: int, x: Number, is_second: bool) -> Number:
    """Return the function for x from 8 on: a decaying wave."""
    inverse = 8.0 / x
    z = inverse * inverse
    even, odd = series(f"even_wave_{order}", z, 0, 1), series(f"odd_wave_{order}", z, 0, 1) * inverse
    phase = x - math.pi * (2 * order + 1) / 4
    sine, cosine = intrinsic("sin", phase), intrinsic("cos", phase)
    joined = even * sine + odd * cosine if is_second else even * cosine - odd * sine
    return joined * sqrt(2 / math.pi / x)


def _near_j(order: int, x: Number) -> Number:
    made = series(f"j{order}_near", x * x, 0, 64)
    return made * x if order else made


def _far_argument(size: Number) -> Number:
    return select(size == math.inf, 8.0, at_least(size, 8.0))


@in_f64
def bessel_j(x: Number, order: int) -> Number:
    """Return the Bessel function of the first kind."""
    size = size_of(x)
    far = select(size == math.inf, 0.0, _wave(order, _far_argument(size), False))
    return _with_sign(order, select(size > 8.0, far, _near_j(order, at_most(size, 8.0))), x)


@in_f64
def bessel_y(x: Number, order: int) -> Number:
    """Return the Bessel function of the second kind."""
    low = at_most(x, 8.0)
    near = series(f"y{order}_near", low * low, 0, 64)
    growing = log(low) * _near_j(order, low)
    near = near * low + (growing - 1.0 / low) * (2 / math.pi) if order else near + growing * (2 / math.pi)
    far = select(x == math.inf, 0.0, _wave(order, _far_argument(x), True))
    made = select(x > 8.0, far, near)
    return select(x > 0.0, made, select(x == 0.0, x.constant(-math.inf), math.nan))


@in_f64
def spherical_j0(x: Number) -> Number:
    """Return sin(x) / x."""
    square = x * x
    near = 1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0))
    made = select(size_of(x) < 0.01, near, intrinsic("sin", x) / x)
    return select(size_of(x) == math.inf, 0.0, made)


# ---- Airy functions ----


@in_f64
def airy_ai(x: Number) -> Number:
    size = size_of(x)
    far = select(size == math.inf, 3.0, at_least(size, 3.0))
    root = sqrt(far)
    zeta = far * root * (2 / 3)
    inverse = 1.0 / zeta
    farthest = 1 / (2 * 3**1.5 / 3)
    scale = 1.0 / sqrt(root * math.pi)
    falling = series("airy_far", inverse, 0, farthest) * exp(-zeta) * scale * 0.5
    even, odd = (series(f"airy_{name}_wave", inverse * inverse, 0, farthest**2) for name in ("even", "odd"))
    phase = zeta + math.pi / 4
    waving = (intrinsic("sin", phase) * even - intrinsic("cos", phase) * odd * inverse) * scale
    near = series("airy_near", at_least(at_most(x, 3.0), -3.0), -3, 3)
    made = select(x > 3.0, falling, select(x < -3.0, waving, near))
    return select(is_nan(x), x, select(size == math.inf, 0.0, made))
