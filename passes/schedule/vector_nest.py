# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a structured operation as loops over tensors whose innermost ones hold vectors in registers.

Its plan says which loop becomes lanes, how many points of each loop one step takes (its tile), and in which order the
loops stand. Sizes need not be multiples of anything: a loop runs over whole tiles first, then over what is left,
the last vector under a mask.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...emit import linalg
from ...emit.arithmetic import result_of
from ...emit.structured import StructuredOp
from ..lower_calls.memrefs import Extent, plus
from .ahead import fetch_ahead
from .combiner import Combiner, combiners
from .dots import Dots, packed_operand
from .epilogue import Epilogue
from .packing import packed_source
from .plan import Panel, Plan, group_of, points_of_step
from .segments import Segment, all_at_once, groups, run_steps, vectors, whole_and_rest
from .sharing import grain_by_work
from .state import State
from .vector_access import Access, Point, divided, is_lanewise, least, less, loop_between
from .vector_body import Given, Lanes, is_vector, runs_on_whole_vectors, widening_of

#: For each loop where it begins and its size, as they are inside of the loops around.
Ranges = Sequence[tuple[Extent, Extent]]


class Nest:
    """The loops of one operation under a plan."""

    def __init__(
        self,
        op: StructuredOp,
        plan: Plan,
        initial: Sequence[Value | None],
        reducing: Sequence[Combiner],
        epilogue: Epilogue | None = None,
        dots: Dots | None = None,
    ):
        self.op = op
        self.epilogue = epilogue
        self.dots = dots
        self.plan = plan
        #: For each output, the scalar that it is full of before, or None where it is read.
        self.initial = list(initial)
        #: For each output how partial results become one; empty where lanes stay apart.
        self.combiners = list(reducing)
        self.hoisted: dict[object, Value] = {}
        #: What lies as panels, or groups, need it already.
        packed = packed_operand(plan, dots)
        self.packed = None if packed is None else packed_source(op.operands[packed])
        #: The loops, those last whose steps read other vectors.
        self.point_order = sorted(op.dims, key=self._changes_vectors)

    def _changes_vectors(self, dim: int) -> bool:
        with_vectors = (operand for operand in range(self.op.input_count) if self.op.uses(operand, self.plan.vector))
        return any(self.op.uses(operand, dim) for operand in with_vectors)

    def emit(self) -> list[Value]:
        """The values of the outputs, computed before the operation."""
        ranges = [(0, self.op.size(dim)) for dim in self.op.dims]
        results = self._block(0, ranges, [*self.op.outputs, *self._new_panel(None)])
        return results[: len(self.op.outputs)]

    def _new_panel(self, dim: int | None) -> list[Value]:
        """The panel, if it is new in this loop, or (None) around all of them.

        It goes through the loops inside behind the outputs, so that its memory is one and the same. Threads that share
        a loop around what fills it have one each.
        """
        panel, parallel = self.plan.panel, self.plan.parallel
        outside = self.plan.order[: self.plan.order.index(self.plan.vector) + 1]
        owner = parallel.dim if parallel is not None and parallel.dim in outside else None
        if panel is None or panel.is_packed or dim != owner:
            return []
        width, group = points_of_step(self.plan, self.plan.vector), group_of(self.plan, panel.dim)
        widening = widening_of(self.op, panel.operand) if self.dots is None else None
        source = self.op.block.arguments[panel.operand] if widening is None else widening.results[0]
        return [linalg.empty([-(-panel.length // group), width * group], source.type)]

    def neutral(self, output: int) -> Value:
        if ("neutral", output) not in self.hoisted:
            with ir.InsertionPoint.at_block_begin(self.op.operation.block):
                self.hoisted["neutral", output] = self.combiners[output].neutral()
        return self.hoisted["neutral", output]

    # ---- loops around registers ----

    def _block(self, level: int, ranges: Ranges, outputs: list[Value]) -> list[Value]:
        if level == len(self.plan.blocks):
            starts = tuple(start for start, _ in ranges)
            state = State(starts, (1,) * len(starts), (0,) * len(starts), self.plan.lanes)
            return self._loop(0, ranges, state, outputs)
        dim, block = self.plan.blocks[level]
        start, size = ranges[dim]
        known = min(block, size) if isinstance(size, int) and (size % block == 0 or size < block) else None

        def inside(position: Extent, *values: Value) -> list[Value]:
            inner = list(ranges)
            inner[dim] = (plus(start, position), least(block, less(size, position)) if known is None else known)
            return self._block(level + 1, inner, list(values))

        return run_steps(0, size, block, inside, outputs, self._grain(dim, block))

    def _loop(self, level: int, ranges: Ranges, state: State, outputs: list[Value]) -> list[Value]:
        if level == len(self.plan.order) - self.plan.carried:
            return self._registers(ranges, state, outputs)
        dim, parallel = self.plan.order[level], self.plan.parallel
        if parallel is None or parallel.dim != dim or parallel.grain is not None:
            return self._each(level, ranges, state, outputs)
        start, size = ranges[dim]
        grain = grain_by_work(self.op, self.plan, [each for _, each in ranges])

        def share(position: Extent, *values: Value) -> list[Value]:
            part = (plus(start, position), least(grain, less(size, position)))
            return self._each(level, [*ranges[:dim], part, *ranges[dim + 1 :]], state, list(values))

        return run_steps(0, size, grain, share, outputs, 1)

    def _each(self, level: int, ranges: Ranges, state: State, outputs: list[Value]) -> list[Value]:
        dim = self.plan.order[level]

        def inside(new: State, carried: list[Value]) -> list[Value]:
            new, values = self._entered(dim, ranges, new, [*carried, *self._new_panel(dim)])
            return self._loop(level + 1, ranges, new, values)[: len(carried)]

        return self._steps(dim, ranges[dim], state, inside, outputs)

    def _entered(self, dim: int, ranges: Ranges, state: State, values: list[Value]) -> tuple[State, list[Value]]:
        """What the loops inside of a step begin with."""
        if dim != self.plan.vector:
            return state, values
        values = [*values[: len(self.op.outputs)], *self._fill_panel(ranges, state, values)]
        if self.dots is not None and self.dots.is_turned and self._shares_columns():
            state = state._replace(of_zeros=self._of_zeros(ranges, state, values))
        return state, values

    def _steps(
        self,
        dim: int,
        range_: tuple[Extent, Extent],
        state: State,
        body: Callable[[State, list[Value]], list[Value]],
        values: list[Value],
    ) -> list[Value]:
        """A loop: `values = body(state there, values)` for each of its steps."""
        start, size = range_
        for segment in self.segments(dim, size):

            def inside(
                position: Extent, *carried: Value, segment: Segment = segment, points: int = segment.points
            ) -> list[Value]:
                new = state.at(dim, plus(start, position), points, position)
                if dim == self.plan.vector:
                    new = new.vectors(segment.lanes, segment.left(size, position) if segment.rest else None)
                elif self.plan.tiles is not None and dim == self.plan.tiles.dim:
                    new = new._replace(rows=less(size, position) if segment.rest else None)
                elif self.plan.dot is not None and dim == self.plan.dot.dim:
                    new = new._replace(tail=less(size, position) if segment.tail else None)
                return body(new, list(carried))

            if segment.at_once:
                values = all_at_once(segment, inside, values)
                continue
            # What whole steps leave is not worth it.
            is_shared = segment.step == points_of_step(self.plan, dim) and dim not in dict(self.plan.blocks)
            grain = self._grain(dim, segment.step) if is_shared else None
            values = run_steps(segment.start, segment.stop, segment.step, inside, values, grain)
        return values

    def _grain(self, dim: int, step: int) -> int | None:
        """How many steps of a loop one thread takes at a time; None where one does them all."""
        parallel = self.plan.parallel
        if parallel is None or parallel.dim != dim or parallel.grain is None:
            return None
        return parallel.grain // step

    def _fill_panel(self, ranges: Ranges, state: State, values: Sequence[Value]) -> list[Value]:
        panel = self.plan.panel
        if panel is None or panel.is_packed:
            return []
        start, size = ranges[panel.dim]
        filled = [values[-1]]
        for segment in groups(size, 1, group_of(self.plan, panel.dim)):

            def copy(position: Extent, *panels: Value, segment: Segment = segment) -> list[Value]:
                new = state.at(panel.dim, plus(start, position), 1, position)
                new = new._replace(tail=less(size, position) if segment.tail else None)
                return [Step(self, new).copy_to_panel(panel.operand, panels[0])]

            filled = run_steps(segment.start, segment.stop, segment.step, copy, filled)
        return filled

    def segments(self, dim: int, size: Extent) -> list[Segment]:
        tile, group = self.plan.tile.get(dim, 1), group_of(self.plan, dim)
        if dim != self.plan.vector:
            if group > 1:
                return list(groups(size, tile, group))
            return list(whole_and_rest(size, tile, one_by_one=dim == self.plan.square))
        one_by_one = any(is_lanewise(self.op, dim, operand) for operand in range(len(self.op.operands)))
        is_masked = not (one_by_one or runs_on_whole_vectors(self.op))
        return list(vectors(size, self.plan.lanes, tile, masked=is_masked, group=group))

    # ---- registers ----

    def _registers(self, ranges: Ranges, state: State, outputs: list[Value]) -> list[Value]:
        if self.dots is not None and self.dots.is_turned and state.of_zeros is None:
            state = state._replace(of_zeros=self._of_zeros(ranges, state, outputs))
        step = Step(self, state)
        first = [step.first(output, offsets, outputs) for output, offsets in step.accumulators()]
        level = len(self.plan.order) - self.plan.carried
        return step.write(self._reduce(level, ranges, state, outputs, first), outputs)

    def _shares_columns(self) -> bool:
        """Whether what is read as vectors is the same in all loops between the vectors' and those in registers."""
        inside = self.plan.order[self.plan.order.index(self.plan.vector) + 1 : len(self.plan.order) - self.plan.carried]
        is_shared_by_threads = self.plan.parallel is not None and self.plan.parallel.dim in inside
        return not is_shared_by_threads and not any(self._changes_vectors(dim) for dim in inside)

    def _of_zeros(self, ranges: Ranges, state: State, outputs: list[Value]) -> dict[Point, Value]:
        """What rows of zeros would add to the sums, turned round as the rows are: by point, the rows' loops at 0."""
        assert self.dots is not None
        columns = self.dots.columns
        counts = [count if self.op.uses(columns, dim) else 1 for dim, count in enumerate(state.counts)]
        zeros = state._replace(counts=tuple(counts), of_zeros={}, is_of_zeros=True)
        step = Step(self, zeros)
        points = [point for _, point in step.accumulators()]
        first: list[Value | None] = [step.nothing() for _ in points]
        sums = self._reduce(len(self.plan.order) - self.plan.carried, ranges, zeros, outputs, first)
        return dict(zip(points, sums, strict=True))

    def _reduce(
        self, level: int, ranges: Ranges, state: State, outputs: list[Value], values: Sequence[Value | None]
    ) -> list[Value]:
        if level == len(self.plan.order):
            return Step(self, state).combine(values, outputs)
        dim = self.plan.order[level]
        # What is reduced is read.
        before = [value for value in values if value is not None]
        return self._steps(
            dim, ranges[dim], state, lambda new, carried: self._reduce(level + 1, ranges, new, outputs, carried), before
        )


class Step:
    """One step of the innermost loops: the points of a tile, one after the other."""

    def __init__(self, nest: Nest, state: State):
        self.nest = nest
        self.op = nest.op
        self.state = state
        self.vector = nest.plan.vector
        square = nest.plan.square
        is_square = square is not None and state.counts[square] == state.lanes > 1 and state.rest is None
        dot = nest.plan.dot
        self.access = Access(
            nest.op,
            self.vector,
            state.starts,
            state.lanes,
            state.rest,
            nest.hoisted,
            square if is_square else None,
            (-1, 1) if dot is None else (dot.dim, dot.group),
        )
        self.lanes = Lanes(nest.op, state.lanes, nest.hoisted)
        self.converted: dict[Value, Value] = {}

    @property
    def _reduces_lanes(self) -> bool:
        return self.vector in self.op.reductions

    def _outer(self) -> Iterator[Point]:
        """The points of the tile in the parallel loops: one after the other those that share what is no vector, so that
        this needs one register."""
        counts = [1 if dim in self.op.reductions else count for dim, count in enumerate(self.state.counts)]
        order = self.nest.point_order
        for found in itertools.product(*(range(counts[dim]) for dim in order)):
            yield tuple(place for _, place in sorted(zip(order, found, strict=True)))

    def _partials(self) -> int:
        """Accumulators for one element of an output: as many as the vectors that a step of a reduction takes."""
        return self.nest.plan.tile.get(self.vector, 1) if self._reduces_lanes else 1

    def accumulators(self) -> list[tuple[int, Point]]:
        """For each output and point one; the partial ones of one element follow each other."""
        return [slot for slot in self._slots() for _ in range(self._partials())]

    def _slots(self) -> list[tuple[int, Point]]:
        """Each output with each point of the tile."""
        return [(output, point) for output in range(len(self.op.outputs)) for point in self._outer()]

    def first(self, output: int, point: Point, outputs: Sequence[Value]) -> Value | None:
        """What an accumulator starts from."""
        if self._reduces_lanes:
            return self.lanes.vector(self.nest.neutral(output))
        initial = self.nest.initial[output]
        if initial is None and not self.op.reads_output(output):
            return None
        if initial is None:
            initial = self.access.load(self.op.output_start + output, point, outputs[output])
        return self._without_zeros(self.lanes.vector(initial), point)

    def _without_zeros(self, first: Value, point: Point) -> Value:
        """What a sum of dot products starts from, less what rows of zeros would add."""
        dots, of_zeros = self.nest.dots, self.state.of_zeros
        if dots is None or not of_zeros:
            return first
        place = tuple(at if self.op.uses(dots.columns, dim) else 0 for dim, at in enumerate(point))
        return result_of("arith.subi", [first, of_zeros[place]], first.type)

    def nothing(self) -> Value:
        """The vector that adds nothing."""
        (combiner,) = combiners(self.op)
        return self.lanes.vector(combiner.neutral())

    def combine(self, values: Sequence[Value | None], outputs: Sequence[Value]) -> list[Value]:
        """The accumulators after the points of this step."""
        fetch_ahead(self)
        if not self.op.reductions:
            return self._each_apart(values, outputs)
        new = list(values)
        inner_counts = [count if dim in self.op.reductions else 1 for dim, count in enumerate(self.state.counts)]
        inner = list(itertools.product(*map(range, inner_counts)))
        places = list(self._outer())
        partials = self._partials()
        width = len(places) * partials
        for place, outer in enumerate(places):
            for offset in inner:
                point = tuple(map(sum, zip(outer, offset, strict=True)))
                slot = place * partials + (offset[self.vector] if self._reduces_lanes else 0)
                before = [new[output * width + slot] for output in range(len(self.op.outputs))]
                for output, value in enumerate(self._body(point, before, outputs)):
                    new[output * width + slot] = value
        return [value for value in new if value is not None]

    def _each_apart(self, values: Sequence[Value | None], outputs: Sequence[Value]) -> list[Value]:
        """The results at the points of a step where none is made of another."""
        places, given = list(self._outer()), list[Given]()
        for place, point in enumerate(places):
            loaded = [self._input(operand, point, outputs) for operand in range(self.op.input_count)]
            arguments, index_of = [*loaded, *values[place :: len(places)]], partial(self.access.index, point=point)
            given.append(Given(arguments, index_of, self._widened_before(loaded)))
        results = self.lanes.evaluate_each(given)
        return [self.lanes.vector(of_point[output]) for output in range(len(self.op.outputs)) for of_point in results]

    def _body(self, point: Point, before: Sequence[Value | None], outputs: Sequence[Value]) -> list[Value]:
        if self.nest.dots is not None:
            return [self._dot(self.nest.dots, point, before[0], outputs)]
        loaded = [self._input(operand, point, outputs) for operand in range(self.op.input_count)]
        index_of = partial(self.access.index, point=point)
        results = self.lanes.evaluate([*loaded, *before], index_of, self._widened_before(loaded))
        vectors = [self.lanes.vector(result) for result in results]
        mask = self.access.mask(point) if self._reduces_lanes else None
        if mask is None:
            return vectors
        pairs = zip(vectors, before, strict=True)
        return [new if old is None else result_of("arith.select", [mask, new, old], old.type) for new, old in pairs]

    def _dot(self, dots: Dots, point: Point, before: Value | None, outputs: Sequence[Value]) -> Value:
        """The sums with a group's products added."""
        assert before is not None  # what is reduced is read
        columns, tail = self._columns(dots, point, outputs), self.state.tail
        if self.state.is_of_zeros:
            return dots.add(before, columns, dots.turned(None, columns.type))
        rows = self.access.load_group(dots.rows, point, self.op.operands[dots.rows], tail)
        return dots.add(before, columns, dots.turned(rows, rows.type) if dots.is_turned else rows)

    def _columns(self, dots: Dots, point: Point, outputs: Sequence[Value]) -> Value:
        panel, packed = self.nest.plan.panel, self.nest.packed
        if panel is not None:
            return self._from_panel(panel, point, outputs)
        if packed is not None:
            return self.access.load_packed_group(dots.columns, point, packed)
        return self.access.load_group(dots.columns, point, self.op.operands[dots.columns], self.state.tail)

    def _from_panel(self, panel: Panel, point: Point, outputs: Sequence[Value]) -> Value:
        if self.nest.packed is not None:
            width = points_of_step(self.nest.plan, self.vector)
            return self.access.load_packed(self.nest.packed, width, panel.dim, point)
        return self.access.load_from_panel(outputs[-1], self._row(panel.dim), panel.dim, point)

    def _row(self, dim: int) -> Extent:
        """The panel's row at which the step begins."""
        return divided(self.state.positions[dim], group_of(self.nest.plan, dim))

    def _widened_before(self, loaded: Sequence[Value]) -> dict[Value, Value]:
        """What a panel holds is converted already; a vector of equal halves is converted faster than one of them."""
        panel = self.nest.plan.panel
        known = {}
        for operand, value in enumerate(loaded):
            widening = widening_of(self.op, operand)
            if widening is None:
                continue
            if panel is not None and operand == panel.operand:
                known[widening.results[0]] = value
            elif str(value.type) == "f16" and not self._reduces_lanes:
                if value not in self.converted:
                    self.converted[value] = self.lanes.widened(widening, self.lanes.vector(value))
                known[widening.results[0]] = self.converted[value]
        return known

    def _input(self, operand: int, point: Point, outputs: Sequence[Value]) -> Value:
        """An input's element; what is also an output is read as it is now, which at its place is as it was."""
        panel = self.nest.plan.panel
        if panel is not None and operand == panel.operand:
            return self._from_panel(panel, point, outputs)
        value = self.op.operands[operand]
        for output, (place, access) in enumerate(zip(self.op.outputs, self.op.output_accesses, strict=True)):
            if value == place and access == self.op.accesses[operand] and not self.op.reductions:
                return self.access.load(operand, point, outputs[output])
        return self.access.load(operand, point, value)

    def copy_to_panel(self, operand: int, panel: Value) -> Value:
        """The panel with this step's vectors of an input in a row."""
        plan = self.nest.plan
        assert plan.panel is not None
        for point in self._outer():
            vector = self._to_copy(operand, point)
            panel = self.access.store_to_panel(vector, panel, self._row(plan.panel.dim), point)
        return panel

    def _to_copy(self, operand: int, point: Point) -> Value:
        source = self.op.operands[operand]
        if self.nest.dots is not None:
            return self.access.load_group(operand, point, source, self.state.tail)
        return self.lanes.widened(widening_of(self.op, operand), self.access.load(operand, point, source))

    def write(self, values: Sequence[Value], outputs: Sequence[Value]) -> list[Value]:
        new = list(outputs)
        if self._reduces_lanes:
            values = self._reduced(values, outputs)
        rows = defaultdict[tuple[int, Point], list[Value]](list)
        for (output, point), value in zip(self._slots(), values, strict=True):
            operand, finished = self.op.output_start + output, self.finished(value, point)
            between = loop_between(self.op, self.vector, operand, self.nest.plan.tile) if is_vector(finished) else None
            if between is None:
                new[output] = self.access.store(finished, operand, point, new[output])
                continue
            corner = (*point[:between], 0, *point[between + 1 :])
            rows[output, corner].append(finished)
            if len(rows[output, corner]) == self.state.counts[between]:
                new[output] = self.access.store_between(rows[output, corner], operand, corner, new[output])
        return new

    def finished(self, value: Value, point: Point) -> Value:
        """What is written for a result: what the epilogue makes of it."""
        epilogue = self.nest.epilogue
        if epilogue is None:
            return value
        arguments = [
            value if operand is None else self.access.load(operand, point, self.op.operands[operand])
            for operand in epilogue.operands
        ]
        lanes = Lanes(epilogue.op, self.state.lanes, self.nest.hoisted)
        (finished,) = lanes.evaluate([*arguments, None], lambda dim: self.access.index(dim, point))
        return lanes.vector(finished) if is_vector(value) else finished

    def _reduced(self, values: Sequence[Value], outputs: Sequence[Value]) -> list[Value]:
        """One scalar for each output and point, of what the lanes and partial accumulators hold."""
        partials, slots = self._partials(), self._slots()
        reduced = []
        for output, slots_of_output in itertools.groupby(enumerate(slots), lambda slot: slot[1][0]):
            combiner, vectors, starts = self.nest.combiners[output], [], []
            for slot, (_, point) in slots_of_output:
                mine = list(values[slot * partials : (slot + 1) * partials])
                while len(mine) > 1:
                    mine = [combiner.apply(*pair) for pair in zip(mine[::2], mine[1::2], strict=True)]
                first = self.nest.initial[output]
                if first is None:
                    first = self.access.load(self.op.output_start + output, point, outputs[output])
                vectors.append(mine[0])
                starts.append(first)
            reduced += combiner.reduce_all(vectors, starts)
        return reduced
