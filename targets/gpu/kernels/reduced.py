# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions that no plan is for, with the scalars that their results start from and what is done to each of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import last_of, made_by, operations_in, operations_of, used_by, users_of
from ....passes.lower_calls.memrefs import is_dense
from .points import Points
from .work import is_structured, touches

#: On an operation that is a kernel's: how many points a thread does.
LANES = "gpu.lanes"
_VIEWS = ("memref.collapse_shape", "memref.expand_shape", "memref.cast", "memref.subview", "memref.reinterpret_cast")


@dataclass(frozen=True)
class Reduced:
    """Such operations, in their order: all that a kernel does."""

    starts: tuple[Operation, ...]
    reduction: Operation
    #: Each reads what the one before it writes, at its own point; nobody else does.
    epilogues: tuple[Operation, ...] = ()

    @property
    def ops(self) -> list[Operation]:
        return [*self.starts, self.reduction, *self.epilogues]


def reduced_in(block: Block, others: Sequence[Operation]) -> list[Reduced]:
    """The reductions of a block that something belongs to; other operations are part of something else."""
    ops = operations_of(block)
    found: list[Reduced] = []
    taken = set(others)
    for place, op in enumerate(ops):
        if op.name != "linalg.generic" or op in taken or not Points(op).reductions:
            continue
        starts = [_start_of(memory, ops[:place]) for memory in Points(op).outputs]
        known = tuple(start for start in starts if start is not None)
        mine = Reduced(known if len(known) == len(starts) else (), op, _epilogues_of(op, ops[place + 1 :]))
        if len(mine.ops) > 1 and taken.isdisjoint(mine.ops):
            found.append(mine)
            taken.update(mine.ops)
    return found


def reduced_of(ops: Sequence[Operation]) -> Reduced:
    """The operations of a kernel. Its reduction, or what is alone in it, says how many points a thread does."""
    (place,) = [place for place, op in enumerate(ops) if LANES in op.attributes]
    return Reduced(tuple(ops[:place]), ops[place], tuple(ops[place + 1 :]))


def root(value: Value) -> Value:
    """The memory that a view is of."""
    view = made_by(value, *_VIEWS)
    return value if view is None else root(view.operands[0])


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
    if not is_of_scalar or points.reductions or points.outputs != [memory] or not _goes_through(points):
        return False
    return bool(last_of(points.block).operands[0] == points.block.arguments[0])


def _epilogues_of(reduction: Operation, behind: Sequence[Operation]) -> tuple[Operation, ...]:
    epilogues: list[Operation] = []
    last = reduction
    for op in behind:
        if is_structured(op) and _follows(last, op):
            epilogues.append(op)
            last = op
        elif touches(op):
            break
    return tuple(epilogues)


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
