# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fallback lowering: operations without a plan become plain loops.

Threads share one of the loops if each of its steps writes elements of its own, and if sharing pays off.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import operations_of
from ....bindings.rewriting import Decline, replace_op
from ....dialects.core.dialect import row_of
from ....dialects.tir.prim_func import ASSERT
from ....emit import linalg, tensors
from ....emit.numbers import Number, Size
from ....emit.parallel import is_shared, share_ranges
from ....emit.structured import StructuredOp, analyze, is_scalar
from ....targets.core.machine import Machine
from .fitting import can_be_shared
from .parallel_grain import OPERATIONS, bytes_of_point

#: Assumed number of steps of a loop in the body.
_STEPS_INSIDE = 8
_PURE_DIALECTS = frozenset({"arith", "index", "linalg", "math", "scf", "tensor"})
#: Operations with loops as bodies.
_LOOPS = ("scf.for", "scf.while")


def share_unplanned(operation: Operation, machine: Machine) -> None:
    """Replace the operation by parts that threads share, if that is legal and pays off."""
    is_outermost = operation.parent.name == "func.func"
    if machine.cores == 1 or not is_outermost or operation.name != "linalg.generic" or not _has_no_effect(operation):
        return
    try:
        op = analyze(operation)
    except Decline:
        return
    if (dim := _loop(op, machine)) is not None:
        with ir.InsertionPoint(operation), operation.location:
            _share(op, dim)


def _has_no_effect(operation: Operation) -> bool:
    """Return True if steps can run in any order. A failed check ends all of them."""
    for inner in _inner(operation):
        row = row_of(inner)
        is_pure = row is not None and row.pure and not row.role
        if inner.name.partition(".")[0] not in _PURE_DIALECTS and inner.name != ASSERT and not is_pure:
            return False
    return True


def _inner(operation: Operation) -> list[Operation]:
    found = []
    for region in operation.regions:
        for block in region.blocks:
            for inner in operations_of(block):
                found += [inner, *_inner(inner)]
    return found


def _loop(op: StructuredOp, machine: Machine) -> int | None:
    """Return the outermost loop that can be split.

    An inner loop is preferred if the outer one has, or may have, hardly more steps than threads.
    """
    known, unknown = 4 * machine.cores, 2 * machine.cores
    steps = {dim: unknown if op.sizes[dim] is None else min(op.sizes[dim] or 0, known) for dim in op.parallels}
    dims = [dim for dim in op.parallels if steps[dim] > 1 and can_be_shared(op, dim) and _can_be_cut(op, dim)]
    return max(dims, key=lambda dim: steps[dim], default=None)


def _can_be_cut(op: StructuredOp, dim: int) -> bool:
    return all(index.is_all_of(dim) for access in op.accesses for index in access if index.factor(dim))


def _share(op: StructuredOp, dim: int) -> None:
    steps, step = op.size(dim), _nanoseconds_of_step(op, dim)
    if isinstance(steps, int) and isinstance(step, float) and not is_shared(steps, step):
        return

    def part(start: Number, count: Size, *written: Value) -> list[Value]:
        values = [*op.operands[: op.output_start], *written]
        places = [_place(op, operand, dim, start, count) for operand in range(len(values))]
        cut = [
            value if place is None else tensors.slice_of(value, *place)
            for value, place in zip(values, places, strict=True)
        ]
        copy = on_operands(op, cut)
        linalg.move_indices(copy, {dim: start})
        whole = zip(copy.results, written, places[op.output_start :], strict=True)
        return [tensors.put_slice(made, each, place[0], sizes=place[1]) for made, each, place in whole if place]

    replace_op(op.operation, list(share_ranges(steps, step, part, *op.outputs)))


def _nanoseconds_of_step(op: StructuredOp, dim: int) -> float | Size:
    """Return the estimated time of one step of one thread in nanoseconds."""
    points = linalg.product([op.size(each) for each in op.dims if each != dim])
    each = max(_work(op.block) / OPERATIONS, bytes_of_point(op))
    return points * each if isinstance(points, int) else linalg.product([points, max(round(each), 1)])


def _work(block: Block) -> float:
    """Return the number of operations of a point, executed sequentially."""
    total = 0.0
    for inner in operations_of(block):
        times = _STEPS_INSIDE if inner.name in _LOOPS else 1
        total += 1 + times * sum(_work(each) for region in inner.regions for each in region.blocks)
    return total


def _place(
    op: StructuredOp, operand: int, dim: int, start: Number, count: Size
) -> tuple[list[Size], list[Size]] | None:
    """Return the offsets and sizes that a part of the operation accesses of an operand, or None for all of it."""
    value = op.operands[operand]
    if is_scalar(value.type) or not op.uses(operand, dim):
        return None
    is_cut = [index.factor(dim) != 0 for index in op.accesses[operand]]
    whole = zip(is_cut, linalg.sizes(value), strict=True)
    return [start if cut else 0 for cut in is_cut], [count if cut else size for cut, size in whole]


def on_operands(op: StructuredOp, operands: Sequence[Value]) -> Operation:
    """Return a copy of the operation on other operands, such as parts of its own."""
    copy = op.operation.clone().operation
    for operand, value in enumerate(operands):
        copy.operands[operand] = value
    for result, output in zip(copy.results, operands[op.output_start :], strict=True):
        result.set_type(output.type)
    return copy
