# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of packed functions from graph functions: tir.packed, with memory allocated for destination passing."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir, string_array
from ....bindings.rewriting import located_error
from ....dialects.core.codec import decode
from ....dialects.core.infos import ObjectInfo, ScalarInfo, TensorInfo, describe
from ....dialects.core.ir_attributes import COPIED, PACKED_DTYPES, PACKED_TEXT, PACKED_TYPES, SITE
from ....emit import memrefs
from ....emit.numbers import as_i64
from .function_lowering import FunctionLowering, Lower, Lowered
from .sites import call_site
from .views import match_sizes

#: Passed value, and its value in the graph.
_Argument = tuple[Lowered, Value]


def _call_dps(into: FunctionLowering, op: Operation) -> None:
    outputs = [(into.new_tensor(result), result) for result in op.results]
    inputs = [(into.lowered(value), value) for value in op.operands]
    _create_packed(into, op, [*inputs, *outputs], ())


def _call_packed(into: FunctionLowering, op: Operation) -> None:
    """Lower a call whose results belong to the caller. Tensors are released at the end of the block."""
    if len(op.results) > 1:
        reason = "gives several results: let the function write them (relax.call_dps_packed)"
        raise located_error(f"'{op.name}' op of \"{op.opview.func}\" {reason}", op.location)
    operation = _create_packed(into, op, [(into.lowered(value), value) for value in op.operands], op.results.types)
    for result, value in zip(op.results, operation.results, strict=True):
        _take(into, result, value)


def _call_inplace(into: FunctionLowering, op: Operation) -> None:
    """Lower a call whose results are its written arguments. New results are not supported."""
    indices = op.opview.inplace_indices
    if any(index < 0 for index in indices):
        reason = (
            "returns new values in addition to those written in place: call it twice, or with relax.call_dps_packed"
        )
        raise located_error(f"'{op.name}' op of \"{op.opview.func}\" {reason}", op.location)
    arguments = [
        (_writable(into, op, position) if position in indices else into.lowered(value), value)
        for position, value in enumerate(op.operands)
    ]
    _create_packed(into, op, arguments, ())
    for result, index in zip(op.results, indices, strict=True):
        into.set(result, arguments[index][0])


def _writable(into: FunctionLowering, op: Operation, position: int) -> Value:
    value = op.operands[position]
    is_copied = COPIED in op.attributes and position in op.attributes[COPIED]
    return into.own(memrefs.copied(into.get(value))) if is_copied else into.writable(value)


#: Runtime function for relax.print: takes a format, then the values.
PRINT = "relax_mlir.print"


def _print(into: FunctionLowering, op: Operation) -> None:
    arguments = [(_printable(into, value), value) for value in op.operands]
    call = _create_packed(into, op, arguments, (), PRINT)
    call.attributes[PACKED_TEXT] = ir.StringAttr.get(op.opview.format)


def _printable(into: FunctionLowering, value: Value) -> Value:
    """Return a value for printing. A shape is printed as a tensor of its sizes."""
    if not isinstance(lowered := into.lowered(value), list):
        return lowered
    memref = into.own(memrefs.allocate([len(lowered)], ir.IntegerType.get_signless(64)))
    memrefs.store_sizes(lowered, memref)
    return memref


#: tvm-ffi's function that creates a shape of integers.
SHAPE = "ffi.Shape"


def return_shapes(into: FunctionLowering, op: Operation) -> None:
    """Convert returned shapes to objects, which callers receive as tvm-ffi shapes."""
    for value in op.operands:
        if isinstance(sizes := into.lowered(value), list):
            numbers = [(as_i64(size), value) for size in sizes]
            operation = _create_packed(into, op, numbers, [ir.Type.parse("!relax.object", into.context)], SHAPE)
            into.set(value, into.own(operation.result))


def _create_packed(
    into: FunctionLowering, op: Operation, arguments: Sequence[_Argument], types: Sequence[Type], name: str = ""
) -> Operation:
    operands, dtypes = [], []
    for value, source in arguments:
        if isinstance(value, list):
            reason = "passes a shape: make it a tensor (relax.shape_to_tensor)"
            raise located_error(f"'{op.name}' op of \"{op.opview.func}\" {reason}", op.location)
        operands.append(value)
        dtypes.append(getattr(decode(source.type), "dtype", "i64"))
    lowered = [_lowered_type(into, type_, op) for type_ in types]
    attributes = {
        "func": ir.StringAttr.get(name or op.opview.func),
        PACKED_DTYPES: string_array(dtypes),
        PACKED_TYPES: ir.ArrayAttr.get([ir.TypeAttr.get(type_) for type_ in types]),
        SITE: call_site(op, None),
    }
    return ir.Operation.create("tir.packed", results=lowered, operands=operands, attributes=attributes)


def _lowered_type(into: FunctionLowering, type_: Type, op: Operation) -> Type:
    info = decode(type_)
    if isinstance(info, TensorInfo) and info.shape is not None:
        return memrefs.memref_type(info.with_shape([None] * len(info.shape)), into.context)
    if isinstance(info, ObjectInfo):
        return ir.Type.parse("!llvm.ptr", into.context)
    if isinstance(info, ScalarInfo):
        return type_
    raise located_error(
        f"'{op.name}' op of \"{op.opview.func}\" gives {describe(info)}: state its rank, or that it is an object",
        op.location,
    )


def _take(into: FunctionLowering, result: Value, value: Value) -> None:
    if isinstance(info := decode(result.type), ScalarInfo):
        into.set(result, value)
        return
    into.own(value)
    if isinstance(info, TensorInfo) and info.shape is not None:
        extents = memrefs.dims(value)
        match_sizes(into, info.shape, extents, [None] * len(extents))
        value = memrefs.cast(value, memrefs.memref_type(info, into.context))
    into.set(result, value)


PACKED: dict[str, Lower] = {
    "relax.call_dps_packed": _call_dps,
    "relax.call_packed": _call_packed,
    "relax.call_pure_packed": _call_packed,
    "relax.call_inplace_packed": _call_inplace,
    "relax.print": _print,
}
