# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Horizontal fusion: independent adjacent operations of a function share one launch, each with its own blocks.

Examples are the copies of a concat, a stack or a split. Parameters of a PrimFunc with several operations do not share
memory: passes/memory/lower_calls/overwriting.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import i64_attribute, ir
from ....bindings.navigation import constant_of, made_by, operations_in, operations_of, used_by
from ....dialects.core.ir_attributes import LANES, PRIM_FUNC
from ....emit.groups import Group
from ....emit.loops import when
from ....emit.memrefs import root_of
from ....emit.numbers import Number, as_index, ceil_divided, number
from ....emit.tensors import SlicePlace
from ..emit.threads import block_id, thread_id
from ..parallel_work import touches
from .collapse import collapse_loops
from .points import Points
from .vectors import Lanes, lanes_of

#: Most operations per kernel.
_MOST = 16
#: Operations that end a run, in addition to operations on memory.
_ENDS = ("memref.dealloc", "func.call", "func.return")


@dataclass(frozen=True)
class Several:
    """Independent operations in program order, which become one kernel."""

    ops: list[Operation]

    def joined(self) -> list[Operation]:
        """Collapse the operations' loops, and store the number of points per thread in each of them."""
        ops = [collapse_loops(op) for op in self.ops]
        for op in ops:
            op.attributes[LANES] = i64_attribute(lanes_of(Points(op), []))
        return ops


def blocks_of_points(op: Operation, threads: int) -> Number:
    """Return the number of blocks of `threads` threads for an operation's points, emitted at the insertion point."""
    points_of_block = threads * op.attributes[LANES].value
    return as_index(ceil_divided(Points(op).count(), points_of_block))


def write_several(ops: Sequence[Operation], threads: int) -> None:
    """Emit the code of a thread for several operations."""
    first, block, thread = number(as_index(0)), block_id(), thread_id()
    for op in ops:
        lanes = Lanes(Group((), op), op.attributes[LANES].value)
        behind = first + blocks_of_points(op, threads)
        point = ((block - first) * threads + thread) * lanes.count
        when((block >= first) & (block < behind), partial(lanes.write, point, as_index(lanes.points.count())))
        first = behind


def several_in(block: Block, others: Collection[Operation]) -> list[Several]:
    """Return the runs of independent operations of a PrimFunc, except for operations in `others`."""
    if PRIM_FUNC not in block.owner.operation.attributes:
        return []
    runs: list[list[Operation]] = [[]]
    for op in operations_of(block):
        if op not in others and _is_of_points(op):
            if len(runs[-1]) == _MOST or not all(_are_apart(op, before, block) for before in runs[-1]):
                runs.append([])
            runs[-1].append(op)
        elif op.name in _ENDS or op.name.startswith("tir.") or touches(op):
            runs.append([])
    return [Several(run) for run in runs if len(run) > 1]


def _is_of_points(op: Operation) -> bool:
    return op.name == "linalg.generic" and not Points(op).reductions and bool(Points(op).parallels)


def _are_apart(op: Operation, other: Operation, block: Block) -> bool:
    """Check whether neither operation writes memory that the other accesses."""
    pairs = [(op, other), (other, op)]
    return all(
        _is_elsewhere(written, used, block)
        for writer, user in pairs
        for written in Points(writer).outputs
        for used in _memory_of(user)
    )


def _memory_of(op: Operation) -> set[Value]:
    values = [value for operation in (op, *operations_in(op)) for value in used_by(operation)]
    return {value for value in values if isinstance(value.type, ir.MemRefType)}


def _is_elsewhere(one: Value, other: Value, block: Block) -> bool:
    """Check whether two memrefs are known to have no element in common."""
    roots = root_of(one), root_of(other)
    if not all(root in block.arguments or made_by(root, "memref.alloc") for root in roots):
        return False
    return roots[0] != roots[1] or _are_parts_apart(one, other)


def _are_parts_apart(one: Value, other: Value) -> bool:
    parts = made_by(one, "memref.subview"), made_by(other, "memref.subview")
    if parts[0] is None or parts[1] is None or parts[0].operands[0] != parts[1].operands[0]:
        return False
    places = [SlicePlace.of(part) for part in parts if part is not None]
    if any(stride != 1 for place in places for stride in place.strides):
        return False
    return any(
        _is_behind(places[first], places[1 - first], axis)
        for first in range(2)
        for axis in range(len(places[0].offsets))
    )


def _is_behind(place: SlicePlace, other: SlicePlace, axis: int) -> bool:
    """Check whether a slice begins at the end of another one, or after it."""
    begin, end = _sum(place.offsets[axis]), _sum(other.offsets[axis], other.sizes[axis])
    return end.constant <= begin.constant and end.sizes <= begin.sizes


class _Sum(NamedTuple):
    """Sum of a constant and sizes, which are not negative."""

    constant: int
    sizes: Counter[tuple[Value, int]]


def _sum(*extents: int | Value) -> _Sum:
    total = _Sum(0, Counter())
    for extent in extents:
        terms = _terms(extent)
        total = _Sum(total.constant + terms.constant, total.sizes + terms.sizes)
    return total


def _terms(extent: int | Value) -> _Sum:
    number = extent if isinstance(extent, int) else constant_of(extent)
    if number is not None or isinstance(extent, int):
        return _Sum(number or 0, Counter())
    if (added := made_by(extent, "arith.addi")) is not None:
        return _sum(*added.operands)
    dim = made_by(extent, "memref.dim")
    axis = None if dim is None else constant_of(dim.operands[1])
    # An unknown value may be negative, so it only cancels against itself.
    return _Sum(0, Counter({(extent, 0) if dim is None or axis is None else (dim.operands[0], axis): 1}))
