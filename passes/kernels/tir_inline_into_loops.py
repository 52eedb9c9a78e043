# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inlining of small PrimFuncs into the loops of graph functions, which then compute without calls.

A call costs more than the work of a kernel on a few numbers, and keeps the numbers in memory. In an inlined kernel the
code generator sees all uses of a small tensor, and keeps the tensor in registers. Inlined kernels have no line of their
own in a profile.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation, Type
from ...bindings.mlir import ir
from ...bindings.navigation import (
    ancestors,
    body_of,
    callee_of,
    operations_in,
    operations_named,
    operations_of,
    symbol_name,
    text_in,
    users_of,
)
from ...bindings.rewriting import replace_op
from ...dialects.core.ir_attributes import GRAPH_INPUTS, OPERATOR, PARALLEL
from ...dialects.tir.prim_func import ASSERT, prim_funcs_in
from ...emit import memrefs
from ..core.base import Pass
from ..core.registry import register_pass
from ..memory.bufferize.lifetimes import leaves
from ..memory.lower_calls.memory_plan import is_small

_LOOPS = frozenset(("scf.for", "scf.while"))
#: Operations of other dialects may belong to a function: they call, return, or have blocks.
_DIALECTS = frozenset(("affine", "arith", "complex", "linalg", "math", "memref", "scf", "vector"))


@register_pass
@dataclass(frozen=True)
class InlineIntoLoops(Pass):
    """Inline small PrimFuncs into the loops of graph functions that call them."""

    name: ClassVar[str] = "tir-inline-into-loops"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "scf")

    #: Most elements of each tensor that an inlined function takes.
    elements: int = 1024
    #: Most operations of an inlined function with one call.
    operations: int = 400
    #: Most operations of an inlined function with several calls.
    shared_operations: int = 40

    def run(self, op: Operation) -> None:
        functions = {symbol_name(func): func for func in prim_funcs_in(op)}
        calls = [call for call in operations_named(op, "func.call") if callee_of(call) in functions]
        inside = [call for call in calls if _is_in_loop(call)]
        counts = Counter(map(callee_of, calls))
        inlined = {name for name in set(map(callee_of, inside)) if self._is_small(functions[name], counts[name])}
        for call in inside:
            if callee_of(call) in inlined:
                with call.context, call.location:
                    _inline(call, functions[callee_of(call)])

    def _is_small(self, function: Operation, count: int) -> bool:
        parameters = (argument.type for argument in body_of(function).arguments)
        if len(function.regions[0].blocks) > 1 or not all(map(self._has_few_elements, parameters)):
            return False
        inside = operations_in(function)
        limit = self.operations if count == 1 else self.shared_operations
        return len(inside) <= limit and all(map(_can_move, inside[:-1]))

    def _has_few_elements(self, type_: Type) -> bool:
        if not isinstance(type_, ir.MemRefType):
            return True
        return bool(type_.has_static_shape) and math.prod(type_.shape) <= self.elements


def _is_in_loop(call: Operation) -> bool:
    around = list(ancestors(call))
    is_of_graph = any(GRAPH_INPUTS in operation.attributes for operation in around if operation.name == "func.func")
    return is_of_graph and any(operation.name in _LOOPS for operation in around)


def _can_move(op: Operation) -> bool:
    return PARALLEL not in op.attributes and (op.name.partition(".")[0] in _DIALECTS or op.name == ASSERT)


def _inline(call: Operation, function: Operation) -> None:
    """Replace a call by a copy of the function's operations."""
    copied = function.clone(ip=False)
    block = body_of(copied)
    for argument, value in zip(block.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(value)
    for op in operations_named(copied, ASSERT):
        # Errors name the operator and its place in the graph.
        op.attributes[OPERATOR] = ir.StringAttr.get(text_in(function, OPERATOR, f"@{symbol_name(function)}"))
        op.location = call.location
    for op in operations_named(copied, "memref.alloc"):
        _put_on_stack(op)
    for op in operations_of(block)[:-1]:
        op.move_before(call)
    call.erase()


def _put_on_stack(op: Operation) -> None:
    """Move small memory to the stack: an allocation would be made and checked in each iteration."""
    type_ = op.results[0].type
    if not type_.has_static_shape or leaves(op.results[0]):
        return
    if is_small(memrefs.byte_count(type_.shape, type_.element_type)):
        with op.location, ir.InsertionPoint(op):
            memory = memrefs.on_stack(type_)
        for user in users_of(op.results[0]):
            if user.name == "memref.dealloc":
                user.erase()
        replace_op(op, [memory])
