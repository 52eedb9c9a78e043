# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that host code takes is the device's; what kernels need beside their operands comes with the graph's arena.

Kernels of one stream run one after the other: all that a graph calls can have the same memory for themselves. A
function that has such of known size is told where it lies, behind its other parameters, and asks the driver for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import (
    body_of,
    callee_of,
    function_type_of,
    functions_in,
    has_body,
    operations_in,
    symbol_name,
    users_of,
)
from ....bindings.rewriting import made_again, replace_op
from ....emit.linalg import product
from ....emit.numbers import as_i64, number
from ....emit.structured import DYNAMIC
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.lower_calls import memrefs
from ....passes.lower_calls.function import ARENA
from ....passes.lower_calls.memrefs import Extent, byte_count, is_dense
from ....passes.lower_calls.sizes import round_up
from ...host.llvm_ops import address_of, memref_at, pointer_of, type_of, view_of
from ...host.support import DEVICE_TABLE, Support

#: Where the driver's memory begins, and each piece of it that kernels have.
_ALIGNMENT = 256


@register_pass
@dataclass(frozen=True)
class PlaceMemory(Pass):
    """Takes host code's memory from the device, and little of it at a time."""

    name: ClassVar[str] = "gpu-place-memory"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "llvm")

    def run(self, op: Operation) -> None:
        support = Support(op)
        functions = [each for each in functions_in(op) if has_body(each)]
        with op.context:
            _Arenas(functions).share(support)
            for each in [inside for function in functions for inside in operations_in(function)]:
                if each.name == "memref.alloc":
                    _allocate(support, each)
                elif each.name == "memref.dealloc":
                    _free(support, each)


class _Arenas:
    """The arenas of graphs, with room for what their kernels need for themselves."""

    def __init__(self, functions: Sequence[Operation]) -> None:
        self._functions = {symbol_name(each): each for each in functions}
        #: By the functions that they are in; and the calls of each function, by those that these are in.
        self._arenas: dict[str, Operation] = {}
        self._calls: dict[str, list[tuple[str, Operation]]] = {}
        for name, function in self._functions.items():
            for each in operations_in(function):
                if ARENA in each.attributes:
                    self._arenas[name] = each
                elif each.name == "func.call":
                    self._calls.setdefault(callee_of(each), []).append((name, each))
        #: By the function: bytes behind its temporaries, and the calls that are told where these are.
        self._more: dict[str, int] = {}
        self._told: dict[str, list[Operation]] = {}

    def share(self, support: Support) -> None:
        """Takes what functions need of known size out of them, where all that call them have an arena."""
        for name, function in self._functions.items():
            calls = self._calls.get(name, [])
            if name in self._arenas or not calls or any(caller not in self._arenas for caller, _ in calls):
                continue
            scratch = [each for each in operations_in(function) if _is_scratch(each)]
            if not scratch:
                continue
            bytes_ = _placed(function, scratch)
            for caller, call in calls:
                self._more[caller] = max(self._more.get(caller, 0), bytes_)
                self._told.setdefault(caller, []).append(call)
        for name, more in self._more.items():
            _extend(support, self._arenas[name], more, self._told[name])


def _extend(support: Support, arena: Operation, more: int, told: Sequence[Operation]) -> None:
    """So many bytes more, behind a graph's temporaries, of which calls are told."""
    with arena.location, ir.InsertionPoint(arena):
        own = round_up(_bytes(arena), _ALIGNMENT)
        pointer = support.value("device_alloc", address_of(DEVICE_TABLE), (as_i64(own) + more).value)
        scratch = view_of(pointer, own if isinstance(own, int) else as_i64(own).value)
        made = memref_at(pointer, arena.results[0].type, _shape(arena))
    replace_op(arena, [made])
    for call in told:
        with call.location, ir.InsertionPoint(call):
            replace_op(call, made_again(call, [*call.operands, scratch], call.results.types).results)


def _is_scratch(op: Operation) -> bool:
    """Whether it is memory of known size that the function gives back itself, round by round where it is in a loop."""
    if op.name != "memref.alloc" or not op.results[0].type.has_static_shape or not is_dense(op.results[0].type):
        return False
    users = users_of(op.results[0])
    return any(each.name == "memref.dealloc" for each in users) and not any(each.successors for each in users)


def _placed(function: Operation, scratch: Sequence[Operation]) -> int:
    """Gives each its place behind an address that the function is told; how many bytes these are."""
    place = body_of(function).add_argument(type_of("ptr"), function.location)
    inputs = [argument.type for argument in body_of(function).arguments]
    results = function_type_of(function).results
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    total = 0
    for each in scratch:
        memref, type_ = each.results[0], each.results[0].type
        with each.location, ir.InsertionPoint(each):
            made = memref_at(view_of(place, total), type_, list(type_.shape))
        for user in [user for user in users_of(memref) if user.name == "memref.dealloc"]:
            user.erase()
        replace_op(each, [made])
        size = byte_count(type_.shape, type_.element_type)
        total += size + -size % _ALIGNMENT
    return total


def _shape(alloc: Operation) -> list[int | Value]:
    sizes = iter(alloc.operands)
    return [as_i64(next(sizes)).value if known == DYNAMIC else known for known in alloc.results[0].type.shape]


def _bytes(alloc: Operation) -> Extent:
    count = product([size if isinstance(size, int) else number(size) for size in _shape(alloc)])
    bytes_ = count * memrefs.storage_bytes(alloc.results[0].type.element_type)
    return bytes_ if isinstance(bytes_, int) else bytes_.value


def _allocate(support: Support, alloc: Operation) -> None:
    with alloc.location, ir.InsertionPoint(alloc):
        bytes_ = as_i64(_bytes(alloc)).value
        pointer = support.value("device_alloc", address_of(DEVICE_TABLE), bytes_)
        replace_op(alloc, [memref_at(pointer, alloc.results[0].type, _shape(alloc))])


def _free(support: Support, free: Operation) -> None:
    with free.location, ir.InsertionPoint(free):
        support.call("device_free", address_of(DEVICE_TABLE), pointer_of(free.operands[0]))
    free.erase()
