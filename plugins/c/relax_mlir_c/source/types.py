# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C types and literals for MLIR's types."""

from __future__ import annotations

import math

from relax_mlir.bindings.ir import Attribute, Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.support.errors import RefusalError

from .expressions import ATOM, UNARY, Expression, integer

INDEX = "int64_t"
#: Floats that C lacks. They are stored as bits and computed as float.
HALVES = ("f16", "bf16")
_FLOATS = {"f32": "float", "f64": "double", **dict.fromkeys(HALVES, "uint16_t")}
_WIDTHS = (8, 16, 32, 64)
#: Bytes of an element of each type.
BYTES = {
    **{f"{sign}int{width}_t": width // 8 for width in _WIDTHS for sign in ("", "u")},
    "float": 4, "double": 8, "bool": 1,
}  # fmt: skip


def scalar_type(type_: Type) -> str:
    """Return the type of a variable. Raises RelaxError if C has none."""
    if isinstance(type_, ir.IndexType):
        return INDEX
    if isinstance(type_, ir.IntegerType):
        return "bool" if type_.width == 1 else f"int{machine_width(type_)}_t"
    if (found := _FLOATS.get(str(type_))) is None:
        raise RefusalError(f"C has no type for {type_}")
    return found


def machine_width(type_: Type) -> int:
    """Return the bits of the C integer for a type."""
    if isinstance(type_, ir.IndexType):
        return 64
    if (found := next((width for width in _WIDTHS if width >= type_.width), None)) is None:
        raise RefusalError(f"C has no integers of {type_.width} bits")
    return found


def memory_type(element: Type) -> str:
    """Return the type of an element in memory. A bool is a byte there."""
    found = scalar_type(element)
    return "uint8_t" if found == "bool" else found


def interface_type(dtype: str) -> str:
    """Return the type of an element for callers, with its signedness."""
    if dtype.startswith("ui"):
        return f"uint{max(8, int(dtype[2:]))}_t"
    if dtype.startswith("i"):
        return "uint8_t" if dtype == "i1" else f"int{max(8, int(dtype[1:]))}_t"
    return _FLOATS.get(dtype, "uint8_t")  # a byte that contains a smaller float


def literal(value: float, dtype: str) -> Expression:
    """Return the literal of a number."""
    if dtype in ("f16", "bf16"):
        return Expression(f"0x{half_bits(value, dtype):04x}")
    if dtype in ("f32", "f64"):
        if math.isnan(value):
            return Expression("NAN")
        if math.isinf(value):
            return Expression("INFINITY") if value > 0 else Expression("-INFINITY", UNARY)
        text = float_text(value, dtype)
        return Expression(text, UNARY if text.startswith("-") else ATOM)
    return integer_literal(int(value), dtype)


def integer_literal(value: int, dtype: str) -> Expression:
    if dtype == "i1":
        return Expression("true" if value else "false")
    if value == -(2**63):
        return Expression("INT64_MIN")
    if value == -(2**31) and dtype == "i32":
        return Expression("INT32_MIN")
    return integer(value)


def float_text(value: float, dtype: str) -> str:
    """Return the shortest text that reads back as this number."""
    import numpy

    if dtype == "f64":
        return repr(float(value))
    text = str(numpy.float32(value))
    return f"{text}f"


def half_bits(value: float, dtype: str) -> int:
    import numpy

    if dtype == "f16":
        return int(numpy.float16(value).view(numpy.uint16))
    return int(numpy.float32(value).view(numpy.uint32)) >> 16


def attribute_literal(attribute: Attribute) -> Expression:
    """Return the literal of an arith constant."""
    if isinstance(attribute, (ir.IntegerAttr, ir.BoolAttr)):
        type_ = attribute.type
        dtype = "index" if isinstance(type_, ir.IndexType) else f"i{type_.width}"
        return integer_literal(int(attribute.value), dtype)
    if isinstance(attribute, ir.FloatAttr):
        return literal(float(attribute.value), str(attribute.type))
    raise RefusalError(f"C has no constant for {attribute}")
