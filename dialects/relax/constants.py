# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant tensors: upstream's `arith.constant`, created from numbers and arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...bindings.handles import building
from ...bindings.ir import Attribute, Context, InsertionPoint, Location, Type
from ...bindings.mlir import ir
from ...support.errors import RelaxError
from ..core.attributes import AttributeProblem, AttrKind, DType
from ..core.codec import TypeProblem, decode, element_type
from ..core.elements import elements_bytes, is_resource, resource_attribute
from ..core.infos import DTYPE_BY_NAME, bit_width, is_float, is_unsigned
from .dialect import op

if TYPE_CHECKING:
    import numpy

# Larger constants are resources, whose bytes are not copied and not printed.
_MOST_INLINE_BYTES = 1024
_NATIVE = {"i1": "bool", "f16": "float16", "f32": "float32", "f64": "float64", "index": "int64"}
_NATIVE.update(
    {f"{sign}{bits}": f"{name}{bits}" for sign, name in (("i", "int"), ("ui", "uint")) for bits in (8, 16, 32, 64)}
)
_NUMPY_NAME = {mlir: name for name, mlir in DTYPE_BY_NAME.items()}


class Elements(AttrKind):
    """Elements of a constant tensor, inline or as a resource. The Python value is MLIR's attribute."""

    expects = "an elements attribute"
    label = "elements"

    def normalize(self, value: Any) -> Attribute:
        return self.decode(value)

    def encode(self, value: Attribute, context: Context) -> Attribute:
        return value

    def decode(self, attribute: Attribute) -> Attribute:
        if isinstance(attribute, ir.DenseElementsAttr):
            return attribute
        try:
            # The bindings return resources as plain attributes.
            return ir.DenseResourceElementsAttr(attribute)
        except (TypeError, ValueError):
            raise self.refuse(attribute) from None


op("constant", "", attrs={"value": Elements()}, infer=lambda call: decode(call.value.type), role="literal", own=True,
   doc="Constant tensor of unsigned integers, which upstream's arith.constant does not support.")  # fmt: skip


def const(
    value: object, dtype: str | None = None, *, loc: Location | None = None, ip: InsertionPoint | None = None
) -> Any:
    """Create a constant tensor.

    A number gives a 0-D tensor, an array a tensor of its shape; `dtype` converts first.

    Without a dtype, Python's floats become float32, integers int64 and booleans bool, as in Relax.
    """
    context = _context(loc, ip)
    try:
        array, name = as_array(value, dtype)
        element = element_type(name, context)
    except (AttributeProblem, TypeProblem) as problem:
        raise RelaxError(f"relax.const: {problem}") from None
    location = loc or ir.Location.current or ir.Location.unknown(context)
    handles = building.get()
    if handles is not None and (ip is not None or handles.context_id != id(context)):
        handles = None
    if handles is not None and loc is None:
        # Skip this function.
        location = handles.line(location, 2)
    with context, location:
        attribute = elements_attribute(array, element)
        # Upstream's passes fold and share upstream's constants, which are signless.
        name = "relax.constant" if is_unsigned(name) else "arith.constant"
        created = ir.Operation.create(
            name, results=[attribute.type], attributes={"value": attribute}, loc=location, ip=ip
        )
    return created.result if handles is None else handles.result(created.result, attribute.type, name)


def _context(loc: Location | None, ip: InsertionPoint | None) -> Context:
    owner = loc.context if loc is not None else ip.block.owner.context if ip is not None else ir.Context.current
    if owner is None:
        raise RelaxError("relax.const cannot be built outside of a module: no context (use `with module.body:`)")
    return owner


def as_array(value: object, dtype: object) -> tuple[numpy.ndarray, str]:
    """Return an array with the bytes of the element type, and the type's MLIR name."""
    import numpy

    array = numpy.asarray(value)
    if array.dtype.kind in "OSUM":
        raise AttributeProblem(f"a constant is a number or an array of numbers, got {type(value).__name__}")
    if dtype is None:
        python_floats = array.dtype == numpy.float64 and not hasattr(value, "dtype")
        dtype = "float32" if python_floats else array.dtype
    name = dtype if isinstance(dtype, str) and dtype in _NATIVE else DType().normalize(dtype)
    # Immutable arrays are not copied: a large constant is the caller's memory.
    return _make_contiguous(array.astype(storage_dtype(name), copy=array.flags.writeable)), name


@lru_cache
def storage_dtype(name: str) -> numpy.dtype:
    """Return the NumPy dtype that stores elements of an MLIR type. Raise AttributeProblem if there is none."""
    import numpy

    if name in _NATIVE:
        return numpy.dtype(_NATIVE[name])
    try:
        import ml_dtypes
    except ImportError:
        raise AttributeProblem(f"constants of type {name} need the package ml_dtypes (pip install ml_dtypes)") from None
    if (found := getattr(ml_dtypes, _NUMPY_NAME.get(name, name), None)) is None:
        raise AttributeProblem(f"numpy has no element type for '{name}'")
    return numpy.dtype(found)


#: Alignment that programs need to use constants without a copy. They copy unaligned constants, which costs nothing for
#: few bytes.
_ALIGNMENT = 64
_LEAST_ALIGNED = 65536
_CACHED_COLUMNS = 64


def _make_contiguous(array: numpy.ndarray) -> numpy.ndarray:
    """Return the array, or a contiguous and aligned copy that programs can use without another copy."""
    import numpy

    if array.flags.c_contiguous:
        return array
    if array.nbytes < _LEAST_ALIGNED:
        return array.copy()
    room = numpy.empty(array.nbytes + _ALIGNMENT, numpy.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    placed = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    # Strided input is read in columns that stay in the cache. NumPy's own order is by rows, and takes 6 times as long.
    columns = array.shape[-1] if array.strides[-1] == array.itemsize else _CACHED_COLUMNS
    for first in range(0, array.shape[-1], columns):
        placed[..., first : first + columns] = array[..., first : first + columns]
    return placed


def elements_attribute(array: object, element: Type, type_: Type | None = None) -> Attribute:
    """Return the elements attribute of an array with the bytes of the MLIR element type.

    `type_` is the tensor type, if known.
    """
    import numpy

    plain = array = _make_contiguous(numpy.asarray(array))
    shape, dtype = array.shape, array.dtype
    # Types unknown to NumPy (bf16, float8, int4) are passed as integers of the same width.
    if dtype.isbuiltin != 1:
        plain = array.view(numpy.dtype(f"uint{dtype.itemsize * 8}"))
    if isinstance(element, ir.IntegerType) and element.width in (2, 4):
        plain = array.astype(numpy.uint8 if element.is_unsigned else numpy.int8)
    if plain.nbytes <= _MOST_INLINE_BYTES or plain.dtype == bool:
        return ir.DenseElementsAttr.get(plain, shape=shape, type=element)
    return resource_attribute(plain, type_ or ir.RankedTensorType.get(shape, element))


def array_of_attribute(attribute: Attribute, dtype: str, shape: Sequence[int]) -> numpy.ndarray:
    """Return the NumPy array of an elements attribute. Elements of less than a byte take one byte each."""
    import numpy

    stored = storage_dtype(dtype)
    if is_resource(attribute):
        # An element of less than a byte takes a whole byte.
        as_held = "uint8" if bit_width(dtype) < 8 and not is_float(dtype) else stored
        return numpy.frombuffer(elements_bytes(attribute), as_held).astype(stored, copy=False).reshape(shape)
    if stored.isbuiltin == 1:
        return numpy.ascontiguousarray(numpy.array(attribute)).astype(stored).reshape(shape)
    # For types unknown to NumPy, the bindings only return text.
    elements, _, _ = str(attribute).removeprefix("dense<").rpartition("> : ")
    if elements.startswith('"0x'):
        return numpy.frombuffer(bytes.fromhex(elements[3:-1]), stored).reshape(shape)
    words = elements.replace("[", " ").replace("]", " ").replace(",", " ").split()
    numbers = [_number_in(word, stored) for word in words]
    return numpy.broadcast_to(numpy.array(numbers, stored), math.prod(shape)).reshape(shape)


def _number_in(word: str, stored: numpy.dtype) -> object:
    """Parse a number. Infinities and NaNs are written as their bits."""
    import numpy

    if word.startswith("0x"):
        return numpy.array(int(word, 16), f"uint{stored.itemsize * 8}").view(stored)[()]
    return stored.type(float(word))
