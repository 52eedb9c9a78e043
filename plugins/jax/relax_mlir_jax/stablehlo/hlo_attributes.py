# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of StableHLO's operations as Python values.

The wheel has classes for some of the dialect's own attributes. For uniformity all of them are read from their text.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy
from relax_mlir.bindings.ir import Attribute, Operation, Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.relax.constants import array_of_attribute
from relax_mlir.frontends.core.node import Unsupported

from .hlo_types import info_of, is_complex

_ENUM = re.compile(r"#(?:stablehlo|chlo)<\w+ (\w+)>$")
_FIELD = re.compile(r"(\w+) = (\[[^\]]*\]|-?\w+)")
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?)")


def value_of(attribute: Attribute) -> Any:
    """Return a number, text, a list of numbers, the keyword of an enumeration, or a dictionary of a struct's fields."""
    if isinstance(attribute, (ir.BoolAttr, ir.FloatAttr, ir.StringAttr)):
        return attribute.value
    if isinstance(attribute, ir.IntegerAttr):
        return int(attribute.value)
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return attribute.value
    if isinstance(attribute, (ir.DenseI32ArrayAttr, ir.DenseI64ArrayAttr, ir.DenseBoolArrayAttr, ir.ArrayAttr)):
        return [value_of(each) if isinstance(each, ir.Attribute) else each for each in attribute]
    if isinstance(attribute, ir.DictAttr):
        return {each.name: value_of(each.attr) for each in attribute}
    if isinstance(attribute, ir.DenseElementsAttr):
        return numpy.array(attribute).tolist()
    text = str(attribute)
    word = _ENUM.match(text)
    return word[1] if word else _fields(text)


def _fields(text: str) -> dict[str, int | str | list[int]]:
    """Return the fields of a struct such as `#stablehlo.gather<offset_dims = [1], index_vector_dim = 1>`."""
    fields: dict[str, int | str | list[int]] = {}
    for name, value in _FIELD.findall(text):
        if value.startswith("["):
            fields[name] = [int(word) for word in value[1:-1].split(",") if word.strip()]
        else:
            fields[name] = int(value) if value.lstrip("-").isdigit() else value
    return fields


def elements_of(operation: Operation, type_: Type) -> list[numpy.ndarray]:
    """Return the elements of the attribute `value`; for complex numbers, the real and the imaginary parts."""
    info, shape = info_of(type_), tuple(type_.shape)
    if not is_complex(type_):
        return [array_of_attribute(operation.attributes["value"], info.dtype, shape)]
    both = _complex_elements(operation, info.dtype, 2 * math.prod(shape)).reshape(*shape, 2)
    return [both[..., 0].copy(), both[..., 1].copy()]


def _complex_elements(operation: Operation, dtype: str, count: int) -> numpy.ndarray:
    """Read complex elements from the text, since the bindings cannot access them."""
    plain = numpy.dtype(f"float{dtype[1:]}")
    text = operation.get_asm(large_elements_limit=None)
    body = text[text.index("dense<") + len("dense<") : text.index("> : tensor<", text.index("dense<"))]
    if body.startswith('"0x'):
        data = numpy.frombuffer(bytes.fromhex(body[3:-1]), plain)
    else:
        data = numpy.array([_number(each, plain) for each in _NUMBER.findall(body)], plain)
    if data.size == count:
        return data
    if data.size != 2:
        raise Unsupported(f"its elements are {data.size} numbers, its type has {count}")
    return numpy.tile(data, count // 2)


def _number(text: str, plain: numpy.dtype[Any]) -> Any:
    if not text.startswith("0x"):
        return plain.type(text)
    return numpy.array(int(text, 16), f"uint{plain.itemsize * 8}").view(plain)[()]
