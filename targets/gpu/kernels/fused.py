# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused kernel: an operation with its prologue (the fills that results start from) and its epilogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import made_by, operations_in, operations_of, users_of
from ....bindings.rewriting import Decline, replace_op
from ....dialects.core.ir_attributes import LANES, PLAN
from ....emit.generic import GenericOp
from ....emit.groups import Group, group_of
from ....emit.memrefs import is_dense
from ....emit.numbers import as_i64
from ....emit.structured import analyze
from ....passes.kernels.schedule.loop_collapsing import asks_for_place
from ....passes.kernels.schedule.plan import EpilogueOf, Plan, plan_of, set_plan
from ....passes.kernels.schedule.vector_body import check_body
from ...host.llvm_ops import memref_at, type_of
from ..parallel_work import code_of, is_structured, touches
from ..planned.group import PlannedGroup
from ..planned.product_kernels import check

#: Most operations in an epilogue, per result of a plan. Calls of functions would need more registers.
_MOST_CODE = 32


@dataclass(frozen=True)
class Fused(Group):
    """Operations that pass results to each other in registers."""

    #: Plan of the main operation; None if a thread or a block computes each point.
    plan: Plan | None = None

    def planned(self) -> PlannedGroup:
        """Analyze the operations of a planned kernel. Raises Decline."""
        assert self.plan is not None
        main, *epilogues = (analyze(epilogue, on_memrefs=True) for epilogue in (self.main, *self.epilogues))
        return PlannedGroup(main, self.plan, next(iter(self.initial), None), epilogues)

    def without_memory_between(self) -> None:
        """Remove the allocations that only pass values between these operations."""
        for alloc in self.memory_between():
            erase_deallocations(alloc)
            with alloc.location, ir.InsertionPoint(alloc):
                type_ = alloc.results[0].type
                sizes = iter(alloc.operands)
                shape = [as_i64(next(sizes)).value if known == DYNAMIC else known for known in type_.shape]
                nowhere = ir.Operation.create("llvm.mlir.zero", results=[type_of("ptr")]).result
                replace_op(alloc, [memref_at(nowhere, type_, shape)])

    def memory_between(self) -> list[Operation]:
        """Return the allocations that only these operations use.

        A dead result among several is still written, so its allocation counts too.
        """
        ops, outputs = self.ops, GenericOp(self.ops[-1]).outputs
        found = dict.fromkeys(made_by(list(op.operands)[-1], "memref.alloc") for op in ops[:-1])
        return [
            alloc
            for alloc in found
            if alloc is not None
            and alloc.results[0] not in outputs
            and all(user in ops or user.name == "memref.dealloc" for user in users_of(alloc.results[0]))
        ]


def erase_deallocations(alloc: Operation) -> None:
    for user in users_of(alloc.results[0]):
        if user.name == "memref.dealloc":
            user.erase()


def fused_in(block: Block) -> list[Fused]:
    """Return the reductions of a block that have a valid plan, or that have fills or epilogues."""
    ops = operations_of(block)
    all_fused: list[Fused] = []
    taken = set[Operation]()
    for place, op in enumerate(ops):
        if op.name != "linalg.generic" or op in taken or not GenericOp(op).reductions:
            continue
        before, behind = ops[:place], ops[place + 1 :]
        mine = _fuse_planned(op, before, behind) or _fuse_unplanned(op, before, behind)
        if (mine.plan or len(mine.ops) > 1) and taken.isdisjoint(mine.ops):
            all_fused.append(mine)
            taken.update(mine.ops)
    return all_fused


def fused_of(ops: Sequence[Operation]) -> Fused:
    """Return the operations of a kernel as prologue, main operation and epilogues.

    Reductions with a single step may have been removed from the main operation.
    """
    (place,) = [place for place, op in enumerate(ops) if LANES in op.attributes or GenericOp(op).reductions]
    return Fused(tuple(ops[:place]), ops[place], tuple(ops[place + 1 :]), _plan(ops[place]))


def _plan(op: Operation) -> Plan | None:
    plan = plan_of(op) if PLAN in op.attributes else None
    return plan if isinstance(plan, Plan) else None


def _fuse_unplanned(op: Operation, before: Sequence[Operation], behind: Sequence[Operation]) -> Fused:
    group = group_of(op, before, behind, _follows, touches)
    return Fused(group.starts, op, group.epilogues)


def _fuse_planned(op: Operation, before: Sequence[Operation], behind: Sequence[Operation]) -> Fused | None:
    if (plan := _plan(op)) is None:
        return None
    group = group_of(op, before, behind, _is_planned_to_follow, touches)
    found = Fused(group.starts, op, group.epilogues, plan)
    try:
        check(found.planned())
    except Decline:
        return None
    return found


def _is_planned_to_follow(before: Operation, op: Operation) -> bool:
    plan, memory = plan_of(op) if PLAN in op.attributes else None, list(before.operands)[-1]
    is_planned = isinstance(plan, EpilogueOf) and op.operands[plan.operand] == memory
    return (is_planned and _is_between(memory, op)) or _goes_on(before, op)


def _goes_on(before: Operation, op: Operation) -> bool:
    """Check whether an operation consumes each result of the one before at the same index, and plan it as epilogue."""
    if not _follows(before, op) or sum(map(code_of, operations_in(op))) > _MOST_CODE:
        return False
    try:
        found = analyze(op, on_memrefs=True)
        check_body(found)
    except Decline:
        return False
    if asks_for_place(found) or found.reads_output(0):
        return False
    set_plan(op, EpilogueOf(list(op.operands).index(list(before.operands)[-1])))
    return True


def _follows(before: Operation, op: Operation) -> bool:
    """Check whether an operation is the only consumer of the results of the one before, at the same indices."""
    if op.name != "linalg.generic":
        return False
    one, other = GenericOp(before), GenericOp(op)
    if len(one.outputs) != 1 or other.reductions or len(other.outputs) != 1:
        return False
    (memory,) = one.outputs
    readers = [place for place in range(other.input_count) if op.operands[place] == memory]
    if len(readers) != 1 or not _is_between(memory, op):
        return False
    sizes = (memory.type.shape, other.outputs[0].type.shape)
    is_straight = list(sizes[0]) == list(sizes[1]) and other.maps[-1] == other.maps[readers[0]]
    is_whole = all(each.writes_once(each.input_count) for each in (one, other))
    return is_straight and is_whole and is_dense(memory.type)


def _is_between(memory: Value, reader: Operation) -> bool:
    """Check whether memory only passes values from these operations to the reader, which may overwrite it."""
    if list(reader.operands)[-1] == memory:
        return True
    if made_by(memory, "memref.alloc") is None:
        return False
    return all(
        user == reader or user.name == "memref.dealloc" or (is_structured(user) and memory in GenericOp(user).outputs)
        for user in users_of(memory)
    )
