# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The way from some values to others: operations in an order in which each comes after those whose results it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...bindings.ir import Block, Operation, Value
from ...bindings.navigation import made_by, used_inside

#: An operation, its operands, what else it uses inside, and its results: each is read once.
Step = tuple[Operation, list[Value], list[Value], list[Value]]
#: Gives what makes a value, if it counts.
StepMaking = Callable[[Value], Step | None]


def step_making(value: Value) -> Step | None:
    operation = made_by(value)
    return None if operation is None else _step(operation)


def _step(operation: Operation) -> Step:
    captured = used_inside(operation) if len(operation.regions) else []
    return operation, list(operation.operands), captured, list(operation.results)


def depending(block: Block, xs: Iterable[Value]) -> dict[Value, Step]:
    """The operations of a block that depend on the xs, by what they give."""
    found: dict[Value, Step] = {}
    waiting = list(xs)
    while waiting:
        for use in waiting.pop().uses:
            operation = use.owner.operation
            while operation.block != block:
                operation = operation.parent.operation
            step = _step(operation)
            if found.keys().isdisjoint(step[3]):
                found.update(dict.fromkeys(step[3], step))
                waiting += step[3]
    return found


def steps_to(ys: Sequence[Value], known: Iterable[Value], step_of: StepMaking = step_making) -> Iterator[Step]:
    """The operations that compute values out of known ones, each after those whose results it uses."""
    done = set(known)
    waiting: list[Any] = list(reversed(ys))
    while waiting:
        following = waiting.pop()
        if type(following) is tuple:
            # Its operands have been made.
            yield following
        elif following not in done and (step := step_of(following)) is not None:
            done.update(step[3])
            waiting.append(step)
            waiting += step[1]
            waiting += step[2]
