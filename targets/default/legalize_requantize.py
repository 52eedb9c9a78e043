# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requantization of i32 sums, equal to rx.Requantize.apply in each bit.

Fixed-point forms compute in i64 without floats: products have at most 62 bits, and shifts at most 62 places. Form
"float" computes in f32.
"""

from __future__ import annotations

from ...dialects.core.infos import bit_width
from ...emit.conversions import limits
from ...emit.numbers import Number, intrinsic, maximum, minimum, select
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ...support.requantization import FRACTION_BITS, MOST_SHIFT
from .legalize_quantize import apply_along_axis

#: Floats beyond this number saturate every type of at most 16 bits, whatever the zero point of 16 bits is.
_FAR = float(1 << 24)


@register_legalize("relax.requantize", by_types=True)
def requantize(call: LegalizeCall) -> Legalized:
    zero_type, target = call.dtype(call.operands[3]), call.result_dtype()
    op = call.op

    def body(x: Number, multiplier: Number, shift: Number, zero: Number) -> Number:
        z = zero.of(zero_type)
        if op.form == "float":
            product = x.to("f32") * multiplier
            return _float(_rounded_float(product, op.rounding), z, target, op.saturate)
        limited = maximum(minimum(shift, MOST_SHIFT), -MOST_SHIFT)
        if op.double_rounding:
            whole = _multiply_doubling(x, multiplier, limited, op.rounding)
        else:
            product = x.to("i64") if op.form == "power_of_two" else x.to("i64") * multiplier.to("i64")
            whole = _shift_by(product, limited, FRACTION_BITS[op.form], op.rounding)
        return _convert_stored(whole + z.to("i64"), target, op.saturate)

    return apply_along_axis(call, body)


def _shift_by(product: Number, shift: Number, bits: int, rounding: str) -> Number:
    """Return product / 2**(bits + shift), rounded. The shift is in the range of MOST_SHIFT."""
    places = shift.to("i64") + bits
    if bits < MOST_SHIFT:  # otherwise the places are never negative
        product = product << maximum(-places, 0)
        places = maximum(places, 0)
    return _divide_by_power(product, places, rounding)


def _divide_by_power(number: Number, places: Number, rounding: str) -> Number:
    """Return number / 2**places, rounded. The sum of the number and 2**places fits in 64 bits."""
    if rounding == "down":
        return number >> places
    mask = (number.constant(1) << places) - 1
    # The highest number below the tie, and the tie: 0 for 0 places.
    below = mask.shift_right_unsigned(1)
    tie = mask - below
    if rounding == "half_even":
        bias = below + ((number >> places) & (mask & 1))
    elif rounding == "half_away":
        bias = select(number < 0, below, tie)
    elif rounding == "half_to_zero":
        bias = select(number < 0, tie, below)
    elif rounding == "to_zero":
        bias = select(number < 0, mask, 0)
    else:
        bias = {"half_up": tie, "half_down": below, "up": mask}[rounding]
    return (number + bias) >> places


def _multiply_doubling(x: Number, multiplier: Number, shift: Number, rounding: str) -> Number:
    """Return gemmlowp's doubling high multiply, followed by a rounding shift."""
    left = x << maximum(-shift, 0)
    high = (left.to("i64") * multiplier.to("i64") + (1 << 30)) >> 31
    return _divide_by_power(minimum(high, (1 << 31) - 1), maximum(shift, 0).to("i64"), rounding)


def _convert_stored(whole: Number, target: str, saturate: bool) -> Number:
    """Return an integer in the result's type: clamped, or its low bits."""
    if saturate:
        low, high = limits(target)
        whole = maximum(minimum(whole, high), low)
    return whole.to(target)


def _rounded_float(number: Number, rounding: str) -> Number:
    """Return an f32 rounded to an integer. The distance to the integer part is exact, and so is each comparison."""
    if rounding == "half_even":
        return intrinsic("roundeven", number)
    if rounding in ("up", "down", "to_zero"):
        return intrinsic({"up": "ceil", "down": "floor", "to_zero": "trunc"}[rounding], number)
    whole = intrinsic("trunc", number)
    rest = number - whole
    is_up = rest >= 0.5 if rounding in ("half_up", "half_away") else rest > 0.5
    is_down = rest <= -0.5 if rounding in ("half_down", "half_away") else rest < -0.5
    return whole + select(is_up, 1.0, select(is_down, number.constant(-1.0), 0.0))


def _float(rounded: Number, zero: Number, target: str, saturate: bool) -> Number:
    """Return a float that is an integer plus the zero point. The float saturates to i32, and NaN counts as 0."""
    if saturate and bit_width(target) <= 16 and bit_width(zero.dtype) <= 16:
        near = select(rounded == rounded, rounded, 0.0)
        near = select(near > -_FAR, near, -_FAR)
        near = select(near < _FAR, near, _FAR)
        return _convert_stored(near.to("i32") + zero.to("i32"), target, saturate)
    whole = rounded.to("i32")
    if saturate:
        return _convert_stored(whole.to("i64") + zero.to("i64"), target, saturate)
    return (whole + zero.to("i32")).to(target)
