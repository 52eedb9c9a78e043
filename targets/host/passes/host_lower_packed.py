# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls packed functions by the ABI, and hands over results that the function itself makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....bindings.legality import operations_in
from ....bindings.mlir import ir, string_value
from ....dialects.core.codec import decode
from ....dialects.core.infos import Info, ObjectInfo, ScalarInfo, TensorInfo, is_float, is_unsigned
from ....dialects.tir import dialect as tir
from ....emit import linalg, scalar
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.lower_calls.scalars import passed, received
from ..llvm_ops import address_of, call, constant, load, memref_at, pointer_of, view_of
from ..llvm_text import PTR, merge, text_global
from ..packed_functions import add_give_object, add_give_tensor, add_packed_call, result_bytes


@register_pass
@dataclass(frozen=True)
class LowerPacked(Pass):
    """Calls packed functions by the ABI, and hands over results that the function itself makes."""

    name: ClassVar[str] = "host-lower-packed"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "llvm")

    def run(self, op: Any) -> None:
        for inside in operations_in(op):
            lower = _LOWERINGS.get(inside.name)
            if lower is not None:
                with op.context, inside.location, ir.InsertionPoint(inside):
                    results = lower(op, inside)
                for result, value in zip(inside.results, results, strict=True):
                    result.replace_all_uses_with(value)
                inside.erase()


def _packed(module: Any, op: Any) -> list[Any]:
    dtypes = [string_value(each) for each in op.attributes["tir.dtypes"]]
    infos = [_argument_info(value, dtype) for value, dtype in zip(op.operands, dtypes, strict=True)]
    results = [decode(ir.TypeAttr(each).value) for each in op.attributes["tir.types"]]
    result = results[0] if results else None
    return _call(module, op, list(op.operands), infos, result)


def _call_packed(module: Any, op: Any) -> list[Any]:
    """tir.call_packed, in PrimFuncs: there memrefs have no signs."""
    infos = [_argument_info(value, "") for value in op.operands]
    result = decode(op.results[0].type) if len(op.results) else None
    return _call(module, op, list(op.operands), infos, result)


def _call(module: Any, op: Any, values: list[Any], infos: list[Info], result: Info | None) -> list[Any]:
    name = string_value(op.attributes["func"])
    asked = _without_symbols(result) if isinstance(result, TensorInfo) else result
    text = string_value(op.attributes["tir.text"]) if "tir.text" in op.attributes else None
    symbol = add_packed_call(module, name, infos, asked, text)
    passed = [part for value, info in zip(values, infos, strict=True) for part in _parts(value, info)]
    out = _room(op, result_bytes(asked))
    _check(call(symbol, [*passed, out], ir.IntegerType.get_signless(32)))
    if result is None:
        return []
    if isinstance(result, TensorInfo):
        return [_tensor(out, op.results[0].type)]
    # A value of its own: whoever gives back what is alive must not find the place before there is an object in it.
    return [view_of(out)] if isinstance(result, ObjectInfo) else [_scalar(out, op.results[0].type)]


def _without_symbols(info: TensorInfo) -> TensorInfo:
    """Sizes that symbols name are compared by the code that knows those."""
    return info.with_shape([dim if isinstance(dim, int) else None for dim in info.shape or ()])


def _argument_info(value: Any, dtype: str) -> Info:
    type_ = value.type
    if isinstance(type_, ir.MemRefType):
        return TensorInfo((None,) * type_.rank, dtype or str(type_.element_type))
    if isinstance(type_, (ir.IntegerType, ir.FloatType, ir.IndexType)):
        return ScalarInfo(dtype or str(type_))
    return ObjectInfo()


def _parts(value: Any, info: Info) -> list[Any]:
    if isinstance(info, TensorInfo):
        return [pointer_of(value), *_sizes(value)]
    if not isinstance(info, ScalarInfo):
        return [value]
    if is_float(info.dtype):
        return [passed(value, info)]
    if isinstance(value.type, ir.IndexType):
        return [linalg.as_i64(value)]
    if value.type.width == 64:
        return [value]
    extend = "arith.extui" if is_unsigned(info.dtype) or info.dtype == "i1" else "arith.extsi"
    return [scalar.create(extend, value, type_=ir.IntegerType.get_signless(64))]


def _sizes(memref: Any) -> list[Any]:
    index = ir.IndexType.get()
    axes = [linalg.constant_index(axis) for axis in range(memref.type.rank)]
    dims = [ir.Operation.create("memref.dim", results=[index], operands=[memref, axis]).result for axis in axes]
    return [linalg.as_i64(dim) for dim in dims]


def _room(op: Any, size: int) -> Any:
    """A piece of the stack, taken once for each call of the function."""
    function = op
    while function.parent is not None and function.name != "func.func":
        function = function.parent.operation
    with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
        attributes = {
            "elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(8)),
            "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 8),
        }
        made = ir.Operation.create(
            "llvm.alloca", results=[ir.Type.parse(PTR)], operands=[constant(size)], attributes=attributes
        )
    return made.result


def _check(status: Any) -> None:
    tir.ops["return_unless_ok"](status)


def _tensor(out: Any, type_: Any) -> Any:
    """The memory that the call has left, as a memref that is given back with memref.dealloc."""
    i64 = ir.IntegerType.get_signless(64)
    pointer = load(out, 0, out.type)
    return memref_at(pointer, type_, [load(out, 8 + 8 * axis, i64) for axis in range(type_.rank)])


def _scalar(out: Any, type_: Any) -> Any:
    if isinstance(type_, ir.FloatType):
        return received(load(out, 0, ir.F64Type.get()), ScalarInfo(str(type_)))
    value = load(out, 0, ir.IntegerType.get_signless(64))
    if isinstance(type_, ir.IndexType):
        return linalg.as_index(value)
    return value if value.type == type_ else scalar.create("arith.trunci", value, type_=type_)


def _give_tensor(module: Any, op: Any) -> list[Any]:
    source, place = op.operands
    info = TensorInfo((None,) * source.type.rank, op.opview.dtype)
    symbol = add_give_tensor(module, info)
    merge(module, text_global("__relax_result_label", "result"))
    operands = [address_of("__relax_result_label"), pointer_of(source), *_sizes(source), place]
    _check(call(symbol, operands, ir.IntegerType.get_signless(32)))
    return []


def _give_object(module: Any, op: Any) -> list[Any]:
    symbol = add_give_object(module)
    _check(call(symbol, list(op.operands), ir.IntegerType.get_signless(32)))
    return []


_LOWERINGS = {
    "tir.packed": _packed,
    "tir.call_packed": _call_packed,
    "tir.give_tensor": _give_tensor,
    "tir.give_object": _give_object,
}
