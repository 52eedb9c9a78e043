# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits what graph functions do with memory: allocate, view, copy. Every memref here is row-major from its start."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...bindings.mlir import ir
from ...bindings.navigation import defining_op
from ...dialects.core.codec import TypeProblem, encode
from ...dialects.core.infos import Info, TensorInfo, describe
from ...dialects.core.symbols import equal
from ...dialects.tir import dialect as tir
from ...emit import linalg
from ...emit.kernels import parameter_info
from ...emit.numbers import Number, as_i64, as_index, constant, convert, minimum
from ...support.errors import RelaxError

#: Every buffer begins at a multiple of this, in bytes: a cache line, and the widest vector.
ALIGNMENT = 64
#: More bytes than any memory holds; numbers below it are far from wrapping around.
MOST_BYTES = 1 << 62

Extent = Any  # an int, or an index value


def memref_type(info: TensorInfo, context: Any) -> Any:
    """How a tensor lies in memory: without symbols and signs. Raises RelaxError where its elements have no place."""
    try:
        tensor = encode(parameter_info(info), context)
    except TypeProblem as error:
        raise RelaxError(f"no memory for {describe(info)}: {error}") from None
    return ir.MemRefType.get(tensor.shape, tensor.element_type, loc=ir.Location.unknown(context))


def typed(extents: Sequence[Extent], element: Any) -> Any:
    dynamic = ir.ShapedType.get_dynamic_size()
    return ir.MemRefType.get([extent if isinstance(extent, int) else dynamic for extent in extents], element)


def as_value(extent: Extent) -> Any:
    return as_index(extent).value if isinstance(extent, int) else extent


def allocate(extents: Sequence[Extent], element: Any) -> Any:
    """New memory, which the caller gives back. A target looks at it whether there was room (host-check-memory)."""
    byte_count(extents, element)
    dynamic = [extent for extent in extents if not isinstance(extent, int)]
    attributes = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(dynamic), 0]),
        "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ALIGNMENT),
    }
    return ir.Operation.create(
        "memref.alloc", results=[typed(extents, element)], operands=dynamic, attributes=attributes
    ).result


def byte_count(extents: Sequence[Extent], element: Any) -> int:
    """What a tensor takes in memory, where dynamic sizes count as one. Raises RelaxError where nothing can hold it."""
    count = math.prod((extent for extent in extents if isinstance(extent, int)), start=storage_bytes(element))
    if count >= MOST_BYTES:
        raise RelaxError(f"a tensor of {count} bytes is needed, which no memory can hold")
    return count


def storage_bytes(element: Any) -> int:
    """What an element takes in memory, at most: whole bytes; a vector's are a power of two."""
    if isinstance(element, ir.VectorType):
        return 1 << (math.prod(element.shape) * storage_bytes(element.element_type) - 1).bit_length()
    if isinstance(element, ir.ComplexType):
        return 2 * storage_bytes(element.element_type)
    # Pointers and sizes are words, memrefs a few of them.
    bits = getattr(element, "width", 64 if not isinstance(element, ir.MemRefType) else 64 * (3 + 2 * element.rank))
    return -(-bits // 8)


def require_below(number: Number, limit: int, kind: str, message: str) -> None:
    """Code that raises where an f64 reaches a limit; the message has a place for it."""
    is_below, shown = below(number, limit)
    tir.ops["assert"](is_below, [shown], kind=kind, message=message)


def below(number: Number, limit: int) -> tuple[Number, Number]:
    """Whether an f64 is below a limit, and the lower of both as an integer."""
    most = constant(float(limit), "f64")
    shown = convert("arith.fptosi", minimum(number, most), ir.IntegerType.get_signless(64))
    return number < most, shown


def as_float(extent: Extent) -> Number:
    """A size as f64, whose products do not wrap around."""
    return convert("arith.sitofp", as_i64(as_value(extent)), ir.F64Type.get())


def deallocate(memref: Any) -> None:
    ir.Operation.create("memref.dealloc", operands=[memref])


def copy(source: Any, target: Any) -> None:
    """As a loop nest, which every target can lower; memref.copy calls a library of MLIR's where strides are unusual."""
    rank = target.type.rank
    maps = [linalg.identity(rank)] * 2
    linalg.generic([source], [target], maps, [linalg.PARALLEL] * rank, lambda value, _: value)


def view(arena: Any, offset: Extent, extents: Sequence[Extent], element: Any) -> Any:
    """A piece of a memref of bytes."""
    dynamic = [extent for extent in extents if not isinstance(extent, int)]
    return ir.Operation.create(
        "memref.view", results=[typed(extents, element)], operands=[arena, as_value(offset), *dynamic]
    ).result


def dim(memref: Any, axis: int) -> Extent:
    """A size of a memref: the number where its type has it, else the value that it was made with, else read here.

    Sizes that are one value are known to be equal, and checked once.
    """
    size = memref.type.shape[axis]
    dynamic = ir.ShapedType.get_dynamic_size()
    if size != dynamic:
        return size
    if (made := defining_op(memref, "memref.cast")) is not None and isinstance(made.operands[0].type, ir.MemRefType):
        return dim(made.operands[0], axis)
    if (made := defining_op(memref, *_SIZES_FROM)) is not None:
        sizes = list(made.operands)[_SIZES_FROM[made.operation.name](made.operation) :]
        return sizes[memref.type.shape[:axis].count(dynamic)]
    operands = [memref, as_index(axis)]
    return ir.Operation.create("memref.dim", results=[ir.IndexType.get()], operands=operands).result


#: What makes memrefs of given sizes: the place of the first among the operands.
_SIZES_FROM: dict[str, Callable[[Any], int]] = {
    "memref.alloc": lambda op: 0,
    "memref.view": lambda op: 2,
    "memref.reinterpret_cast": lambda op: sum(list(op.attributes["operandSegmentSizes"])[:2]),
}


def cast(memref: Any, type_: Any) -> Any:
    """The memref with sizes more or less known."""
    if memref.type == type_:
        return memref
    return ir.Operation.create("memref.cast", results=[type_], operands=[memref]).result


def reshape(memref: Any, extents: Sequence[Extent]) -> Any:
    """The same elements in row-major order under another shape."""
    strides: list[Extent] = []
    stride: Extent = 1
    for extent in reversed(extents):
        strides.insert(0, stride)
        stride = times(stride, extent)
    dynamic = ir.ShapedType.get_dynamic_size()
    listed = [each if isinstance(each, int) else dynamic for each in strides]
    element = memref.type.element_type
    shape = [each if isinstance(each, int) else dynamic for each in extents]
    layout = ir.StridedLayoutAttr.get(0, listed)
    operands = [memref, *(each for each in (*extents, *strides) if not isinstance(each, int))]
    attributes = {
        "static_offsets": ir.DenseI64ArrayAttr.get([0]),
        "static_sizes": ir.DenseI64ArrayAttr.get(shape),
        "static_strides": ir.DenseI64ArrayAttr.get(listed),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, shape.count(dynamic), listed.count(dynamic)]),
    }
    result = ir.MemRefType.get(shape, element, layout=layout)
    made = ir.Operation.create("memref.reinterpret_cast", results=[result], operands=operands, attributes=attributes)
    return cast(made.result, typed(extents, element))


def count(extents: Sequence[Extent]) -> Extent:
    """The number of elements."""
    return functools.reduce(times, extents, 1)


def shape_text(info: TensorInfo) -> str:
    return ", ".join("?" if dim is None else str(dim) for dim in info.shape or ())


def times(left: Extent, right: Extent) -> Extent:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if 1 in (left, right) and (isinstance(left, int) or isinstance(right, int)):
        return right if left == 1 else left
    return (as_index(left) * as_index(right)).value


def is_constant(memref: Any) -> bool:
    """Whether the memory is that of a constant, which must not be written to."""
    while (viewed := defining_op(memref, "memref.cast", "memref.reinterpret_cast")) is not None:
        memref = viewed.operation.operands[0]
    return defining_op(memref, "memref.get_global") is not None


def reshape_if_needed(memref: Any, extents: Sequence[Extent], same: bool = False) -> Any:
    """The memref, under another shape unless it has this one: its type says so, or `same` does.

    Equal types with several unknown sizes do not: 2x3 and 3x2 are both ?x?.
    """
    is_certain = same or memref.type.has_static_shape or memref.type.rank == 1
    wanted = typed(extents, memref.type.element_type)
    return memref if is_certain and memref.type == wanted else reshape(memref, extents)


def is_same_shape(one: Info, other: Info) -> bool:
    """Whether two tensors have the same sizes whatever the symbols stand for."""
    left, right = (info.shape if isinstance(info, TensorInfo) else None for info in (one, other))
    if left is None or right is None or len(left) != len(right):
        return False
    return all(equal(*pair) is True for pair in zip(left, right, strict=True))
