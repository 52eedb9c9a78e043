# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants as C arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Attribute, Operation, Type
from relax_mlir.dialects.relax.constants import array_of_attribute

from .types import HALVES, integer_literal, memory_type

if TYPE_CHECKING:
    from numpy import ndarray

_WIDTH = 116
_NOT_FINITE = {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}


def declaration(op: Operation, name: str) -> str:
    """Return the declaration of a memref.global, such as `const float net_weight[12]`."""
    type_ = op.attributes["type"].value
    count = max(math.prod(type_.shape), 1)
    return f"const {memory_type(type_.element_type)} {name}[{count}]"


def definition(op: Operation, name: str) -> str:
    """Return the definition of a memref.global, with its elements."""
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


def _texts(attribute: Attribute, type_: Type) -> Iterator[str]:
    dtype = str(type_.element_type)
    numbers = elements(attribute, type_)
    if dtype in HALVES:
        return (f"0x{number:04x}" for number in numbers.tolist())
    if dtype in ("f32", "f64"):
        suffix = "f" if dtype == "f32" else ""
        return (_NOT_FINITE.get(text) or f"{text}{suffix}" for text in map(str, numbers))  # the shortest exact text
    return (integer_literal(number, dtype if dtype != "i1" else "i8").text for number in numbers.tolist())


def elements(attribute: Attribute, type_: Type) -> ndarray:
    """Return the elements as one-dimensional array, half floats as bits and bools as bytes."""
    import numpy

    dtype = str(type_.element_type)
    array = array_of_attribute(attribute, dtype, [math.prod(type_.shape)])
    return array.view(numpy.dtype(f"uint{8 * array.itemsize}")) if dtype in (*HALVES, "i1") else array
