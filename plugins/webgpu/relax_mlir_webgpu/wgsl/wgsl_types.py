# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""WGSL types and literals for MLIR types and constants.

WGSL has numbers of 32 bits. Narrower integers are sign-extended to i32. An i64 or f64 is two words, the low word
first. Halves are represented by their bits. An index is an i32, because a program's memory is less than 2 GiB.
"""

from __future__ import annotations

import math
import struct

from relax_mlir import RefusalError, ir
from relax_mlir.bindings.ir import Attribute, Type

LEAST, MOST = -(2**31), 2**31 - 1
PAIR = "vec2<u32>"
HALVES = ("f16", "bf16")


def width(type_: Type) -> int:
    """Return the bits of an integer in a register. An index has 32 bits there."""
    return 32 if isinstance(type_, ir.IndexType) else int(type_.width)


def register_type(type_: Type) -> str:
    """Return the WGSL type for a value of an MLIR type. Raises RelaxError if there is no such type."""
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
    """Return the bytes of an element in memory, the same as on all targets.

    An index has 64 bits, a truth value 8 bits.
    """
    return 8 if isinstance(type_, ir.IndexType) else max(1, int(type_.width) // 8)


def literal(attribute: Attribute) -> str:
    """Return the literal of a constant of the arith dialect."""
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
        # Kernels only compare with a larger constant, and no index reaches the limit.
        return _i32(min(max(value, LEAST), MOST))
    if type_.width == 1:
        return "true" if value else "false"
    if type_.width == 64:
        return f"vec2<u32>({value & 0xFFFFFFFF}u, {(value >> 32) & 0xFFFFFFFF}u)"
    register_type(type_)
    half = 1 << (type_.width - 1)
    return _i32((value + half) % (2 * half) - half)


def _i32(value: int) -> str:
    """Return a literal of i32. A negative one has an explicit type, because WGSL refuses u32(-1)."""
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
    """Return a literal of f32. WGSL refuses NaNs, infinities, denormals and -0, so these are written as their bits."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if math.isfinite(value) and (value == 0.0 or abs(value) >= 2.0**-126) and not (value == 0.0 and bits):
        return f"{value:.9g}f"
    return f"float_of({bits:#x}u)"
