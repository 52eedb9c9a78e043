# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branch-free reduction of angles of any size to a number of quarter turns and a rest in [-pi/4, pi/4].

The angle is multiplied by 2 / pi, in as many bits as the largest number needs. Products of an angle and a piece of 2 /
pi are exact. Multiples of four quarter turns are subtracted from each product.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from ....emit.arithmetic import bits_of, convert
from ....emit.conversions import to_float
from ....emit.numbers import Number, fma, select, unary
from .expansion import magnitude, nearest_integer, two_product, two_sum

HALF_PI = (math.pi / 2, 6.123233995736766e-17)

# For f32, in f64: an angle of 2**26n to 2**(26n + 26) is multiplied by the bits of 2 / pi below 2**(25 - 26n), since
# higher bits contribute whole turns only. The products with the first pieces are exact, and so is the sum of their
# fractions. The last piece leaves an error below 2**-56; no f32 is nearer than 2**-31 to a quarter turn.
_F32_STEP, _F32_TOP, _F32_WIDTHS = 26, 25, (29, 26, 53)
# For f64: the number of pieces, their width, and the number of consecutive pieces an angle needs. The exponent of the
# angle selects the first piece.
_F64_PIECES, _F64_WIDTH, _F64_TAKEN = 25, 50, 5
# Scale that keeps the last pieces in the range of normal numbers.
_F64_LIFT = 600


class Angle(NamedTuple):
    """Angle of quarters * pi / 2 + rest (+ rest_low)."""

    quarters: Number
    rest: Number
    rest_low: Number | None = None


def reduced(x: Number) -> Angle:
    return _reduced_f32(x) if x.dtype == "f32" else _reduced_f64(x)


def _reduced_f32(x: Number) -> Angle:
    wide = to_float(x, "f64")
    high, middle, low = (wide * piece for piece in _f32_pieces_for(wide))
    high_whole, high_quarters = nearest_integer(high)
    middle_whole, middle_quarters = nearest_integer(middle)
    fraction = (high - high_whole) + (middle - middle_whole)
    whole, quarters = nearest_integer(fraction + low)
    rest = ((fraction - whole) + low) * HALF_PI[0]
    quarters = convert("arith.trunci", high_quarters + middle_quarters + quarters, bits_of(x).element)
    return Angle(quarters, to_float(rest, "f32"))


def _f32_pieces_for(wide: Number) -> list[Number]:
    """Return the three pieces of 2 / pi that matter for an angle."""
    size = magnitude(wide)
    pieces = [wide.constant(piece) for piece in _f32_pieces(0)]
    for step in range(1, 128 // _F32_STEP + 1):
        is_above = size >= 2.0 ** (_F32_STEP * step)
        pieces = [select(is_above, own, below) for own, below in zip(_f32_pieces(step), pieces, strict=True)]
    return pieces


@functools.cache
def _f32_pieces(step: int) -> list[float]:
    lowest = _F32_TOP - _F32_STEP * step
    pieces = []
    for width in _F32_WIDTHS:
        lowest -= width
        pieces.append(math.ldexp(float((_two_over_pi(256) >> (256 + lowest)) & ((1 << width) - 1)), lowest))
    return pieces


def _reduced_f64(x: Number) -> Angle:
    scaled = x * 2.0**-_F64_LIFT
    terms: list[Number] = []
    for piece in _pieces_for(x):
        product, rest = two_product(scaled, piece)
        terms += [_without_turns(product), _without_turns(rest)]
    # The sum has three times the bits of f64: an angle can be as near to a quarter turn as 2**-60.
    terms = _distill(terms)
    whole, quarters = nearest_integer(terms[-1])
    terms[-1] = terms[-1] - whole
    terms = _distill(terms)
    lower = functools.reduce(lambda one, other: one + other, terms[:-1])
    fraction, fraction_low = two_sum(terms[-1], lower)
    rest, rest_low = two_product(fraction, fraction.constant(HALF_PI[0]))
    rest_low = fma(fraction, HALF_PI[1], fma(fraction_low, HALF_PI[0], rest_low))
    is_small = magnitude(x) < math.pi / 4
    return Angle(select(is_small, 0, quarters), select(is_small, x, rest), select(is_small, 0.0, rest_low))


def _without_turns(x: Number) -> Number:
    """Return x minus the nearest multiple of 4, exactly."""
    return fma(unary("math.roundeven", x * 0.25), -4.0, x)


def _distill(terms: Sequence[Number]) -> list[Number]:
    """Return numbers with the same sum. The last number is close to the whole sum."""
    result = [terms[0]]
    for term in terms[1:]:
        total, lost = two_sum(term, result[-1])
        result[-1:] = [lost, total]
    return result


def _pieces_for(x: Number) -> list[Number]:
    """Return the pieces of 2 / pi that matter for x. Higher pieces contribute whole turns, lower pieces nothing."""
    above = (((bits_of(x) >> 52) & 0x7FF) - 1023) - 54
    above = select(above < 0, 0, above)
    # Equals above // 50, exact up to 1023.
    first = (above * 1311) >> 16
    table = [x.constant(piece) for piece in _pieces(_F64_PIECES, _F64_WIDTH, _F64_LIFT)]
    for step in (16, 8, 4, 2, 1):
        is_set = (first & step) != 0
        count = min(_F64_TAKEN + step - 1, len(table))
        table = [
            select(is_set, table[index + step], table[index]) if index + step < len(table) else table[index]
            for index in range(count)
        ]
    return table


@functools.cache
def _pieces(count: int, width: int, lift: int) -> list[float]:
    """Return the bits of 2 / pi * 2**lift in order, `width` bits per piece."""
    bits = count * width
    digits = _two_over_pi(bits)
    mask = (1 << width) - 1
    return [
        math.ldexp(float((digits >> (bits - width * (index + 1))) & mask), lift - width * (index + 1))
        for index in range(count)
    ]


def _two_over_pi(bits: int) -> int:
    """Return 2 / pi * 2**bits, rounded down. pi comes from Machin's formula: 16 atan(1/5) - 4 atan(1/239)."""
    one = 1 << (bits + 64)
    return (one << (bits + 1)) // (16 * _atan_of_inverse(5, one) - 4 * _atan_of_inverse(239, one))


def _atan_of_inverse(n: int, one: int) -> int:
    total, power, k = 0, one // n, 1
    while power:
        total += power // k if k % 4 == 1 else -(power // k)
        power //= n * n
        k += 2
    return total
