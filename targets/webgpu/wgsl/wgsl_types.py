# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""WGSL's types and literals for MLIR's.

WGSL has numbers of 32 bits. Integers of less are kept with their sign as i32, i64 and f64 as two words, low one first,
halves as their bits. An index is an i32: memory of a program is less than 2 GiB.
"""

from __future__ import annotations

import math
import struct

from ....bindings.ir import Attribute, Type
from ....bindings.mlir import ir
from ....support.errors import RefusalError

LEAST, MOST = -(2**31), 2**31 - 1
PAIR = "vec2<u32>"
HALVES = ("f16", "bf16")


def width(type_: Type) -> int:
    """Bits of an integer; an index is in a register what it is here."""
    return 32 if isinstance(type_, ir.IndexType) else int(type_.width)


def register_type(type_: Type) -> str:
    """Of a value. Raises RelaxError where WGSL has none."""
    if isinstance(type_, ir.IndexType):
        return "i32"
    if isinstance(type_, ir.IntegerType):
        if type_.width in (1, 64) or type_.width <= 32:
            return {1: "bool", 64: PAIR}.get(type_.width, "i32")
    elif str(type_) == "f32":
        return "f32"
    elif str(type_) == "f64":
        return PAIR
    elif str(type_) in HALVES:
        return "u32"
    elif str(type_) == "!llvm.ptr":
        return "i32"
    raise RefusalError(f"WGSL has no {type_}")


def memory_bytes(type_: Type) -> int:
    """Of an element in memory, as it is everywhere: an index has 64 bits, a truth value 8."""
    return 8 if isinstance(type_, ir.IndexType) else max(1, int(type_.width) // 8)


def literal(attribute: Attribute) -> str:
    """A constant of arith."""
    if isinstance(attribute, ir.DenseElementsAttr):
        return literal(attribute.get_splat_value())
    if isinstance(attribute, ir.BoolAttr):
        return "true" if attribute.value else "false"
    if isinstance(attribute, ir.IntegerAttr):
        return integer(int(attribute.value), attribute.type)
    if isinstance(attribute, ir.FloatAttr):
        return _float(attribute)
    raise RefusalError(f"WGSL has no constant for {attribute}")


def integer(value: int, type_: Type) -> str:
    if isinstance(type_, ir.IndexType):
        # What is larger is compared with only: no index reaches it.
        return _i32(min(max(value, LEAST), MOST))
    if type_.width == 1:
        return "true" if value else "false"
    if type_.width == 64:
        return f"vec2<u32>({value & 0xFFFFFFFF}u, {(value >> 32) & 0xFFFFFFFF}u)"
    register_type(type_)
    half = 1 << (type_.width - 1)
    return _i32((value + half) % (2 * half) - half)


def _i32(value: int) -> str:
    """Of a type of its own where u32() takes no abstract number: u32(-1) is refused."""
    return f"i32({value})" if value < 0 else str(value)


def _float(attribute: Attribute) -> str:
    name, value = str(attribute.type), float(attribute.value)
    if name in HALVES:
        bits = struct.pack("<e", value) if name == "f16" else struct.pack("<f", value)[2:]
        return f"{int.from_bytes(bits, 'little')}u"
    register_type(attribute.type)
    if name == "f64":
        low, high = struct.unpack("<2I", struct.pack("<d", value))
        return f"vec2<u32>({low}u, {high}u)"
    return float_literal(value)


def float_literal(value: float) -> str:
    """What is no ordinary number is made of its bits: WGSL refuses such constants."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if math.isfinite(value) and (value == 0.0 or abs(value) >= 2.0**-126) and not (value == 0.0 and bits):
        return f"{value:.9g}f"
    return f"float_of({bits:#x}u)"
