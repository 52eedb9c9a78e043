# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of products with few rows, such as vector times matrix: one thread reads each matrix element once.

No element is reused, so copies to shared memory do not pay off. Threads also share the reduction's steps, and combine
their sums pairwise at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Value
from ....emit import loops
from ....emit.combiner import combiners
from ....emit.numbers import Number, as_index, number
from ....passes.kernels.schedule.vector_body import Lanes
from ..emit.memory_access import load, shared_memory, store, wait_for_block
from .dequantized_operand import made_of
from .group import PlannedGroup
from .index_arithmetic import Indices, index_of
from .kernel import Kernel
from .step_vectors import Unit


class StripKernel(Kernel):
    """Threads along the columns and the steps. The last loop of the plan's `threads` varies fastest."""

    def __init__(self, group: PlannedGroup, block: Number, thread: Number):
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
        self._unit = Unit(self.op, self.loops, steps, plan.tile.get(steps, 1))
        matrix = [operand for operand in range(self.op.input_count) if self._is_along(operand, self.tile.columns)]
        self._made = next((made for operand in matrix if (made := made_of(self.op, operand))), None)

    def row_places(self) -> list[Number]:
        return [as_index(row) for row in range(self.tile.rows_of_thread)]

    def column_of_thread(self) -> Number:
        return self._column

    def write(self) -> None:
        self.read_fixed()
        first = self.results.first()
        lanes = Lanes(self.op, self.tile.lanes, self.results.hoisted)
        neutral = self._combiner.neutral()
        start = [neutral if self.tile.lanes == 1 else lanes.vector(neutral)] * len(first)
        size, (part, parts) = self.loops.size(self.tile.steps), self.part or (0, 1)
        unit = self._unit.count
        begin = (self._part + part * self._parts) * unit
        sums = loops.for_range(begin, size, self._steps, *start, step=parts * (self._parts * unit))
        sums = self._together(sums)

        def finish() -> None:
            self.results.write([self._combiner.apply(*pair) for pair in zip(first, sums, strict=True)])

        loops.when(self._part == 0, finish)

    def _steps(self, first: Number, *sums: Value) -> list[Value]:
        """Add the products of a thread's next steps to the sums."""
        read: dict[tuple[int, int, int], list[Value]] = {}
        places = self._unit.places(first)
        for operand in range(self.op.input_count):
            for row in range(self.tile.rows_of_thread):
                for vector in range(self.tile.vectors_of_thread):
                    key = self._key(operand, row, vector)
                    if self.changes_by_steps(operand) and key not in read:
                        read[key] = self._read_steps(operand, row, vector, places)
        steps = list(sums)
        lanes = Lanes(self.op, self.tile.lanes, self.results.hoisted)
        for step in range(self._unit.count):
            values: dict[int, Value] = {}
            for position, value in enumerate(steps):
                row, vector = divmod(position, self.tile.vectors_of_thread)
                # The body does not use an input that is neither read in a step nor fixed.
                arguments = [
                    read[key][step]
                    if (key := self._key(operand, row, vector)) in read
                    else self.fixed.get((operand, row, vector))
                    for operand in range(self.op.input_count)
                ]
                factors = {}
                if self._made is not None:
                    if vector not in values:
                        given, wanted = [*arguments, None], [self._made.value]
                        (values[vector],) = lanes.evaluate(given, index_of(places[step]), wanted=wanted)
                    factors = {self._made.value: values[vector]}
                steps[position] = self.evaluated(lanes, arguments, value, places[step], factors)
        return steps

    def _key(self, operand: int, row: int, vector: int) -> tuple[int, int, int]:
        """Return a key that distinguishes the elements of an input that a thread reads."""
        by_row, by_column = (self._is_along(operand, chain) for chain in (self.tile.rows, self.tile.columns))
        return operand, row if by_row else 0, vector if by_column else 0

    def _is_along(self, operand: int, chain: int | None) -> bool:
        return chain is not None and any(self.op.uses(operand, dim) for dim in self.tile.plan.joined[chain])

    def _read_steps(self, operand: int, row: int, vector: int, places: Sequence[Indices]) -> list[Value]:
        if self.tile.lanes == 1 or not self._is_along(operand, self.tile.columns):
            return self._unit.read(operand, self.results.indices(row, vector), places)
        memref, access = self.op.operands[operand], self.op.accesses[operand]
        return [self.results.read(memref, access, row, vector, indices) for indices in places]

    def _together(self, sums: Sequence[Value]) -> list[Value]:
        """Combine the sums of all threads with the same columns. The first of these threads receives the result."""
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
