# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants as arrays of C."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ....bindings.ir import Attribute, Operation
from ....bindings.mlir import ir
from ....dialects.core.elements import elements_bytes, is_resource
from .types import HALVES, float_text, integer_literal, memory_type

_WIDTH = 116


def declaration(op: Operation, name: str) -> str:
    """`const float net_weight[12]` for a memref.global."""
    type_ = op.attributes["type"].value
    count = max(math.prod(type_.shape), 1)
    return f"const {memory_type(type_.element_type)} {name}[{count}]"


def definition(op: Operation, name: str) -> str:
    """With its numbers."""
    type_ = op.attributes["type"].value
    shape = "x".join(map(str, type_.shape)) or "one number"
    texts = list(_texts(op.attributes["initial_value"], type_)) or ["0"]
    lines, current = [], "   "
    for text in texts:
        if len(current) + len(text) + 2 > _WIDTH:
            lines.append(current)
            current = "   "
        current += f" {text},"
    body = "\n".join([*lines, current])
    return f"/* {shape} */\n{declaration(op, name)} = {{\n{body}\n}};"


def _texts(attribute: Attribute, type_: Any) -> Iterator[str]:
    dtype = str(type_.element_type)
    numbers = elements(attribute, type_)
    if dtype in HALVES:
        return (f"0x{number:04x}" for number in numbers.tolist())
    if dtype in ("f32", "f64"):
        return (_float(number, dtype) for number in numbers)
    return (integer_literal(number, dtype if dtype != "i1" else "i8").text for number in numbers.tolist())


def _float(number: Any, dtype: str) -> str:
    if not math.isfinite(number):
        return "NAN" if math.isnan(number) else "INFINITY" if number > 0 else "-INFINITY"
    return float_text(number, dtype)


def elements(attribute: Attribute, type_: Any) -> Any:
    """The numbers in a row; halves as their bits."""
    import numpy

    dtype, count = str(type_.element_type), math.prod(type_.shape)
    if dtype == "i1":
        return _bools(attribute, count)
    plain = numpy.dtype({"f32": "float32", "f64": "float64"}.get(dtype, f"int{_bits(type_.element_type)}"))
    plain = numpy.dtype("uint16") if dtype in HALVES else plain
    if is_resource(attribute):
        return numpy.frombuffer(elements_bytes(attribute), plain)
    if attribute.is_splat:
        value = attribute.get_splat_value()
        if dtype in HALVES:
            return numpy.full(count, _splat_bits(value, dtype), plain)
        return numpy.full(count, value.value, plain)
    return numpy.frombuffer(_raw(attribute, plain), plain)


def _bits(element: Any) -> int:
    return 64 if isinstance(element, ir.IndexType) else max(int(element.width), 8)


def _bools(attribute: Attribute, count: int) -> Any:
    import numpy

    if is_resource(attribute):
        return numpy.frombuffer(elements_bytes(attribute), numpy.uint8)
    if attribute.is_splat:
        return numpy.full(count, bool(attribute.get_splat_value().value), numpy.uint8)
    return numpy.array([bool(each) for each in attribute], numpy.uint8)


def _splat_bits(value: Any, dtype: str) -> int:
    from .types import half_bits

    return half_bits(float(value.value), dtype)


def _raw(attribute: Attribute, plain: Any) -> bytes:
    """The bytes of elements that the attribute holds itself."""
    import numpy

    if plain == numpy.uint16:
        found = numpy.array([float(each) for each in attribute], numpy.float32)
        if str(attribute.type.element_type) == "f16":
            return found.astype(numpy.float16).tobytes()
        return (found.view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes()
    return numpy.array(attribute).astype(plain).tobytes()
