# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Brings blocks of an input into shared memory, by all threads of a block together: neighbours load neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....emit import loops
from ....emit.arithmetic import constant_value
from ....emit.numbers import Number, Size, as_index, number, select
from ....emit.structured import StructuredOp
from ....passes.lower_calls.memrefs import storage_bytes
from .group import GAP_BYTES, Tile
from .memory import elements, load, store
from .places import Indices, Loops, clamped, is_multiple, lanes_along, place


@dataclass(frozen=True)
class Origin:
    """Where a block's rectangle of the result begins, and its batch."""

    starts: dict[int, Number]
    batch: Indices


class Move(NamedTuple):
    """Neighbours that a thread brings to shared memory at once."""

    source: list[Number]
    target: list[Size]
    #: Whether there is such a step of the reduction; None where there always is.
    has_step: Number | None
    #: Whether the thread has something to bring; None where each has.
    is_some: Number | None


class Staged:
    """An input of which each block has a rectangle in shared memory: rows of steps, or of its own side's points."""

    def __init__(
        self, op: StructuredOp, tile: Tile, loops_: Loops, operand: int, side: int, steps_last: bool | None = None
    ):
        self.op = op
        self.tile = tile
        self.loops = loops_
        self.operand = operand
        self.side = side
        self.access = op.accesses[operand]
        self.memref = op.operands[operand]
        self.element = op.element(operand)
        lanes = {chain: self._lanes_along(chain) for chain in (side, tile.steps)}
        #: The chain along which a thread loads neighbours, and how many.
        self.along = self._fastest(lanes)
        self.lanes = lanes[self.along]
        #: Whether rows in shared memory are of steps; where nobody asks for either, as they lie in memory.
        self.steps_last = self.along == tile.steps if steps_last is None else steps_last

    def _lanes_along(self, chain: int) -> int:
        lanes = lanes_along(self.op, self.operand, self.access, self.memref, self.tile.plan.joined[chain])
        while self.tile.extent(chain) % lanes:
            lanes //= 2
        return lanes

    def _fastest(self, lanes: dict[int, int]) -> int:
        """Where no vectors can be had, the chain whose steps are the shortest in memory."""
        if lanes[self.side] != lanes[self.tile.steps]:
            return max(lanes, key=lambda chain: lanes[chain])
        last = self.access[-1]
        steps = [dim for dim in self.tile.plan.joined[self.tile.steps] if self.op.sizes[dim] != 1]
        return self.tile.steps if steps and last.factor(steps[-1]) == 1 else self.side

    @property
    def keeps_neighbours(self) -> bool:
        """Whether what lies side by side in memory does so in shared memory, too."""
        return (self.along == self.tile.steps) == self.steps_last

    @property
    def shape(self) -> list[int]:
        """In shared memory, of one stage."""
        outer, inner = (self.side, self.tile.steps) if self.steps_last else (self.tile.steps, self.side)
        return [self.tile.extent(outer), self.tile.extent(inner) + GAP_BYTES // storage_bytes(self.element)]

    def place_in_block(self, side: Size, step: Size) -> list[Size]:
        return [side, step] if self.steps_last else [step, side]

    def _units(self, thread: Number) -> list[tuple[Number, Number, Number]]:
        """What a thread brings: a number below the count of all, the point of the side, and the step, of each."""
        across = self.side if self.along == self.tile.steps else self.tile.steps
        per_line = self.tile.extent(self.along) // self.lanes
        count = per_line * self.tile.extent(across)
        found = []
        for first in range(0, count, self.tile.threads):
            line, start = _divided(thread, first, per_line)
            start = start * self.lanes
            where = (line, start) if self.along == self.tile.steps else (start, line)
            found.append((thread + first, *where))
        return found

    def _is_some(self, unit: Number) -> Number | None:
        """Whether there is a unit for the thread; None where there always is."""
        count = self.tile.extent(self.side) * self.tile.extent(self.tile.steps) // self.lanes
        return None if count % self.tile.threads == 0 else unit < count

    def moves(self, origin: Origin, first_step: Number, thread: Number) -> list[Move]:
        """What the thread brings of the block that begins at a step."""
        return [self._move(origin, first_step, *unit) for unit in self._units(thread)]

    def _move(self, origin: Origin, first_step: Number, unit: Number, side: Number, step: Number) -> Move:
        of_side, of_steps = (self.lanes if chain == self.along else 1 for chain in (self.side, self.tile.steps))
        steps, index = self.loops.size(self.tile.steps), first_step + step
        point = clamped(
            origin.starts[self.side] + side, self.loops.size(self.side), self.tile.extent(self.side), of_side
        )
        inside = self.loops.taken_apart(self.tile.steps, clamped(index, steps, self.tile.depth, of_steps))
        indices = {**origin.batch, **self.loops.taken_apart(self.side, point), **inside}
        has_step = None if is_multiple(steps, self.tile.depth) else index < steps
        return Move(place(self.access, indices), self.place_in_block(side, step), has_step, self._is_some(unit))

    def fetch(self, origin: Origin, first_step: Number, thread: Number) -> list[Value]:
        """What the thread brings, in registers: zeros beyond the last step."""
        found = []
        for move in self.moves(origin, first_step, thread):
            value = load(self.memref, move.source, self.lanes)
            if move.has_step is not None:
                value = select(move.has_step, number(value), number(constant_value(0, value.type))).value
            found.append(value)
        return found

    def put(self, values: Sequence[Value], memory: Value, stage: Size, thread: Number) -> None:
        """What has been fetched, into a stage of shared memory."""
        for (unit, side, step), value in zip(self._units(thread), values, strict=True):
            is_some = self._is_some(unit)
            if is_some is None:
                self._put(value, memory, stage, side, step)
            else:
                loops.when(is_some, lambda v=value, s=side, k=step: self._put(v, memory, stage, s, k))

    def _put(self, value: Value, memory: Value, stage: Size, side: Size, step: Size) -> None:
        if self.keeps_neighbours:
            store(value, memory, [stage, *self.place_in_block(side, step)])
            return
        for lane, each in enumerate(elements(value)):
            moved = (side, _plus(step, lane)) if self.along == self.tile.steps else (_plus(side, lane), step)
            store(each, memory, [stage, *self.place_in_block(*moved)])

    @property
    def types(self) -> list[ir.Type]:
        """Of what a thread fetches."""
        count = self.tile.extent(self.side) * self.tile.extent(self.tile.steps) // self.lanes
        type_ = self.element if self.lanes == 1 else ir.VectorType.get([self.lanes], self.element)
        return [type_] * -(-count // self.tile.threads)


def _divided(thread: Number, first: int, length: int) -> tuple[Number, Number]:
    """Quotient and rest of a sum: of what is a multiple the rest is the thread's, the same for all that it brings."""
    if first % length == 0:
        return thread // length + first // length, thread % length
    return (thread + first) // length, (thread + first) % length


def _plus(left: Size, right: int) -> Size:
    return as_index(left) + right
