# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Staging of input blocks in shared memory by all threads of a block, with coalesced loads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from ....bindings.affine import Linear
from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....bindings.navigation import operations_of
from ....bindings.rewriting import Decline
from ....emit import loops
from ....emit.arithmetic import constant_value
from ....emit.memrefs import storage_bytes
from ....emit.numbers import Number, Size, minimum, number, select
from ....emit.structured import StructuredOp, is_scalar
from ....emit.vectors import from_elements
from ....passes.kernels.schedule.plan import Plan
from ....passes.kernels.schedule.vector_body import Lanes
from ...core.machine import Machine
from ..emit.memory_access import elements, gathered, load, loaded_type, store
from .dequantized_operand import Dequantized, made_of
from .group import GAP_BYTES, Tile, side_of
from .index_arithmetic import Indices, Loops, clamped, index_of, is_multiple, lanes_along, place
from .step_vectors import Unit, extents_of, steps_at_once, steps_of_code

X = TypeVar("X")
#: Bytes that a thread loads at once.
_VECTOR_BYTES = Machine.thread_bytes


@dataclass(frozen=True)
class Origin:
    """Origin of a block's rectangle in the result, and the block's batch indices."""

    starts: dict[int, Number]
    batch: Indices


class Move(NamedTuple):
    """Copy of adjacent elements to shared memory by a thread."""

    source: list[Number]
    target: list[Size]
    #: Condition that the step of the reduction exists; None if it always does.
    has_step: Number | None
    #: Condition that the thread has an element to copy; None if each thread has one.
    is_some: Number | None


class Staged:
    """An input with a rectangle in shared memory per block. Its rows consist of steps, or of points of its side."""

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
        #: Value of the body that the elements in shared memory represent.
        self.factor: Value = op.block.arguments[operand]
        #: The chain along which a thread loads adjacent elements, and their number.
        self.along, self.lanes = self._neighbours()
        #: True if rows in shared memory consist of steps. By default the layout is that of memory.
        self.steps_last = self.along == tile.steps if steps_last is None else steps_last

    def _neighbours(self) -> tuple[int, int]:
        lanes = {chain: self._lanes_along(chain) for chain in (self.side, self.tile.steps)}
        along = self._fastest(lanes)
        return along, lanes[along]

    def _lanes_along(self, chain: int) -> int:
        lanes = lanes_along(self.op, self.access, self.memref, self.tile.plan.joined[chain])
        while self.tile.extent(chain) % lanes:
            lanes //= 2
        return lanes

    def _fastest(self, lanes: dict[int, int]) -> int:
        """Return the chain with the wider vectors, or the chain with the smaller stride for equal vectors."""
        if lanes[self.side] != lanes[self.tile.steps]:
            return max(lanes, key=lambda chain: lanes[chain])
        last = self.access[-1]
        steps = [dim for dim in self.tile.plan.joined[self.tile.steps] if self.op.sizes[dim] != 1]
        return self.tile.steps if steps and last.factor(steps[-1]) == 1 else self.side

    @property
    def keeps_neighbours(self) -> bool:
        """Check whether elements that are contiguous in memory are contiguous in shared memory, too."""
        return (self.along == self.tile.steps) == self.steps_last

    @property
    def shape(self) -> list[int]:
        """Shape of one stage in shared memory."""
        outer, inner = (self.side, self.tile.steps) if self.steps_last else (self.tile.steps, self.side)
        return [self.tile.extent(outer), self.tile.extent(inner) + GAP_BYTES // storage_bytes(self.element)]

    def place_in_block(self, side: Size, step: Size) -> list[Size]:
        return [side, step] if self.steps_last else [step, side]

    @property
    def count(self) -> int:
        """Number of pieces that a block's threads copy.

        A piece consists of adjacent elements that one thread copies at once.
        """
        return self.tile.extent(self.side) * self.tile.extent(self.tile.steps) // self.lanes

    def _units(self, thread: Number) -> list[tuple[Number | None, Number, Number]]:
        """Return a thread's pieces as (number, point of the side, step).

        The number is None if all threads copy equally many pieces.
        """
        across = self.side if self.along == self.tile.steps else self.tile.steps
        per_line, lines = self.tile.extent(self.along) // self.lanes, self.tile.extent(across)
        has_rest = self.count % self.tile.threads != 0
        own = thread // per_line, thread % per_line * self.lanes
        units = []
        for first in range(0, self.count, self.tile.threads):
            if first % per_line == 0:
                line, start = own[0] + first // per_line, own[1]
            else:
                line, start = (thread + first) // per_line, (thread + first) % per_line * self.lanes
            # A thread without a piece repeats the loads of another thread.
            line = minimum(line, lines - 1) if has_rest else line
            where = (line, start) if self.along == self.tile.steps else (start, line)
            units.append((thread + first if has_rest else None, *where))
        return units

    def _is_some(self, unit: Number | None) -> Number | None:
        """Return the condition that a piece exists for the thread, or None if it always does."""
        return None if unit is None else unit < self.count

    def moves(self, origin: Origin, first_step: Number, thread: Number) -> list[Move]:
        """Return the thread's copies for the block of steps that begins at `first_step`."""
        point, apart = self._point(origin, first_step), _once(partial(self.loops.taken_apart, self.tile.steps))

        def move(unit: Number | None, side: Number, step: Number) -> Move:
            around, first, has_step = point(side, step)
            source = place(self.access, {**around, **apart(first)})
            return Move(source, self.place_in_block(side, step), has_step, self._is_some(unit))

        return [move(*unit) for unit in self._units(thread)]

    def _point(
        self, origin: Origin, first_step: Number
    ) -> Callable[[Number, Number], tuple[Indices, Number, Number | None]]:
        """Return a function from a side and a step in the block to indices.

        They are the indices of the parallel loops, the step of the reduction, and the condition that the step exists.
        """
        of_side, of_steps = (self.lanes if chain == self.along else 1 for chain in (self.side, self.tile.steps))
        size, steps, depth = self.loops.size(self.side), self.loops.size(self.tile.steps), self.tile.depth

        @_once
        def around(side: Number) -> Indices:
            point = clamped(origin.starts[self.side] + side, size, self.tile.extent(self.side), of_side)
            return {**origin.batch, **self.loops.taken_apart(self.side, point)}

        @_once
        def of_step(index: Number) -> tuple[Number, Number | None]:
            has_step = None if is_multiple(steps, depth) else index < steps
            return clamped(index, steps, depth, of_steps), has_step

        index = _once(lambda step: first_step + step)

        def point(side: Number, step: Number) -> tuple[Indices, Number, Number | None]:
            at = index(step)
            return around(side), *of_step(at)

        return point

    def fetch(self, origin: Origin, first_step: Number, thread: Number) -> list[Value]:
        """Load the thread's pieces into registers, with zeros beyond the last step."""
        found = []
        for move in self.moves(origin, first_step, thread):
            value = load(self.memref, move.source, self.lanes)
            if move.has_step is not None:
                value = select(move.has_step, number(value), number(constant_value(0, value.type))).value
            found.append(value)
        return found

    def put(self, values: Sequence[Value], memory: Value, stage: Size, thread: Number) -> None:
        """Store the loaded pieces in a stage of shared memory."""
        units = self._units(thread)
        each = len(values) // len(units)
        for position, (unit, side, step) in enumerate(units):
            value = self._finished(values[position * each : (position + 1) * each])
            loops.when_all([self._is_some(unit)], partial(self._put, value, memory, stage, side, step))

    def _finished(self, fetched: Sequence[Value]) -> Value:
        """Return the value of a piece that is stored in shared memory."""
        (value,) = fetched
        return value

    def _put(self, value: Value, memory: Value, stage: Size, side: Size, step: Size) -> None:
        if self.keeps_neighbours:
            store(value, memory, [stage, *self.place_in_block(side, step)])
            return
        for lane, element in enumerate(elements(value)):
            moved = (side, step + lane) if self.along == self.tile.steps else (side + lane, step)
            store(element, memory, [stage, *self.place_in_block(*moved)])

    @property
    def types(self) -> list[ir.Type]:
        """Types of the values that a thread loads."""
        return self._types_of_unit() * -(-self.count // self.tile.threads)

    def _types_of_unit(self) -> list[ir.Type]:
        return [loaded_type(self.element, self.lanes)]


class MadeStaged(Staged):
    """Quantized input with dequantized values in shared memory. Each thread dequantizes the elements that it copies."""

    def __init__(
        self, op: StructuredOp, tile: Tile, loops_: Loops, made: Dequantized, side: int, steps_last: bool | None = None
    ):
        self.made = made
        self.hoisted: dict[object, Value] = {}
        super().__init__(op, tile, loops_, made.operands[0], side, steps_last)
        self.factor, self.element = made.value, made.value.type

    def _neighbours(self) -> tuple[int, int]:
        chain = self.tile.steps
        if self.op.last_dim(self.operand) not in self.tile.plan.joined[chain]:
            lanes = self._lanes_along(self.side)
            self.unit = Unit(self.op, self.loops, chain, 1)
            return self.side, lanes
        self.unit = Unit(self.op, self.loops, chain, unit_of_codes(self.op, self.tile, self.operand, self.side))
        return chain, self.unit.count

    def fetch(self, origin: Origin, first_step: Number, thread: Number) -> list[Value]:
        values: list[Value] = []
        point = self._point(origin, first_step)
        for _, side, step in self._units(thread):
            around, first, has_step = point(side, step)
            places = self.unit.places(first)
            for operand in self.made.operands:
                firsts, lanes = self._loads(operand)
                access, memref = self.op.accesses[operand], self.op.operands[operand]
                values += [self._load(memref, access, {**around, **places[each]}, lanes) for each in firsts]
            values += [] if has_step is None else [has_step.value]
        return values

    def _loads(self, operand: int) -> tuple[list[int], int]:
        """Return the steps of a unit at which vectors begin, and their lanes, along the steps or the side."""
        if self.along == self.tile.steps:
            return self.unit.loads(operand)
        changes = any(self.op.uses(operand, dim) for dim in self.tile.plan.joined[self.side])
        return [0], self.lanes if changes else 1

    def _load(self, memref: Value, access: Sequence[Linear], indices: Indices, lanes: int) -> Value:
        chain = self.tile.plan.joined[self.side]
        if lanes == 1 or self.along == self.tile.steps or lanes_along(self.op, access, memref, chain) >= lanes:
            return memref if is_scalar(memref.type) else load(memref, place(access, indices), lanes)
        last = next(dim for dim in reversed(chain) if self.op.sizes[dim] != 1)
        at = [{**indices, last: indices[last] + lane} for lane in range(lanes)]
        return gathered(lanes, lambda lane: load(memref, place(access, at[lane]), 1))

    def _types_of_unit(self) -> list[ir.Type]:
        is_whole = is_multiple(self.loops.size(self.tile.steps), self.tile.depth)
        loads = [(operand, *self._loads(operand)) for operand in self.made.operands]
        types = [loaded_type(self.op.element(operand), lanes) for operand, firsts, lanes in loads for _ in firsts]
        return [*types, *([] if is_whole else [ir.IntegerType.get_signless(1)])]

    def _finished(self, fetched: Sequence[Value]) -> Value:
        left, read = list(fetched), dict[int, Sequence[Value]]()
        for operand in self.made.operands:
            count = len(self._loads(operand)[0])
            read[operand] = left[:count]
            del left[:count]
        value = self._evaluate_steps(read) if self.along == self.tile.steps else self._evaluate_side(read)
        if left:
            value = select(number(left[0]), number(value), number(constant_value(0, value.type))).value
        return value

    def _evaluate_steps(self, read: Mapping[int, Sequence[Value]]) -> Value:
        of_steps = {operand: self.unit.of_steps(operand, values) for operand, values in read.items()}
        lanes = Lanes(self.op, 1, self.hoisted)
        made = [
            self._evaluate(lanes, {operand: values[step] for operand, values in of_steps.items()}, places)
            for step, places in enumerate(self.unit.known_places())
        ]
        return made[0] if len(made) == 1 else from_elements(made)

    def _evaluate_side(self, read: Mapping[int, Sequence[Value]]) -> Value:
        lanes = Lanes(self.op, self.lanes, self.hoisted)
        made = self._evaluate(lanes, {operand: values[0] for operand, values in read.items()}, {})
        return made if self.lanes == 1 else lanes.vector(made)

    def _evaluate(self, lanes: Lanes, read: Mapping[int, Value], steps: Indices) -> Value:
        arguments = [read.get(place) for place in range(len(self.op.block.arguments))]
        return lanes.evaluate(arguments, index_of(steps), wanted=[self.factor])[0]


def check_made(op: StructuredOp, plan: Plan) -> None:
    """Raise Decline if dequantization depends on an index in a block that the thread does not know."""
    tile = Tile(plan)
    asked = [inner.attributes["dim"].value for inner in operations_of(op.block) if inner.name == "linalg.index"]
    for operand in plan.shared:
        if (side := side_of(op, tile, operand)) is None or made_of(op, operand) is None:
            continue
        is_along = op.last_dim(operand) in plan.joined[tile.steps]
        count = unit_of_codes(op, tile, operand, side) if is_along else 1
        extents = extents_of(op, plan.joined[tile.steps], count)
        for dim in asked:
            if op.sizes[dim] not in (1, extents.get(dim)):
                raise Decline(f"blocks of {tile.depth} steps split loop {dim}, and the body uses its index")


def unit_of_codes(op: StructuredOp, tile: Tile, operand: int, side: int) -> int:
    """Return the number of steps that a thread takes at once.

    The codes fill a thread's load, unless other threads would have no work.
    """
    steps = tile.plan.joined[tile.steps]
    most = min(_VECTOR_BYTES // storage_bytes(op.element(operand)) * steps_of_code(op, operand, steps), tile.depth)
    while most > 1 and tile.extent(side) * tile.depth // most < tile.threads:
        most //= 2
    return math.gcd(steps_at_once(op, steps, most), tile.depth)


def _once(make: Callable[[Number], X]) -> Callable[[Number], X]:
    """Memoize a function of a number, because the copies of a thread share sides or steps."""
    made: dict[Value, X] = {}

    def of(index: Number) -> X:
        if index.value not in made:
            made[index.value] = make(index)
        return made[index.value]

    return of
