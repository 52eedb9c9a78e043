# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thread indices, barriers and shuffles of a warp, and the shared memory of a block."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import i64_attribute, ir
from ....bindings.navigation import operations_of, symbol_name
from ....emit.linalg import segments
from ....emit.numbers import Number, constant, number, operation
from ....support.names import fresh_name
from ...core.machine import Machine

#: Threads of a warp, which exchange values without memory.
WARP = Machine.warp
#: Memory space of a block's shared memory.
_SHARED_SPACE = 3
ALIGNMENT = 16
#: Bytes of shared memory that a block has without a request at launch.
STATIC_SHARED = 48 << 10


def usual_threads(most: int) -> int:
    """Return the default number of threads per block, on a device that allows at most `most`."""
    return min(256, most)


def thread_id() -> Number:
    return _id("thread_id")


def block_id() -> Number:
    return _id("block_id")


def threads_of(kernel: Operation) -> int:
    """Return the number of threads per block."""
    return int(kernel.attributes["known_block_size"][0])


def thread_of_grid(kernel: Operation) -> Number:
    """Return the index of the thread in the grid."""
    return block_id() * threads_of(kernel) + thread_id()


def dimension_of(op: Operation) -> str:
    """Return the dimension of a thread or block id: x, y or z."""
    return str(op.attributes["dimension"]).removesuffix(">").split()[-1]


def _id(name: str) -> Number:
    return operation(f"gpu.{name}", [], ir.IndexType.get(), dimension=ir.Attribute.parse("#gpu<dim x>"))


def shared_memory(kernel: Operation, shape: Sequence[int], element: Type, alignment: int = ALIGNMENT) -> Value:
    """Allocate uninitialized shared memory for a kernel's blocks."""
    block = kernel.block
    i64, type_ = ir.IntegerType.get_signless(64), shared_type(shape, element)
    name = fresh_name(f"{symbol_name(kernel)}_shared", {symbol_name(each) for each in operations_of(block)})
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "type": ir.TypeAttr.get(type_),
        "alignment": ir.IntegerAttr.get(i64, alignment),
        "initial_value": ir.UnitAttr.get(),
    }
    with ir.InsertionPoint.at_block_begin(block):
        ir.Operation.create("memref.global", attributes=attributes)
    return operation("memref.get_global", [], type_, name=ir.FlatSymbolRefAttr.get(name)).value


def block_memory(shape: Sequence[int], element: Type, alignment: int = ALIGNMENT) -> Value:
    """Allocate shared memory in code that is not a kernel yet. The pass gpu-share-threads places it."""
    type_ = shared_type(shape, element)
    attributes = {**segments(0, 0), "alignment": i64_attribute(alignment)}
    return ir.Operation.create("memref.alloc", [type_], attributes=attributes).result


def shared_type(shape: Sequence[int], element: Type) -> Type:
    space = i64_attribute(_SHARED_SPACE)
    return ir.MemRefType.get(list(shape), element, memory_space=space)


# ---- exchange between the threads of a warp, 32 bits at a time ----


def from_lane(value: Value, across: int) -> Value:
    """Return the value of the thread at this lane index XOR `across`."""
    bits = _bits(value)
    if bits.type.width == 64:
        low, high = (_exchange(part, across) for part in _halves(bits))
        return _as(_join(low, high), value.type)
    whole = bits if bits.type.width == 32 else operation("arith.extui", [bits], _integer(32)).value
    received = _exchange(whole, across)
    return _as(
        received if bits.type.width == 32 else operation("arith.trunci", [received], bits.type).value, value.type
    )


def _exchange(value: Value, across: int) -> Value:
    attributes = {"mode": ir.Attribute.parse("#gpu<shuffle_mode xor>")}
    operands = [value, constant(across, "i32").value, constant(WARP, "i32").value]
    made = ir.Operation.create("gpu.shuffle", [value.type, _integer(1)], operands, attributes)
    return made.results[0]


def _integer(width: int) -> Type:
    return ir.IntegerType.get_signless(width)


def _bits(value: Value) -> Value:
    if isinstance(value.type, ir.IndexType):
        return operation("arith.index_cast", [value], _integer(64)).value
    if isinstance(value.type, ir.IntegerType):
        return value
    return operation("arith.bitcast", [value], _integer(value.type.width)).value


def _as(bits: Value, type_: Type) -> Value:
    if bits.type == type_:
        return bits
    return operation("arith.index_cast" if isinstance(type_, ir.IndexType) else "arith.bitcast", [bits], type_).value


def _halves(bits: Value) -> tuple[Value, Value]:
    high = number(bits).of("ui64") >> 32
    return tuple(operation("arith.trunci", [value], _integer(32)).value for value in (bits, high))  # type: ignore[return-value]


def _join(low: Value, high: Value) -> Value:
    wide = [number(operation("arith.extui", [value], _integer(64)).value) for value in (low, high)]
    return (wide[0] | (wide[1] << 32)).value


# ---- i1 values are stored as bytes ----


def kept_type(type_: Type) -> Type:
    return _integer(8) if _is_truth(type_) else type_


def _is_truth(type_: Type) -> bool:
    return isinstance(type_, ir.IntegerType) and type_.width == 1


def to_keep(value: Value) -> Value:
    return operation("arith.extui", [value], _integer(8)).value if _is_truth(value.type) else value


def from_kept(value: Value, type_: Type) -> Value:
    return operation("arith.trunci", [value], type_).value if _is_truth(type_) else value
