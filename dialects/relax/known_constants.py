# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants as rules see them: the single number that fills a tensor, or a NumPy array of its elements."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from ...bindings.ir import Attribute, Context, InsertionPoint, Location, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import defining_op, made_by
from ..core.codec import decode, element_type
from ..core.elements import elements_bytes, held_array, is_resource
from ..core.infos import FLOAT_TYPES, Info, TensorInfo
from .constants import elements_attribute, storage_dtype
from .values import dtype_of, tensor_info

if TYPE_CHECKING:
    from numpy import ndarray

# Element types for which NumPy's arithmetic equals that of the compiled program.
NUMPY_NAME = {
    "i1": "bool", "f16": "float16", "f32": "float32", "f64": "float64",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip

#: NumPy dtypes that store elements of constants. Types unknown to NumPy are stored as their bits.
STORAGE_NAME = {
    **NUMPY_NAME,
    "bf16": "uint16",
    **{name: "uint8" for name in sorted(FLOAT_TYPES) if name.startswith("f8")},
}

_FULL = ("relax.full", "relax.full_like")
_NUMBERS = {"relax.zeros": 0, "relax.zeros_like": 0, "relax.ones": 1, "relax.ones_like": 1}
#: Operators that fill a tensor with one number.
FILLED = (*_FULL, *_NUMBERS)
#: Operations that create constants. relax.constant covers unsigned integers, and types that arith lacks.
CONSTANTS = ("arith.constant", "relax.constant")
#: Operations whose fill value `splat` may know.
SPLATS = ("arith.constant", "relax.broadcast_to", *FILLED)


def is_constant(value: Value) -> bool:
    """Check whether the elements of a value are known, including unsigned ones (ui8)."""
    return defining_op(value, *CONSTANTS) is not None


def splat(value: Value) -> int | float | bool | None:
    """Return the number that fills a tensor, or None."""
    if (owner := defining_op(value, *SPLATS)) is None:
        return None
    if (name := owner.operation.name) in _NUMBERS:
        number = _NUMBERS[name]
        return bool(number) if dtype_of(value) == "i1" else number
    if name in _FULL:
        filling = owner.fill_value
        return splat(filling) if filling.type.element_type == value.type.element_type else None
    if name == "relax.broadcast_to":
        return splat(owner.x)
    attribute = owner.operation.attributes["value"]
    is_splat = isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat
    return attribute.get_splat_value().value if is_splat else None


def number_of(value: Value) -> int | float | bool | None:
    """Return the number that all elements of a constant are, or None. Scalars are constants, too."""
    known, elements = splat(value), elements_of(value)
    if known is not None or elements is None or elements.size == 0 or (elements != elements.flat[0]).any():
        return known
    number: int | float | bool = elements.flat[0].item()
    return number


def array_of(value: Value, limit: int) -> ndarray | None:
    """Return the elements of a constant as a NumPy array.

    Return None for other values, for more than `limit` elements, and for types unknown to NumPy.
    """
    if (attribute := _dense(value)) is None:
        return None
    info = tensor_info(value)
    if math.prod(attribute.type.shape) > limit or info.dtype not in NUMPY_NAME:
        return None
    import numpy

    return numpy.array(attribute)


def elements_of(value: Value) -> ndarray | None:
    """Return elements like `array_of`, for constants of any size and signedness, and for scalars.

    Large constants are not copied.
    """
    if (owner := defining_op(value, *CONSTANTS)) is None:
        return None
    attribute = owner.operation.attributes["value"]
    if not isinstance(attribute, (ir.IntegerAttr, ir.FloatAttr, ir.BoolAttr)):
        return elements_in(attribute, decode(value.type))
    import numpy

    name = NUMPY_NAME.get(str(value.type))
    return None if name is None else numpy.array(attribute.value, name)


def stored_elements(value: Value) -> ndarray | None:
    """Return elements like `elements_of`.

    Large constants of types unknown to NumPy are returned as bits, by STORAGE_NAME.
    """
    known = elements_of(value)
    owner = defining_op(value, "arith.constant")
    if known is not None or owner is None or not is_resource(owner.operation.attributes["value"]):
        return known
    import numpy

    name, shape = STORAGE_NAME.get(str(value.type.element_type)), value.type.shape
    bits = elements_bytes(owner.operation.attributes["value"])
    return None if name is None else numpy.frombuffer(bits, name).reshape(shape)


def elements_in(attribute: Attribute, info: Info) -> ndarray | None:
    """Return the elements of an attribute with this type, like `elements_of`."""
    if not isinstance(info, TensorInfo) or info.shape is None or info.dtype not in NUMPY_NAME:
        return None
    import numpy

    if isinstance(attribute, ir.DenseElementsAttr):
        return numpy.array(attribute)
    name, held = NUMPY_NAME[info.dtype], held_array(attribute)
    if type(held) is numpy.ndarray and held.shape == info.shape and held.dtype == name:
        return held
    if not is_resource(attribute):
        return numpy.array(attribute)
    return numpy.frombuffer(elements_bytes(attribute), name).reshape(info.shape)


def _dense(value: Value) -> Attribute | None:
    owner = defining_op(value, "arith.constant")
    attribute = owner.operation.attributes["value"] if owner is not None else None
    return attribute if isinstance(attribute, ir.DenseElementsAttr) else None


def can_be_constant(type_: Type) -> bool:
    """Check whether arith.constant can have the type: static sizes, and signless elements if they are integers."""
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape or type_.encoding is not None:
        return False
    element = type_.element_type
    return not isinstance(element, ir.IntegerType) or element.is_signless


def make_constant(array: ndarray, type_: Type) -> Operation | None:
    """Create a constant of this type, or return None if the array does not fit or the type has no constants."""
    if not can_be_constant(type_) or not _fits(array, type_):
        return None
    import numpy

    contiguous = numpy.asarray(array, order="C")
    return constant_op(ir.DenseElementsAttr.get(contiguous, shape=list(array.shape), type=type_.element_type), type_)


def make_elements(array: ndarray, type_: Type) -> Operation | None:
    """Create a constant like `make_constant`, of any size and signedness, and of the types in STORAGE_NAME.

    Large constants are resources without text.
    """
    if type_.encoding is not None or not _fits(array, type_):
        return None
    return constant_op(elements_attribute(array, type_.element_type), type_)


def constant_op(
    attribute: Attribute, type_: Type | None = None, **place: Location | InsertionPoint | None
) -> Operation:
    """Create the constant with these elements. Upstream's constant rejects unsigned elements. `place`: loc, ip."""
    type_ = type_ or attribute.type
    element = type_.element_type
    is_signed = not isinstance(element, ir.IntegerType) or not element.is_unsigned
    name = "arith.constant" if is_signed else "relax.constant"
    return ir.Operation.create(name, results=[type_], attributes={"value": attribute}, **place)


def _fits(array: ndarray, type_: Type) -> bool:
    # A dtype compares equal to None if it is float64.
    name = STORAGE_NAME.get(str(type_.element_type))
    return name is not None and list(array.shape) == list(type_.shape) and array.dtype == name


def make_splat(number: int | bool, type_: Type) -> Operation:
    """Create a constant of this type that repeats one integer, for any number of elements."""
    element = element_type(str(type_.element_type), type_.context)
    return constant_op(ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(element, number)), type_)


def make_i64(number: int) -> Attribute:
    """Return the attribute of a 0-D tensor of a 64-bit integer."""
    import numpy

    return ir.DenseElementsAttr.get(numpy.array(number, dtype=numpy.int64))


def make_floats(array: ndarray, dtype: str, context: Context) -> Value:
    """Create a constant of floats of this type with the array's numbers."""

    converted = array.astype(storage_dtype(dtype), order="C", copy=False)
    return constant_op(elements_attribute(converted, element_type(dtype, context))).results[0]


def floats_of(value: Value) -> ndarray | None:
    """Return the elements of a constant of floats for computation: f64 elements as f64, others as f32."""
    constant = made_by(value, "arith.constant")
    return None if constant is None else floats_in(constant)


def floats_in(constant: Operation) -> ndarray | None:
    """Return the elements of an arith.constant, like `floats_of`."""
    return floats_in_elements(constant.attributes["value"], decode(constant.results[0].type))


def floats_in_elements(attribute: Attribute, info: Info) -> ndarray | None:
    """Return the elements of an attribute with this type, like `floats_of`."""
    if not isinstance(info, TensorInfo) or info.dtype not in ("f16", "bf16", "f32", "f64"):
        return None
    if info.dtype == "bf16":
        return _from_bf16(attribute, attribute.type)
    array = elements_in(attribute, info)
    return array.astype("float32") if array is not None and info.dtype == "f16" else array


def _from_bf16(attribute: Attribute, type_: Type) -> ndarray:
    """Decode bf16, a type that NumPy lacks: its bits are the upper half of an f32."""
    import numpy

    data = elements_bytes(attribute) if is_resource(attribute) else _bytes_in(str(attribute))
    halves = numpy.frombuffer(data, "<u2").astype("uint32") << 16
    return numpy.broadcast_to(halves.view("float32"), math.prod(type_.shape)).reshape(type_.shape)


def _bytes_in(text: str) -> bytes:
    """Parse the elements of a dense bf16 attribute from its text, because the bindings offer no other access."""
    elements, _, _ = text.removeprefix("dense<").rpartition("> : ")
    if elements.startswith('"0x'):
        return bytes.fromhex(elements[3:-1])
    numbers = elements.replace("[", " ").replace("]", " ").replace(",", " ").split()
    bits = [int(number, 16) if number.startswith("0x") else _upper_half(float(number)) for number in numbers]
    return struct.pack(f"<{len(bits)}H", *bits)


def _upper_half(number: float) -> int:
    """Return the bits of a bf16 whose text has enough digits to round to it."""
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    return (bits + 0x8000) >> 16
