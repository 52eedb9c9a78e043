# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of a thread in registers: initial values, epilogues and stores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ....bindings.affine import Linear
from ....bindings.ir import Value
from ....emit import loops
from ....emit.numbers import Number, minimum
from ....emit.structured import StructuredOp, is_scalar
from ....passes.kernels.schedule.vector_body import Lanes
from ..emit.memory_access import elements, gathered, load, store
from .group import PlannedGroup, Tile
from .index_arithmetic import Indices, Loops, index_of, is_multiple, lanes_along, place


class Points(NamedTuple):
    """Rows and column vectors of a thread's results, as indices of the whole result. Some may be out of range."""

    rows: Sequence[Number]
    vectors: Sequence[Number]


class Results:
    """Results of a thread: per row one vector for each of its columns, or a scalar if vectors have one lane."""

    def __init__(self, group: PlannedGroup, tile: Tile, loops_: Loops, batch: Indices, points: Points, inside: Points):
        self.group = group
        self.op = group.op
        self.tile = tile
        self.loops = loops_
        self.batch = batch
        self.points = points
        self._rows = [loops_.taken_apart(tile.rows, row) for row in inside.rows]
        # All of them are computed here, because a value computed in a branch is not visible elsewhere.
        self._vectors = [[self._lane(vector, lane) for lane in range(tile.lanes)] for vector in inside.vectors]
        self.hoisted: dict[object, Value] = {}

    def _lane(self, vector: Number, lane: int) -> Indices:
        size = self.loops.size(self.tile.columns)
        is_whole = lane == 0 or is_multiple(size, self.tile.lanes)
        return self.loops.taken_apart(
            self.tile.columns, vector + lane if is_whole else minimum(vector + lane, size - 1)
        )

    def indices(self, row: int, vector: int, lane: int = 0) -> dict[int, Number]:
        """Return the indices of the parallel loops at a result. Results out of range map to some valid result."""
        return {**self.batch, **self._rows[row], **self._vectors[vector][lane]}

    # ---- reading ----

    def read(self, memref: Value, access: Sequence[Linear], row: int, vector: int, steps: Indices) -> Value:
        """Load an operand for a thread's result: a scalar if all lanes have the same element, else a vector."""
        if is_scalar(memref.type):
            return memref
        if not any(index.factor(dim) for index in access for dim in self.tile.plan.joined[self.tile.columns]):
            return load(memref, place(access, {**self.indices(row, vector), **steps}), 1)
        if self._lanes_along_columns(memref, access) >= self.tile.lanes:
            return load(memref, place(access, {**self.indices(row, vector), **steps}), self.tile.lanes)
        return gathered(
            self.tile.lanes, lambda lane: load(memref, place(access, {**self.indices(row, vector, lane), **steps}), 1)
        )

    def _lanes_along_columns(self, memref: Value, access: Sequence[Linear]) -> int:
        return lanes_along(self.op, access, memref, self.tile.plan.joined[self.tile.columns])

    def first(self) -> list[Value]:
        """Return the initial values of the sums, row by row."""
        count = self.tile.rows_of_thread * self.tile.vectors_of_thread
        lanes = Lanes(self.op, self.tile.lanes, self.hoisted)
        if self.group.initial is not None:
            return [self._whole(self.group.initial, lanes)] * count
        (output,), (access,) = self.op.outputs, self.op.output_accesses
        return [
            self._whole(self.read(output, access, row, vector, {}), lanes)
            for row in range(self.tile.rows_of_thread)
            for vector in range(self.tile.vectors_of_thread)
        ]

    def _whole(self, value: Value, lanes: Lanes) -> Value:
        return value if self.tile.lanes == 1 else lanes.vector(value)

    # ---- writing ----

    def write(self, sums: Sequence[Value]) -> None:
        """Apply the epilogues to each sum and store the results in the output of the last operation."""
        sizes = [self.loops.size(chain) for chain in (self.tile.rows, self.tile.columns)]
        vectors = self.tile.vectors_of_thread
        for row in range(self.tile.rows_of_thread):
            mine = sums[row * vectors : (row + 1) * vectors]
            is_inside = is_multiple(sizes[0], self.tile.height) or self.points.rows[row] < sizes[0]
            loops.when_all([is_inside], partial(self._write_row, row, mine))

    def _write_row(self, row: int, sums: Sequence[Value]) -> None:
        size = self.loops.size(self.tile.columns)
        for vector, value in enumerate(sums):
            is_inside = is_multiple(size, self.tile.width) or self.points.vectors[vector] < size
            loops.when_all([is_inside], partial(self._write, row, vector, value))

    def _write(self, row: int, vector: int, value: Value) -> None:
        memref, access = self.op.outputs[0], self.op.output_accesses[0]
        for consumer in self.group.epilogues:
            loops_of = _loops_of(consumer, memref, access)
            accesses = [tuple(index.renumbered(loops_of) for index in each) for each in consumer.accesses]
            arguments = [
                value if operand == memref else self.read(operand, theirs, row, vector, {})
                for operand, theirs in zip(consumer.operands[: consumer.input_count], accesses, strict=False)
            ]
            lanes = Lanes(consumer, self.tile.lanes, self.hoisted)
            (value,) = lanes.evaluate([*arguments, None], index_of({}))
            memref, access = consumer.outputs[0], accesses[-1]
        self._store(self._whole(value, Lanes(self.op, self.tile.lanes, self.hoisted)), memref, access, row, vector)

    def _store(self, value: Value, memref: Value, access: Sequence[Linear], row: int, vector: int) -> None:
        size, lanes = self.loops.size(self.tile.columns), self.tile.lanes
        if lanes == 1 or self._lanes_along_columns(memref, access) >= lanes:
            store(value, memref, place(access, self.indices(row, vector)))
            return
        for lane, element in enumerate(elements(value)):
            at = place(access, self.indices(row, vector, lane))
            is_inside = lane == 0 or is_multiple(size, lanes) or self.points.vectors[vector] + lane < size
            loops.when_all([is_inside], partial(store, element, memref, at))


def _loops_of(consumer: StructuredOp, result: Value, access: Sequence[Linear]) -> dict[int, int]:
    """Map each loop of a consumer to the reduction's loop."""
    position = list(consumer.operands).index(result)
    pairs = zip(consumer.accesses[position], access, strict=True)
    return {theirs.dim: ours.dim for theirs, ours in pairs if theirs.dim is not None and ours.dim is not None}
