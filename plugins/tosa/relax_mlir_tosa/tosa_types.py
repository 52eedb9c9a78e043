# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types and attributes of TOSA: tensors and shapes. Elements of 4 and 48 bits are stored in wider types here."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy
from relax_mlir.bindings.ir import Attribute, Type
from relax_mlir.bindings.mlir import DYNAMIC, ir
from relax_mlir.dialects.core.infos import TensorInfo, is_dtype
from relax_mlir.dialects.relax.constants import array_of_attribute
from relax_mlir.frontends.core.node import Unsupported

#: Storage types of integers without hardware support. TOSA leaves results outside of the narrow range undefined.
_HELD_IN = {"i4": "i8", "i48": "i64", "index": "i64"}
_INTEGER = re.compile(r"-?\d+")
_ENUM = re.compile(r"#tosa\.\w+<(\w+)>$")


def is_tensor(type_: Type) -> bool:
    return isinstance(type_, ir.RankedTensorType)


def is_shape(type_: Type) -> bool:
    return str(type_).startswith("!tosa.shape<")


def _rank_of(type_: Type) -> int:
    """Return the number of sizes in a shape type."""
    return int(str(type_).removeprefix("!tosa.shape<").removesuffix(">"))


def info_of(type_: Type) -> TensorInfo:
    """Return the type of a tensor; for a shape, of the tensor of its sizes."""
    if is_shape(type_):
        return TensorInfo((_rank_of(type_),), "i64")
    if not is_tensor(type_):
        raise Unsupported(f"{type_} is not a tensor of known rank")
    name = str(type_.element_type)
    dtype = _HELD_IN.get(name, name)
    if not is_dtype(dtype):
        raise Unsupported(f"elements of type {name} are not supported")
    return TensorInfo(tuple(None if size == DYNAMIC else size for size in type_.shape), dtype)


def value_of(attribute: Attribute) -> Any:
    """Return a number, text, a list of numbers, the name of a type, or the keyword of an enumeration."""
    if isinstance(attribute, (ir.BoolAttr, ir.FloatAttr, ir.StringAttr, ir.FlatSymbolRefAttr)):
        return attribute.value
    if isinstance(attribute, ir.IntegerAttr):
        return int(attribute.value)
    if isinstance(attribute, ir.TypeAttr):
        name = str(attribute.value)
        return _HELD_IN.get(name, name)
    if isinstance(attribute, (ir.DenseI32ArrayAttr, ir.DenseI64ArrayAttr)):
        return list(attribute)
    text = str(attribute)
    word = _ENUM.match(text)
    return word[1] if word else text


def elements_of(attribute: Attribute, type_: Type) -> numpy.ndarray:
    """Return the elements of a constant."""
    info = info_of(type_)
    shape = tuple(type_.shape) if is_tensor(type_) else (_rank_of(type_),)
    name = "index" if is_shape(type_) else str(type_.element_type)
    if name not in _HELD_IN:
        return array_of_attribute(attribute, info.dtype, shape)
    if name == "i4":
        return array_of_attribute(attribute, name, shape).astype("int8")
    # The bindings only return these elements as text.
    elements, _, _ = str(attribute).removeprefix("dense<").rpartition("> : ")
    if not isinstance(attribute, ir.DenseIntElementsAttr) or elements.startswith('"'):
        raise Unsupported(f"constants of {type_} can only be read from numbers", "values")
    numbers = numpy.array([int(each) for each in _INTEGER.findall(elements)], "int64")
    return numpy.broadcast_to(numbers, math.prod(shape)).reshape(shape)
