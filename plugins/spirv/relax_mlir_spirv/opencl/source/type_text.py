# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types and constants in OpenCL C.

Integers are unsigned, because operations state the signedness. A truth value is an int, 0 or 1. In vectors it is 0 or
-1, as comparisons return it.
"""

from __future__ import annotations

import math
import re
import struct

from relax_mlir.bindings.ir import Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.emit.arithmetic import element_type
from relax_mlir.support.errors import RelaxError

_INTEGERS = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}
_FLOATS = {16: "half", 32: "float", 64: "double"}
#: Address spaces by SPIR-V's storage class.
_SPACES = {"CrossWorkgroup": "__global ", "Workgroup": "__local ", "Function": ""}
_POINTER = re.compile(r"!spirv\.ptr<(.*), (\w+)>")
_ARRAY = re.compile(r"!spirv\.array<(\d+) x (.*)>")
INDEX_BITS = 64


def lanes_of(type_: Type) -> int:
    """Return the number of lanes of a vector; 1 for a scalar or a vector of one lane, which is a scalar in C."""
    return math.prod(type_.shape) if isinstance(type_, ir.VectorType) else 1


def is_truth(type_: Type) -> bool:
    element = element_type(type_)
    return isinstance(element, ir.IntegerType) and element.width == 1


def bits_of(type_: Type) -> int:
    element = element_type(type_)
    return INDEX_BITS if isinstance(element, ir.IndexType) else int(element.width)


def scalar_type(type_: Type) -> str:
    """Return the C type of an element. Raises RelaxError for types that OpenCL C lacks."""
    element = element_type(type_)
    if is_truth(element):
        return "int"
    is_integer = isinstance(element, (ir.IntegerType, ir.IndexType))
    names, bits = (_INTEGERS, room_of(element)) if is_integer else (_FLOATS, bits_of(element))
    if isinstance(element, ir.BF16Type) or bits not in names:
        raise RelaxError(f"OpenCL C has no type for {type_}")
    return names[bits]


def room_of(type_: Type) -> int:
    """Return the bits of an integer's C type: four bits are stored in eight, and the upper ones are 0."""
    return max(8, 1 << (bits_of(type_) - 1).bit_length())


def c_type(type_: Type) -> str:
    count = lanes_of(type_)
    return scalar_type(type_) + (str(count) if count > 1 else "")


def signed(name: str) -> str:
    """Return the signed type: long4 for ulong4."""
    return name.removeprefix("u")


def signed_integer(type_: Type) -> str:
    """Return the signed integer type with an element's bits; int for truth values."""
    return "int" if is_truth(type_) else signed(_INTEGERS[room_of(type_)])


def pointer_parts(type_: Type) -> tuple[Type, int, str]:
    """Return a pointer's element type, its array length (0: no array), and its address space."""
    pointee, storage = _POINTER.fullmatch(str(type_)).groups()  # type: ignore[union-attr]
    array = _ARRAY.fullmatch(pointee)
    count, element = (int(array[1]), array[2]) if array else (0, pointee)
    return ir.Type.parse(element, type_.context), count, _SPACES[storage]


def pointer_type(type_: Type) -> str:
    pointee, _, space = pointer_parts(type_)
    return f"{space}{c_type(pointee)} *"


def number_text(value: float | int, type_: Type) -> str:
    """Return the exact text of a constant of an element type."""
    name = scalar_type(type_)
    if isinstance(value, float):
        if math.isfinite(value):
            return f"({name}){value.hex()}" + ("" if name == "double" else "f")
        form, unsigned = {"half": ("<e", "ushort"), "float": ("<f", "uint"), "double": ("<d", "ulong")}[name]
        pattern = int.from_bytes(struct.pack(form, value), "little")
        return f"as_{name}(({unsigned}){pattern:#x}ul)"
    if is_truth(type_):
        return str(int(value != 0))
    return f"({name}){int(value) % (1 << bits_of(type_)):#x}ul"
