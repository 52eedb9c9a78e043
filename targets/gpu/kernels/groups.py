# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planned reductions over memory, with the fill that they start from and what is done to their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import made_by, operations_of, users_of
from ....bindings.rewriting import Decline, replace_op
from ....emit.numbers import as_i64
from ....emit.structured import DYNAMIC, analyze
from ....passes.schedule.plan import PLAN, EpilogueOf, Plan, Start, plan_of
from ...host.llvm_ops import memref_at, type_of
from ..nests.group import Group
from ..nests.tiles import check
from .points import Points
from .work import touches


@dataclass(frozen=True)
class Planned:
    """Such operations, in their order."""

    start: Operation | None
    reduction: Operation
    epilogues: tuple[Operation, ...]

    @property
    def ops(self) -> list[Operation]:
        return [*([self.start] if self.start else []), self.reduction, *self.epilogues]

    def group(self) -> Group:
        """As nests take it. Raises Decline."""
        plan = plan_of(self.reduction)
        assert isinstance(plan, Plan)
        initial = self.start.operands[0] if self.start else None
        return Group(
            analyze(self.reduction, on_memrefs=True),
            plan,
            initial,
            [analyze(each, on_memrefs=True) for each in self.epilogues],
        )


def planned_of(ops: Sequence[Operation]) -> Planned:
    """The operations of a kernel."""
    plans = [(op, plan_of(op)) for op in ops]
    start = next((op for op, plan in plans if isinstance(plan, Start)), None)
    (reduction,) = [op for op, plan in plans if isinstance(plan, Plan)]
    return Planned(start, reduction, tuple(op for op, plan in plans if isinstance(plan, EpilogueOf)))


def planned_in(block: Block) -> list[Planned]:
    """What is planned in a block; plans that do not fit are left out."""
    ops = operations_of(block)
    found: list[Planned] = []
    for place, op in enumerate(ops):
        if PLAN in op.attributes and isinstance(plan_of(op), Plan):
            planned = Planned(_start_of(op, ops[:place]), op, _epilogues_of(op, ops[place + 1 :]))
            try:
                check(planned.group())
            except Decline:
                continue
            found.append(planned)
    return found


def _start_of(reduction: Operation, before: Sequence[Operation]) -> Operation | None:
    """The fill of a reduction's memory, where nothing else works on that."""
    memory = list(reduction.operands)[-1]
    users = users_of(memory)
    for op in reversed(before):
        if op in users:
            return op if PLAN in op.attributes and isinstance(plan_of(op), Start) else None
    return None


def _epilogues_of(reduction: Operation, behind: Sequence[Operation]) -> tuple[Operation, ...]:
    """What works on each result next, where nobody else reads that."""
    epilogues: list[Operation] = []
    memory = list(reduction.operands)[-1]
    for op in behind:
        plan = plan_of(op) if PLAN in op.attributes else None
        if isinstance(plan, EpilogueOf) and op.operands[plan.operand] == memory and _is_between(memory, reduction, op):
            epilogues.append(op)
            memory = list(op.operands)[-1]
        elif touches(op):
            break
    return tuple(epilogues)


def _is_between(memory: Value, reduction: Operation, reader: Operation) -> bool:
    """Whether memory is only for what one operation tells the next one, which may put something else there."""
    if list(reader.operands).count(memory) == 2 and list(reader.operands)[-1] == memory:
        return True
    if made_by(memory, "memref.alloc") is None:
        return False
    others = [user for user in users_of(memory) if user.name != "memref.dealloc" and user != reader]
    return all(user == reduction or PLAN in user.attributes for user in others)


def without_memory_between(ops: Sequence[Operation]) -> None:
    """What a reduction and its epilogues tell each other stays in registers: nothing is allocated for it."""
    for op in ops[:-1]:
        alloc = made_by(list(op.operands)[-1], "memref.alloc")
        # Of several results one may be for nobody, which is written all the same.
        if alloc is None or alloc.results[0] in Points(ops[-1]).outputs:
            continue
        if any(user not in ops and user.name != "memref.dealloc" for user in users_of(alloc.results[0])):
            continue
        for user in [user for user in users_of(alloc.results[0]) if user.name == "memref.dealloc"]:
            user.erase()
        with alloc.location, ir.InsertionPoint(alloc):
            _replace_by_nothing(alloc)


def _replace_by_nothing(alloc: Operation) -> None:
    type_ = alloc.results[0].type
    sizes = iter(alloc.operands)
    shape = [as_i64(next(sizes)).value if known == DYNAMIC else known for known in type_.shape]
    nowhere = ir.Operation.create("llvm.mlir.zero", results=[type_of("ptr")]).result
    replace_op(alloc, [memref_at(nowhere, type_, shape)])
