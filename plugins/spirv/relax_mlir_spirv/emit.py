# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of operations of the dialect spirv: pointers, aligned loads and stores, variables."""

from __future__ import annotations

from relax_mlir.bindings.ir import Attribute, Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.memrefs import storage_bytes

#: Storage class of memory that the host passes by address, for each interface.
DEVICE_STORAGE = {"vulkan": "PhysicalStorageBuffer", "opencl": "CrossWorkgroup"}
SHARED_STORAGE, OWN_STORAGE, WORDS_STORAGE = "Workgroup", "Function", "PushConstant"
#: Name of this memory in memory semantics, in addition to the block's memory.
_MEMORY = {"vulkan": "UniformMemory", "opencl": "CrossWorkgroupMemory"}
#: Loads and stores of these storage classes must state their alignment, because the code cannot derive it from the
#: memory's type.
_ALIGNED = {DEVICE_STORAGE["vulkan"], DEVICE_STORAGE["opencl"]}


def pointer_type(pointee: Type | str, storage: str) -> Type:
    return ir.Type.parse(f"!spirv.ptr<{pointee}, {storage}>")


def array_type(count: int, element: Type) -> Type:
    return ir.Type.parse(f"!spirv.array<{count} x {element}>")


def at_address(address: Value, pointee: Type, storage: str) -> Value:
    """Return a pointer to device memory, from an i64."""
    return result_of("spirv.ConvertUToPtr", [address], pointer_type(pointee, storage))


def variable(symbol: str, type_: Type) -> Operation:
    """Declare a variable of a module."""
    attributes = {"sym_name": ir.StringAttr.get(symbol), "type": ir.TypeAttr.get(type_)}
    return ir.Operation.create("spirv.GlobalVariable", attributes=attributes)


def variable_address(symbol: str, type_: Type) -> Value:
    return result_of("spirv.mlir.addressof", [], type_, variable=ir.FlatSymbolRefAttr.get(symbol))


def block_size(symbol: str, threads: int) -> None:
    """Declare a module's number of threads per block as a specialization constant (abi.py)."""
    i32 = ir.IntegerType.get_signless(32)
    one, size = f"{symbol}_one", f"{symbol}_size"
    for name, value, further in ((symbol, threads, {"spec_id": ir.IntegerAttr.get(i32, 0)}), (one, 1, {})):
        attributes = {"sym_name": ir.StringAttr.get(name), "default_value": ir.IntegerAttr.get(i32, value), **further}
        ir.Operation.create("spirv.SpecConstant", attributes=attributes)
    parts = ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(text) for text in (symbol, one, one)])
    attributes = {
        "sym_name": ir.StringAttr.get(size),
        "type": ir.TypeAttr.get(ir.VectorType.get([3], i32)),
        "constituents": parts,
    }
    ir.Operation.create("spirv.SpecConstantComposite", attributes=attributes)


def value_of_constant(symbol: str) -> Value:
    """Return the value of a 32-bit specialization constant."""
    type_ = ir.IntegerType.get_signless(32)
    return result_of("spirv.mlir.referenceof", [], type_, spec_const=ir.FlatSymbolRefAttr.get(symbol))


def element_of(base: Value, place: Value, pointee: Type, storage: str, *outer: Value) -> Value:
    """Return a pointer to an element of an array, nested in the members `outer` of the variable of `base`."""
    return result_of("spirv.AccessChain", [base, *outer, place], pointer_type(pointee, storage))


def load(pointer: Value, type_: Type, storage: str, alignment: int = 0) -> Value:
    return result_of("spirv.Load", [pointer], type_, **_access(type_, storage, alignment))


def store(value: Value, pointer: Value, storage: str, alignment: int = 0) -> None:
    attributes = _access(value.type, storage, alignment)
    ir.Operation.create("spirv.Store", operands=[pointer, value], attributes=attributes)


def _access(type_: Type, storage: str, alignment: int) -> dict[str, Attribute]:
    if storage not in _ALIGNED:
        return {}
    bytes_ = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), alignment or storage_bytes(type_))
    return {"memory_access": ir.Attribute.parse("#spirv.memory_access<Aligned>"), "alignment": bytes_}


def semantics(order: str, api: str, *, shared: bool = True, device: bool = True) -> Attribute:
    """Return the memory semantics of an operation: its order, and the memories that it applies to."""
    memories = [_MEMORY[api]] * device + ["WorkgroupMemory"] * shared
    return ir.Attribute.parse(f"#spirv.memory_semantics<{'|'.join([order, *memories])}>")


def scope(name: str) -> Attribute:
    return ir.Attribute.parse(f"#spirv.scope<{name}>")


def place_in_struct(place: int) -> Value:
    """Return the constant index of a struct's member."""
    type_ = ir.IntegerType.get_signless(32)
    return result_of("spirv.Constant", [], type_, value=ir.IntegerAttr.get(type_, place))
