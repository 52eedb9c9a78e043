# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of a program while its functions are written: names, memory, failing functions."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.bindings.diagnostics import made_at
from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import (
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
from relax_mlir.dialects.core.call_graph import refuse_recursion
from relax_mlir.dialects.core.ir_attributes import ARENA, DEVICE_MEMORY, GRAPH_INPUTS, OPERATOR, READ_ONLY, SITE
from relax_mlir.dialects.tir.prim_func import ASSERT, is_prim_func
from relax_mlir.emit.memrefs import root_of
from relax_mlir.support.errors import RefusalError

from .arena import is_handed_on, is_in_loop, plan_arena
from .c_names import CNames
from .device_memories import device_memories, device_memory_of
from .externs import CALL_EXTERN, Externs, called_in_c
from .options import SourceOptions
from .size_bounds import SizeBounds


@dataclass
class Message:
    """Meaning of a status: a printf format with as many numbers as the check shows."""

    kind: str
    text: str


class LoweredProgram:
    """Lowered module, with the helpers and messages that its functions have requested so far."""

    def __init__(self, module: Operation, options: SourceOptions) -> None:
        self.context = module.context
        self.options = options
        prefix = options.name
        self.functions = {symbol_name(function): function for function in functions_in(module) if has_body(function)}
        self._inside = {name: operations_in(function) for name, function in self.functions.items()}
        called = {called_in_c(op) for inside in self._inside.values() for op in inside} - {""}
        self.names = CNames([*(f"{prefix}_{word}" for word in ("numbers", "message", "messages")), *called])
        self.public = [name for name, function in self.functions.items() if _is_public(function)]
        if not self.public:
            raise RefusalError("target 'c': the module has no public graph function, so nothing in it could be called")
        calls = self._calls()
        #: Callees first, without dead functions.
        self.order = self._callees_first(calls)
        self.globals = {symbol_name(op): op for op in operations_of(body_of(module)) if op.name == "memref.global"}
        self._callers = {name: [op for op in self._calls_in_all() if callee_of(op) == name] for name in self.order}
        self.bounds = SizeBounds(self.functions, self._callers)
        self.arena = plan_arena(self.functions, list(reversed(self.order)), self.bounds)
        self.memories = device_memories((op for name in self.order for op in self._inside[name]), self.names)
        self.failing = self._failing(calls)
        self.written = self._write()
        self.function_names = {name: self.names.fresh(f"{prefix}_{name}") for name in self.public}
        self.function_names |= {name: self.names.fresh(name) for name in self.order if name not in self.function_names}
        self._constants = {name: self.names.fresh(f"{prefix}_{name}") for name in self.globals}
        #: Requested while functions are written.
        self.helpers: set[str] = set()
        self.externs = Externs(self.names)
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
        """Return the functions that return a status."""
        found = set(self.public)
        for name in self.order:
            inside = self._inside[name]
            fails = any(op.name == ASSERT or (op.name == "memref.alloc" and self.has_no_place(op)) for op in inside)
            if fails or any(callee in found for callee in calls[name]):
                found.add(name)
        return found

    def has_no_place(self, op: Operation) -> bool:
        """Check whether an allocation is outside of the arena: its size has no bound, or it is freed elsewhere.

        Static memory is never freed. There, only an allocation that a loop repeats and passes on has no place.
        """
        if DEVICE_MEMORY in op.attributes:
            return False
        is_handed = is_handed_on(op) and (self.options.is_heap or is_in_loop(op))
        return is_handed or op.results[0] not in self.arena.offsets

    def _write(self) -> dict[str, set[int]]:
        """Return the parameters that each function writes to."""
        found: dict[str, set[int]] = {}
        for name in self.order:
            function = self.functions[name]
            arguments = {value: position for position, value in enumerate(body_of(function).arguments)}
            targets = (root_of(target) for op in self._inside[name] for target in _targets(op, found))
            found[name] = {arguments[root] for root in targets if root in arguments}
            passed = (root_of(value) for op in self._inside[name] for value in _find_passed_to_c(op))
            found[name] |= {arguments[root] for root in passed if root in arguments} - self._only_read(name)
        return found

    def _only_read(self, name: str) -> set[int]:
        """Return the parameters that a function only reads, according to its schedule or its calls."""
        function = self.functions[name]
        if READ_ONLY in function.attributes:
            return set(function.attributes[READ_ONLY])
        return set(range(min({_input_count(call) for call in self._callers[name]}, default=0)))

    # ---- requests of functions ----

    def constant_name(self, name: str) -> str:
        self.used_constants.add(name)
        return self._constants[name]

    def is_constant(self, function: str, memref: Value) -> bool:
        """Return True if a memref is const in C: constants, and parameters that are only read."""
        root = root_of(memref)
        if not isinstance(root.owner, ir.Block):
            return bool(root.owner.name == "memref.get_global")
        arguments = list(body_of(self.functions[function]).arguments)
        return root in arguments and arguments.index(root) not in self.written[function]

    def status_of(self, op: Operation, function: str) -> int:
        """Return the status number of a failed check."""
        owner = self.functions[function]
        what = text_in(owner, OPERATOR) if is_prim_func(owner) else ""
        place = made_at(what, op.location) or f"@{function}"
        return self.status(str(op.opview.kind), f"{place}: {op.opview.message}")

    def status(self, kind: str, text: str) -> int:
        if (message := Message(kind, text)) not in self.messages:
            self.messages.append(message)
        return self.messages.index(message) + 1

    def buffer_name(self, memref: Value) -> str:
        """Return a name for a buffer: that of the device's memory, or of the first kernel that receives the buffer."""
        if (array := self.memories.get(device_memory_of(memref))) is not None:
            return array.name
        if ARENA in memref.owner.operation.attributes:
            return "workspace"
        first = next((user for user in reversed(users_of(memref)) if user.name == "func.call"), None)
        return "scratch" if first is None else callee_of(first).removeprefix("fused_")


def _is_public(function: Operation) -> bool:
    return GRAPH_INPUTS in function.attributes and not is_private(function)


def _targets(op: Operation, written: dict[str, set[int]]) -> list[Value]:
    """Return the memrefs that an operation writes to."""
    operands = list(op.operands)
    if op.name == "func.call":
        return [operands[position] for position in written.get(callee_of(op), ())]
    if op.name in ("memref.store", "memref.copy"):
        return [operands[1]]
    return []


def _find_passed_to_c(op: Operation) -> list[Value]:
    """Return the buffers that a C function receives and may write to."""
    return (
        [operand for operand in op.operands if isinstance(operand.type, ir.MemRefType)]
        if op.name == CALL_EXTERN
        else []
    )


def _input_count(call: Operation) -> int:
    """Return the number of operands before the outputs of a call, or 0 if unknown."""
    if SITE not in call.attributes:
        return 0
    inputs, outputs = (len(call.attributes[SITE][key]) for key in ("inputs", "outputs"))
    return inputs if inputs + outputs == len(call.operands) else 0
