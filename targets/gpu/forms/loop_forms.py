# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads, written, blocks: loops with steps that threads or blocks share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_in, operations_of
from ....dialects.core.ir_attributes import THREADS as THREADS_OF_STEP
from ....emit.loops import when
from ....emit.numbers import Number, ceil_divided, number
from ..emit.threads import WARP, block_id, thread_of_grid
from ..kernels.own_memory import own_memory
from ..parallel_work import has_work, is_shared, is_structured, is_work
from ..unplanned.blocks import Together
from ..unplanned.points import Points
from .form import Form, Group, Limits, SharedLoop

#: Minimum steps per thread before a block gets more threads.
_STEPS = 4
#: Most bytes of an allocation in a thread's own memory.
_THREAD_BYTES = 256


@dataclass(frozen=True)
class _LoopForm(Form):
    loop: Operation
    steps: Number

    @classmethod
    def of(cls, group: Group, limits: Limits) -> _LoopForm | None:
        if not isinstance(group, SharedLoop) or not cls.matches(group.op):
            return None
        return cls([group.op], limits, group.op, group.steps)

    @staticmethod
    @abstractmethod
    def matches(loop: Operation) -> bool:
        """Check whether a loop has this form, and none of those before it."""

    def blocks(self) -> Number:
        return self.steps


class WrittenForm(_LoopForm):
    """N threads for each step, in a loop of code that states the work of each thread (`tir.threads`)."""

    name = "written"

    @staticmethod
    def matches(loop: Operation) -> bool:
        return THREADS_OF_STEP in loop.attributes

    @property
    def threads(self) -> int:
        return int(self.loop.attributes[THREADS_OF_STEP].value)

    @classmethod
    def write(cls, kernel: Operation) -> None:
        _write_step_of_block(kernel)


class BlocksForm(_LoopForm):
    """A block for each step, in a loop around linalg operations or loops marked `tir.parallel`."""

    name = "blocks"

    @staticmethod
    def matches(loop: Operation) -> bool:
        return has_work(loop)

    @property
    def threads(self) -> int:
        shared = [op for op in operations_in(self.loop, is_work) if is_work(op)]
        return _threads_for(shared, self.limits.threads)

    def own_memory(self) -> list[Value]:
        return own_memory(self.loop, self.steps, self.limits.own_bytes)

    @classmethod
    def write(cls, kernel: Operation) -> None:
        _write_step_of_block(kernel)
        Together(kernel).share(body_of(kernel))


class ThreadsForm(_LoopForm):
    """A thread for each step, in a loop marked `tir.parallel`."""

    name = "threads"

    @staticmethod
    def matches(loop: Operation) -> bool:
        return True

    def blocks(self) -> Number:
        return ceil_divided(self.steps, self.threads)

    def own_memory(self) -> list[Value]:
        return own_memory(self.loop, self.steps, _THREAD_BYTES, is_of_thread=True)

    @classmethod
    def write(cls, kernel: Operation) -> None:
        (loop,) = shared_loops_in(kernel)
        first, last, step = map(number, loop.operands)
        with loop.location, ir.InsertionPoint(loop):
            place = first + thread_of_grid(kernel) * step
            when(place < last, lambda: take_body(loop, place))
        loop.erase()


def _threads_for(ops: Sequence[Operation], most: int) -> int:
    """Return the number of threads that share operations: a warp, or more if each thread has several steps."""
    if not all(map(is_structured, ops)):
        return most
    counts = [points.known_count(range(len(points.kinds))) for points in map(Points, ops)]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return most
    threads = WARP
    while threads < most and threads * _STEPS < max(known):
        threads *= 2
    return threads


def _write_step_of_block(kernel: Operation) -> None:
    (loop,) = shared_loops_in(kernel)
    first, _, step = map(number, loop.operands)
    with loop.location, ir.InsertionPoint(loop):
        take_body(loop, first + block_id() * step)
    loop.erase()


def shared_loops_in(kernel: Operation) -> list[Operation]:
    return [operation for operation in operations_of(body_of(kernel)) if is_shared(operation)]


def take_body(loop: Operation, place: Value) -> None:
    """Move the operations of a loop's body to the insertion point, for the step `place`."""
    block = body_of(loop)
    block.arguments[0].replace_all_uses_with(place)
    point = ir.InsertionPoint.current
    for op in operations_of(block)[:-1]:
        point.insert(op.detach_from_parent())
