# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views of a kernel's memory: a base, and offset, sizes and strides in elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_mlir.bindings.ir import Block, Operation, Type, Value
from relax_mlir.bindings.mlir import DYNAMIC, ir
from relax_mlir.bindings.rewriting import located_error
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.linalg import product
from relax_mlir.emit.memrefs import storage_bytes
from relax_mlir.emit.numbers import Size, as_i64, as_index, number

from .emit import OWN_STORAGE, SHARED_STORAGE, at_address, element_of, variable_address

#: Views of the same elements with another type.
_SAME = ("memref.cast", "memref.memory_space_cast")


@dataclass(frozen=True)
class Base:
    """Begin of memory: an address as i64, or a pointer to an array in a block's or a thread's own memory."""

    storage: str
    value: Value


@dataclass(frozen=True)
class View:
    """View of a memref. `element` is the type of its elements in memory."""

    base: Base
    element: Type
    offset: Size
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]

    def place(self, indices: Sequence[Value]) -> Size:
        """Return the offset of an element from the base."""
        place = self.offset
        for index, stride in zip(indices, self.strides, strict=True):
            place = number(index) * stride + place
        return place

    def pointer(self, place: Size, pointee: Type) -> Value:
        """Return a pointer to an element, or to adjacent elements as a vector."""
        base = self.base
        if base.storage in (OWN_STORAGE, SHARED_STORAGE):
            return element_of(base.value, as_i64(place).value, pointee, base.storage)
        address = as_i64(base.value)
        bytes_ = storage_bytes(self.element)
        if not (isinstance(place, int) and place == 0):
            address = address + (place * bytes_ if isinstance(place, int) else as_i64(place) * bytes_)
        return at_address(address.value, pointee, base.storage)


class Views:
    """Views of a kernel's memrefs."""

    def __init__(self, storage: str, shared: dict[str, tuple[Type, Type]]):
        self._storage = storage
        #: By the names of memref.global: the variable's type, and its element type in memory.
        self._shared = shared
        self._known: dict[Value, View] = {}

    def of(self, memref: Value) -> View:
        if memref not in self._known:
            self._known[memref] = self._made(memref)
        return self._known[memref]

    def know(self, memref: Value, view: View) -> None:
        self._known[memref] = view

    def _made(self, memref: Value) -> View:
        if isinstance(memref.owner, Block):
            raise located_error("loops and branches of a kernel cannot pass on memory", memref.owner.owner.location)
        maker, type_ = memref.owner.operation, memref.type
        with maker.location, ir.InsertionPoint(maker):
            if maker.name in _SAME:
                return self.of(maker.operands[0])
            if maker.name == "builtin.unrealized_conversion_cast":
                if isinstance(maker.operands[0].type, ir.MemRefType):
                    return self._as_other_elements(maker)
                return self._describe(maker.operands[0], type_)
            if maker.name == "memref.get_global":
                symbol = maker.attributes["name"].value
                variable, element = self._shared[symbol]
                return dense(Base(SHARED_STORAGE, variable_address(symbol, variable)), element, type_.shape)
            if maker.name == "memref.reinterpret_cast":
                return self._reinterpret(maker)
            if maker.name == "memref.extract_strided_metadata":
                source = self.of(maker.operands[0])
                return replace(source, offset=0, sizes=(), strides=())
            if maker.name == "memref.view" and self.of(maker.operands[0]).base.storage == self._storage:
                return self._cut_out(maker)
        raise located_error(f"'{maker.name}' op returns memory that SPIR-V cannot address", maker.location)

    def _as_other_elements(self, cast: Operation) -> View:
        """Return the view of truth values as bytes, which is their type in memory."""
        source, element = self.of(cast.operands[0]), in_memory(cast.results[0].type.element_type)
        if source.element != element:
            raise located_error(f"memory of {source.element} cannot be viewed as memory of {element}", cast.location)
        return source

    def _describe(self, descriptor: Value, type_: Type) -> View:
        """Return the view of a descriptor that is built from two addresses, offset, sizes and strides."""
        parts: dict[tuple[int, ...], Value] = {}
        op = descriptor.owner.operation
        while op.name == "llvm.insertvalue":
            parts.setdefault(tuple(op.attributes["position"]), op.operands[1])
            op = op.operands[0].owner.operation
        rank = type_.rank
        sizes = tuple(_known_or(type_.shape[axis], lambda axis=axis: parts[3, axis]) for axis in range(rank))
        strides = tuple(
            _known_or(known, lambda axis=axis: parts[4, axis]) for axis, known in enumerate(_strides(type_))
        )
        return View(Base(self._storage, parts[1,]), in_memory(type_.element_type), 0, sizes, strides)

    def _reinterpret(self, cast: Operation) -> View:
        source = self.of(cast.operands[0])
        given = iter(list(cast.operands)[1:])
        offsets, sizes, strides = (
            [as_index(next(given)) if known == DYNAMIC else known for known in cast.attributes[f"static_{name}"]]
            for name in ("offsets", "sizes", "strides")
        )
        # The offset counts from the base, not from the source.
        return replace(source, offset=offsets[0], sizes=tuple(sizes), strides=tuple(strides))

    def _cut_out(self, view: Operation) -> View:
        """Return the view of a part of bytes at an address."""
        source, type_ = self.of(view.operands[0]), view.results[0].type
        shift, *open_sizes = view.operands[1:]
        address = as_i64(source.base.value) + as_i64(source.offset) + as_i64(shift)
        given = iter(open_sizes)
        shape = [as_index(next(given)) if known == DYNAMIC else known for known in type_.shape]
        return dense(Base(self._storage, address.value), in_memory(type_.element_type), shape)


def dense(base: Base, element: Type, shape: Sequence[Size]) -> View:
    """Return the view of row-major memory."""
    strides = tuple(product(shape[axis + 1 :]) for axis in range(len(shape)))
    return View(base, element, 0, tuple(shape), strides)


def in_memory(element: Type) -> Type:
    """Return the type of elements in memory. Truth values are bytes there."""
    if isinstance(element, ir.IndexType):
        return ir.IntegerType.get_signless(64)
    if isinstance(element, ir.IntegerType) and element.width < 8:
        return ir.IntegerType.get_signless(8)
    return element


def to_memory(value: Value) -> Value:
    return _as(value, in_memory(value.type))


def from_memory(value: Value, type_: Type) -> Value:
    if isinstance(type_, ir.IntegerType) and type_.width == 1:
        return (number(value) != 0).value
    return _as(value, type_)


def _as(value: Value, type_: Type) -> Value:
    if value.type == type_:
        return value
    if isinstance(type_, ir.IndexType) or isinstance(value.type, ir.IndexType):
        return result_of("arith.index_cast", [value], type_)
    return result_of("arith.extui" if value.type.width < type_.width else "arith.trunci", [value], type_)


def _known_or(known: int, given) -> Size:  # type: ignore[no-untyped-def]
    return as_index(given()) if known == DYNAMIC else known


def _strides(type_: Type) -> list[int]:
    strides, _ = type_.get_strides_and_offset()
    return [DYNAMIC if stride == ir.ShapedType.get_dynamic_stride_or_offset() else stride for stride in strides]
