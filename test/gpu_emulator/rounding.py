# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating-point arithmetic with one rounding, in any direction, and conversions, on numpy arrays.

The result of a narrow operation is first computed in float64 and rounded to odd: the last bit is set if the exact value
lies between two numbers. A second rounding to a type with at least two bits less then equals a single rounding.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy

Array = Any

_F4_MIN = numpy.float32(2.0**-126)
_ONE = numpy.uint64(1)
_SPLITTER = 134217729.0  # 2^27 + 1
_TINY, _HUGE = 1e-200, 1e200


def odd(total: Array, error: Array) -> Array:
    """Return total + error rounded to odd, where `total` is the nearest number."""
    inexact = (error != 0) & numpy.isfinite(total)
    bits = numpy.ascontiguousarray(total).view(numpy.uint64)
    toward = numpy.nextafter(total, numpy.where(error > 0, numpy.inf, -numpy.inf))
    return numpy.where(inexact & ((bits & _ONE) == 0), toward, total)


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _halves(a: Array) -> tuple[Array, Array]:
    scaled = a * _SPLITTER
    high = scaled - (scaled - a)
    return high, a - high


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    high = a * b
    (a1, a0), (b1, b0) = _halves(a), _halves(b)
    return high, ((a1 * b1 - high) + a1 * b0 + a0 * b1) + a0 * b0


def odd_sum(a: Array, b: Array) -> Array:
    """Return a + b of float64, rounded to odd."""
    total, error = _sum(a, b)
    return odd(total, numpy.where(numpy.isfinite(total), error, 0.0))


def to_f4(value: Array, mode: str = "rn") -> Array:
    """Round float64, exact or rounded to odd, to float32."""
    near = value.astype(numpy.float32)
    if mode == "rn":
        return near
    back = near.astype(numpy.float64)
    return directed(near, back > value, back < value, value < 0, mode)


def directed(near: Array, above: Array, below: Array, negative: Array, mode: str) -> Array:
    """Round the nearest number in a direction. `above` marks numbers greater than the exact value."""
    infinity = near.dtype.type(numpy.inf)
    down, up = numpy.nextafter(near, -infinity), numpy.nextafter(near, infinity)
    if mode == "rm":
        return numpy.where(above, down, near)
    if mode == "rp":
        return numpy.where(below, up, near)
    if mode == "rz":
        return numpy.where(above & ~negative, down, numpy.where(below & negative, up, near))
    raise AssertionError(mode)


def fma_f4(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    product = a.astype(numpy.float64) * b
    wide_c = c.astype(numpy.float64)
    if mode == "rn":
        total = product + wide_c
        bits = total.view(numpy.uint64)
        # Only a value in the exact middle of two numbers, or a subnormal one, could change by double rounding.
        doubtful = (bits & numpy.uint64(0x1FFFFFFF)) == numpy.uint64(0x10000000)
        if not doubtful.any() and not (numpy.abs(total) < 1.2e-38).any():
            return total.astype(numpy.float32)
    return to_f4(odd_sum(product, wide_c), mode)


def add_f4(a: Array, b: Array, mode: str) -> Array:
    return a + b if mode == "rn" else to_f4(odd_sum(a.astype(numpy.float64), b.astype(numpy.float64)), mode)


def mul_f4(a: Array, b: Array, mode: str) -> Array:
    return a * b if mode == "rn" else to_f4(a.astype(numpy.float64) * b, mode)


def fma_f8(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    """Compute Boldo's and Melquiond's FMA, with exact fractions where products of halves overflow or underflow."""
    a, b, c = numpy.broadcast_arrays(a, b, c)
    high, low = _product(a, b)
    upper, lower = _sum(c, low)
    top, rest = _sum(high, upper)
    found = top + odd_sum(rest, lower)
    special = ~(numpy.isfinite(a) & numpy.isfinite(b) & numpy.isfinite(c))
    found = numpy.where(special, a * b + c, found)
    outside = ~special & (_is_extreme(a) | _is_extreme(b) | _is_extreme(c) | _is_extreme(high))
    if mode != "rn":
        outside = ~special
    for at in numpy.flatnonzero(outside):
        found[at] = _exact_fma(float(a[at]), float(b[at]), float(c[at]), mode)
    return found


def _is_extreme(a: Array) -> Array:
    size = numpy.abs(a)
    return ((size < _TINY) & (size > 0)) | (size > _HUGE)


def _exact_fma(a: float, b: float, c: float, mode: str) -> Any:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return numpy.float64(a) * numpy.float64(b) + numpy.float64(c)
    try:
        near = numpy.array([float(exact)])
    except OverflowError:
        near = numpy.array([numpy.inf if exact > 0 else -numpy.inf])
    if mode == "rn":
        return near[0]
    is_above = near[0] == numpy.inf or (near[0] != -numpy.inf and Fraction(float(near[0])) > exact)
    is_below = near[0] == -numpy.inf or (near[0] != numpy.inf and Fraction(float(near[0])) < exact)
    above, below, negative = (numpy.array([flag]) for flag in (is_above, is_below, exact < 0))
    return directed(near, above, below, negative, mode)[0]


def add_f8(a: Array, b: Array, mode: str) -> Array:
    return a + b if mode == "rn" else fma_f8(a, numpy.ones(1), b, mode)


def mul_f8(a: Array, b: Array, mode: str) -> Array:
    return a * b if mode == "rn" else fma_f8(a, b, numpy.zeros(1), mode)


def flush(a: Array) -> Array:
    """Flush subnormal float32 to zeros of their sign."""
    return numpy.where(numpy.abs(a) < _F4_MIN, numpy.copysign(numpy.float32(0), a), a)


def saturate(a: Array) -> Array:
    clipped = numpy.clip(a, a.dtype.type(0), a.dtype.type(1))
    return numpy.where(numpy.isnan(a), a.dtype.type(0), clipped)


# Half and bfloat16


def from_bf(a: Array) -> Array:
    return (a.astype(numpy.uint32) << numpy.uint32(16)).view(numpy.float32)


def to_bf(value: Array, mode: str = "rn") -> Array:
    """Return float64 that is exact or rounded to odd, or float32, as the bits of a bfloat16."""
    if value.dtype == numpy.float64:
        near = value.astype(numpy.float32)
        value = odd_f4(near, value)
    bits = numpy.ascontiguousarray(value).view(numpy.uint32)
    if mode == "rn":
        rounded = bits + numpy.uint32(0x7FFF) + ((bits >> numpy.uint32(16)) & numpy.uint32(1))
    elif mode == "rz":
        rounded = bits
    else:
        raise AssertionError(mode)
    found = (rounded >> numpy.uint32(16)).astype(numpy.uint16)
    return numpy.where(numpy.isnan(value), numpy.uint16(0x7FFF), found)


def odd_f4(near: Array, exact: Array) -> Array:
    back = near.astype(numpy.float64)
    even = (near.view(numpy.uint32) & numpy.uint32(1)) == 0
    changed = even & (back != exact) & numpy.isfinite(near)
    toward = numpy.nextafter(near, numpy.where(exact > back, numpy.float32(numpy.inf), numpy.float32(-numpy.inf)))
    return numpy.where(changed, toward, near)


def to_f2(value: Array, mode: str = "rn") -> Array:
    """Return float64 that is exact or rounded to odd, or float32, as a float16."""
    near = value.astype(numpy.float16)
    if mode == "rn":
        return near
    back = near.astype(value.dtype)
    return directed(near, back > value, back < value, value < 0, mode)


def wide_fma(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c of float32 arrays in float64, rounded to odd."""
    return odd_sum(a.astype(numpy.float64) * b, c.astype(numpy.float64))


def from_integer(value: Array) -> Array:
    """Return an integer of any width as float64, rounded to odd."""
    if value.dtype.itemsize < 8:
        return value.astype(numpy.float64)
    upper = (value >> value.dtype.type(32)).astype(numpy.float64) * 2.0**32
    return odd_sum(upper, (value & value.dtype.type(0xFFFFFFFF)).astype(numpy.float64))


def tf32(value: Array, mode: str) -> Array:
    """Return bits of float32 with 10 bits of fraction. rna rounds ties away, rn to even."""
    bits = value.view(numpy.uint32)
    if mode == "rna":
        found = bits + numpy.uint32(0x1000)
    elif mode == "rz":
        found = bits
    else:
        found = bits + numpy.uint32(0xFFF) + ((bits >> numpy.uint32(13)) & numpy.uint32(1))
    return numpy.where(numpy.isfinite(value), found & numpy.uint32(0xFFFFE000), bits)


# Minimum and maximum


def least(a: Array, b: Array, keeps_nan: bool) -> Array:
    found = numpy.minimum(a, b) if keeps_nan else numpy.fmin(a, b)
    return numpy.where((a == 0) & (b == 0), numpy.where(numpy.signbit(a), a, b), found)


def greatest(a: Array, b: Array, keeps_nan: bool) -> Array:
    found = numpy.maximum(a, b) if keeps_nan else numpy.fmax(a, b)
    return numpy.where((a == 0) & (b == 0), numpy.where(numpy.signbit(a), b, a), found)


def to_integer(value: Array, dtype: Any, mode: str) -> Array:
    """Round in a direction and saturate. NaN is 0."""
    rounded = round_to_integer(value.astype(numpy.float64), mode)
    limits = numpy.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)  # the latter may be rounded up, to a power of two
    inside = (rounded >= low) & (rounded < high)
    found = numpy.where(inside, rounded, 0.0).astype(dtype)
    found = numpy.where(rounded >= high, dtype(limits.max), found)
    return numpy.where(rounded < low, dtype(limits.min), found)


_ROUNDERS = {"rni": numpy.rint, "rzi": numpy.trunc, "rmi": numpy.floor, "rpi": numpy.ceil}


def round_to_integer(value: Array, mode: str) -> Array:
    return _ROUNDERS[mode](value)


def approximate(name: str, a: Array) -> Array:
    """Compute a function of float32 in float64, at least as exactly as the device's approximation."""
    x = a.astype(numpy.float64)
    if name == "rsqrt":
        found = numpy.where(x == 0, numpy.copysign(numpy.inf, x), 1 / numpy.sqrt(x))
    elif name == "rcp":
        found = 1 / x
    else:
        found = {
            "ex2": numpy.exp2,
            "lg2": numpy.log2,
            "sin": numpy.sin,
            "cos": numpy.cos,
            "tanh": numpy.tanh,
            "sqrt": numpy.sqrt,
        }[name](x)
    return found.astype(numpy.float32)
