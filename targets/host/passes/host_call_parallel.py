# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parallel execution of calls with the mark `tir.parallel`, which tir-outline-parallel sets.

The caller's stack holds the arguments after the range. A wrapper `….run`, of the same type for every function, reads
the arguments from there and calls the function for a part of the range. The pool calls the wrapper from several
threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import callee_of, innermost, operations_named
from ....bindings.rewriting import replace_op
from ....dialects.core.ir_attributes import PARALLEL
from ....emit.memrefs import storage_bytes
from ....emit.numbers import as_i64, as_index, operation
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..llvm_ops import INTERNAL, LINKAGE, address_of, constant, load, stack, store, type_of
from ..support import Support, table_text

#: The program's table of the function that shares a range and of the thread count, and the function that fills the
#: table.
THREAD_TABLE, SET_THREADS = "__relax_threads", "__relax_set_threads"
THREAD_TABLE_TEXT = table_text(THREAD_TABLE, SET_THREADS, 2)
_WORD, _LINE = 8, 64


@register_pass
class CallParallel(Pass):
    """Distribute the ranges of calls with the mark `tir.parallel` over threads."""

    name: ClassVar[str] = "host-call-parallel"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "llvm")

    def run(self, op: Operation) -> None:
        calls = [each for each in operations_named(op, "func.call") if PARALLEL in each.attributes]
        if not calls:
            return
        support = Support(op)
        with op.context, op.location:
            support.define(THREAD_TABLE_TEXT)
            for call in calls:
                with call.location:
                    _share(support, call)


def _share(support: Support, call: Operation) -> None:
    first, last, grain, *arguments = call.operands
    arguments.append(grain)
    places, size = _places([value.type for value in arguments])
    with ir.InsertionPoint(call):
        kept = stack(size, _LINE)
        for value, place in zip(arguments, places, strict=True):
            store(_as_kept(value), kept, place)
        run = _runner(call, [value.type for value in arguments], places)
        table = address_of(THREAD_TABLE)
        shared = [as_i64(each).value for each in (first, last, grain)]
        status = support.value("parallel", table, run, kept, *shared)
    replace_op(call, [status] if len(call.results) else [])


def _places(types: Sequence[Type]) -> tuple[list[int], int]:
    """Return the offsets of values in a struct, each aligned to its size, and the total bytes."""
    places, end = [], 0
    for type_ in types:
        size = _kept_bytes(type_)
        place = end + -end % min(size, _LINE)
        places.append(place)
        end = place + size
    return places, end


def _kept_bytes(type_: Type) -> int:
    """Return the bytes of a stored value, a power of two."""
    return max(storage_bytes(type_), _WORD) if isinstance(type_, ir.VectorType) else _WORD


def _as_kept(value: Value) -> Value:
    kept = _kept_type(value.type)
    return value if kept == value.type else operation("arith.index_cast", [value], kept).value


def _kept_type(type_: Type) -> Type:
    """Return the type of a value in memory, which has no index type."""
    if isinstance(type_, ir.IndexType):
        return type_of("i64")
    if isinstance(type_, ir.VectorType) and isinstance(type_.element_type, ir.IndexType):
        return ir.VectorType.get(type_.shape, type_of("i64"))
    return type_


def _runner(call: Operation, types: Sequence[Type], places: Sequence[int]) -> Value:
    """Return the address of a new function that calls the outlined function for a part of its range.

    The new function loads the stored arguments.
    """
    pointer, i64, i32 = type_of("ptr"), type_of("i64"), type_of("i32")
    type_ = ir.FunctionType.get([pointer, i64, i64], [i32])
    name = f"{callee_of(call)}.run"
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "function_type": ir.TypeAttr.get(type_),
        LINKAGE: ir.Attribute.parse(INTERNAL),
    }
    with ir.InsertionPoint.after(innermost(call, "func.func")):
        made = ir.Operation.create("func.func", attributes=attributes, regions=1)
    block = made.regions[0].blocks.append(pointer, i64, i64)
    kept, first, last = block.arguments
    with ir.InsertionPoint(block):
        *passed, grain = (_loaded(kept, place, each) for place, each in zip(places, types, strict=True))
        operands = [as_index(first).value, as_index(last).value, grain, *passed]
        results = [result.type for result in call.results]
        again = ir.Operation.create(
            "func.call", results=results, operands=operands, attributes={"callee": call.attributes["callee"]}
        )
        ir.Operation.create("func.return", operands=[again.result if results else constant(0, 32)])
    address = operation("func.constant", [], type_, value=ir.FlatSymbolRefAttr.get(name)).value
    return operation("builtin.unrealized_conversion_cast", [address], pointer).value


def _loaded(kept: Value, place: int, type_: Type) -> Value:
    value = load(kept, place, _kept_type(type_))
    return value if value.type == type_ else operation("arith.index_cast", [value], type_).value
