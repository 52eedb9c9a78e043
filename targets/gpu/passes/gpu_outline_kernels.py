# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outlining of kernels: operations on memory move from functions on memrefs into kernels, which host code launches.

The remaining host code consists of sizes, allocations, views, and the loops and branches around them. If host code
reads an element, it copies the element from device memory (gpu-lower-launches). The operations determine the form of a
kernel: forms/table.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir, string_array
from ....bindings.navigation import (
    ancestors,
    blocks_of,
    body_of,
    functions_in,
    has_body,
    operation_before,
    operations_of,
    symbol_name,
    used_by,
    users_of,
)
from ....bindings.pass_manager import run_upstream
from ....bindings.rewriting import located_error, use_instead
from ....dialects.core.ir_attributes import DEVICE, IS_TOGETHER, KERNELS
from ....emit import memrefs
from ....emit.numbers import as_index, operation
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ...core.machine import Machine
from ..emit.threads import STATIC_SHARED
from ..forms.form import Collapsed, Form, Group, InOrder, Limits, SharedLoop
from ..forms.table import form_of
from ..kernels.cases import by_rows
from ..kernels.fused import Fused, fused_in
from ..kernels.outline import Kernels
from ..kernels.split_products import split_products
from ..parallel_work import READS, is_in_order, is_scalar, is_shared, is_structured, touches
from ..unplanned.horizontal_fusion import Several, several_in
from ..unplanned.split import in_parts


@register_pass
@dataclass(frozen=True)
class OutlineKernels(Pass):
    """Outline operations on memory into kernels, which host code launches."""

    name: ClassVar[str] = "gpu-outline-kernels"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("affine", "arith", "func", "gpu", "llvm", "memref", "scf")

    #: Kind of device, as its driver names it.
    device: str = "cuda"
    #: Most threads per block.
    threads: int = Machine.block_threads
    #: Most bytes of shared memory per block.
    shared: int = STATIC_SHARED

    def run(self, op: Operation) -> None:
        kernels, limits = Kernels(op), Limits(self.threads, self.shared)
        run_upstream(op, ["func.func(linalg-generalize-named-ops)"], verify=False)
        with op.context:
            for function in [each for each in functions_in(op) if has_body(each)]:
                _HostCode(kernels, symbol_name(function), limits).outline(body_of(function))
            op.attributes[DEVICE] = ir.StringAttr.get(self.device)
            op.attributes[KERNELS] = string_array(kernels.names)


@dataclass(frozen=True)
class _HostCode:
    kernels: Kernels
    name: str
    limits: Limits

    def outline(self, block: Block) -> None:
        group: list[Operation] = []
        fused = fused_in(block)
        for changes in (by_rows, split_products):
            if changes(fused):
                fused = fused_in(block)
        for each in fused:
            each.without_memory_between()
        together: list[Fused | Several] = [*fused, *several_in(block, [op for each in fused for op in each.ops])]
        for op in operations_of(block):
            if (mine := next((each for each in together if op in each.ops), None)) is not None:
                self._end_group(group)
                if op == mine.ops[-1]:
                    # From here on its operations may be replaced.
                    together.remove(mine)
                    with op.location:
                        self._fuse(mine)
                continue
            if is_in_order(op) or (group and _goes_along(op) and _uses(op, group)):
                group.append(op)
                continue
            if group and (_is_step(op) or _uses(op, group)):
                self._end_group(group)
            with op.location:
                self._outline(op)

    def _end_group(self, group: list[Operation]) -> None:
        """Outline the collected operations as a kernel. If they only read, they stay host code."""
        if any(is_in_order(op) and op.name not in READS for op in group):
            with group[-1].location:
                self._block(group)
        group.clear()

    def _outline(self, op: Operation) -> None:
        if op.name == "memref.copy":
            with ir.InsertionPoint(op):
                memrefs.copy(*op.operands)
                made = operation_before(op)
            op.erase()
            op = made
        if is_structured(op):
            self._fuse(Fused((), op))
        elif is_shared(op):
            self._kernel(SharedLoop.of(op))
        elif op.regions and touches(op):
            for inner in blocks_of(op):
                self.outline(inner)

    def _fuse(self, fused: Fused | Several) -> None:
        """Outline operations as one kernel, or as two if these are parts.

        The kernel that combines parts has the prologue and the epilogues.
        """
        if isinstance(fused, Several) or fused.plan is not None:
            self._kernel(fused)
            return
        between: list[Value] = []
        if IS_TOGETHER in fused.main.attributes:
            between = [fused.main.operands[0]]
        elif (parts := in_parts(fused.main)) is not None:
            self._kernel(parts)
            fused, between = replace(fused, main=parts.second), parts.between
        _end(between, self._kernel(Collapsed.of(fused)))

    def _kernel(self, group: Group) -> Operation:
        """Outline a group as a kernel in its form. Return the launch."""
        form = form_of(group, self.limits)
        own = form.own_memory()
        launch = self._launch(form)
        _end(own, launch)
        return launch

    def _launch(self, form: Form) -> Operation:
        with ir.InsertionPoint(form.ops[-1]):
            blocks = form.blocks()
        return self.kernels.outline(form.ops, self.name, form.name, blocks.value, form.threads)

    def _block(self, group: Sequence[Operation]) -> None:
        """Outline operations as one block. The host reads their results from memory, and waits for them."""
        last, ops = group[-1], list(group)
        form = form_of(InOrder(group), self.limits)
        own = form.own_memory()
        read: Operation | None = None
        for result in [each for op in group for each in op.results if _is_used_outside(each, group)]:
            slot, stored, read = _pass_through_memory(result, ops, last, read)
            own.append(slot)
            ops.append(stored)
        launch = self._launch(replace(form, ops=ops))
        _end(own, read or launch)


def _pass_through_memory(
    result: Value, ops: Sequence[Operation], last: Operation, after: Operation | None
) -> tuple[Value, Operation, Operation]:
    """Pass a kernel's result to the host through memory. Return the memory, the store and the host's load."""
    if isinstance(result.type, ir.MemRefType):
        maker = result.owner.operation
        raise located_error(f"'{maker.name}' op returns memory that a kernel would have to allocate", maker.location)
    with ir.InsertionPoint(last):
        slot, place = memrefs.allocate([1], result.type), as_index(0).value
    users = [user for user in users_of(result) if not any(user == op or op in ancestors(user) for op in ops)]
    with ir.InsertionPoint.after(ops[-1]):
        stored = ir.Operation.create("memref.store", operands=[result, slot, place])
    with ir.InsertionPoint.after(after or stored):
        read = operation("memref.load", [slot, place], result.type)
    for user in users:
        use_instead(user, {result: read})
    return slot, stored, read.owner.operation


def _is_used_outside(value: Value, group: Sequence[Operation]) -> bool:
    return any(not any(user == op or op in ancestors(user) for op in group) for user in users_of(value))


def _goes_along(op: Operation) -> bool:
    """Check whether a kernel may run a scalar operation on the values it reads, so that the host need not wait."""
    return is_scalar(op) or op.name == "tir.assert"


def _uses(op: Operation, group: Sequence[Operation]) -> bool:
    results = {result for each in group for result in each.results}
    return any(value in results for value in used_by(op))


def _is_step(op: Operation) -> bool:
    """Check whether an operation accesses or frees memory, so that collected operations must run before it."""
    return touches(op) or op.name in ("memref.dealloc", "func.call", "func.return") or op.name.startswith("tir.")


def _end(own: Sequence[Value], last: Operation) -> None:
    """Free memory after its last use."""
    for memory in own:
        with ir.InsertionPoint.after(last):
            memrefs.deallocate(memory)
