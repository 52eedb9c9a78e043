# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scratch memory of kernels in the graph's arena.

Kernels of one stream run one after the other, so that all functions that a graph calls can share the same scratch
memory. A function with scratch memory of known size receives it as an additional operand and allocates none. The arena
then stays allocated until the last call that uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import (
    ancestors,
    body_of,
    callee_of,
    function_type_of,
    functions_in,
    has_body,
    operations_in,
    operations_of,
    symbol_name,
    users_of,
)
from ....bindings.rewriting import made_again, replace_op
from ....dialects.core.ir_attributes import ARENA
from ....emit import memrefs
from ....emit.memrefs import byte_count, is_dense
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.memory.lower_calls.dynamic_sizes import round_up

#: Alignment of each piece in bytes, the same as that of the driver's allocations.
_ALIGNMENT = 256


@register_pass
class ShareScratch(Pass):
    """Pass scratch memory in the graph's arena to the functions that the graph calls."""

    name: ClassVar[str] = "gpu-share-scratch"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref")

    def run(self, op: Operation) -> None:
        with op.context:
            _Arenas([function for function in functions_in(op) if has_body(function)]).share()


class _Arenas:
    """Arenas of graphs, with room for the scratch memory of their kernels."""

    def __init__(self, functions: Sequence[Operation]) -> None:
        self._functions = {symbol_name(each): each for each in functions}
        #: The arena of each function by the function's name, and the calls of each function with their callers.
        self._arenas: dict[str, Operation] = {}
        self._calls: dict[str, list[tuple[str, Operation]]] = {}
        for name, function in self._functions.items():
            for operation in operations_in(function):
                if ARENA in operation.attributes:
                    self._arenas[name] = operation
                elif operation.name == "func.call":
                    self._calls.setdefault(callee_of(operation), []).append((name, operation))
        #: The calls in each function that receive scratch memory, and the number of bytes.
        self._getting: dict[str, list[tuple[Operation, int]]] = {}

    def share(self) -> None:
        """Move the scratch memory of functions into the arenas of their callers, if all callers have an arena."""
        for name, function in self._functions.items():
            calls = self._calls.get(name, [])
            if name in self._arenas or not calls or any(caller not in self._arenas for caller, _ in calls):
                continue
            if not (scratch := [operation for operation in operations_in(function) if _is_scratch(operation)]):
                continue
            bytes_ = _take_as_operand(function, scratch)
            for caller, call in calls:
                self._getting.setdefault(caller, []).append((call, bytes_))
        for name, calls_and_bytes in self._getting.items():
            _extend(self._arenas[name], calls_and_bytes)


def _is_scratch(op: Operation) -> bool:
    """Check whether an operation allocates memory of known size that the function itself frees."""
    if op.name != "memref.alloc" or not op.results[0].type.has_static_shape or not is_dense(op.results[0].type):
        return False
    return bool(_frees(op.results[0]))


def _frees(memref: Value) -> list[Operation]:
    return [user for user in users_of(memref) if user.name == "memref.dealloc"]


def _take_as_operand(function: Operation, scratch: Sequence[Operation]) -> int:
    """Replace each allocation by a view of a new operand. Return the operand's size in bytes."""
    starts, total = [], 0
    for operation in scratch:
        starts.append(total)
        total += byte_count(operation.results[0].type.shape, operation.results[0].type.element_type)
        total += -total % _ALIGNMENT
    with function.location:
        memory = body_of(function).add_argument(memrefs.typed([total], _byte()), function.location)
    inputs = [argument.type for argument in body_of(function).arguments]
    results = function_type_of(function).results
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    for each, start in zip(scratch, starts, strict=True):
        for free in _frees(each.results[0]):
            free.erase()
        type_ = each.results[0].type
        with each.location, ir.InsertionPoint(each):
            replace_op(each, [memrefs.view(memory, start, list(type_.shape), type_.element_type)])
    return total


def _byte() -> Type:
    return ir.IntegerType.get_signless(8)


def _extend(arena: Operation, calls: Sequence[tuple[Operation, int]]) -> None:
    """Enlarge an arena by scratch memory behind the temporaries, and pass it to calls.

    The arena is freed after the last of these calls.
    """
    frees = _frees(arena.results[0])
    with arena.location, ir.InsertionPoint(arena):
        size = memrefs.dim(arena.results[0], 0)
        own = round_up(size, _ALIGNMENT)
        made = memrefs.allocate([own + max(bytes_ for _, bytes_ in calls)], _byte())
        made.owner.attributes[ARENA] = ir.UnitAttr.get()
        temporaries = memrefs.view(made, 0, [size], _byte())
    replace_op(arena, [temporaries])
    getting = []
    for call, bytes_ in calls:
        with call.location, ir.InsertionPoint(call):
            scratch = memrefs.view(made, own, [bytes_], _byte())
            again = made_again(call, [*call.operands, scratch], call.results.types)
        replace_op(call, again.results)
        getting.append(again)
    for free in frees:
        free.operands[0] = made
        _end_behind(free, getting)


def _end_behind(free: Operation, calls: Sequence[Operation]) -> None:
    """Move the deallocation after the last of these calls, or after the operation that contains this call."""
    inside = operations_of(free.block)
    around = {op for call in calls for op in (call, *ancestors(call))}
    last = max((place for place, op in enumerate(inside) if op in around), default=-1)
    if last > inside.index(free):
        free.move_after(inside[last])
