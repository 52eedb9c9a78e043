# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one kernel does: an operation, the fills that its results start from, and what is done to each of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import last_of, made_by, operations_in, operations_of, used_by, users_of
from ....bindings.rewriting import Decline, replace_op
from ....dialects.core.ir_attributes import LANES, PLAN
from ....emit.memory import is_dense
from ....emit.numbers import as_i64
from ....emit.structured import analyze
from ....passes.schedule.joining import asks_for_place
from ....passes.schedule.plan import EpilogueOf, Plan, plan_of, set_plan
from ....passes.schedule.vector_body import check_body
from ...host.llvm_ops import memref_at, type_of
from ..nests.group import Group
from ..nests.tiles import check
from .points import Points
from .work import code_of, is_structured, touches

_VIEWS = ("memref.collapse_shape", "memref.expand_shape", "memref.cast", "memref.subview", "memref.reinterpret_cast")
#: Operations that a thread does to each result of a plan, at most: functions beside these would need more registers.
_MOST_CODE = 32
_Follows = Callable[[Operation, Operation], bool]


@dataclass(frozen=True)
class Fused:
    """Operations in their order, which tell each other results in registers."""

    starts: tuple[Operation, ...]
    #: A reduction, or what is alone.
    main: Operation
    #: Each reads what the one before it writes, at its own point; nobody else does.
    epilogues: tuple[Operation, ...] = ()
    #: By which the main one runs; None where a thread or a block does each point.
    plan: Plan | None = None

    @property
    def ops(self) -> list[Operation]:
        return [*self.starts, self.main, *self.epilogues]

    def group(self) -> Group:
        """A planned one as nests take it. Raises Decline."""
        assert self.plan is not None
        initial = next((start.operands[0] for start in self.starts), None)
        return Group(
            analyze(self.main, on_memrefs=True),
            self.plan,
            initial,
            [analyze(each, on_memrefs=True) for each in self.epilogues],
        )

    def without_memory_between(self) -> None:
        """Nothing is allocated for what only these operations tell each other."""
        ops = self.ops
        for op in ops[:-1]:
            alloc = made_by(list(op.operands)[-1], "memref.alloc")
            # Of several results one may be for nobody, which is written all the same.
            if alloc is None or alloc.results[0] in Points(ops[-1]).outputs:
                continue
            users = users_of(alloc.results[0])
            if any(user not in ops and user.name != "memref.dealloc" for user in users):
                continue
            for user in [user for user in users if user.name == "memref.dealloc"]:
                user.erase()
            with alloc.location, ir.InsertionPoint(alloc):
                _replace_by_nothing(alloc)


def fused_in(block: Block) -> list[Fused]:
    """The reductions of a block that have a plan, or that something belongs to. Plans that do not fit count as none."""
    ops = operations_of(block)
    found: list[Fused] = []
    taken = set[Operation]()
    for place, op in enumerate(ops):
        if op.name != "linalg.generic" or op in taken or not Points(op).reductions:
            continue
        before, behind = ops[:place], ops[place + 1 :]
        mine = _planned(op, before, behind) or _fused(op, before, behind, _follows)
        if (mine.plan or len(mine.ops) > 1) and taken.isdisjoint(mine.ops):
            found.append(mine)
            taken.update(mine.ops)
    return found


def fused_of(ops: Sequence[Operation]) -> Fused:
    """The operations of a kernel. The main one may have lost its reductions, as loops of one step."""
    (place,) = [place for place, op in enumerate(ops) if LANES in op.attributes or Points(op).reductions]
    return Fused(tuple(ops[:place]), ops[place], tuple(ops[place + 1 :]), _plan(ops[place]))


def root(value: Value) -> Value:
    """The memory that a view is of."""
    view = made_by(value, *_VIEWS)
    return value if view is None else root(view.operands[0])


def _plan(op: Operation) -> Plan | None:
    plan = plan_of(op) if PLAN in op.attributes else None
    return plan if isinstance(plan, Plan) else None


def _planned(op: Operation, before: Sequence[Operation], behind: Sequence[Operation]) -> Fused | None:
    plan = _plan(op)
    if plan is None:
        return None
    found = _fused(op, before, behind, _is_planned_to_follow, plan)
    try:
        check(found.group())
    except Decline:
        return None
    return found


def _fused(
    op: Operation,
    before: Sequence[Operation],
    behind: Sequence[Operation],
    follows: _Follows,
    plan: Plan | None = None,
) -> Fused:
    starts = [_start_of(memory, before) for memory in Points(op).outputs]
    known = tuple(start for start in starts if start is not None)
    epilogues: list[Operation] = []
    for each in behind:
        if is_structured(each) and follows(epilogues[-1] if epilogues else op, each):
            epilogues.append(each)
        elif touches(each):
            break
    return Fused(known if len(known) == len(starts) else (), op, tuple(epilogues), plan)


def _start_of(memory: Value, before: Sequence[Operation]) -> Operation | None:
    """The fill of a reduction's memory, where nothing else works on that."""
    whole = root(memory)
    for op in reversed(before):
        if touches(op) and any(root(value) == whole for each in (op, *operations_in(op)) for value in used_by(each)):
            return op if _is_fill(op, memory) else None
    return None


def _is_fill(op: Operation, memory: Value) -> bool:
    if op.name != "linalg.generic":
        return False
    points = Points(op)
    is_of_scalar = points.input_count == 1 and not isinstance(op.operands[0].type, ir.MemRefType)
    if not is_of_scalar or points.reductions or points.outputs != (memory,) or not _goes_through(points):
        return False
    return bool(last_of(points.block).operands[0] == points.block.arguments[0])


def _is_planned_to_follow(before: Operation, op: Operation) -> bool:
    plan, memory = plan_of(op) if PLAN in op.attributes else None, list(before.operands)[-1]
    is_planned = isinstance(plan, EpilogueOf) and op.operands[plan.operand] == memory
    return (is_planned and _is_between(memory, op)) or _goes_on(before, op)


def _goes_on(before: Operation, op: Operation) -> bool:
    """Whether an operation works on each result of the one before, at its place; it gets a plan that says so."""
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
    """Whether an operation works on each result of the one before, which is for it alone."""
    if op.name != "linalg.generic":
        return False
    one, other = Points(before), Points(op)
    if len(one.outputs) != 1 or other.reductions or len(other.outputs) != 1:
        return False
    (memory,) = one.outputs
    readers = [place for place in range(other.input_count) if op.operands[place] == memory]
    if len(readers) != 1 or not _is_between(memory, op):
        return False
    sizes = (memory.type.shape, other.outputs[0].type.shape)
    is_straight = list(sizes[0]) == list(sizes[1]) and other.maps[-1] == other.maps[readers[0]]
    return is_straight and _goes_through(one) and _goes_through(other) and is_dense(memory.type)


def _goes_through(points: Points) -> bool:
    """Whether an operation writes each element of its output once."""
    pairs = zip(points.maps[-1].results, points.outputs[0].type.shape, strict=True)
    exprs = [expr for expr, size in pairs if size != 1]
    dims = [expr.position for expr in exprs if isinstance(expr, ir.AffineDimExpr)]
    moving = {dim for dim in points.parallels if points.known_size(dim) != 1}
    return len(dims) == len(exprs) == len(set(dims)) and set(dims) == moving


def _is_between(memory: Value, reader: Operation) -> bool:
    """Whether memory is only for what some operations tell the next one, which may put something else there."""
    if list(reader.operands)[-1] == memory:
        return True
    if made_by(memory, "memref.alloc") is None:
        return False
    return all(
        user == reader or user.name == "memref.dealloc" or (is_structured(user) and memory in Points(user).outputs)
        for user in users_of(memory)
    )


def _replace_by_nothing(alloc: Operation) -> None:
    type_ = alloc.results[0].type
    sizes = iter(alloc.operands)
    shape = [as_i64(next(sizes)).value if known == DYNAMIC else known for known in type_.shape]
    nowhere = ir.Operation.create("llvm.mlir.zero", results=[type_of("ptr")]).result
    replace_op(alloc, [memref_at(nowhere, type_, shape)])
