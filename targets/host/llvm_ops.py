# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builders of LLVM dialect operations: calls, constants, loads and stores, memrefs from a pointer and sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...bindings.ir import Attribute, Operation, Type, Value
from ...bindings.mlir import i64_attribute, ir
from ...bindings.navigation import body_of, innermost
from ...dialects.core.ir_attributes import ENDED_BY
from ...emit import numbers
from ...emit.linalg import product, segments
from ...emit.numbers import Size, as_i64, operation

PTR = "!llvm.ptr"
#: Attribute of a func.func for the linkage of its LLVM function, and the linkage that is local to the module.
LINKAGE, INTERNAL = "llvm.linkage", "#llvm.linkage<internal>"

# Index of llvm.getelementptr that stands for an operand instead of a number.
_FROM_OPERAND = -(1 << 31)
#: Visibility that only the other units of a program see.
HIDDEN = 1


def memref_at(pointer: Value, type_: Type, sizes: Sequence[int | Value]) -> Value:
    """Return a memref of row-major memory at a pointer. `sizes` are numbers or i64 values, one per dimension."""
    value = ir.Operation.create("llvm.mlir.poison", results=[_descriptor(type_)]).result
    value = _insert(value, pointer, 0)
    value = _insert(value, pointer, 1)
    value = _insert(value, constant(0), 2)
    stride: Size = 1
    for axis in reversed(range(len(sizes))):
        size = sizes[axis]
        value = _insert(value, as_i64(size), 3, axis)
        value = _insert(value, as_i64(stride), 4, axis)
        if axis:
            stride = product([size, stride])
    return operation("builtin.unrealized_conversion_cast", [value], type_)


def pointer_of(memref: Value) -> Value:
    """Return the aligned pointer of a memref as an !llvm.ptr, without the offset of the layout."""
    cast = operation("builtin.unrealized_conversion_cast", [memref], _descriptor(memref.type))
    return operation("llvm.extractvalue", [cast], ir.Type.parse(PTR), position=ir.DenseI64ArrayAttr.get([1])).value


def _descriptor(type_: Type) -> Type:
    """Return the LLVM struct of a memref: two pointers, an offset, sizes and strides."""
    array = f", array<{type_.rank} x i64>, array<{type_.rank} x i64>" if type_.rank else ""
    return ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{array})>", type_.context)


def constant(value: int, width: int = 64) -> Value:
    return numbers.constant(value, f"i{width}").value


def call(symbol: str, operands: Sequence[Value], result: Type | None = None) -> Value | None:
    """Call a function of the LLVM dialect and return its value, or None."""
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(symbol),
        **segments(len(operands), 0),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    results = [] if result is None else [result]
    op = ir.Operation.create("llvm.call", results=results, operands=list(operands), attributes=attributes)
    return op.result if results else None


def call_intrinsic(name: str, operands: Sequence[Value], result: Type | None = None) -> Value | None:
    """Call an intrinsic of LLVM and return its value, or None."""
    attributes = {
        "intrin": ir.StringAttr.get(name),
        **segments(len(operands), 0),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    results = [] if result is None else [result]
    op = ir.Operation.create("llvm.call_intrinsic", results=results, operands=list(operands), attributes=attributes)
    return op.result if results else None


def declare(symbol: str, type_: Type) -> None:
    """Declare a function that another unit of the program defines."""
    attributes = {
        "sym_name": ir.StringAttr.get(symbol),
        "function_type": ir.TypeAttr.get(type_),
        "linkage": ir.Attribute.parse("#llvm.linkage<external>"),
        "visibility_": i64_attribute(HIDDEN),
        "CConv": ir.Attribute.parse("#llvm.cconv<ccc>"),
    }
    ir.Operation.create("llvm.func", attributes=attributes, regions=1)


def constant_global(symbol: str, type_: Type, value: Attribute) -> None:
    """Define a private constant."""
    _global(symbol, type_, {"value": value})


def array_global(symbol: str, count: int, pointers: Callable[[], Sequence[Value]]) -> None:
    """Define a private constant array of addresses."""
    type_ = ir.Type.parse(f"!llvm.array<{count} x ptr>")
    with ir.InsertionPoint(_global(symbol, type_, {}).regions[0].blocks.append()):
        value = ir.Operation.create("llvm.mlir.poison", results=[type_]).result
        for position, pointer in enumerate(pointers()):
            value = _insert(value, pointer, position)
        ir.Operation.create("llvm.return", operands=[value])


def _global(symbol: str, type_: Type, attributes: dict[str, Attribute]) -> Operation:
    attributes = {
        "sym_name": ir.StringAttr.get(symbol),
        "global_type": ir.TypeAttr.get(type_),
        "linkage": ir.Attribute.parse(INTERNAL),
        "constant": ir.UnitAttr.get(),
        "addr_space": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0),
        "unnamed_addr": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0),  # parsed globals have it
        **attributes,
    }
    return ir.Operation.create("llvm.mlir.global", attributes=attributes, regions=1)


def type_of(name: str) -> Type:
    """Return a type by its name in the LLVM dialect: "ptr", "i64"."""
    return ir.Type.parse(PTR if name == "ptr" else name)


def stack(size: int, alignment: int = 8) -> Value:
    """Allocate stack memory at the start of the enclosing function, once per call."""
    function = innermost(ir.InsertionPoint.current.block.owner, "func.func")
    element = ir.TypeAttr.get(ir.IntegerType.get_signless(8))
    aligned = i64_attribute(alignment)
    with ir.InsertionPoint.at_block_begin(body_of(function)):
        count = [constant(max(size, 1))]
        return operation("llvm.alloca", count, type_of("ptr"), elem_type=element, alignment=aligned).value


def stored(values: Sequence[int | Value]) -> Value:
    """Store consecutive 64-bit values in new stack memory and return its address."""
    place = stack(8 * len(values))
    for position, value in enumerate(values):
        store(constant(value) if isinstance(value, int) else value, place, 8 * position)
    return place


def address_of(symbol: str) -> Value:
    return operation("llvm.mlir.addressof", [], ir.Type.parse(PTR), global_name=ir.FlatSymbolRefAttr.get(symbol)).value


def load(pointer: Value, offset: int, type_: Type) -> Value:
    """Load the value at `offset` bytes behind a pointer."""
    return ir.Operation.create("llvm.load", results=[type_], operands=[behind(pointer, offset)]).result


def store(value: Value, pointer: Value, offset: int = 0) -> None:
    ir.Operation.create("llvm.store", operands=[value, behind(pointer, offset)])


def behind(pointer: Value, offset: int) -> Value:
    return view_of(pointer, offset) if offset else pointer


def view_of(pointer: Value, offset: int | Value = 0) -> Value:
    """Return a new value for the address at `offset` bytes (a number or an i64 value) behind a pointer."""
    places = ir.DenseI32ArrayAttr.get([offset if isinstance(offset, int) else _FROM_OPERAND])
    element = ir.TypeAttr.get(ir.IntegerType.get_signless(8))
    operands = [pointer] if isinstance(offset, int) else [pointer, offset]
    return operation("llvm.getelementptr", operands, pointer.type, rawConstantIndices=places, elem_type=element).value


def mark_end(value: Value, function: str) -> None:
    """Set the function that releases the resource behind a view of an address, instead of __relax_release."""
    value.owner.attributes[ENDED_BY] = ir.StringAttr.get(function)


def _insert(struct: Value, value: Value, *position: int) -> Value:
    places = ir.DenseI64ArrayAttr.get(list(position))
    return operation("llvm.insertvalue", [struct, value], struct.type, position=places)
