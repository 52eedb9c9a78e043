# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specialization constants for the number of threads per block of kernels without cooperation.

For devices with smaller blocks, the driver sets a smaller number and launches as many more blocks. The kernel maps its
global thread numbers to the blocks that it was written for. Kernels with shared memory, barriers or shuffles keep their
size, because their tiles depend on it.
"""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, operations_in, operations_named, operations_of, symbol_name
from relax_mlir.bindings.rewriting import replace_op
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.numbers import as_index, operation
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.emit.threads import block_id, dimension_of, thread_id, threads_of
from relax_mlir.targets.gpu.kernels.outline import kernels_in

from ..abi import LEAST_THREADS
from ..emit import block_size, value_of_constant

_NUMBERS = ("gpu.block_id", "gpu.thread_id")
#: Cooperation outside of the dialect gpu.
_TOGETHER = ("memref.get_global",)


@register_pass
class SpecializeBlocks(Pass):
    """Make the number of threads per block a specialization constant if possible."""

    name: ClassVar[str] = "spirv-specialize-blocks"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "gpu", "spirv")

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in kernels_in(op):
                if threads_of(kernel) > LEAST_THREADS and not _are_together(kernel):
                    with kernel.location:
                        _specialize(kernel)


def _are_together(kernel: Operation) -> bool:
    """Check whether the threads of a block cooperate."""
    alone = (*_NUMBERS, "gpu.return")
    names = {each.name for each in operations_in(kernel)}
    return any(name in _TOGETHER or (name.startswith("gpu.") and name not in alone) for name in names)


def _specialize(kernel: Operation) -> None:
    threads = threads_of(kernel)
    before = [each for each in operations_named(kernel, *_NUMBERS) if dimension_of(each) == "x"]
    symbol = f"{symbol_name(kernel)}_threads"
    with ir.InsertionPoint(kernel):
        block_size(symbol, threads)
    with ir.InsertionPoint(operations_of(body_of(kernel))[0]):
        size = operation("arith.index_cast", [value_of_constant(symbol)], ir.IndexType.get())
        thread = (block_id() * size + thread_id()).value
        known = as_index(threads).value
        numbers = {name: result_of(how, [thread, known], known.type) for name, how in _TAKEN_APART.items()}
    for each in before:
        replace_op(each, [numbers[each.name]])


#: The block index and the thread index from a global thread number.
_TAKEN_APART = {"gpu.block_id": "arith.divui", "gpu.thread_id": "arith.remui"}
