# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of a program while its functions are written: names, memory, what can fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ....bindings.diagnostics import made_at
from ....bindings.ir import Operation, Value
from ....bindings.navigation import (
    body_of,
    callee_of,
    functions_in,
    has_body,
    is_private,
    operations_in,
    operations_of,
    symbol_name,
    text_in,
    users_of,
)
from ....dialects.core.call_graph import refuse_recursion
from ....dialects.core.ir_attributes import ARENA, GRAPH_INPUTS, OPERATOR
from ....dialects.tir.prim_func import ASSERT, is_prim_func
from ....emit.memrefs import root_of
from ....support.errors import RefusalError
from .arena import is_handed_on, is_in_loop, plan_arena
from .c_names import CNames
from .expressions import Size, of_size
from .memref_views import MemrefView
from .options import SourceOptions
from .size_bounds import SizeBounds
from .types import BYTES
from .writer import FunctionWriter

_HEAP = "take memory from the system: c{memory=heap}"
#: By whether a size has no bound.
_HINTS = {
    True: f'tell what range symbolic sizes are from, bind={{"n": "1..64"}} or --bind n:1..64; or {_HEAP}',
    False: _HEAP,
}


@dataclass
class Message:
    """What a status stands for: a text of printf's with as many numbers as the check shows."""

    kind: str
    text: str


class Program:
    """A lowered module, and what its functions have asked for so far."""

    def __init__(self, module: Operation, options: SourceOptions) -> None:
        self.context = module.context
        self.options = options
        prefix = options.name
        self.names = CNames([f"{prefix}_{word}" for word in ("numbers", "message", "messages")])
        self.functions = {symbol_name(each): each for each in functions_in(module) if has_body(each)}
        self._inside = {name: operations_in(function) for name, function in self.functions.items()}
        self.public = [name for name, each in self.functions.items() if _is_public(each)]
        if not self.public:
            raise RefusalError("target 'c': the module has no public graph function, so nothing in it could be called")
        calls = self._calls()
        #: Callees first; dead functions are left out.
        self.order = self._callees_first(calls)
        self.globals = {symbol_name(op): op for op in operations_of(body_of(module)) if op.name == "memref.global"}
        self._callers = {name: [op for op in self._calls_in_all() if callee_of(op) == name] for name in self.order}
        self.bounds = SizeBounds(self.functions, self._callers)
        self.arena = plan_arena(self.functions, list(reversed(self.order)), self.bounds)
        self.failing = self._failing(calls)
        self.written = self._written()
        self.function_names = {name: self.names.fresh(f"{prefix}_{name}") for name in self.public}
        self.function_names |= {name: self.names.fresh(name) for name in self.order if name not in self.function_names}
        self._constants = {name: self.names.fresh(f"{prefix}_{name}") for name in self.globals}
        #: Asked for while functions are written.
        self.helpers: set[str] = set()
        self.externs: dict[str, str] = {}
        self.used_constants: set[str] = set()
        self.messages: list[Message] = []

    # ---- functions ----

    def _calls(self) -> dict[str, list[str]]:
        return {
            name: list(dict.fromkeys(callee_of(op) for op in inside if op.name == "func.call"))
            for name, inside in self._inside.items()
        }

    def _calls_in_all(self) -> list[Operation]:
        return [op for name in self.order for op in self._inside[name] if op.name == "func.call"]

    def _callees_first(self, calls: dict[str, list[str]]) -> list[str]:
        order = refuse_recursion({name: self.functions[name] for name in (*self.public, *self.functions)})
        needed = set(self.public)
        for name in reversed(order):
            needed.update(calls[name] if name in needed else ())
        return [name for name in order if name in needed]

    def calls_of(self, function: str) -> list[Operation]:
        return self._callers[function]

    def _failing(self, calls: dict[str, list[str]]) -> set[str]:
        """The functions that return a status."""
        found = set(self.public)
        for name in self.order:
            inside = self._inside[name]
            fails = any(op.name == ASSERT or self._asks_for_memory(op) for op in inside)
            if fails or any(callee in found for callee in calls[name]):
                found.add(name)
        return found

    def _asks_for_memory(self, op: Operation) -> bool:
        return op.name == "memref.alloc" and self._has_no_place(op)

    def _has_no_place(self, op: Operation) -> bool:
        """Whether an allocation is none in the arena: of no known size, or one that others give back.

        In static memory nothing is given back: there only what a loop makes anew each time has no place.
        """
        is_handed = is_handed_on(op) and (self.options.is_heap or is_in_loop(op))
        return is_handed or op.results[0] not in self.arena.offsets

    def _written(self) -> dict[str, set[int]]:
        """The parameters that each function writes to."""
        found: dict[str, set[int]] = {}
        for name in self.order:
            function = self.functions[name]
            arguments = {value: position for position, value in enumerate(body_of(function).arguments)}
            targets = (root_of(target) for op in self._inside[name] for target in _targets(op, found))
            found[name] = {arguments[root] for root in targets if root in arguments}
        return found

    # ---- what functions ask for ----

    def constant_name(self, name: str) -> str:
        self.used_constants.add(name)
        return self._constants[name]

    def declare_extern(self, function: str, returned: str, parameters: Iterable[str]) -> None:
        if not self.names.is_known(function):
            self.externs[function] = f"extern {returned} {function}({', '.join(parameters) or 'void'});"

    def status_of(self, op: Operation, function: str) -> int:
        """The number that stands for a check that fails."""
        owner = self.functions[function]
        what = text_in(owner, OPERATOR) if is_prim_func(owner) else ""
        place = made_at(what, op.location) or f"@{function}"
        return self.status(str(op.opview.kind), f"{place}: {op.opview.message}")

    def status(self, kind: str, text: str) -> int:
        message = Message(kind, text)
        if message not in self.messages:
            self.messages.append(message)
        return self.messages.index(message) + 1

    def buffer_name(self, memref: Value) -> str:
        """After the kernel that first gets it."""
        if ARENA in memref.owner.operation.attributes:
            return "workspace"
        first = next((user for user in reversed(users_of(memref)) if user.name == "func.call"), None)
        return "scratch" if first is None else callee_of(first).removeprefix("fused_")

    def write_allocation(
        self, writer: FunctionWriter, op: Operation, chosen: str, element: str, sizes: list[Size]
    ) -> None:
        if not self._has_no_place(op):
            arena = "memory->arena" if self.options.is_heap else "arena.bytes"
            writer.pointer(chosen, element, f"({element} *)({arena} + {self.arena.offsets[op.results[0]]})")
            return
        if not self.options.is_heap:
            is_large = op.results[0] not in self.arena.offsets
            reason = "its size has no bound" if is_large else "a loop makes it anew each time and hands it on"
            raise writer.refusal(op, f"{reason}, so it has no place in static memory", _HINTS[is_large])
        total: Size = BYTES[element]
        for size in sizes:
            total = size * total
        status = self.status("MemoryError", "out of memory")
        writer.line(f"{element} *{chosen} = ({element} *)take_memory(memory, {of_size(total).text});")
        with writer.braces(f"if ({chosen} == 0)"):
            writer.line(f"return {status};")

    def write_deallocation(self, writer: FunctionWriter, op: Operation, view: MemrefView) -> None:
        memref = op.operands[0]
        made = None if not hasattr(memref.owner, "operation") else memref.owner.operation
        if made is not None and made.name == "memref.alloc" and not self._has_no_place(made):
            return
        if self.options.is_heap:
            writer.line(f"give_memory_back(memory, {view.address().text});")


def _is_public(function: Operation) -> bool:
    return GRAPH_INPUTS in function.attributes and not is_private(function)


def _targets(op: Operation, written: dict[str, set[int]]) -> list[Value]:
    """The memrefs that an operation writes to."""
    operands = list(op.operands)
    if op.name == "func.call":
        return [operands[position] for position in written.get(callee_of(op), ())]
    if op.name in ("memref.store", "memref.copy"):
        return [operands[1]]
    return []
