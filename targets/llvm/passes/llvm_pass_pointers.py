# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bare-pointer calls: functions of a program call each other with pointers and dynamic sizes.

Upstream passes a memref as a descriptor of 3 + 2 * rank values. The callee knows most of them from the type. A graph
consists mainly of calls, so these values would be half of its code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from ....bindings.ir import Attribute, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import (
    body_of,
    callee_of,
    defining_op,
    function_type_of,
    functions_in,
    has_body,
    is_private,
    operations_in,
    symbol_name,
)
from ....bindings.rewriting import are_used, made_again, replace_op
from ....dialects.core.call_graph import references_of
from ....emit import memrefs
from ....emit.arithmetic import shared_constants
from ....emit.numbers import as_i64
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ...host.llvm_ops import PTR, memref_at, pointer_of, view_of

# Dialects of operations that refer to no function.
_WITHOUT_FUNCTIONS = frozenset(("affine", "arith", "cf", "llvm", "math", "memref", "scf", "vector"))
# Operations that only create memrefs, and are erased if the memref is unused.
_MAKERS = ("memref.cast", "memref.get_global", "memref.view")


@register_pass
class PassPointers(Pass):
    """Pass pointers and dynamic sizes to private functions instead of memrefs."""

    name: ClassVar[str] = "llvm-pass-pointers"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "llvm", "memref")

    def run(self, op: Operation) -> None:
        inside = {function: operations_in(function) for function in functions_in(op)}
        callees = {symbol_name(function): function for function in inside if _can_change(function)}
        for name in {name for operations in inside.values() for name in _otherwise_referred(operations)}:
            callees.pop(name, None)
        with op.context:
            for function, operations in inside.items():
                caller = _Caller(function)
                makers = [each for each in operations if each.name in _MAKERS]
                for operation in operations:
                    if operation.name == "func.call" and callee_of(operation) in callees:
                        caller.convert(operation)
                _erase_unused(makers)
            for function in callees.values():
                _convert_function(function)


def _can_change(function: Operation) -> bool:
    """Return True if all callers of a function are known and a parameter can be converted."""
    if not is_private(function) or not has_body(function) or "arg_attrs" in function.attributes:
        return False
    return any(_is_row_major(argument.type) for argument in body_of(function).arguments)


def _otherwise_referred(operations: list[Operation]) -> Iterator[str]:
    """Yield the functions that operations other than MLIR's calls refer to."""
    for operation in operations:
        if operation.name != "func.call" and operation.name.partition(".")[0] not in _WITHOUT_FUNCTIONS:
            yield from references_of(operation)


def _is_row_major(type_: Type) -> bool:
    """Check whether a pointer and sizes describe the memref completely."""
    return isinstance(type_, ir.MemRefType) and type_.memory_space is None and memrefs.is_dense(type_)


def _unknown_axes(type_: Type) -> list[int]:
    return [axis for axis in range(type_.rank) if type_.is_dynamic_dim(axis)]


# ---- callers ----


class _Caller:
    """Function with calls, and the pointers of its memrefs. Each pointer is extracted once."""

    def __init__(self, function: Operation) -> None:
        self._function = function
        self._pointers: dict[Value | Attribute, Value] = {}

    def convert(self, call: Operation) -> None:
        passed: list[Value] = []
        with call.location, ir.InsertionPoint(call):
            for value in call.operands:
                passed += self._pass(value) if _is_row_major(value.type) else [value]
            new = made_again(call, passed, call.results.types)
        replace_op(call, new.results)

    def _pass(self, memref: Value) -> list[Value]:
        sizes = [as_i64(memrefs.dim(memref, axis)) for axis in _unknown_axes(memref.type)]
        return [self._pointer(memref), *sizes]

    def _pointer(self, memref: Value) -> Value:
        """Return the base pointer of a memref, extracted right after its definition so that it dominates all uses."""
        constant = defining_op(memref, "memref.get_global")
        key = memref if constant is None else constant.operation.attributes["name"]
        if key not in self._pointers:
            self._pointers[key] = self._new_pointer(memref)
        return self._pointers[key]

    def _new_pointer(self, memref: Value) -> Value:
        if isinstance(memref.owner, ir.Block):
            with self._function.location, ir.InsertionPoint.at_block_begin(memref.owner):
                return pointer_of(memref)
        op = memref.owner.operation
        if op.name == "memref.get_global":
            with self._function.location, ir.InsertionPoint.at_block_begin(body_of(self._function)):
                return pointer_of(op.clone().result)
        is_whole = op.name in ("memref.cast", "memref.view") and _is_row_major(op.operands[0].type)
        if not is_whole:
            with op.location, ir.InsertionPoint.after(op):
                return pointer_of(memref)
        base = self._pointer(op.operands[0])
        if op.name == "memref.cast":
            return base
        with op.location, ir.InsertionPoint.after(op):
            return view_of(base, as_i64(op.operands[1]))


def _erase_unused(makers: list[Operation]) -> None:
    """Erase unused memrefs that only served as operands of calls. Memrefs come after the memrefs they derive from."""
    for maker in reversed(makers):
        if next(iter(maker.results[0].uses), None) is None:
            maker.erase()


# ---- callees ----


def _convert_function(function: Operation) -> None:
    """Rebuild a function's memref parameters from the pointers and sizes that it receives."""
    block = body_of(function)
    i64, pointer = ir.IntegerType.get_signless(64), ir.Type.parse(PTR)
    old = list(block.arguments)
    with function.location, ir.InsertionPoint.at_block_begin(block), shared_constants(block):
        for argument in old:
            types = [pointer, *(i64 for _ in _unknown_axes(argument.type))] if _is_row_major(argument.type) else []
            parts = [block.add_argument(type_, argument.location) for type_ in types or [argument.type]]
            if are_used([argument]):
                argument.replace_all_uses_with(_memref(parts, argument.type) if types else parts[0])
        for _ in old:
            block.erase_argument(0)
        type_ = ir.FunctionType.get([each.type for each in block.arguments], function_type_of(function).results)
        function.attributes["function_type"] = ir.TypeAttr.get(type_)


def _memref(parts: Sequence[Value], type_: Type) -> Value:
    pointer, *unknown = parts
    axes = _unknown_axes(type_)
    sizes = [unknown[axes.index(axis)] if axis in axes else type_.shape[axis] for axis in range(type_.rank)]
    return memref_at(pointer, type_, sizes)
