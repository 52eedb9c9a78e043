# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions of small floating-point types from and to f32 and f64 by bit operations: machines and LLVM lack them.

Widening is exact. Narrowing rounds once, to nearest with ties to even, also from f64. f8E8M0FNU, which only has powers
of two, rounds ties up.

A number that is too large becomes an infinity, as in ml_dtypes. Types without infinity use a NaN, and types without
both (f6, f4) the largest number. With `saturate`, the result is always the largest number, and NaN stays NaN. A NaN
becomes a zero if the type lacks NaN (f6, f4).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from ..bindings.ir import Type
from ..bindings.mlir import ir
from ..dialects.core.infos import bit_width
from .arithmetic import X, bits_of, convert, element, from_bits, select

#: Special codes. `ieee`: infinities and NaNs; `fn`: a NaN of all ones; `fnuz`: a NaN in the place of -0; `finite`:
#: neither; `scale` (f8E8M0FNU): a NaN of all ones, but no sign, no zero and no mantissa.
Kind = Literal["ieee", "fn", "fnuz", "finite", "scale"]


class FloatFormat(NamedTuple):
    """Layout of a type: the exponent below the sign, then the mantissa."""

    exponent: int
    mantissa: int
    bias: int
    kind: Kind

    @property
    def width(self) -> int:
        return self.exponent + self.mantissa + (self.kind != "scale")

    @property
    def element(self) -> Type:
        """MLIR type, for a type that is named by its width."""
        return element(f"f{self.width}")

    def power(self, exponent: int) -> int:
        """Return the bits of 2**exponent, a normal number."""
        return (exponent + self.bias) << self.mantissa

    @property
    def sign(self) -> int:
        """Bit of the sign, or 0 if there is none."""
        return 0 if self.kind == "scale" else 1 << (self.exponent + self.mantissa)

    @property
    def magnitude(self) -> int:
        """Mask of the bits without the sign."""
        return (1 << (self.exponent + self.mantissa)) - 1

    @property
    def infinity(self) -> int:
        """Exponent of all ones, which is an infinity in `ieee` types."""
        return self.magnitude & -(1 << self.mantissa)

    @property
    def largest(self) -> int:
        if self.kind == "ieee":
            return self.infinity - 1
        return self.magnitude - (1 if self.kind in ("fn", "scale") else 0)

    @property
    def nan(self) -> int:
        """NaN that narrowing returns, or a negative zero if the type has no NaN."""
        if self.kind == "ieee":
            return self.infinity | 1 << (self.mantissa - 1)
        return self.magnitude if self.kind in ("fn", "scale") else self.sign

    @property
    def overflow(self) -> int:
        """Code of a number that is too large."""
        if self.kind == "ieee":
            return self.infinity
        return self.largest if self.kind == "finite" else self.nan


SMALL_FLOATS = {
    "f8E4M3FN": FloatFormat(4, 3, 7, "fn"),
    "f8E5M2": FloatFormat(5, 2, 15, "ieee"),
    "f8E4M3FNUZ": FloatFormat(4, 3, 8, "fnuz"),
    "f8E5M2FNUZ": FloatFormat(5, 2, 16, "fnuz"),
    "f8E4M3": FloatFormat(4, 3, 7, "ieee"),
    "f8E3M4": FloatFormat(3, 4, 3, "ieee"),
    "f8E4M3B11FNUZ": FloatFormat(4, 3, 11, "fnuz"),
    "f8E8M0FNU": FloatFormat(8, 0, 127, "scale"),
    "f6E2M3FN": FloatFormat(2, 3, 1, "finite"),
    "f6E3M2FN": FloatFormat(3, 2, 3, "finite"),
    "f4E2M1FN": FloatFormat(2, 1, 1, "finite"),
}
# Processors have these two types, but not always a rounding from f64.
_HALF_FLOATS = {"f16": FloatFormat(5, 10, 15, "ieee"), "bf16": FloatFormat(8, 7, 127, "ieee")}


_WIDE_FLOATS = {"f32": FloatFormat(8, 23, 127, "ieee"), "f64": FloatFormat(11, 52, 1023, "ieee")}
#: Types of processors.
MACHINE_FLOATS = {**_HALF_FLOATS, **_WIDE_FLOATS}


def is_small_float(dtype: str) -> bool:
    return dtype in SMALL_FLOATS


def is_by_bits(source: str, target: str) -> bool:
    """Check whether `convert_by_bits` handles a conversion."""
    return source in SMALL_FLOATS or target in SMALL_FLOATS or (source == "f64" and target in _HALF_FLOATS)


def convert_by_bits(x: X, target: str, *, saturate: bool = False) -> X:
    """Convert between a small type and any other type, or from f64 to f16 or bf16."""
    if x.dtype in SMALL_FLOATS:
        x = widen_code(bits_of(x), x.dtype, "f64" if target == "f64" else "f32")
    if not is_by_bits(x.dtype, target):
        return machine_float(x, target)
    return from_bits(narrow_to_code(x, target, saturate=saturate), element(target))


def machine_float(x: X, target: str) -> X:
    """Convert between the types of processors, except from f64 to f16 and bf16."""
    if x.dtype == target:
        return x
    if (x.dtype, target) == ("f32", "bf16"):
        return _round_to_bf16(x)
    result = element(target)
    if result.width == x.bits:
        return machine_float(convert("arith.extf", x, element("f32")), target)
    return convert("arith.extf" if result.width > x.bits else "arith.truncf", x, result)


def _round_to_bf16(x: X) -> X:
    """Round by bit operations, because the instruction of some processors flushes subnormal numbers to zero."""
    bits = bits_of(x)
    is_odd = bits.shift_right_unsigned(16) & 1
    rounded = bits + (is_odd + 0x7FFF)
    # A NaN stays a NaN, although its last bits are dropped.
    kept = select(x != x, bits | 0x400000, rounded).shift_right_unsigned(16)
    return from_bits(convert("arith.trunci", kept, ir.IntegerType.get_signless(16)), element("bf16"))


def widen_code(code: X, dtype: str, target: str) -> X:
    """Return the f32 or f64 value of a small type's code, the low bits of an integer."""
    layout, wide = SMALL_FLOATS[dtype], _WIDE_FLOATS[target]
    code = convert("arith.extui", code, element(f"i{wide.width}"))
    bits = _widened_scale(code, wide) if layout.kind == "scale" else _widen(code, layout, wide)
    return from_bits(bits, wide.element)


def narrow_to_code(x: X, target: str, *, saturate: bool = False) -> X:
    """Return the bits of a float, rounded to a small type, as an integer of this width.

    The target of an f64 may also be f16 or bf16.
    """
    layout = SMALL_FLOATS.get(target) or _HALF_FLOATS[target]
    x = x if x.dtype in _WIDE_FLOATS else machine_float(x, "f32")
    wide = _WIDE_FLOATS[x.dtype]
    overflow = layout.largest if saturate else layout.overflow
    code = _narrowed_scale(x, wide, overflow) if layout.kind == "scale" else _narrow(x, layout, wide, overflow)
    return convert("arith.trunci", code, ir.IntegerType.get_signless(bit_width(target)))


def constant_code(value: float, dtype: str) -> int:
    """Return the bits of the nearest number of a small type, because text may truncate digits.

    NaN gives any NaN of the type.
    """
    layout = SMALL_FLOATS[dtype]
    if math.isnan(value):
        return layout.nan
    sign = layout.sign if math.copysign(1.0, value) < 0 else 0
    if math.isinf(value):
        return sign | layout.infinity
    return sign | min(range(layout.largest + 1), key=lambda code: abs(_value(code, layout) - abs(value)))


def _value(code: int, layout: FloatFormat) -> float:
    """Return the number of a code without a sign that is neither infinite nor NaN."""
    exponent, mantissa = divmod(code, 1 << layout.mantissa)
    if exponent == 0 and layout.kind != "scale":
        return math.ldexp(mantissa, 1 - layout.bias - layout.mantissa)
    return math.ldexp(mantissa + (1 << layout.mantissa), exponent - layout.bias - layout.mantissa)


def _widen(code: X, layout: FloatFormat, wide: FloatFormat) -> X:
    """Return the bits of the wide number."""
    magnitude = code & layout.magnitude
    moved = magnitude << (wide.mantissa - layout.mantissa)
    normal = moved + ((wide.bias - layout.bias) << wide.mantissa)
    # Subnormal numbers are multiples of a step: so are the last bits of a number whose last bit weighs one step.
    steps = code.constant(_step_counter(layout, wide))
    subnormal = from_bits(magnitude + steps, wide.element) - from_bits(steps, wide.element)
    bits = select(magnitude < 1 << layout.mantissa, bits_of(subnormal), normal)
    if layout.kind == "ieee":
        bits = select(magnitude >= layout.infinity, moved | wide.infinity, bits)
    if layout.kind == "fn":
        bits = select(magnitude.compare("==", layout.nan), wide.nan, bits)
    if layout.kind == "fnuz":
        bits = select(code.compare("==", layout.nan), wide.nan, bits)
    return bits | (code & layout.sign) << (wide.width - 1 - layout.exponent - layout.mantissa)


def _narrow(x: X, layout: FloatFormat, wide: FloatFormat, overflow: int) -> X:
    """Return the code of the nearest number."""
    bits = bits_of(x)
    magnitude = bits & ((1 << (wide.width - 1)) - 1)
    shift = wide.mantissa - layout.mantissa
    is_odd = magnitude.shift_right_unsigned(shift) & 1
    rounding = (1 << (shift - 1)) - 1 - ((wide.bias - layout.bias) << wide.mantissa)
    normal = (magnitude + is_odd + rounding).shift_right_unsigned(shift)
    # The addition rounds to a multiple of the step.
    steps = bits.constant(_step_counter(layout, wide))
    subnormal = bits_of(from_bits(magnitude, wide.element) + from_bits(steps, wide.element)) - steps
    code = select(magnitude < wide.power(1 - layout.bias), subnormal, normal)
    code = select(code > layout.largest, overflow, code)
    if overflow != layout.nan:
        code = select(magnitude > wide.infinity, layout.nan, code)
    sign = bits.shift_right_unsigned(wide.width - 1 - layout.exponent - layout.mantissa) & layout.sign
    return select(code.compare("==", 0), code, code | sign) if layout.kind == "fnuz" else code ^ sign


def _step_counter(layout: FloatFormat, wide: FloatFormat) -> int:
    """Return the bits of the power of two whose last bit has the weight of the type's smallest subnormal number."""
    return wide.power(1 - layout.bias - layout.mantissa + wide.mantissa)


def _widened_scale(code: X, wide: FloatFormat) -> X:
    if wide.bias > 127:
        bits = (code + (wide.bias - 127)) << wide.mantissa
    else:
        # 2**-127 is a subnormal f32.
        bits = select(code.compare("==", 0), 1 << (wide.mantissa - 1), code << wide.mantissa)
    return select(code.compare("==", 255), wide.nan, bits)


def _narrowed_scale(x: X, wide: FloatFormat, overflow: int) -> X:
    bits = bits_of(x)
    rounding = (1 << (wide.mantissa - 1)) - ((wide.bias - 127) << wide.mantissa)
    normal = (bits + rounding).shift_right_unsigned(wide.mantissa)
    # The two lowest numbers, between which f32 is subnormal: 2**-127 and, from 1.5 * 2**-127 on, 2**-126.
    half_way = wide.power(-127) + (1 << (wide.mantissa - 1)) if wide.bias > 127 else 3 << (wide.mantissa - 2)
    lowest = select(bits < half_way, bits.constant(0), 1)
    code = select(bits < wide.power(-126), lowest, normal)
    code = select(code > 254, overflow, code)
    # Zero, negative numbers and NaN become the NaN.
    return select(x > 0.0, code, 255)
