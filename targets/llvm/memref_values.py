# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Between memrefs and what they are made of in LLVM: a pointer and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.mlir import ir
from ...passes.legalize import linalg, scalar
from .llvm_text import PTR


def memref_at(pointer: Any, type_: Any, sizes: Sequence[Any]) -> Any:
    """A memref of row-major memory at a pointer; `sizes` are i64 values, one for each dimension."""
    rank = len(sizes)
    array = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    struct = ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{array})>")
    value = ir.Operation.create("llvm.mlir.undef", results=[struct]).result
    value = _insert(value, pointer, 0)
    value = _insert(value, pointer, 1)
    value = _insert(value, constant(0), 2)
    stride = constant(1)
    for axis in reversed(range(rank)):
        value = _insert(value, sizes[axis], 3, axis)
        value = _insert(value, stride, 4, axis)
        if axis:
            stride = scalar.multiply(stride, sizes[axis], "i64")
    cast = ir.Operation.create("builtin.unrealized_conversion_cast", results=[type_], operands=[value])
    return cast.result


def pointer_of(memref: Any) -> Any:
    """Where the elements of a memref begin, an !llvm.ptr."""
    address = ir.Operation.create(
        "memref.extract_aligned_pointer_as_index", results=[ir.IndexType.get()], operands=[memref]
    ).result
    pointer = ir.Type.parse(PTR)
    return ir.Operation.create("llvm.inttoptr", results=[pointer], operands=[linalg.as_i64(address)]).result


def constant(value: int, width: int = 64) -> Any:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(width), value)
    return ir.Operation.create("arith.constant", results=[attribute.type], attributes={"value": attribute}).result


def call(symbol: str, operands: Sequence[Any], result: Any = None) -> Any:
    """Calls a function of the LLVM dialect; its value."""
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(symbol),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    results = [] if result is None else [result]
    op = ir.Operation.create("llvm.call", results=results, operands=list(operands), attributes=attributes)
    return op.result if results else None


def address_of(symbol: str) -> Any:
    attributes = {"global_name": ir.FlatSymbolRefAttr.get(symbol)}
    return ir.Operation.create("llvm.mlir.addressof", results=[ir.Type.parse(PTR)], attributes=attributes).result


def load(pointer: Any, offset: int, type_: Any) -> Any:
    """What lies `offset` bytes behind a pointer."""
    return ir.Operation.create("llvm.load", results=[type_], operands=[behind(pointer, offset)]).result


def behind(pointer: Any, offset: int) -> Any:
    return view_of(pointer, offset) if offset else pointer


def view_of(pointer: Any, offset: int = 0) -> Any:
    """A new value for the address `offset` bytes behind a pointer."""
    attributes = {
        "rawConstantIndices": ir.DenseI32ArrayAttr.get([offset]),
        "elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(8)),
    }
    return ir.Operation.create(
        "llvm.getelementptr", results=[pointer.type], operands=[pointer], attributes=attributes
    ).result


def _insert(struct: Any, value: Any, *position: int) -> Any:
    attributes = {"position": ir.DenseI64ArrayAttr.get(list(position))}
    return ir.Operation.create(
        "llvm.insertvalue", results=[struct.type], operands=[struct, value], attributes=attributes
    ).result
