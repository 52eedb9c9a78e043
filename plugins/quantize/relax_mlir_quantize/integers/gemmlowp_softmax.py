# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax of TFLite Micro and CMSIS-NN: gemmlowp's exponential as a table, and a reciprocal by Newton's method.

Numbers of Qn have n integer bits, a sign and 31 - n fractional bits. Products are doubling high multiplies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects import relax
from relax_mlir.dialects.relax import const
from relax_mlir.passes.graph.quantization.numbers import as_i32

from .layer_emission import Integers, LayerEmission, limits_of

if TYPE_CHECKING:
    from numpy import ndarray

#: Integer bits of scaled differences, and of sums of exponentials.
_DIFFERENCE_BITS, _SUM_BITS = 5, 12
_ONE = 2**31 - 1
#: exp(-2**n) in Q0, for n from -2 to 4.
_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
#: 48 / 17 and -32 / 17 in Q2: the start of Newton's method.
_START, _SLOPE = 1515870810, -1010580540


def emit_gemmlowp_softmax(to: LayerEmission, data: Integers, axis: int) -> Value:
    """Return the integers of softmax along an axis. The result has the scale 1 / 256 and the least zero point."""
    low, _ = limits_of(to.dtype)
    if to.scale != 1 / 256 or to.zero != low:
        raise to.fail(
            f"the result has the scale {to.scale:g} and the zero point {to.zero}, expected 1 / 256 and {low}; state "
            f"Fixed('relax.nn.softmax', scale=1 / 256, zero={low})"
        )
    count = data.sizes[axis]
    if not isinstance(count, int) or count >= 2**_SUM_BITS:
        raise to.fail(f"the axis has {count} numbers, expected less than {2**_SUM_BITS}; drop out=")
    table = _exponentials(float(data.scale))
    wide = as_i32(data.numbers)
    distance = relax.subtract(relax.max(wide, axis=[axis], keepdims=True), wide)
    powers = relax.take(const(table), distance, axis=0)
    rounded = ((table.astype("int64") + (1 << _SUM_BITS - 1)) >> _SUM_BITS).astype("int32")
    sums = relax.sum(relax.take(const(rounded), distance, axis=0), axis=[axis], keepdims=True)
    headroom = relax.take(const(_headrooms()), relax.right_shift(sums, const(31 - _SUM_BITS, "int32")), axis=0)
    headroom = relax.astype(headroom, dtype="i64")
    product = _times(relax.astype(powers, dtype="i64"), _reciprocal(relax.astype(sums, dtype="i64"), headroom))
    # The quotient has 8 bits. `places` is 35 - headroom, from 23 on.
    places = relax.subtract(_i64(31 - 8 + _SUM_BITS), headroom)
    half = relax.left_shift(_i64(1), relax.subtract(places, _i64(1)))
    return to.stored(relax.astype(relax.right_shift(relax.add(product, half), places), dtype="i32"), to.zero)


def _headrooms() -> ndarray:
    """Return the leading zeros of i32 sums from 1 on, by their integer bits."""
    import numpy

    places = numpy.arange(2**_SUM_BITS)
    return (_SUM_BITS + 1 - numpy.frexp(places)[1]).astype("int32")


def _reciprocal(sums: Value, headroom: Value) -> Value:
    """Return 1 / (1 + x) in Q0, where 1 + x are the sums without leading zeros."""
    half = relax.right_shift(relax.left_shift(sums, headroom), _i64(1))
    x = relax.add(_times(half, _i64(_SLOPE)), _i64(_START))
    for _ in range(3):
        x = relax.add(x, _shift(_times(x, relax.subtract(_i64(1 << 29), _times(half, x))), 2))
    return _shift(x, 1)


def _i64(number: int) -> Value:
    return const(number, "int64")


def _times(left: Value, right: Value) -> Value:
    """Return the doubling high product of i64 numbers that fit in 32 bits."""
    return relax.right_shift(relax.add(relax.multiply(left, right), _i64(1 << 30)), _i64(31))


def _shift(x: Value, places: int) -> Value:
    """Shift to the left, saturated to 32 bits."""
    return relax.maximum(relax.minimum(relax.left_shift(x, _i64(places)), _i64(_ONE)), _i64(-_ONE - 1))


# ---- the exponential, when the module is compiled ----


def _exponentials(scale: float) -> ndarray:
    """Return exp(-distance * scale) in Q0 for distances of bytes. Far ones, which TFLite skips, are 0."""
    import math

    import numpy

    fraction, left = math.frexp(min(scale * 2.0 ** (31 - _DIFFERENCE_BITS), 2.0**31 - 1))
    if (multiplier := math.floor(fraction * 2**31 + 0.5)) == 2**31:
        multiplier, left = 2**30, left + 1
    farthest = math.floor((2**_DIFFERENCE_BITS - 1) * 2 ** (31 - _DIFFERENCE_BITS) / 2**left)
    entries = [_exp(_high(-distance << left, multiplier)) if distance <= farthest else 0 for distance in range(256)]
    return numpy.array(entries, "int32")


def _high(left: int, right: int) -> int:
    return min((left * right + (1 << 30)) >> 31, _ONE)


def _divide(x: int, places: int) -> int:
    """Return x / 2**places, ties away from zero."""
    return (x + (1 << places - 1) - (x < 0)) >> places


def _exp(x: int) -> int:
    """Return exp of a number of Q5 that is 0 or less, in Q0."""
    if x == 0:
        return _ONE
    fraction_bits = 31 - _DIFFERENCE_BITS
    quarter = 1 << fraction_bits - 2
    rest = (x & quarter - 1) - quarter
    result = _exp_of_quarter(rest << _DIFFERENCE_BITS)
    for place, power in enumerate(_POWERS, fraction_bits - 2):
        if (rest - x) >> place & 1:
            result = _high(result, power)
    return result


def _exp_of_quarter(x: int) -> int:
    """Return exp in [-1/4, 0) by its series around -1/8."""
    constant, third = 1895147668, 715827883
    x += 1 << 28
    square = _high(x, x)
    cube, fourth = _high(square, x), _high(square, square)
    return constant + _high(constant, x + _divide(_high(_divide(fourth, 2) + cube, third) + square, 1))
