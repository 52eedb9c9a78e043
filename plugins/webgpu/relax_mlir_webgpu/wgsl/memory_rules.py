# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for memory. Views are resolved while the text is written, so the text only reads and writes words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from relax_mlir import RefusalError, ir
from relax_mlir.bindings.mlir import DYNAMIC
from relax_mlir.bindings.navigation import constant_of, operations_named, symbol_name, users_of
from relax_mlir.emit.memrefs import root_of
from relax_mlir.rewriting import Operation, Value, made_by, operations_in

from .array_views import ArrayView, Size, dense
from .wgsl_types import register_type
from .writer import KernelWriter, Rule

#: Atomic operations by the numbers of arith's enumeration. Helpers implement signed ones, because words are unsigned.
_ATOMIC = {1: "atomicAdd", 2: "atomicAnd", 7: "atomicMax", 11: "atomicMin", 14: "atomicOr", 15: "atomicXor"}
_SIGNED = {6: "most_at", 10: "least_at"}
_ADD, _MOST = 1, 6


def _size(writer: KernelWriter, value: Value) -> Size:
    """Return a size or position: a number, or the name of an index."""
    if (known := constant_of(value)) is not None:
        return int(known)
    cast = made_by(value, "arith.index_cast")
    if cast is not None and isinstance(cast.operands[0].type, ir.IndexType):
        return writer.get(cast.operands[0])
    text = writer.get(value)
    return text if isinstance(value.type, ir.IndexType) else writer.name(f"index_of({text})", "n")


def described(descriptor: Value) -> dict[tuple[int, ...], Value]:
    """Return the parts of a descriptor, two addresses, offset, sizes and strides, by position in the structure."""
    parts: dict[tuple[int, ...], Value] = {}
    maker = descriptor.owner.operation
    while maker.name == "llvm.insertvalue":
        parts.setdefault(tuple(maker.attributes["position"]), maker.operands[1])
        maker = maker.operands[0].owner.operation
    return parts


def _describe(writer: KernelWriter, op: Operation) -> None:
    (result,) = op.results
    if isinstance(op.operands[0].type, ir.MemRefType):  # The cast accesses truth values as bytes, their form in memory.
        view = writer.view(op.operands[0])
        writer.know(result, replace(view, element=result.type.element_type, is_of_truth=view.array != ""))
        return
    parts, type_ = described(op.operands[0]), result.type
    sizes = [_size(writer, parts[3, axis]) if known == DYNAMIC else known for axis, known in enumerate(type_.shape)]
    writer.know(result, dense(type_.element_type, sizes, address=writer.get(parts[1,])))


def _address_behind(writer: KernelWriter, op: Operation) -> None:
    """Add an offset in bytes to an address."""
    base, *given = op.operands
    (index,) = op.attributes["rawConstantIndices"]
    further = _size(writer, given[0]) if given else index
    writer.define(op, [f"{writer.get(base)} + {further}"])


def _global(writer: KernelWriter, op: Operation) -> None:
    """Declare shared memory of the block."""
    type_, symbol = op.results[0].type, str(op.attributes["name"].value)
    view = dense(type_.element_type, list(type_.shape), array=symbol)
    is_atomic = _is_counted_in(writer, symbol)
    element = "atomic<u32>" if is_atomic else register_type(type_.element_type)
    writer.shared[symbol] = f"var<workgroup> {symbol}: array<{element}, {max(1, math.prod(type_.shape))}>;"
    writer.know(op.results[0], replace(view, is_atomic=is_atomic))


def _is_counted_in(writer: KernelWriter, symbol: str) -> bool:
    roots = [root_of(operation.operands[1]).owner for operation in operations_named(writer.kernel, "memref.atomic_rmw")]
    return any(
        getattr(root, "name", "") == "memref.get_global" and str(root.attributes["name"].value) == symbol
        for root in roots
    )


def _own(writer: KernelWriter, op: Operation) -> None:
    """Declare private memory of a thread."""
    type_ = op.results[0].type
    name = writer.fresh("own")
    writer.line(f"var {name}: array<{register_type(type_.element_type)}, {max(1, math.prod(type_.shape))}>;")
    writer.know(op.results[0], dense(type_.element_type, list(type_.shape), array=name))


def _same(writer: KernelWriter, op: Operation) -> None:
    view, type_ = writer.view(op.operands[0]), op.results[0].type
    sizes = tuple(known if size == DYNAMIC else int(size) for known, size in zip(view.sizes, type_.shape, strict=True))
    writer.know(op.results[0], replace(view, sizes=sizes))


def _parts(writer: KernelWriter, op: Operation) -> tuple[list[Size], list[Size], list[Size]]:
    given = iter(list(op.operands)[1:])
    offsets, sizes, strides = (
        [_size(writer, next(given)) if known == DYNAMIC else int(known) for known in op.attributes[f"static_{name}"]]
        for name in ("offsets", "sizes", "strides")
    )
    return offsets, sizes, strides


def _reinterpret(writer: KernelWriter, op: Operation) -> None:
    offsets, sizes, strides = _parts(writer, op)
    view = writer.view(op.operands[0])
    # The offset counts from the base of the memref, not from the source.
    made = replace(view, offset=offsets[0], sizes=tuple(sizes), strides=tuple(strides))
    writer.know(op.results[0], made)


def _metadata(writer: KernelWriter, op: Operation) -> None:
    view = writer.view(op.operands[0])
    base, *others = op.results
    writer.know(base, replace(view, offset=0, sizes=(), strides=()))
    for result, number in zip(others, (view.offset, *view.sizes, *view.strides), strict=True):
        writer.know(result, [str(number)])


def _cut_out(writer: KernelWriter, op: Operation) -> None:
    """View bytes at an address as elements of another type."""
    source, type_ = writer.view(op.operands[0]), op.results[0].type
    if source.array:
        raise RefusalError("it reinterprets bytes of a block's shared memory as other elements")
    shift, *open_sizes = op.operands[1:]
    given = iter(open_sizes)
    shape = [_size(writer, next(given)) if known == DYNAMIC else int(known) for known in type_.shape]
    address = f"{source.address} + {source.offset} + {_size(writer, shift)}"
    writer.know(op.results[0], dense(type_.element_type, shape, address=writer.name(address, "a")))


def _dim(writer: KernelWriter, op: Operation) -> None:
    if (axis := constant_of(op.operands[1])) is None:
        raise RefusalError("it reads the size of an axis that is only known at run time")
    writer.know(op.results[0], [str(writer.view(op.operands[0]).sizes[axis])], is_uniform=True)


def _places(writer: KernelWriter, view: ArrayView, indices: Sequence[Value], count: int) -> list[Size]:
    """Return the positions of `count` adjacent elements."""
    first = view.place([_size(writer, index) for index in indices])
    if count == 1 or isinstance(first, int):
        return [first if count == 1 else int(first) + lane for lane in range(count)]
    named = writer.name(str(first), "p")
    return [named if lane == 0 else f"({named} + {lane})" for lane in range(count)]


def _load(writer: KernelWriter, op: Operation) -> None:
    memref, *indices = op.operands
    type_ = op.results[0].type
    view, count = writer.view(memref), type_.shape[0] if isinstance(type_, ir.VectorType) else 1
    writer.define(op, [view.read(place) for place in _places(writer, view, indices, count)])


def _store(writer: KernelWriter, op: Operation) -> None:
    value, memref, *indices = op.operands
    view, lanes = writer.view(memref), writer.lanes(value)
    for place, lane in zip(_places(writer, view, indices, len(lanes)), lanes, strict=True):
        writer.line(view.write(place, lane))


def _update(writer: KernelWriter, op: Operation) -> None:
    value, memref, *indices = op.operands
    kind, view = op.attributes["kind"].value, writer.view(memref)
    (place,) = _places(writer, view, indices, 1)
    given, name = writer.get(value), str(view.element)
    is_alone = name == "i64" and not view.array and not users_of(op.results[0])
    if is_alone and kind == _ADD:
        writer.line(f"add_at_64({view.where(place)}, {given});")
    elif is_alone and kind == _MOST and _is_index(value):
        writer.line(f"most_index_at({view.where(place)}, {given});")
    elif name not in ("i32", "index") or (kind not in _ATOMIC and (kind not in _SIGNED or view.array)):
        raise RefusalError(
            f"WGSL only has atomic operations on 32-bit integers, but this one is on {name}, of kind {kind}",
            notes=["if the numbers fit, scatter i32: use relax.astype before and after the scatter"],
        )
    elif kind in _SIGNED:
        writer.define(op, [f"i32({_SIGNED[kind]}({view.where(place)}, {given}))"])
    else:
        writer.define(op, [f"i32({_ATOMIC[kind]}({view.word(place)}, u32({given})))"])


def _is_index(value: Value) -> bool:
    """Check whether an i64 was an index.

    Kernels find the last of several writes to an element by the maximum of such indices, with -1 for no write.
    """
    maker = made_by(value, "arith.index_cast")
    return maker is not None and isinstance(maker.operands[0].type, ir.IndexType)


def _nothing(writer: KernelWriter, op: Operation) -> None:
    """Write nothing: the operation is a hint, or a rule reads the operation through its users."""


RULES: dict[str, Rule] = {
    "builtin.unrealized_conversion_cast": _describe,
    "llvm.insertvalue": _nothing,
    "llvm.mlir.poison": _nothing,
    "llvm.getelementptr": _address_behind,
    "memref.get_global": _global,
    "memref.alloca": _own,
    "memref.cast": _same,
    "memref.memory_space_cast": _same,
    "memref.assume_alignment": _same,
    "memref.reinterpret_cast": _reinterpret,
    "memref.extract_strided_metadata": _metadata,
    "memref.view": _cut_out,
    "memref.dim": _dim,
    "memref.load": _load,
    "memref.store": _store,
    "vector.load": _load,
    "vector.store": _store,
    "memref.atomic_rmw": _update,
    "memref.prefetch": _nothing,
    "tir.prefetch": _nothing,
}


def shared_bytes(kernel: Operation, module: Operation) -> int:
    """Return the bytes of shared memory that a kernel's operations allocate for a block. Narrow numbers take words."""
    used = {str(operation.attributes["name"].value) for operation in operations_named(kernel, "memref.get_global")}
    types = [
        operation.attributes["type"].value
        for operation in operations_in(module)
        if operation.name == "memref.global" and symbol_name(operation) in used
    ]
    return sum(math.prod(type_.shape) * (8 if str(type_.element_type) == "i64" else 4) for type_ in types)
