# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of barriers and subgroup shuffles to SPIR-V.

Upstream's barrier only covers the block's own memory, but kernels also pass values through device memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import constant_of, operations_in, symbol_name
from relax_mlir.bindings.rewriting import located_error, replace_op
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.numbers import as_i64, constant
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.gpu.emit.threads import thread_id, threads_of
from relax_mlir.targets.gpu.kernels.outline import kernels_in

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
    """Lower barriers and shuffles in kernels to SPIR-V operations."""

    name: ClassVar[str] = "spirv-lower-threads"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "gpu", "spirv")

    #: Interface of the generated code: vulkan or opencl.
    api: str = "vulkan"
    #: Number of threads that shuffle. Threads farther apart exchange values through the block's memory.
    subgroup: int = Machine.warp
    #: Most threads per block.
    most: int = Machine.block_threads

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in kernels_in(op):
                self._check(kernel)
                far = _Far(kernel, self._barrier)
                for operation in operations_in(kernel):
                    with operation.location, ir.InsertionPoint(operation):
                        if operation.name == "gpu.barrier":
                            self._barrier()
                            operation.erase()
                        elif operation.name == "gpu.shuffle":
                            self._shuffle(operation, far)

    def _check(self, kernel: Operation) -> None:
        if threads_of(kernel) > self.most:
            text = f"kernel '{symbol_name(kernel)}' has blocks of {threads_of(kernel)} threads, {self.most} at most"
            raise located_error(text, kernel.location, ["the target's option 'threads' sets the maximum"])

    def _barrier(self) -> None:
        attributes = {
            "execution_scope": scope("Workgroup"),
            "memory_scope": scope("Workgroup"),
            "memory_semantics": semantics("AcquireRelease", self.api),
        }
        ir.Operation.create("spirv.ControlBarrier", attributes=attributes)

    def _shuffle(self, shuffle: Operation, far: _Far) -> None:
        """Lower a shuffle. All threads of a subgroup take part, and each receives a value."""
        value, lane, _ = shuffle.operands
        mode = str(shuffle.attributes["mode"]).removesuffix(">").split()[-1]
        if mode != "xor":
            raise located_error(f"SPIR-V targets do not support shuffles of mode {mode}", shuffle.location)
        across = constant_of(lane)
        if across is not None and across >= self.subgroup:
            result = far.exchanged(value, across)
        else:
            result = result_of(
                "spirv.GroupNonUniformShuffleXor", [value, lane], value.type, execution_scope=scope("Subgroup")
            )
        replace_op(shuffle, [result, constant(1, "bool").value])


class _Far:
    """Exchange of values between subgroups of a block through its memory. All threads of the block take part."""

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
