# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of products with few rows, a vector times a matrix: each element of the matrix is read once, by one thread.

Nothing is worth a copy to shared memory, so threads share the steps of the reduction, too. At last they put together
what each of them has summed, pair by pair.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Value
from ....emit import loops
from ....emit.numbers import Number, as_index, number
from ....passes.schedule.combiner import combiners
from ....passes.schedule.vector_body import Lanes
from .group import Group
from .kernel import Kernel
from .memory import elements, load, shared_memory, store, wait_for_block
from .places import lanes_along, place


class StripKernel(Kernel):
    """Threads along the columns and the steps: the last of the plan's `threads` are neighbours."""

    def __init__(self, group: Group, block: Number, thread: Number):
        plan = group.plan
        steps = plan.order[-1]
        along = dict(plan.threads)
        if plan.threads[-1][0] == steps:
            self._column, self._part = thread // along[steps], thread % along[steps]
        else:
            self._column, self._part = thread % along[plan.vector], thread // along[plan.vector]
        super().__init__(group, block, thread)
        (self._combiner,) = combiners(self.op)
        self._parts = along[steps]
        #: Steps that a thread takes at once.
        self._unit = plan.tile.get(steps, 1)

    def row_places(self) -> list[Number]:
        return [as_index(row) for row in range(self.tile.rows_of_thread)]

    def vector_places(self) -> list[Number]:
        across = self.tile.threads_along(self.tile.columns) * self.tile.lanes
        mine = self._column * self.tile.lanes
        return [mine + vector * across for vector in range(self.tile.vectors_of_thread)]

    def write(self) -> None:
        self.read_fixed()
        first = self.results.first()
        lanes = Lanes(self.op, self.tile.lanes, self.results.hoisted)
        neutral = self._combiner.neutral()
        start = [neutral if self.tile.lanes == 1 else lanes.vector(neutral)] * len(first)
        begin, size = self._part * self._unit, self.loops.size(self.tile.steps)
        sums = loops.for_range(begin, size, self._steps, *start, step=self._parts * self._unit)
        sums = self._together(sums)

        def finish() -> None:
            self.results.write([self._combiner.apply(*pair) for pair in zip(first, sums, strict=True)])

        loops.when(self._part == 0, finish)

    def _steps(self, first: Number, *sums: Value) -> list[Value]:
        """The sums with what a thread's next steps give."""
        read: dict[tuple[int, int, int], list[Value]] = {}
        for operand in range(self.op.input_count):
            for row in range(self.tile.rows_of_thread):
                for vector in range(self.tile.vectors_of_thread):
                    key = self._key(operand, row, vector)
                    if self.changes_by_steps(operand) and key not in read:
                        read[key] = self._read_steps(operand, row, vector, first)
        found = list(sums)
        lanes = Lanes(self.op, self.tile.lanes, self.results.hoisted)
        for step in range(self._unit):
            for position, value in enumerate(found):
                row, vector = divmod(position, self.tile.vectors_of_thread)
                arguments = [
                    read[key][step]
                    if (key := self._key(operand, row, vector)) in read
                    else self.fixed[operand, row, vector]
                    for operand in range(self.op.input_count)
                ]
                found[position] = self.evaluated(lanes, arguments, value)
        return found

    def _key(self, operand: int, row: int, vector: int) -> tuple[int, int, int]:
        """What tells apart an input's elements that a thread reads."""
        chains = self.tile.plan.joined
        by_row = self.tile.rows is not None and any(self.op.uses(operand, dim) for dim in chains[self.tile.rows])
        by_column = any(self.op.uses(operand, dim) for dim in chains[self.tile.columns])
        return operand, row if by_row else 0, vector if by_column else 0

    def _read_steps(self, operand: int, row: int, vector: int, first: Number) -> list[Value]:
        memref, access, steps = self.op.operands[operand], self.op.accesses[operand], self.tile.steps
        chains = self.tile.plan.joined
        is_near = lanes_along(self.op, operand, access, memref, chains[steps]) >= self._unit
        by_column = any(self.op.uses(operand, dim) for dim in chains[self.tile.columns])
        if is_near and not (by_column and self.tile.lanes > 1):
            indices = {**self.results.indices(row, vector), **self.loops.taken_apart(steps, first)}
            return elements(load(memref, place(access, indices), self._unit))
        each = [self.loops.taken_apart(steps, first + step) for step in range(self._unit)]
        return [self.results.read(memref, access, row, vector, indices) for indices in each]

    def _together(self, sums: Sequence[Value]) -> list[Value]:
        """The sums of all threads with the same columns, which the first of them has at last."""
        if self._parts == 1:
            return list(sums)
        lanes, columns = self.tile.lanes, self.tile.threads_along(self.tile.columns)
        memory = shared_memory(self.op.operation, [self._parts, len(sums), columns * lanes], self._combiner.element)
        mine = self._column * lanes
        for slot, value in enumerate(sums):
            store(value, memory, [self._part, slot, mine])
        apart = self._parts // 2
        while apart:
            wait_for_block()
            loops.when(self._part < apart, lambda apart=apart: self._add(memory, len(sums), mine, apart))
            apart //= 2
        return [load(memory, [self._part, slot, mine], lanes) for slot in range(len(sums))]

    def _add(self, memory: Value, slots: int, mine: Number, apart: int) -> None:
        for slot in range(slots):
            pair = [load(memory, [part, slot, mine], self.tile.lanes) for part in (self._part, self._part + apart)]
            store(number(self._combiner.apply(*pair)), memory, [self._part, slot, mine])
