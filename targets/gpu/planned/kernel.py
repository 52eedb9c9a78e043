# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel of a product: a block of threads computes a rectangle of the result.

All threads copy blocks of the inputs to shared memory. Each thread keeps its sums in registers and applies the
epilogues there. Sizes need not be multiples of the tile. Beyond the last row and column a thread computes dead values;
beyond the last step inputs are zeros or steps are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ....bindings.ir import Value
from ....emit import loops
from ....emit.arithmetic import constant_value
from ....emit.combiner import combiners
from ....emit.numbers import Number, Size, as_index, ceil_divided, minimum
from ....emit.vectors import is_vector
from ....passes.kernels.schedule.vector_body import Lanes
from ..emit.memory_access import elements, load, shared_memory, wait_for_block
from .dequantized_operand import factor_of, inputs_of_none, made_of, narrowed
from .group import PlannedGroup, Tile, part_loop, side_of
from .index_arithmetic import Indices, Loops, clamped, index_of, is_multiple
from .register_results import Points, Results
from .staging import MadeStaged, Origin, Staged


def blocks_along(tile: Tile, chains: Loops, chain: int | None) -> Size:
    return ceil_divided(chains.size(chain), tile.extent(chain))


class Kernel:
    """Code of a thread that sums products with scalar or vector instructions. Subclasses use tile instructions."""

    #: Dialects of the emitted operations, in addition to the dialects of all kernels.
    dialects: ClassVar[tuple[str, ...]] = ("vector",)
    #: Alignment of the input blocks in shared memory, in bytes.
    alignment: ClassVar[int] = 16
    #: Class that stages an input from memory.
    staged_as: ClassVar[type[Staged]] = Staged

    @classmethod
    def check(cls, group: PlannedGroup) -> None:
        """Raise Decline if this kernel cannot compute the group."""

    def __init__(self, group: PlannedGroup, block: Number, thread: Number):
        self.group = group
        self.op = group.op
        self.tile = Tile(group.plan)
        self.loops = Loops(group.op, group.plan.joined)
        self.thread = thread
        self.origin = self._origin(block)
        self.results = Results(group, self.tile, self.loops, self.origin.batch, self._points(), self._points(True))
        self.staged = [self._stage_operand(operand) for operand in group.plan.shared]
        #: Inputs that are not read while products are summed.
        self.brought = inputs_of_none(self.op, [each.factor for each in self.staged])
        self.fixed: dict[tuple[int, int, int], Value] = {}
        #: Zeros beyond the last step leave sums of products unchanged. Other sums skip these steps.
        self.leaves_out = not (
            is_multiple(self.loops.size(self.tile.steps), self.tile.depth) or is_plain_product(group)
        )
        self.stages = group.plan.stages
        #: The block's part of the reduction, and the number of parts.
        dim = part_loop(self.op, group.plan)
        self.part: tuple[Number, Size] | None = None if dim is None else (self.origin.batch[dim], self.loops.sizes[dim])
        self._first_block: Size = 0

    def _stage_operand(self, operand: int) -> Staged:
        side = side_of(self.op, self.tile, operand)
        assert side is not None
        if (made := made_of(self.op, operand)) is not None:
            return MadeStaged(self.op, self.tile, self.loops, made, side, self.steps_last(operand))
        return self.staged_as(self.op, self.tile, self.loops, operand, side, self.steps_last(operand))

    def steps_last(self, operand: int) -> bool | None:
        """Return True if an input's rows in shared memory consist of steps, or None if both layouts will do."""
        return False

    # ---- indices of a thread ----

    def _origin(self, block: Number) -> Origin:
        """Return the block's origin. Adjacent blocks have adjacent columns."""
        tile = self.tile
        starts: dict[int, Number] = {}
        for chain in (tile.columns, tile.rows):
            if chain is not None:
                count = blocks_along(tile, self.loops, chain)
                starts[chain] = (block % count) * tile.extent(chain)
                block = block // count
        batch: dict[int, Number] = {}
        for chain in reversed(tile.batches):
            size = self.loops.size(chain)
            batch.update(self.loops.taken_apart(chain, block % size))
            block = block // size
        return Origin(starts, batch)

    def _points(self, inside: bool = False) -> Points:
        """Return the points of a thread's results. With `inside`, points beyond the last one are moved to it."""
        tile, rows, columns = self.tile, self.loops.size(self.tile.rows), self.loops.size(self.tile.columns)
        first = as_index(0) if tile.rows is None else self.origin.starts[tile.rows]
        row_places = [first + row for row in self.row_places()]
        vector_places = [self.origin.starts[tile.columns] + place for place in self.vector_places()]
        if not inside:
            return Points(row_places, vector_places)
        # Whole vectors are moved if they are aligned to their size. A single known loop of the chain ensures this.
        sizes = [self.op.sizes[dim] for dim in tile.plan.joined[tile.columns]]
        is_whole = is_multiple(columns, tile.lanes) or any(size and size % tile.lanes == 0 for size in sizes)
        lanes = tile.lanes if is_whole else 1
        return Points(
            [clamped(row, rows, tile.height) for row in row_places],
            [clamped(column, columns, tile.width, lanes) for column in vector_places],
        )

    def row_places(self) -> list[Number]:
        """Return the thread's rows in its block.

        Adjacent rows form groups, so that the thread loads vectors of them.
        """
        tile, together = self.tile, self.tile.rows_together
        across = tile.threads_along(tile.columns)
        mine = (self.thread // across) % tile.threads_along(tile.rows) * together
        apart = tile.threads_along(tile.rows) * together
        return [mine + (row // together * apart + row % together) for row in range(tile.rows_of_thread)]

    def vector_places(self) -> list[Number]:
        """Return the first column of each of the thread's vectors in its block.

        Adjacent threads have adjacent vectors.
        """
        across = self.tile.threads_along(self.tile.columns) * self.tile.lanes
        mine = self.column_of_thread() * self.tile.lanes
        return [mine + vector * across for vector in range(self.tile.vectors_of_thread)]

    def column_of_thread(self) -> Number:
        """Return the thread's index among the threads that share columns."""
        return self.thread % self.tile.threads_along(self.tile.columns)

    # ---- code ----

    def write(self) -> None:
        first = self.results.first()
        self.read_fixed()
        if not self.staged:
            self.results.write(loops.for_range(0, self.loops.size(self.tile.steps), self._step_alone, *first))
            return
        memories = [
            shared_memory(self.op.operation, [self.stages, *each.shape], each.element, self.alignment)
            for each in self.staged
        ]
        self.results.write(self.summed(memories, self._blocks_of_part(), first))

    def _blocks_of_part(self) -> Size:
        """Return the number of step blocks in this part. Parts differ by at most one block."""
        count = blocks_along(self.tile, self.loops, self.tile.steps)
        if self.part is None:
            return count
        part, parts = self.part
        self._first_block = part * count // parts
        return (part + 1) * count // parts - self._first_block

    def first_step(self, block: Number) -> Number:
        """Return the first step of a block of steps in this part."""
        return (block + self._first_block) * self.tile.depth

    def summed(self, memories: Sequence[Value], count: Size, first: Sequence[Value]) -> list[Value]:
        """Return the sums over all steps. Blocks of steps are staged in shared memory."""
        return (self._in_turn if self.stages == 1 else self._load_ahead)(memories, count, first)

    def read_fixed(self) -> None:
        """Load the inputs that do not change along the steps into registers."""
        for operand in range(self.op.input_count):
            if operand in self.brought or self.changes_by_steps(operand):
                continue
            for row in range(self.tile.rows_of_thread):
                for vector in range(self.tile.vectors_of_thread):
                    self.fixed[operand, row, vector] = self._read(operand, row, vector, {})

    def _read(self, operand: int, row: int, vector: int, steps: Indices) -> Value:
        return self.results.read(self.op.operands[operand], self.op.accesses[operand], row, vector, steps)

    def _step_alone(self, step: Number, *sums: Value) -> list[Value]:
        return self._summed(self.loops.taken_apart(self.tile.steps, step), {}, sums)

    def _in_turn(self, memories: Sequence[Value], count: Size, first: Sequence[Value]) -> list[Value]:
        def inside(block: Number, *sums: Value) -> list[Value]:
            self._put(memories, 0, self._fetch(block))
            wait_for_block()
            found = self.block(memories, as_index(0), block, sums)
            wait_for_block()
            return found

        return loops.for_range(0, count, inside, *first)

    def _load_ahead(self, memories: Sequence[Value], count: Size, first: Sequence[Value]) -> list[Value]:
        """Load the next block of steps into registers during the computation, then store it in the other stage."""
        self._put(memories, 0, self._fetch_if(as_index(0), count))
        wait_for_block()

        def inside(block: Number, *sums: Value) -> list[Value]:
            following = block + 1
            fetched = self._fetch_if(following, count)
            found = self.block(memories, block % self.stages, block, sums)
            self._put(memories, following % self.stages, fetched)
            wait_for_block()
            return found

        return loops.for_range(0, count, inside, *first)

    def _fetch(self, block: Number) -> list[Value]:
        step = self.first_step(block)
        return [value for each in self.staged for value in each.fetch(self.origin, step, self.thread)]

    def _fetch_if(self, block: Number, count: Size) -> list[Value]:
        """Load the thread's share of a block of steps if the block exists, else return zeros."""
        types = [type_ for each in self.staged for type_ in each.types]

        def nothing() -> list[Value]:
            zeros = {type_: constant_value(0, type_) for type_ in dict.fromkeys(types)}
            return [zeros[type_] for type_ in types]

        return loops.when(block < count, lambda: self._fetch(block), nothing, types)

    def _put(self, memories: Sequence[Value], stage: Size, fetched: Sequence[Value]) -> None:
        left = list(fetched)
        for each, memory in zip(self.staged, memories, strict=True):
            count = len(each.types)
            each.put(left[:count], memory, stage, self.thread)
            del left[:count]

    def block(self, memories: Sequence[Value], stage: Number, block: Number, sums: Sequence[Value]) -> list[Value]:
        """Add the products of a block of steps, staged in shared memory, to the sums."""
        depth, size = self.tile.depth, self.loops.size(self.tile.steps)
        begin = self.first_step(block)
        until = minimum(size - begin, depth) if self.leaves_out else depth
        others = set(range(self.op.input_count)).difference(self.brought)
        needs_place = "linalg.index" in self.op.inner_names or any(map(self.changes_by_steps, others))

        def step(inside: Number, *sums: Value) -> list[Value]:
            index = begin + inside
            steps = self.loops.taken_apart(self.tile.steps, index) if needs_place else {}
            known = {
                each.operand: self._from_shared(each, memory, stage, inside)
                for each, memory in zip(self.staged, memories, strict=True)
            }
            return self._summed(steps, known, sums)

        return loops.for_range(0, until, step, *sums)

    def changes_by_steps(self, operand: int) -> bool:
        return any(self.op.uses(operand, dim) for dim in self.tile.plan.joined[self.tile.steps])

    def _from_shared(self, staged: Staged, memory: Value, stage: Number, step: Number) -> list[Value]:
        """Load the elements of the rows, or the vectors of columns, at a step."""
        tile = self.tile
        if staged.side == tile.columns:
            return [load(memory, [stage, step, column], tile.lanes) for column in self.vector_places()]
        together = tile.rows_together
        firsts = self.row_places()[::together]
        return [element for row in firsts for element in elements(load(memory, [stage, step, row], together))]

    def _summed(self, steps: Indices, known: dict[int, list[Value]], sums: Sequence[Value]) -> list[Value]:
        """Add the products of one step to the sums."""
        lanes = Lanes(self.op, self.tile.lanes, self.results.hoisted)
        vectors = self.tile.vectors_of_thread
        values: list[Value] = []
        for position, value in enumerate(sums):
            row, vector = divmod(position, vectors)
            arguments = [self._argument(operand, row, vector, steps) for operand in range(self.op.input_count)]
            factors = {
                each.factor: known[each.operand][vector if each.side == self.tile.columns else row]
                for each in self.staged
            }
            values.append(self.evaluated(lanes, arguments, value, steps, factors))
        return values

    def evaluated(
        self,
        lanes: Lanes,
        arguments: Sequence[Value | None],
        value: Value,
        steps: Indices,
        factors: Mapping[Value, Value],
    ) -> Value:
        """Return a sum after the body's update; `factors` contains values that are known already."""
        (new,) = lanes.evaluate([*arguments, value], index_of(steps), factors)
        return new if is_vector(value) == is_vector(new) else lanes.vector(new)

    def _argument(self, operand: int, row: int, vector: int, steps: Indices) -> Value | None:
        if operand in self.brought:
            return None
        found = self.fixed.get((operand, row, vector))
        return self._read(operand, row, vector, steps) if found is None else found


def is_plain_product(group: PlannedGroup) -> bool:
    """Check whether the body adds a product of two factors that are zero where the staged inputs are zero."""
    (combiner,) = combiners(group.op)
    factors = [factor_of(group.op, operand) for operand in group.plan.shared]
    product = combiner.product
    return product is not None and all(narrowed(operand) in factors for operand in product.operands)
