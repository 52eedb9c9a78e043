# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of C's fmod, exactly: an integer division that processes as many bits at a time as fit."""

from __future__ import annotations

import math
from typing import NamedTuple

from relax_mlir.emit.arithmetic import bits_of, convert, element, from_bits
from relax_mlir.emit.loops import repeat_while
from relax_mlir.emit.numbers import Number, constant, minimum, number, select, unary


class _FloatFormat(NamedTuple):
    """Float format: bits of the fraction, and the exponent of 1."""

    fraction: int
    bias: int


_FORMATS = {"f32": _FloatFormat(23, 127), "f64": _FloatFormat(52, 1023)}


def float_remainder(x: Number, y: Number) -> Number:
    """Return x minus the largest multiple of y in it, with the sign of x.

    The result is NaN for infinite x and for y = 0.
    """
    if x.dtype not in _FORMATS:
        return float_remainder(x.to("f32"), y.to("f32")).to(x.dtype)
    format_, size, step = _FORMATS[x.dtype], unary("math.absf", x), unary("math.absf", y)
    (exponent, fraction), (step_exponent, divisor) = (_parts(each, format_) for each in (size, step))
    # Undefined cases yield arbitrary values, but must not divide by 0.
    divisor = select(divisor == 0, 1, divisor)
    room = 64 - format_.fraction - 1

    def more(_: Number, left: Number) -> Number:
        return left > 0

    def shift(rest: Number, left: Number) -> list[Number]:
        bits = minimum(left, room)
        return [(rest.of("ui64") << bits) % divisor.of("ui64"), left - bits]

    distance = exponent - step_exponent
    rest, _ = repeat_while([fraction.of("ui64") % divisor.of("ui64"), distance], more, shift)
    found = _scale_fraction(number(rest), step_exponent, x, format_)
    found = select(size < step, size, found)
    is_defined = (size < math.inf) & (step > 0.0)
    signed = from_bits(bits_of(found) | (bits_of(x) & ~_largest(x)), x.element)
    return select(is_defined, signed, math.nan)


def _parts(size: Number, format_: _FloatFormat) -> tuple[Number, Number]:
    """Return the exponent and fraction of a nonnegative number as i64: fraction * 2**(exponent - bias - bits)."""
    bits = bits_of(size).to("i64")
    exponent, fraction = bits >> format_.fraction, bits & ((1 << format_.fraction) - 1)
    is_normal = exponent > 0
    return select(is_normal, exponent, 1), select(is_normal, fraction | (1 << format_.fraction), fraction)


def _scale_fraction(fraction: Number, exponent: Number, x: Number, format_: _FloatFormat) -> Number:
    """Return the float of a fraction and an exponent, the inverse of `_parts`. The power of two may be subnormal."""
    normal = exponent > format_.fraction
    bits = select(normal, (exponent - format_.fraction) << format_.fraction, constant(1, "i64") << (exponent - 1))
    power = from_bits(bits.to("i32" if x.dtype == "f32" else "i64"), x.element)
    return convert("arith.uitofp", fraction, element(x.dtype)) * power


def _largest(x: Number) -> int:
    """Return the mask of all bits but the sign."""
    return (1 << (x.bits - 1)) - 1
