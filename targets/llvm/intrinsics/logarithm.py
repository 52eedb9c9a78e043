# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""log and related functions: x = m * 2**e and a polynomial in m - 1. pow goes through log2 and exp2."""

from __future__ import annotations

import math
from collections.abc import Callable

from ....bindings.mlir import ir
from ....bindings.navigation import made_by
from ....emit.arithmetic import bits_of
from ....emit.conversions import to_float
from ....emit.numbers import Number, fma, paired_polynomial, select, unary
from .expansion import (
    as_float,
    at_least,
    at_most,
    expansion,
    fitted,
    format_of,
    magnitude,
    nearest_integer,
    parts,
    pick,
    power_of_two,
    split,
    square_root,
    two_product,
    two_sum,
)
from .exponential import LN_2, LOG2_E, LOG10_2, exp2_twice

INF = math.inf
LOG10_E = 0.4342944819032518


def _near_1(f: Number, small: Number | None = None) -> Number:
    """Return log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)). `small` is added before the last rounding."""
    square = f * f
    if f.dtype == "f32":
        rest = fma(square * f, fitted("log1p", f), square * -0.5)
        return f + (rest if small is None else rest + small)
    s = f / (f + 2.0)
    z = s * s
    half = square * 0.5
    series = s * (half + z * fitted("log_ratio", z))
    return f - (half - (series if small is None else series + small))


def _split(x: Number) -> tuple[Number, Number]:
    """Return m - 1 and e, as floats, with x = m * 2**e, for positive numbers."""
    lift = pick(x, 25, 54)
    is_tiny = x < 2.0 ** (1 - format_of(x).bias)
    m, e = split(select(is_tiny, x * 2.0**lift, x))
    e_float = as_float(e, x)
    return m - 1.0, select(is_tiny, e_float - float(lift), e_float)


def _finish(x: Number, y: Number) -> Number:
    """Insert the results for zeros, infinity, NaN and negative numbers, which the expansions do not handle."""
    y = select(x == INF, INF, y)
    return select(x > 0.0, y, select(x == 0.0, -INF, x.constant(math.nan)))


@expansion("tir.log")
def log(x: Number) -> Number:
    f, e = _split(x)
    high, low = parts(x, *LN_2)
    return _finish(x, fma(e, high, _near_1(f, e * low)))


@expansion("tir.log", fast_math=True)
def log_fast(x: Number) -> Number:
    """Return log(x) for positive normal numbers, and any number otherwise."""
    m, e = split(x)
    return fma(as_float(e, x), LN_2[0], _near_1(m - 1.0))


@expansion("tir.log2")
def log2(x: Number) -> Number:
    f, e = _split(x)
    return _finish(x, fma(_near_1(f), LOG2_E, e))


@expansion("tir.log10")
def log10(x: Number) -> Number:
    f, e = _split(x)
    high, low = parts(x, *LOG10_2)
    return _finish(x, fma(e, high, fma(_near_1(f), LOG10_E, e * low)))


@expansion("tir.log1p")
def log1p(x: Number) -> Number:
    y = _log1p(x)
    y = select(magnitude(x) < pick(x, 2.0**-25, 2.0**-54), x, y)
    y = select(x == INF, INF, y)
    return select(x > -1.0, y, select(x == -1.0, -INF, x.constant(math.nan)))


def _log1p(x: Number) -> Number:
    u = x + 1.0
    # Rounding error of the addition, relative to u.
    lost = select(x < 1.0, x - (u - 1.0), 1.0 - (u - x)) / u
    m, e = split(u)
    high, low = parts(x, *LN_2)
    e_float = as_float(e, x)
    return fma(e_float, high, _near_1(m - 1.0, fma(e_float, low, lost)))


def _root(x: Number) -> Number:
    """Return x ** 0.5. Square roots of -0 and -inf are -0 and NaN, whereas the powers are 0 and infinity."""
    return select(x == -INF, INF, square_root(x) + 0.0)


#: Powers with constant exponents that occur in models.
_KNOWN: dict[float, Callable[[Number], Number]] = {
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    0.5: _root,
    -0.5: lambda x: 1.0 / _root(x),
    -1.0: lambda x: 1.0 / x,
}


def _fold_known(x: Number, y: Number) -> Number | None:
    constant = made_by(y.value, "arith.constant")
    value = None if constant is None else constant.attributes["value"]
    return _KNOWN[value.value](x) if isinstance(value, ir.FloatAttr) and value.value in _KNOWN else None


@expansion("tir.pow", dtypes=("f32",))
def power(x: Number, y: Number) -> Number:
    """Compute in f64, to 33 bits at least: the chain of operations is half as long as in the f64 function.

    Every f32 number except 0 is a normal number in f64, and so is each power that f32 can represent.
    """
    if (known := _fold_known(x, y)) is not None:
        return known
    size = to_float(magnitude(x), "f64")
    return finish_power(x, y, to_float(_exp2_of_f32(to_float(y, "f64") * _log2_of_f32(size)), "f32"))


def _log2_of_f32(x: Number) -> Number:
    """Return log2 of the magnitude of an f32 number, given as f64, within 2**-44 of the result."""
    m, e = split(x)
    f = m - 1.0
    s = f / (f + 2.0)
    log = fma(s, fitted("log2_ratio", s * s, paired_polynomial), as_float(e, x))
    # Zero, infinity and NaN are not normal numbers.
    return select((x > 0.0) & (x < INF), log, select(x == 0.0, -INF, x))


def _exp2_of_f32(x: Number) -> Number:
    """Return 2**x in f64, within 2**-34 of the result, if f32 represents the result as a finite number above 0."""
    n_float, n = nearest_integer(bounded := at_least(at_most(x, 129.0), -151.0))
    r = bounded - n_float
    return fma(r, fitted("exp2_of_f32", r, paired_polynomial), 1.0) * power_of_two(n, x)


@expansion("tir.pow", dtypes=("f64",))
def power_f64(x: Number, y: Number) -> Number:
    """Compute x ** y with log2 in twice the bits of f64, because y multiplies the error of log2 by up to 1024."""
    if (known := _fold_known(x, y)) is not None:
        return known
    high, low = _log2_twice(magnitude(x))
    # Beyond these bounds exp2 is infinite or 0 anyway, and the remainder of the product would be NaN.
    product, rest = two_product(high, at_least(at_most(y, 2.0**80), -(2.0**80)))
    rest = fma(low, y, rest)
    is_far = magnitude(product) < 1100.0
    return finish_power(x, y, exp2_twice(product, select(is_far, rest, 0.0)))


def _log2_twice(x: Number) -> tuple[Number, Number]:
    """Return log2 of a non-negative number as a sum of two numbers."""
    f, e = _split(x)
    # s = f / (2 + f), z = s * s; log(1 + f) = 2s + s * z * (2/3 + z * ...)
    bottom, bottom_rest = two_sum(f.constant(2.0), f)
    s = f / bottom
    s_rest = (fma(-s, bottom, f) - s * bottom_rest) / bottom
    z, z_rest = two_product(s, s)
    z_rest = fma(s * 2.0, s_rest, z_rest)
    tail = z * fitted("log_ratio_tail", z)
    third, third_rest = two_sum(f.constant(2 / 3), tail)
    third_rest = third_rest + 3.700743415417188e-17
    factor, factor_rest = two_product(z, third)
    factor_rest = fma(z, third_rest, fma(z_rest, third, factor_rest))
    factor, lost = two_sum(f.constant(2.0), factor)
    factor_rest = factor_rest + lost
    log, log_rest = two_product(s, factor)
    log_rest = fma(s, factor_rest, fma(s_rest, factor, log_rest))
    high, low = two_product(log, log.constant(LOG2_E))
    low = fma(log_rest, LOG2_E, fma(log, 2.0355273740931033e-17, low))
    total, rest = two_sum(e, high)
    low = low + rest
    special = (x == 0.0) | (x == INF)
    total = select(x == 0.0, -INF, select(x == INF, INF, select(x != x, x, total)))
    return total, select(special, 0.0, low)


def finish_power(x: Number, y: Number, power: Number) -> Number:
    """Insert C's special cases into |x| ** y."""
    half = y * 0.5
    is_whole = unary("math.trunc", y) == y
    is_odd = is_whole & (unary("math.trunc", half) != half)
    nan = x.constant(math.nan)
    result = select((bits_of(x) < 0) & is_odd, -power, power)
    # A finite negative number with a fractional exponent. An infinite exponent counts as an even integer.
    is_outside = (x < 0.0) & (x > -INF)
    result = select(is_outside, select(is_whole, result, nan), result)
    result = select((x == -1.0) & (magnitude(y) == INF), 1.0, result)
    return select((x == 1.0) | (y == 0.0), 1.0, result)
