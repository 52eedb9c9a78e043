# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes what works on memory out of the functions on memrefs, into kernels that these launch.

What stays is host code: sizes, allocations, views, loops and branches over those. Where host code reads an element, a
device's memory is asked (gpu-lower-launches). A kernel is one of four forms, by what its operations are:

    points     an operation of linalg: a thread for each of its points
    threads    a loop marked `tir.parallel`: a thread for each step
    blocks     such a loop with linalg's operations or such loops inside: a block of threads for each step
    block      anything else that reads and writes, in one block
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import (
    blocks_of,
    body_of,
    functions_in,
    has_body,
    operations_of,
    symbol_name,
)
from ....bindings.pass_manager import run_upstream
from ....bindings.rewriting import located_error
from ....emit.numbers import Number, as_index, maximum, number, operation
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.lower_calls import memrefs
from ...host.entry import DEVICE, KERNELS
from ..kernels.outline import Kernels
from ..kernels.own_memory import own_memory
from ..kernels.points import Points
from ..kernels.together import is_combined
from ..kernels.work import READS, has_work, is_for_host, is_shared, is_structured, touches

#: Threads of a block.
THREADS = 256


@register_pass
@dataclass(frozen=True)
class OutlineKernels(Pass):
    """Takes what works on memory into kernels, which host code launches."""

    name: ClassVar[str] = "gpu-outline-kernels"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("affine", "arith", "func", "gpu", "llvm", "memref", "scf")

    #: What the device is to its driver.
    device: str = "cuda"

    def run(self, op: Operation) -> None:
        kernels = Kernels(op)
        run_upstream(op, ["func.func(linalg-generalize-named-ops)"], verify=False)
        with op.context:
            for function in [each for each in functions_in(op) if has_body(each)]:
                _HostCode(kernels, symbol_name(function)).outline(body_of(function))
            op.attributes[DEVICE] = ir.StringAttr.get(self.device)
            op.attributes[KERNELS] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in kernels.names])


@dataclass(frozen=True)
class _HostCode:
    kernels: Kernels
    name: str

    def outline(self, block: Block) -> None:
        for op in operations_of(block):
            if not touches(op) or op.name in READS:
                continue
            with op.location:
                if op.name == "memref.copy":
                    op = _as_structured(op)
                if is_structured(op):
                    self._points(op)
                elif is_shared(op):
                    self._loop(op)
                elif op.regions and is_for_host(op):
                    for inner in blocks_of(op):
                        self.outline(inner)
                else:
                    self._block(op)

    def _points(self, op: Operation) -> None:
        points = Points(op)
        is_by_rows = points.reduces_rows() and is_combined(points)
        with ir.InsertionPoint(op):
            count = as_index(points.count())
            blocks = count if is_by_rows else _ceil_divided(count, THREADS)
        self.kernels.outline([op], self.name, "rows" if is_by_rows else "points", blocks.value, THREADS)

    def _loop(self, loop: Operation) -> None:
        first, last, step = loop.operands
        with ir.InsertionPoint(loop):
            steps = _ceil_divided(maximum(number(last) - number(first), 0), number(step))
        form = "blocks" if has_work(loop) else "threads"
        own = own_memory(loop, steps, in_registers=form == "threads")
        with ir.InsertionPoint(loop):
            blocks = steps if form == "blocks" else _ceil_divided(steps, THREADS)
        launch = self.kernels.outline([loop], self.name, form, blocks.value, THREADS)
        _end(own, launch)

    def _block(self, op: Operation) -> None:
        """What it gives goes through memory to the host, which waits for it."""
        own = own_memory(op, None)
        ops, last = [op], op
        for result in op.results:
            if isinstance(result.type, ir.MemRefType):
                raise located_error(f"'{op.name}' op gives memory that a kernel would have to allocate", op.location)
            with ir.InsertionPoint(op):
                own.append(memrefs.allocate([1], result.type))
                place = as_index(0).value
            with ir.InsertionPoint.after(ops[-1]):
                ops.append(ir.Operation.create("memref.store", operands=[result, own[-1], place]))
        last = ops[-1]
        for result, stored in zip(op.results, ops[1:], strict=True):
            with ir.InsertionPoint.after(last):
                read = operation("memref.load", list(stored.operands)[1:], result.type)
            result.replace_all_uses_except(read, stored)
            last = read.owner.operation
        launch = self.kernels.outline(ops, self.name, "block", as_index(1).value, THREADS if has_work(op) else 1)
        _end(own, last if len(ops) > 1 else launch)


def _as_structured(op: Operation) -> Operation:
    """A copy as an operation of linalg."""
    with ir.InsertionPoint(op):
        memrefs.copy(*op.operands)
        made = operations_of(op.block)[operations_of(op.block).index(op) - 1]
    op.erase()
    return made


def _end(own: Sequence[Value], last: Operation) -> None:
    """Gives memory back behind its last use."""
    for memory in own:
        with ir.InsertionPoint.after(last):
            memrefs.deallocate(memory)


def _ceil_divided(count: Number, by: int | Number) -> Number:
    return operation("arith.ceildivsi", [as_index(count), as_index(by)], ir.IndexType.get())
