# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of memory accesses in kernels to SPIR-V pointers.

Pointers come from addresses, or from variables for the memory of a block or a thread. Upstream only binds
one-dimensional memory to interfaces, and supports no addresses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, operations_in, operations_of, symbol_name
from relax_mlir.bindings.rewriting import located_error, replace_op
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.memrefs import storage_bytes
from relax_mlir.emit.numbers import as_i64, as_index, number
from relax_mlir.emit.vectors import from_elements, lane_of
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.device_code import kernel_modules, kernels_of
from relax_mlir.targets.host.llvm_ops import PTR

from ..emit import (
    DEVICE_STORAGE,
    OWN_STORAGE,
    SHARED_STORAGE,
    array_type,
    at_address,
    load,
    pointer_type,
    scope,
    semantics,
    store,
    variable,
)
from ..matrix_values import layout_of, name_matrices, row_length
from ..memory_views import Base, View, Views, dense, from_memory, in_memory, to_memory

#: Most lanes of SPIR-V's vectors.
_LANES = 4
#: Operations that describe memrefs, which are erased when all accesses use pointers.
_DESCRIBING = (
    "memref.cast memref.view memref.memory_space_cast memref.get_global memref.reinterpret_cast "
    "memref.extract_strided_metadata memref.alloca builtin.unrealized_conversion_cast llvm.insertvalue "
    "llvm.mlir.poison llvm.cmpxchg"
).split()
#: By the values of arith's enumeration.
_ATOMIC = {1: "IAdd", 2: "And", 6: "SMax", 7: "UMax", 10: "SMin", 11: "UMin", 14: "Or", 15: "Xor"}


@register_pass
@dataclass(frozen=True)
class LowerMemory(Pass):
    """Lower memory accesses in kernels to SPIR-V pointers."""

    name: ClassVar[str] = "spirv-lower-memory"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "spirv", "vector")

    #: Interface of the generated code: vulkan or opencl.
    api: str = "vulkan"

    def run(self, op: Operation) -> None:
        with op.context:
            for module in kernel_modules(op):
                shared = _share(module)
                for kernel in kernels_of(module):
                    _Kernel(kernel, self.api, shared).lower()


def _share(module: Operation) -> dict[str, tuple[Type, Type]]:
    """Replace the blocks' memory by variables. Return their types and element types by name."""
    found: dict[str, tuple[Type, Type]] = {}
    for operation in [each for each in operations_of(module.regions[0].blocks[0]) if each.name == "memref.global"]:
        type_ = operation.attributes["type"].value
        element = in_memory(type_.element_type)
        pointer = pointer_type(array_type(math.prod(type_.shape), element), SHARED_STORAGE)
        with operation.location, ir.InsertionPoint(operation):
            variable(symbol_name(operation), pointer)
        found[symbol_name(operation)] = pointer, element
        operation.erase()
    return found


class _Kernel:
    def __init__(self, kernel: Operation, api: str, shared: dict[str, tuple[Type, Type]]):
        self._kernel, self._api = kernel, api
        self._storage = DEVICE_STORAGE[api]
        self._views = Views(self._storage, shared)
        #: Results of llvm.cmpxchg: the old value, and whether it was the expected one.
        self._exchanged: dict[Value, tuple[Value, Value]] = {}

    def lower(self) -> None:
        self._addresses_are_numbers()
        name_matrices(self._kernel)
        for op in operations_in(self._kernel):
            lower = _LOWER.get(op.name)
            if lower is not None:
                with op.location, ir.InsertionPoint(op):
                    lower(self, op)
        self._forget_memrefs()

    def _addresses_are_numbers(self) -> None:
        i64, pointer = ir.IntegerType.get_signless(64), ir.Type.parse(PTR)
        for op in operations_in(self._kernel):
            arguments = [argument for region in op.regions for block in region.blocks for argument in block.arguments]
            for value in [result for result in (*op.results, *arguments) if result.type == pointer]:
                value.set_type(i64)

    def _forget_memrefs(self) -> None:
        for op in reversed(operations_in(self._kernel)):
            if op.name not in _DESCRIBING:
                continue
            if op.name == "builtin.unrealized_conversion_cast" and op.results[0].type == op.operands[0].type:
                replace_op(op, [op.operands[0]])
            elif not any(True for result in op.results for _ in result.uses):
                op.erase()

    # ---- memrefs ----

    def own(self, op: Operation) -> None:
        """Lower an allocation in a thread's own memory to a variable."""
        type_ = op.results[0].type
        element = in_memory(type_.element_type)
        pointer = pointer_type(array_type(math.prod(type_.shape), element), OWN_STORAGE)
        function = ir.Attribute.parse(f"#spirv.storage_class<{OWN_STORAGE}>")
        with ir.InsertionPoint.at_block_begin(body_of(self._kernel)):
            value = result_of("spirv.Variable", [], pointer, storage_class=function)
        self._views.know(op.results[0], dense(Base(OWN_STORAGE, value), element, type_.shape))

    def size(self, op: Operation) -> None:
        memref, axis = op.operands
        known = axis.owner.opview.value.value
        replace_op(op, [as_index(self._views.of(memref).sizes[known]).value])

    def metadata(self, op: Operation) -> None:
        view = self._views.of(op.operands[0])
        self._views.of(op.results[0])
        numbers = (view.offset, *view.sizes, *view.strides)
        for result, value in zip(list(op.results)[1:], numbers, strict=True):
            result.replace_all_uses_with(as_index(value).value)

    def address(self, op: Operation) -> None:
        """Lower the extraction of a memref's address from a descriptor, or of a result of an exchange."""
        exchanged = self._exchanged.get(op.operands[0])
        if exchanged is not None:
            replace_op(op, [exchanged[op.attributes["position"][0]]])
            return
        maker = op.operands[0].owner.operation
        base = self._views.of(maker.operands[0]).base
        if base.storage != self._storage:
            raise located_error("a kernel's own memory has no address", op.location)
        replace_op(op, [base.value])

    def load(self, op: Operation) -> None:
        memref, *indices = op.operands
        view = self._views.of(memref)
        place = view.place(indices)
        loaded = load(view.pointer(place, view.element), view.element, view.base.storage)
        replace_op(op, [from_memory(loaded, op.results[0].type)])

    def store(self, op: Operation) -> None:
        value, memref, *indices = op.operands
        view = self._views.of(memref)
        store(to_memory(value), view.pointer(view.place(indices), view.element), view.base.storage)
        op.erase()

    def load_vector(self, op: Operation) -> None:
        memref, *indices = op.operands
        view, type_ = self._views.of(memref), op.results[0].type
        place = view.place(indices)
        parts = []
        for first, count in self._parts(view, type_):
            part = ir.VectorType.get([count], view.element) if count > 1 else view.element
            pointer = view.pointer(place + first, part)
            parts.append(load(pointer, part, view.base.storage, _alignment(op, first, view)))
        replace_op(op, [_whole(parts, type_)])

    def store_vector(self, op: Operation) -> None:
        value, memref, *indices = op.operands
        view = self._views.of(memref)
        place = view.place(indices)
        lanes = [lane_of(value, lane) for lane in range(value.type.shape[0])]
        for first, count in self._parts(view, value.type):
            part = from_elements(lanes[first : first + count]) if count > 1 else lanes[first]
            if count == len(lanes):
                part = value
            store(part, view.pointer(place + first, part.type), view.base.storage, _alignment(op, first, view))
        op.erase()

    def _parts(self, view: View, type_: Type) -> list[tuple[int, int]]:
        """Return the pieces of a vector that are accessed at once: first lanes and counts."""
        (lanes,) = type_.shape
        at_once = _LANES if view.base.storage == self._storage else 1
        return [(first, min(at_once, lanes - first)) for first in range(0, lanes, at_once)]

    def update(self, op: Operation) -> None:
        value, memref, *indices = op.operands
        view, kind = self._views.of(memref), op.attributes["kind"].value
        word = _ATOMIC.get(kind)
        if word is None:
            raise located_error(f"'{op.name}' op of kind {kind} has no counterpart in SPIR-V", op.location)
        pointer = view.pointer(view.place(indices), view.element)
        attributes = {
            "memory_scope": scope("Device"),
            "semantics": semantics("AcquireRelease", self._api, shared=False),
        }
        replace_op(op, [result_of(f"spirv.Atomic{word}", [pointer, value], value.type, **attributes)])

    # ---- matrices ----

    def load_matrix(self, op: Operation) -> None:
        memref, *indices = op.operands
        view = self._views.of(memref)
        pointer = view.pointer(view.place(indices), view.element)
        operands = [pointer, row_length(op)]
        result = result_of("spirv.KHR.CooperativeMatrixLoad", operands, op.results[0].type, matrix_layout=layout_of(op))
        replace_op(op, [result])

    def store_matrix(self, op: Operation) -> None:
        matrix, memref, *indices = op.operands
        view = self._views.of(memref)
        pointer = view.pointer(view.place(indices), view.element)
        attributes = {"matrix_layout": layout_of(op)}
        operands = [pointer, matrix, row_length(op)]
        ir.Operation.create("spirv.KHR.CooperativeMatrixStore", operands=operands, attributes=attributes)
        op.erase()

    # ---- addresses ----

    def further(self, op: Operation) -> None:
        """Lower an address computation to an addition of bytes."""
        base, *given = op.operands
        (index,) = op.attributes["rawConstantIndices"]
        replace_op(op, [(as_i64(base) + (as_i64(given[0]) if given else index)).value])

    def load_at(self, op: Operation) -> None:
        type_ = op.results[0].type
        replace_op(op, [load(at_address(op.operands[0], type_, self._storage), type_, self._storage)])

    def store_at(self, op: Operation) -> None:
        value, address = op.operands
        store(value, at_address(address, value.type, self._storage), self._storage)
        op.erase()

    def exchange(self, op: Operation) -> None:
        """Lower a compare-exchange to an atomic operation.

        Record the old value, and whether it was the expected one.
        """
        address, expected, value = op.operands
        attributes = {
            "memory_scope": scope("Device"),
            "equal_semantics": semantics("AcquireRelease", self._api, shared=False),
            "unequal_semantics": semantics("Acquire", self._api, shared=False),
        }
        pointer = at_address(address, value.type, self._storage)
        old = result_of("spirv.AtomicCompareExchange", [pointer, value, expected], value.type, **attributes)
        is_taken = (number(old) == number(expected)).value
        self._exchanged[op.results[0]] = (old, is_taken)


def _alignment(op: Operation, first: int, view: View) -> int:
    """Return the alignment of a part of a vector, derived from that of the whole vector."""
    bytes_ = storage_bytes(view.element)
    if "alignment" not in op.attributes:
        return bytes_
    return math.gcd(op.attributes["alignment"].value, first * bytes_)


def _whole(parts: list[Value], type_: Type) -> Value:
    if len(parts) == 1 and parts[0].type == type_:
        return parts[0]
    lanes = [
        lane_of(part, lane) if isinstance(part.type, ir.VectorType) else part
        for part in parts
        for lane in range(part.type.shape[0] if isinstance(part.type, ir.VectorType) else 1)
    ]
    return from_elements(lanes)


_LOWER: dict[str, Callable[[_Kernel, Operation], None]] = {
    "memref.alloca": _Kernel.own,
    "memref.dim": _Kernel.size,
    "memref.extract_strided_metadata": _Kernel.metadata,
    "memref.load": _Kernel.load,
    "memref.store": _Kernel.store,
    "memref.atomic_rmw": _Kernel.update,
    "vector.load": _Kernel.load_vector,
    "vector.store": _Kernel.store_vector,
    "gpu.subgroup_mma_load_matrix": _Kernel.load_matrix,
    "gpu.subgroup_mma_store_matrix": _Kernel.store_matrix,
    "llvm.extractvalue": _Kernel.address,
    "llvm.getelementptr": _Kernel.further,
    "llvm.load": _Kernel.load_at,
    "llvm.store": _Kernel.store_at,
    "llvm.cmpxchg": _Kernel.exchange,
}
