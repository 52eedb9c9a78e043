# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements of constant tensors.

Large constants are resources: MLIR's bindings accept their bytes but do not return them.

IR for inspection omits the elements of large constants.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...bindings.ir import Attribute, Operation, OperationBase, Type
from ...bindings.mlir import ir, print_asm
from ...bindings.resources import blob_of
from ...support.byte_digest import digest_of_bytes
from ...support.errors import RelaxError
from .cache import ContextArrays, arrays_of

if TYPE_CHECKING:
    from numpy import ndarray


#: Bytes of resources that are compared first.
_COMPARED = 4096
_RESOURCE = re.compile(r"dense_resource<(\"?)(.*)\1> : ")
_LEFT_OUT = "__elided__"
#: MLIR's variants of the name if the name is taken.
_NUMBERED = re.compile(rf"\b{_LEFT_OUT}_\d+\b")


def resource_attribute(array: ndarray, type_: Type, name: str = "const") -> Attribute:
    """Return an elements attribute of a tensor type that shares, and keeps alive, an array's memory."""
    arrays = arrays_of(type_.context)
    # Numbered like MLIR does, which would try one number after the other.
    count = arrays.counts[name]
    arrays.counts[name] += 1
    wanted = f"{name}_{count}" if count else name
    attribute = ir.DenseResourceElementsAttr.get_from_buffer(array, wanted, type_)
    arrays.by_attribute[attribute] = array
    return attribute


def resource_of_bytes(data: bytes | memoryview, type_: Type, name: str = "const") -> Attribute:
    """Return an elements attribute like `resource_attribute`, from the bytes.

    Raise ValueError if their number does not match the type.
    """
    import numpy

    size, width = byte_count(type_), element_bytes(type_.element_type)
    if size != len(data) or width is None:
        raise ValueError(f"{type_} has {size} bytes, here are {len(data)}")
    array = numpy.frombuffer(data, f"V{width}" if width > 8 else f"i{width}")
    return resource_attribute(numpy.require(array, requirements="A"), type_, name)


def held_array(attribute: Attribute) -> ndarray | None:
    """Return the array that this process created a resource from, or None."""
    return arrays_of(attribute.context).by_attribute.get(attribute)


def _array_of_name(arrays: ContextArrays, name: str) -> Any:
    """Return the array of a resource by its name. Another attribute, perhaps of another type, may have created it."""
    # MLIR renames a resource if the name is taken in parsed text. The actual names are only queried here.
    for attribute in islice(arrays.by_attribute, len(arrays.by_name), None):
        arrays.by_name[resource_name(attribute)] = arrays.by_attribute[attribute]
    return arrays.by_name.get(name)


def resource_name(attribute: Attribute) -> str:
    """Return the name of the resource behind an elements attribute, or an empty string."""
    match = _RESOURCE.match(str(attribute)) if is_resource(attribute) else None
    return match.group(2) if match else ""


def is_resource(attribute: Attribute) -> bool:
    if isinstance(attribute, ir.DenseElementsAttr):
        return False
    try:
        # The bindings return resources as plain attributes.
        ir.DenseResourceElementsAttr(attribute)
    except (TypeError, ValueError):
        return False
    return True


def elements_bytes(attribute: Attribute) -> memoryview:
    """Return a resource's bytes in row-major order as a buffer, without a copy if this process created it.

    Raise RelaxError if the bytes are unavailable or do not match the type. MLIR's own function does not check the size.
    """
    data, needed = _resource_data(attribute), byte_count(attribute.type)
    if needed is not None and len(data) != needed:
        name = resource_name(attribute)
        raise RelaxError(f"the constant '{name}' : {attribute.type} needs {needed} bytes, and has {len(data)}")
    return data


class SharedResources:
    """Constants with one attribute for equal elements: resources are equal only if one call created them."""

    def __init__(self) -> None:
        self._known: dict[tuple[Type, bytes], list[Attribute]] = {}

    def first(self, value: Attribute) -> Attribute:
        """Return the first attribute with the same type and bytes, or the attribute itself."""
        if not is_resource(value):
            return value
        data = elements_bytes(value)
        # Different weights differ in the first bytes, so that few constants are compared completely.
        alike = self._known.setdefault((value.type, bytes(data[:_COMPARED])), [])
        found = next((each for each in alike if each == value or _is_equal(elements_bytes(each), data)), None)
        if found is None:
            alike.append(value)
        return value if found is None else found


def _is_equal(left: memoryview, right: memoryview) -> bool:
    import numpy

    return numpy.array_equal(numpy.frombuffer(left, numpy.uint8), numpy.frombuffer(right, numpy.uint8))


def _resource_data(attribute: Attribute) -> memoryview:
    arrays = arrays_of(attribute.context)
    if (array := arrays.by_attribute.get(attribute)) is None:
        name = resource_name(attribute)
        array = _array_of_name(arrays, name)
    if array is not None:
        return memoryview(array).cast("B")
    if (blob := blob_of(attribute)) is None:
        raise RelaxError(f"the constant '{name}' has no bytes: its resource is not in the module")
    return blob.data


def byte_count(type_: Type) -> int | None:
    """Return the number of bytes of a constant, or None if unknown. Elements of less than a byte take one byte each."""
    if not isinstance(type_, ir.ShapedType) or not type_.has_rank or not type_.has_static_shape:
        return None
    width = _width(type_.element_type)
    return None if width is None else math.prod(type_.shape) * -(-width // 8)


def element_bytes(type_: Type) -> int | None:
    """Return the bytes of one component. A complex element has two components."""
    part = type_.element_type if isinstance(type_, ir.ComplexType) else type_
    width = _width(part)
    return None if width is None else -(-width // 8)


def _width(element: Type) -> int | None:
    if isinstance(element, ir.ComplexType):
        part = _width(element.element_type)
        return None if part is None else 2 * part
    if isinstance(element, (ir.IntegerType, ir.FloatType)):
        return int(element.width)
    return 64 if isinstance(element, ir.IndexType) else None


def retyped(attribute: Attribute, type_: Type) -> Attribute:
    """Reinterpret the bytes as elements of another tensor type of the same shape and width."""
    import numpy

    width = type_.element_type.width
    if is_resource(attribute):
        plain = numpy.frombuffer(elements_bytes(attribute), f"int{max(width, 8)}")
        return resource_attribute(plain, type_)
    if 1 < width < 8:
        # The bindings create no arrays of these types.
        return ir.Attribute.parse(f"{str(attribute).rpartition(' : ')[0]} : {type_}", attribute.context)
    array = numpy.array(attribute)
    plain = array if array.dtype.kind == "b" else array.view(numpy.dtype(f"int{array.dtype.itemsize * 8}"))
    return ir.DenseElementsAttr.get(plain, shape=list(type_.shape), type=type_.element_type)


def print_short(operation: OperationBase, most: int) -> str:
    """Print an operation without the elements of larger constants, as MLIR elides them.

    MLIR's own limit for resources prints all bytes to find the length of the text.
    """

    def name(attribute: Attribute) -> str:
        return _LEFT_OUT if math.prod(ir.ShapedType(attribute.type).shape) > most else ""

    text = _print_renamed(operation, name, large_elements_limit=most, large_resource_limit=most)
    return _NUMBERED.sub(_LEFT_OUT, text)


def hash_of(value: Attribute) -> str:
    """Return a hash of a resource's bytes as a word."""
    return f"sha256_{digest_of_bytes(elements_bytes(value))}"


def print_by_content(operation: OperationBase, name_of: Callable[[Attribute], str], *, places: bool = True) -> str:
    """Print an operation, with or without locations. `name_of` names the resources, which are printed without bytes."""
    names: set[str] = set()

    def name(attribute: Attribute) -> str:
        names.add(found := name_of(attribute))
        return found

    text = _print_renamed(operation, name, enable_debug_info=places)
    numbered = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})_\d+\b") if names else None
    return numbered.sub(r"\1", text) if numbered else text


def _print_renamed(operation: OperationBase, name_of: Callable[[Attribute], str], **options: object) -> str:
    """Print an operation with renamed resources and without their bytes.

    Resources with an empty name stay unchanged.
    """
    copied = operation.clone()
    with operation.context:
        copied.walk(lambda op: _rename(op, name_of), ir.WalkOrder.PRE_ORDER)
    return print_asm(copied, assume_verified=True, **options)


def _rename(op: Operation, name_of: Callable[[Attribute], str]) -> object:
    for name in list(op.attributes):
        value = op.attributes[name]
        if (renamed := _rename_in(value, name_of)) is not value:
            op.attributes[name] = renamed
    return ir.WalkResult.ADVANCE


def _rename_in(attribute: Attribute, name_of: Callable[[Attribute], str]) -> Attribute:
    """Return the attribute with renamed resources, or the attribute itself if no name changes."""
    if isinstance(attribute, ir.ArrayAttr):
        items = list(attribute)
        others = [_rename_in(item, name_of) for item in items]
        return attribute if _same(items, others) else ir.ArrayAttr.get(others)
    if isinstance(attribute, ir.DictAttr):
        names, items = [entry.name for entry in attribute], [entry.attr for entry in attribute]
        others = [_rename_in(item, name_of) for item in items]
        return attribute if _same(items, others) else ir.DictAttr.get(dict(zip(names, others, strict=True)))
    name = name_of(attribute) if is_resource(attribute) else ""
    return ir.Attribute.parse(f"dense_resource<{name}> : {attribute.type}") if name else attribute


def _same(items: list[Attribute], others: list[Attribute]) -> bool:
    return all(one is other for one, other in zip(items, others, strict=True))
