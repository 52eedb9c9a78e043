# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Barriers of a block, and what the threads of a subgroup tell each other, as SPIR-V says them.

Upstream's barrier is for the block's own memory alone; kernels pass each other what is in the device's, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import constant_of, operations_in, symbol_name
from ....bindings.rewriting import located_error, replace_op
from ....emit.arithmetic import result_of
from ....emit.numbers import as_i64, constant
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ...core.backend import Machine
from ...gpu.emit.threads import thread_id, threads_of
from ...gpu.kernels.outline import kernels_in
from ..emit import (
    SHARED_STORAGE,
    array_type,
    element_of,
    load,
    pointer_type,
    scope,
    semantics,
    store,
    variable,
    variable_address,
)


@register_pass
@dataclass(frozen=True)
class LowerThreads(Pass):
    """Has kernels wait and shuffle by operations of SPIR-V."""

    name: ClassVar[str] = "spirv-lower-threads"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "gpu", "spirv")

    #: The interface that the code is for: vulkan or opencl.
    api: str = "vulkan"
    #: How many threads shuffle; what is farther apart meets in the block's memory.
    subgroup: int = Machine.warp
    #: Threads that a block may have.
    most: int = Machine.block_threads

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in kernels_in(op):
                self._check(kernel)
                far = _Far(kernel, self._barrier)
                for each in operations_in(kernel):
                    with each.location, ir.InsertionPoint(each):
                        if each.name == "gpu.barrier":
                            self._barrier()
                            each.erase()
                        elif each.name == "gpu.shuffle":
                            self._shuffle(each, far)

    def _check(self, kernel: Operation) -> None:
        if threads_of(kernel) > self.most:
            text = f"kernel '{symbol_name(kernel)}' has blocks of {threads_of(kernel)} threads, {self.most} at most"
            raise located_error(text, kernel.location, ["the target's option says how many: threads"])

    def _barrier(self) -> None:
        attributes = {
            "execution_scope": scope("Workgroup"),
            "memory_scope": scope("Workgroup"),
            "memory_semantics": semantics("AcquireRelease", self.api),
        }
        ir.Operation.create("spirv.ControlBarrier", attributes=attributes)

    def _shuffle(self, shuffle: Operation, far: _Far) -> None:
        """All threads of a subgroup take part: each gets a value."""
        value, lane, _ = shuffle.operands
        mode = str(shuffle.attributes["mode"]).removesuffix(">").split()[-1]
        if mode != "xor":
            raise located_error(f"SPIR-V's targets have no shuffle of the mode {mode}", shuffle.location)
        across = constant_of(lane)
        if across is not None and across >= self.subgroup:
            made = far.exchanged(value, across)
        else:
            made = result_of(
                "spirv.GroupNonUniformShuffleXor", [value, lane], value.type, execution_scope=scope("Subgroup")
            )
        replace_op(shuffle, [made, constant(1, "bool").value])


class _Far:
    """Values of threads of a block that are in several subgroups, by its memory: all threads of the block take part."""

    def __init__(self, kernel: Operation, wait: Callable[[], None]):
        self._kernel, self._wait = kernel, wait
        self._types: dict[str, Type] = {}

    def exchanged(self, value: Value, across: int) -> Value:
        array, thread = self._array(value.type), as_i64(thread_id())
        own, other = (element_of(array, place.value, value.type, SHARED_STORAGE) for place in (thread, thread ^ across))
        store(value, own, SHARED_STORAGE)
        self._wait()
        received = load(other, value.type, SHARED_STORAGE)
        self._wait()
        return received

    def _array(self, element: Type) -> Value:
        symbol = f"{symbol_name(self._kernel)}_exchanged_{element}"
        type_ = pointer_type(array_type(threads_of(self._kernel), element), SHARED_STORAGE)
        if symbol not in self._types:
            self._types[symbol] = type_
            with ir.InsertionPoint(self._kernel):
                variable(symbol, type_)
        return variable_address(symbol, type_)
