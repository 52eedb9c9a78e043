# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory operations of graph functions: allocation, views, copies. Every memref here is dense and row-major."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..bindings.affine import identity
from ..bindings.ir import Context, Operation, Type, Value
from ..bindings.mlir import DYNAMIC, i64_attribute, ir
from ..bindings.navigation import made_by
from ..dialects.core.codec import TypeProblem, encode
from ..dialects.core.infos import TensorInfo, describe
from ..dialects.core.infos import is_same_shape as is_same_shape
from ..dialects.tir import dialect as tir
from ..support.errors import RelaxError
from . import linalg, loops
from .arithmetic import convert, result_of
from .collapse import collapse
from .kernels import parameter_info
from .linalg import segments, static_and_dynamic
from .loops import ALIGNMENT as ALIGNMENT
from .numbers import Number, Size, as_i64, as_index, constant, minimum, number
from .subviews import seen_as

#: Operations whose result is a view of their first operand.
VIEWS = frozenset(
    f"memref.{word}" for word in "cast collapse_shape expand_shape reinterpret_cast subview transpose view".split()
) | {"builtin.unrealized_conversion_cast"}
#: More bytes than any memory has; smaller numbers are far from wrapping around.
MOST_BYTES = 1 << 62


def memref_type(info: TensorInfo, context: Context) -> Type:
    """Return a tensor's memref type, without symbols and signedness.

    Raise RelaxError for elements without a storage type.
    """
    try:
        tensor = encode(parameter_info(info), context)
    except TypeProblem as error:
        raise RelaxError(f"no memory for {describe(info)}: {error}") from None
    return ir.MemRefType.get(tensor.shape, tensor.element_type, loc=ir.Location.unknown(context))


def typed(extents: Sequence[int | Value], element: Type) -> Type:
    return ir.MemRefType.get(static_and_dynamic(extents)[0], element)


def allocate(extents: Sequence[int | Value], element: Type) -> Value:
    """Allocate memory, which the caller frees. Targets check the allocation (host-check-memory)."""
    byte_count(extents, element)
    return loops.allocated(extents, element)


def on_stack(type_: Type) -> Value:
    """Allocate memory of fixed size on the stack, until the function returns."""
    return result_of("memref.alloca", [], type_, **segments(0, 0), alignment=i64_attribute(ALIGNMENT))


def byte_count(extents: Sequence[int | Value], element: Type) -> int:
    """Return the bytes of a tensor, with dynamic sizes counted as one. Raise RelaxError if no memory can hold them."""
    count = math.prod((extent for extent in extents if isinstance(extent, int)), start=storage_bytes(element))
    if count >= MOST_BYTES:
        raise RelaxError(f"a tensor of {count} bytes is needed, which no memory can hold")
    return count


def storage_bytes(element: Type) -> int:
    """Return an upper bound of an element's bytes in memory: whole bytes, and a power of two for vectors."""
    if isinstance(element, ir.VectorType):
        return 1 << (math.prod(element.shape) * storage_bytes(element.element_type) - 1).bit_length()
    if isinstance(element, ir.ComplexType):
        return 2 * storage_bytes(element.element_type)
    # Pointers and sizes are words, memrefs a few words.
    bits = getattr(element, "width", 64 if not isinstance(element, ir.MemRefType) else 64 * (3 + 2 * element.rank))
    return -(-bits // 8)


def require_below(number: Number, limit: int, kind: str, message: str) -> None:
    """Raise an error in the program if an f64 reaches a limit. The message has a {} for it."""
    is_below, shown = below(number, limit)
    tir.ops["assert"](is_below, [shown], kind=kind, message=message)


def below(number: Number, limit: int) -> tuple[Number, Number]:
    """Return (x < limit, min(x, limit) as an integer)."""
    most = constant(float(limit), "f64")
    shown = convert("arith.fptosi", minimum(number, most), ir.IntegerType.get_signless(64))
    return number < most, shown


def as_float(extent: int | Value) -> Number:
    """Return a size as f64, whose products do not wrap around."""
    return convert("arith.sitofp", as_i64(extent), ir.F64Type.get())


def deallocate(memref: Value) -> None:
    ir.Operation.create("memref.dealloc", operands=[memref])


def copy(source: Value, target: Value) -> None:
    """Copy by a loop nest, which every target can lower. memref.copy calls an MLIR library for unusual strides."""
    if target.type.rank > 1 and is_dense(source.type) and is_dense(target.type):
        # LLVM's time grows with the cube of a nest's depth, and one loop is faster too.
        source, target = flat(source), flat(target)
    rank = target.type.rank
    linalg.generic([source], [target], [identity(rank)] * 2, [linalg.PARALLEL] * rank, lambda value, _: value)


def root_of(memref: Value) -> Value:
    """Return the memory behind a chain of views."""
    while (view := made_by(memref, *VIEWS, "memref.extract_strided_metadata")) is not None:
        memref = view.operands[0]
    return memref


def is_dense(type_: Type) -> bool:
    """Check whether the memref is contiguous and row-major, without an offset."""
    return bool(type_.affine_map == identity(type_.rank))


def flat(memref: Value) -> Value:
    """Return a dense memref collapsed to one dimension."""
    return collapse(memref, [range(memref.type.rank)])


def copied(memref: Value) -> Value:
    """Return new memory with the same elements, which needs an owner."""
    copied = allocate(dims(memref), memref.type.element_type)
    copy(memref, copied)
    return copied


def view(arena: Value, offset: Size, extents: Sequence[int | Value], element: Type) -> Value:
    """Return a view of a memref of bytes."""
    _, dynamic = static_and_dynamic(extents)
    return result_of("memref.view", [arena, as_index(offset), *dynamic], typed(extents, element))


def as_bytes(memref: Value) -> Value:
    """Return the memory of a dense memref as bytes, for views of its parts. In LLVM both are a pointer and one size."""
    whole = memref if memref.type.rank == 1 else flat(memref)
    type_ = ir.MemRefType.get([DYNAMIC], ir.IntegerType.get_signless(8), memory_space=whole.type.memory_space)
    return result_of("builtin.unrealized_conversion_cast", [whole], type_)


def dims(memref: Value) -> list[Size]:
    return [dim(memref, axis) for axis in range(memref.type.rank)]


def dim(memref: Value, axis: int) -> Size:
    """Return a size of a memref: a static number, the value the memref was created with, or a memref.dim created here.

    Sizes that share one value are known to be equal, and are checked once.
    """
    if (size := memref.type.shape[axis]) != DYNAMIC:
        return size
    if (made := made_by(memref, "memref.cast")) is not None and isinstance(made.operands[0].type, ir.MemRefType):
        return dim(made.operands[0], axis)
    if (made := made_by(memref, *SIZES_FROM)) is not None:
        sizes = list(made.operands)[SIZES_FROM[made.name](made) :]
        return number(sizes[memref.type.shape[:axis].count(DYNAMIC)])
    return linalg.size(memref, axis)


#: Operations that create memrefs of given sizes: the index of the first size among the operands.
SIZES_FROM: dict[str, Callable[[Operation], int]] = {
    "memref.alloc": lambda op: 0,
    "memref.view": lambda op: 2,
    "memref.reinterpret_cast": lambda op: sum(list(op.attributes["operandSegmentSizes"])[:2]),
}


def store_sizes(extents: Sequence[Size], memref: Value) -> None:
    """Store sizes in a one-dimensional memref of i64."""
    for axis, extent in enumerate(extents):
        loops.store(as_i64(extent), memref, axis)


def cast(memref: Value, type_: Type) -> Value:
    """Return the memref with a type that states more or fewer sizes."""
    return memref if memref.type == type_ else result_of("memref.cast", [memref], type_)


def reshape(memref: Value, extents: Sequence[Size]) -> Value:
    """Return the same elements, in row-major order, with another shape."""
    strides: list[Size] = []
    stride: Size = 1
    for extent in reversed(extents):
        strides.insert(0, stride)
        stride = stride * extent
    return cast(seen_as(memref, 0, extents, strides), typed(extents, memref.type.element_type))


def shape_text(info: TensorInfo) -> str:
    return ", ".join("?" if dim is None else str(dim) for dim in info.shape or ())


def is_constant(memref: Value) -> bool:
    """Check whether the memory belongs to a constant, which must not be overwritten."""
    while (viewed := made_by(memref, "memref.cast", "memref.reinterpret_cast")) is not None:
        memref = viewed.operands[0]
    return made_by(memref, "memref.get_global") is not None


def reshape_if_needed(memref: Value, extents: Sequence[Size], same: bool = False) -> Value:
    """Return the memref, reshaped unless its type, or `same`, proves that it has this shape.

    Equal types with dynamic sizes prove nothing: 2x3 and 3x2 are both ?x?, and ? may be the start of a longer
    dimension.
    """
    is_certain = same or memref.type.has_static_shape
    wanted = typed(extents, memref.type.element_type)
    return memref if is_certain and memref.type == wanted else reshape(memref, extents)
