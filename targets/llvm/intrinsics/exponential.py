# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""exp and related functions: x = n * log(2) + r, a polynomial in r, and 2**n from its bits."""

from __future__ import annotations

from ....emit.arithmetic import bits_of, from_bits
from ....emit.numbers import Number, fma, select
from .expansion import (
    at_least,
    at_most,
    expansion,
    fitted,
    format_of,
    lift_of,
    magnitude,
    nearest_integer,
    parts,
    pick,
    power_of_two,
    scale,
    with_sign_of,
)

LOG2_E = 1.4426950408889634
LN_2 = (0.6931471805599453, 2.3190468138462996e-17)
LOG2_10 = 3.321928094887362
LOG10_2 = (0.3010299956639812, -2.8037281277851704e-18)


def _reduce_argument(
    x: Number, factor: float, period: tuple[float, float], near: Number | None = None, above: int = 0
) -> tuple[Number, Number]:
    """Return r and the integer n + above with x = n * period + r.

    n is computed from `near`; r is small if `near` equals x.
    """
    n_float, n = nearest_integer(x if near is None else near, factor, above)
    high, low = parts(x, *period)
    return fma(n_float, -low, fma(n_float, -high, x)), n


def exp_minus_1(r: Number) -> Number:
    """Return exp(r) - 1 for small r."""
    return fma(r * r, fitted("exp", r), r)


def _exp_near_0(r: Number) -> Number:
    """Return exp(r) for small r.

    The polynomial takes as many operations as exp(r) - 1, and is more accurate than adding 1 to it.
    """
    return fma(fma(fitted("exp", r), r, 1.0), r, 1.0)


def exp_of_normal(x: Number, near: Number | None = None) -> Number:
    """Return exp(x) if the result is a normal number, by adding n to its exponent; otherwise, and for NaN, any number.

    `near` is x, or a nearby number where the result does not matter.
    """
    r, n = _reduce_argument(x, LOG2_E, LN_2, near)
    return from_bits(bits_of(_exp_near_0(r)) + (n << format_of(x).mantissa), x.element)


def exp_scaled(x: Number, shift: int = 0) -> Number:
    """Return exp(x) * 2**shift. The result overflows and underflows exactly where the product does."""
    bounded = at_most(x, pick(x, 90.0, 711.0))
    if shift:
        r, n = _reduce_argument(at_least(bounded, pick(x, -105.0, -747.0)), LOG2_E, LN_2, above=lift_of(x) + shift)
        return scale(_exp_near_0(r), n)
    # Masked elements of a softmax are computed as exp(0), because subnormal results are very slow on CPUs.
    vanishes = x < pick(x, -104.0, -746.0)
    r, n = _reduce_argument(select(vanishes, 0.0, bounded), LOG2_E, LN_2, above=lift_of(x))
    return select(vanishes, 0.0, scale(_exp_near_0(r), n))


@expansion("tir.exp")
def exp(x: Number) -> Number:
    return exp_scaled(x)


@expansion("tir.exp", fast_math=True)
def exp_fast(x: Number) -> Number:
    """Return exp(x) without exact limits.

    Results below the smallest normal number become 0 or lose bits. Results near the largest number overflow early.
    """
    x = at_least(at_most(x, pick(x, 88.3, 709.4)), pick(x, -87.3, -708.3))
    r, n = _reduce_argument(x, LOG2_E, LN_2)
    return _exp_near_0(r) * power_of_two(n, x)


@expansion("tir.exp_below")
def exp_below(x: Number) -> Number:
    """Return exp(x) for x at most 0, or 0 where the result is not a normal number.

    For NaN, whose result may be any number, n is 0. A result of 0 needs no bound of x.
    """
    return select(x < pick(x, -87.33654, -708.3964185322641), 0.0, exp_of_normal(x, select(x < 0.0, x, 0.0)))


@expansion("tir.exp2")
def exp2(x: Number) -> Number:
    x = at_least(at_most(x, pick(x, 129.0, 1025.0)), pick(x, -151.0, -1076.0))
    n_float, n = nearest_integer(x, above=lift_of(x))
    r = x - n_float
    return scale(fma(r, fitted("exp2", r), 1.0), n)


def exp2_twice(x: Number, rest: Number) -> Number:
    """Return 2**(x + rest) for a small rest."""
    bounded = at_least(at_most(x, 1025.0), -1076.0)
    n_float, n = nearest_integer(bounded, above=lift_of(x))
    r = (bounded - n_float) + rest
    return scale(fma(r, fitted("exp2", r), 1.0), n)


@expansion("tir.exp10")
def exp10(x: Number) -> Number:
    x = at_least(at_most(x, pick(x, 39.0, 309.0)), pick(x, -46.0, -324.5))
    r, n = _reduce_argument(x, LOG2_10, LOG10_2, above=lift_of(x))
    return scale(fma(r, fitted("exp10", r), 1.0), n)


@expansion("tir.expm1")
def expm1(x: Number) -> Number:
    r, n = _reduce_argument(at_least(at_most(x, pick(x, 89.0, 710.0)), pick(x, -19.0, -40.0)), LOG2_E, LN_2)
    # Half of 2**n, so that it does not overflow before the product does.
    half = power_of_two(n - 1, x)
    return with_sign_of(fma(half, exp_minus_1(r), half - 0.5) * 2.0, x)


@expansion("tir.sigmoid")
def sigmoid(x: Number) -> Number:
    """Return 1 / (1 + exp(-x)), as 2**-k / (2**-k + exp(-x) * 2**-k).

    The exponential of -x would overflow where the result is subnormal. Its product with 2**-k does not, so only the
    division rounds the result. Below the lower bound of -x, the result is 1.
    """
    form, k = format_of(x), int(pick(x, 32, 64))
    x = -at_least(at_most(x, pick(x, 40.0, 60.0)), pick(x, -105.0, -747.0))
    r, exponent = _reduce_argument(x, LOG2_E, LN_2, above=form.bias - k)
    power = from_bits(exponent << form.mantissa, x.element)
    return 2.0**-k / fma(_exp_near_0(r), power, 2.0**-k)


@expansion("tir.sigmoid", fast_math=True)
def sigmoid_fast(x: Number) -> Number:
    return 1.0 / (exp_fast(-x) + 1.0)


@expansion("tir.tanh")
def tanh(x: Number) -> Number:
    e = expm1(at_most(magnitude(x), pick(x, 10.0, 22.0)) * 2.0)
    return with_sign_of(e / (e + 2.0), x)


@expansion("tir.tanh", fast_math=True)
def tanh_fast(x: Number) -> Number:
    """Return tanh(x) with an absolute error: small results lose bits."""
    e = exp_fast(at_least(at_most(x, pick(x, 10.0, 22.0)), pick(x, -10.0, -22.0)) * 2.0)
    return 1.0 - 2.0 / (e + 1.0)
