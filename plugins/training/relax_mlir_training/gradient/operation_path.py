# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths between values: operations in an order in which each follows the producers of its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from relax_mlir.bindings.ir import Block, Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import made_by, used_inside
from relax_mlir.bindings.rewriting import are_used, is_used
from relax_mlir.support.callbacks import fragile

#: An operation, its operands, values that its regions capture, and its results. Each list is read once.
Step = tuple[Operation, list[Value], list[Value], list[Value]]
#: Function that returns the step that defines a value, or None if the step does not count.
StepMaking = Callable[[Value], Step | None]


def step_making(value: Value) -> Step | None:
    operation = made_by(value)
    return None if operation is None else _step(operation, len(operation.regions) > 0)


def _step(operation: Operation, has_regions: bool) -> Step:
    captured = used_inside(operation) if has_regions else []
    return operation, list(operation.operands), captured, list(operation.results)


def forwards(block: Block, xs: Iterable[Value]) -> tuple[dict[Value, Step | None], list[Operation]]:
    """Return the operations of a block that depend on the xs, by result, and the operations with unused results."""
    depending: dict[Value, Step | None] = dict.fromkeys(xs)
    values, unused = depending.keys(), []
    for view in block.operations:
        operation = view.operation
        if operation.name == "arith.constant":
            # There may be more constants than other operations.
            continue
        has_regions = len(operation.regions) > 0
        step = _step(operation, has_regions)
        _, operands, captured, results = step
        if not (values.isdisjoint(operands) and values.isdisjoint(captured)):
            depending.update(dict.fromkeys(results, step))
        if has_regions:
            unused += unused_in(operation)
        elif not are_used(results):
            unused.append(operation)
    return depending, unused


def unused_in(root: Operation) -> list[Operation]:
    """Return an operation and the operations in it, if all of their results are unused."""
    operations: list[Operation] = []

    @fragile
    def visit(operation: Operation) -> object:
        if not is_used(operation):
            operations.append(operation)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return operations


def steps_to(ys: Sequence[Value], known: Iterable[Value], step_of: StepMaking = step_making) -> Iterator[Step]:
    """Yield the operations that compute values from known ones, each after the producers of its operands."""
    done = set(known)
    waiting: list[Value | Step] = list(reversed(ys))
    while waiting:
        following = waiting.pop()
        if isinstance(following, tuple):
            # Steps for the operands have been yielded.
            yield following
        elif following not in done and (step := step_of(following)) is not None:
            done.update(step[3])
            waiting.append(step)
            waiting += step[1]
            waiting += step[2]
