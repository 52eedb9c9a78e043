# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that other targets take from C's library: gamma functions, IEEE's remainders."""

from __future__ import annotations

import math

from relax_mlir.bindings.ir import OpView
from relax_mlir.emit.numbers import Number, intrinsic, numbers, polynomial, select, unary
from relax_mlir.emit.special.series import exp, in_f64, is_nan, log, size_of
from relax_mlir.passes.kernels.intrinsics.registry import register_legalize_intrinsic

_DTYPES = ("f32", "f64")
#: Stirling's series is exact from here on. Smaller arguments are shifted by steps of 1.
_FAR = 12
#: B(2k) / (2k (2k - 1)), for k from 1 on.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
#: Powers of two near the largest finite number.
_LARGEST = {"f32": float.fromhex("0x1p126"), "f64": float.fromhex("0x1p1022")}


@register_legalize_intrinsic("tir.lgamma", "spirv", dtypes=_DTYPES)
def lgamma(op: OpView) -> Number:
    (x,) = numbers(op)
    return _log_gamma(x)


@register_legalize_intrinsic("tir.tgamma", "spirv", dtypes=_DTYPES)
def tgamma(op: OpView) -> Number:
    (x,) = numbers(op)
    return _gamma(x)


@register_legalize_intrinsic("tir.remainder", "spirv", dtypes=_DTYPES)
def remainder(op: OpView) -> Number:
    """Return x minus the nearest multiple of y, and of two equally near ones the even one."""
    x, y = numbers(op)
    size, step = size_of(x), size_of(y)
    can_double = step <= _LARGEST[x.dtype]
    rest = select(can_double, intrinsic("fmod", size, select(can_double, step + step, step)), size)
    half = step * 0.5
    # Half of a subnormal number is rounded.
    is_above = select(step < 1.0, rest + rest > step, rest > half)
    rest = select(is_above, rest - step, rest)
    is_above_still = is_above & select(step < 1.0, rest + rest >= step, rest >= half)
    rest = select(is_above_still, rest - step, rest)
    signed = select(intrinsic("copysign", x.constant(1.0), x) < 0.0, -rest, rest)
    defined = (step > 0.0) & (size < math.inf) & ~is_nan(y)
    return select(defined, signed, math.nan)


def _shift_up(x: Number) -> tuple[Number, Number, Number]:
    """Return x shifted up to `_FAR`, the product of the numbers passed, and the rounding error of the sum."""
    y, factors, lost = x, x.constant(1.0), x.constant(0.0)
    for _ in range(_FAR):
        is_near = y < float(_FAR)
        factors = select(is_near, factors * y, factors)
        above = y + 1.0
        lost = select(is_near, lost + (y - (above - 1.0)), lost)
        y = select(is_near, above, y)
    return y, factors, lost


def _tail(y: Number) -> Number:
    return polynomial(1.0 / (y * y), _STIRLING) / y


def _zeta_minus_1(k: int, first: int = 60) -> float:
    """Return the sum of n**-k from 2 on, by the Euler-Maclaurin formula from `first` on."""
    tail = [first ** (1 - k) / (k - 1), first**-k / 2, k * first ** (-k - 1) / 12]
    tail.append(-k * (k + 1) * (k + 2) * first ** (-k - 3) / 720)
    tail.append(math.prod(range(k, k + 5)) * first ** (-k - 5) / 30240)
    return math.fsum([*(n**-k for n in range(2, first)), *tail])


#: Coefficients of log(gamma(2 + z)) / z, for z from -0.5 to 0.5.
_NEAR_2 = (0.42278433509846713, *((-1) ** k * _zeta_minus_1(k) / k for k in range(2, 30)))


def _near(x: Number) -> Number:
    """Return log(gamma(x)) from 0.5 to `_FAR`: a series at 2, plus the logarithm of the factors from there."""
    below = x < 1.5
    y, factors = select(below, x + 1.0, x), x.constant(1.0)
    for _ in range(_FAR - 2):
        is_above = y > 2.5
        y = select(is_above, y - 1.0, y)
        factors = select(is_above, factors * y, factors)
    z = y - 2.0
    return polynomial(z, _NEAR_2) * z + select(below, y.constant(-1.0), 1.0) * log(select(below, x, factors))


@in_f64
def _log_gamma(x: Number) -> Number:
    """Return the logarithm of |gamma(x)|, by reflection below 0.5."""
    is_below = x < 0.5
    y = select(is_below, 1.0 - x, x)
    is_far = y >= float(_FAR)
    far = select(is_far, y, float(_FAR))
    by_series = (far - 0.5) * (log(far) - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5 + _tail(far))
    whole = select(is_far, by_series, _near(select(is_far, y.constant(2.0), y)))
    sine = size_of(intrinsic("sinpi", x))
    made = select(is_below, math.log(math.pi) - log(sine) - whole, whole)
    made = select((x <= 0.0) & (unary("math.floor", x) == x), math.inf, made)
    return select(is_nan(x), x, select(size_of(x) == math.inf, math.inf, made))


@in_f64
def _gamma(x: Number) -> Number:
    """Return gamma(x), by reflection below 0.5.

    The power is computed in two halves, because the whole power overflows before the result does.
    """
    is_below = x < 0.5
    y, factors, lost = _shift_up(select(is_below, 1.0 - x, x))
    power = intrinsic("pow", y, y * 0.5 - 0.25)
    whole = power * exp(-y) * power * (math.sqrt(2 * math.pi) * exp(_tail(y)))
    whole = select(y > 171.7, math.inf, whole * (1.0 + log(y) * lost) / factors)
    made = select(is_below, math.pi / (intrinsic("sinpi", x) * whole), whole)
    is_whole = unary("math.floor", x) == x
    made = select((x < 0.0) & is_whole, math.nan, made)
    made = select(x == 0.0, intrinsic("copysign", x.constant(math.inf), x), made)
    made = select(x == math.inf, x, select(x == -math.inf, math.nan, made))
    return select(is_nan(x), x, made)
