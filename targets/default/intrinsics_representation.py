# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsics on the bits of floats: exponents, neighbors, signs."""

from __future__ import annotations

import math

from ...bindings.ir import OpView
from ...bindings.mlir import ir
from ...emit.arithmetic import bits_of, convert, from_bits
from ...emit.conversions import to_float
from ...emit.numbers import Number, numbers, operation, select, unary
from ...emit.small_floats import MACHINE_FLOATS
from ...passes.kernels.intrinsics.registry import register_legalize_intrinsic
from .intrinsics import WIDE, formula
from .intrinsics_integer import signless

_KNOWN = tuple(MACHINE_FLOATS)


def _size_bits(x: Number) -> Number:
    """Return the bits without the sign."""
    return bits_of(x) & ((1 << (x.bits - 1)) - 1)


@formula("tir.signbit", _KNOWN)
def signbit(x: Number) -> Number:
    return bits_of(x) < 0


@formula("tir.isnormal", _KNOWN)
def isnormal(x: Number) -> Number:
    bits = _size_bits(x)
    layout = MACHINE_FLOATS[x.dtype]
    return (bits >= 1 << layout.mantissa) & (bits < layout.infinity)


@formula("tir.nextafter", _KNOWN)
def nextafter(x: Number, y: Number) -> Number:
    bits = bits_of(x)
    is_negative = bits < 0
    # Away from zero the bits increase, whatever the sign.
    is_outward = (y > x) ^ is_negative
    moved = from_bits(bits + select(is_outward, bits.constant(1), -1), x.element)
    from_zero = operation("math.copysign", [from_bits(bits.constant(1), x.element), y], x.type)
    result = select(x == 0.0, from_zero, moved)
    result = select(x == y, y, result)
    return select((x == x) & (y == y), result, x + y)


@formula("tir.spacing", _KNOWN)
def spacing(x: Number) -> Number:
    """Return the distance to the next number, with the sign of x as in NumPy."""
    size = from_bits(_size_bits(x), x.element)
    gap = from_bits(_size_bits(x) + 1, x.element) - size
    return select(size < math.inf, select(x < 0.0, -gap, gap), math.nan)


def _normalize_number(x: Number) -> tuple[Number, Number]:
    """Return x scaled to a normal number, and the excess of its exponent."""
    layout = MACHINE_FLOATS[x.dtype]
    lift = layout.mantissa + 2
    is_tiny = unary("math.absf", x) < math.ldexp(1.0, 1 - layout.bias)
    zero = bits_of(x).constant(0)
    return select(is_tiny, x * math.ldexp(1.0, lift), x), select(is_tiny, zero.constant(lift), zero)


def _exponent(x: Number) -> Number:
    """Return the exponent of a number, in the width of its bits. It is undefined for 0, infinities and NaN."""
    layout = MACHINE_FLOATS[x.dtype]
    normal, lift = _normalize_number(x)
    return (_size_bits(normal) >> layout.mantissa) - layout.bias - lift


@formula("tir.logb", WIDE)
def logb(x: Number) -> Number:
    exponent = convert("arith.sitofp", _exponent(x), x.element)
    finite = select(x == 0.0, -math.inf, exponent)
    return select(unary("math.absf", x) < math.inf, finite, x * x)


@formula("tir.ilogb", WIDE)
def ilogb(x: Number) -> Number:
    """Return the exponent. For 0 and NaN, which C leaves open, return the lowest i32, as on most systems."""
    exponent = _exponent(x).to("i32")
    lowest, highest = -(2**31), 2**31 - 1
    result = select(unary("math.absf", x) == math.inf, highest, exponent)
    return select((x == 0.0) | (x != x), lowest, result)


@register_legalize_intrinsic("tir.frexp", dtypes=WIDE)
def frexp(op: OpView) -> object:
    (x,) = numbers(op)
    layout = MACHINE_FLOATS[x.dtype]
    normal, _ = _normalize_number(x)
    kept = bits_of(normal) & ~layout.infinity
    half = layout.power(-1)
    is_plain = (unary("math.absf", x) < math.inf) & (x != 0.0)
    mantissa = select(is_plain, from_bits(kept | half, x.element), x)
    return [mantissa, select(is_plain, (_exponent(x) + 1).to("i32"), 0)]


@register_legalize_intrinsic(["tir.ldexp", "tir.scalbn"], dtypes=("f32",))
def ldexp_f32(op: OpView) -> Number:
    """Compute in f64, which neither overflows nor rounds, and round once."""
    x, n = Number(op.operation.operands[0]), _exponent_i64(op, 400)
    return to_float(to_float(x, "f64") * _power_of_two(n), "f32")


@register_legalize_intrinsic(["tir.ldexp", "tir.scalbn"], dtypes=("f64",))
def ldexp_f64(op: OpView) -> Number:
    """Multiply in three steps, of which only the last may round."""
    x, n = Number(op.operation.operands[0]), _exponent_i64(op, 3000)
    for _step in range(2):
        is_up, is_down = n > 1023, n < -1022
        by = select(is_up, n.constant(1023), select(is_down, n.constant(53 - 1022), 0))
        x = x * _power_of_two(by)
        n = n - by
    n = select(n > 1023, 1023, select(n < -1022, -1022, n))
    return x * _power_of_two(n)


def _power_of_two(n: Number) -> Number:
    """Return 2**n as f64."""
    layout = MACHINE_FLOATS["f64"]
    return from_bits((n + layout.bias) << layout.mantissa, layout.element)


def _exponent_i64(op: OpView, bound: int) -> Number:
    """Return the integer operand as i64, clamped to bounds beyond which the result does not change."""
    n, is_unsigned = signless(Number(op.operation.operands[1]))
    i64 = ir.IntegerType.get_signless(64)
    if str(n.element) == "index":
        n = convert("arith.index_cast", n, i64)
    elif n.bits < 64:
        n = convert("arith.extui" if is_unsigned else "arith.extsi", n, i64)
    elif n.bits == 64 and is_unsigned:
        n = select(n < 0, bound, n)
    n = select(n > bound, bound, n)
    return select(n < -bound, -bound, n)
