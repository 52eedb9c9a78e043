# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Body of the innermost loops around vectors in registers: loads, computation and stores of one step."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....emit import linalg
from ....emit.arithmetic import result_of
from ....emit.combiner import Combiner, combiners
from ....emit.numbers import Size
from ....emit.reduction_order import order_of
from ....emit.structured import StructuredOp
from ....emit.vectors import is_vector, read_vector, write_vector
from .dots import Dots, packed_operand
from .epilogue import Epilogue, is_long
from .packing import packed_source
from .plan import MASKED, Panel, Plan, group_of, points_of_step
from .segments import run_steps
from .state import State
from .vector_access import Point, VectorAccess, loop_between
from .vector_body import BodyContext, Lanes, hoisted_zero, widening_of


class Computation:
    """Properties that the steps of one operation's loops share."""

    def __init__(
        self,
        op: StructuredOp,
        plan: Plan,
        initial: Sequence[Value | None],
        reducing: Sequence[Combiner],
        epilogue: Epilogue | None = None,
        dots: Dots | None = None,
        first_cache: int = 0,
    ):
        self.op = op
        #: Bytes of the first cache level.
        self.first_cache = first_cache
        self.epilogue = epilogue
        self.dots = dots
        self.plan = plan
        #: For each output, the scalar with which it is filled before, or None if the output is read.
        self.initial = list(initial)
        #: For each output, the combiner of partial results. Empty if lanes stay separate.
        self.combiners = list(reducing)
        #: Order of the reduction, or None if it is free.
        self.order = order_of(op.operation)
        self.hoisted: dict[object, Value] = {}
        self.finish_dim = self._loop_of_epilogue()
        #: Panels or groups exist only for inputs that are packed already.
        packed = packed_operand(plan, dots)
        self.packed = None if packed is None else packed_source(op.operands[packed])
        #: The loops, sorted so that the last loops have steps that read different vectors.
        self.point_order = sorted(op.dims, key=self._changes_vectors)

    def _loop_of_epilogue(self) -> int | None:
        """Return the loop along which a long epilogue runs over stored results.

        Return None if the epilogue runs on each register.
        The extra store and load of each vector cost little compared with the epilogue, and there is less code to
        compile and to fetch.
        """
        op, plan = self.op, self.plan
        if (
            self.epilogue is None
            or not is_long(self.epilogue)
            or plan.vector in op.reductions
            or plan.tiles is not None
        ):
            return None
        if loop_between(op, plan.vector, op.output_start, plan.tile) is not None:
            return None
        dims = [dim for dim in plan.tile if dim != plan.vector and op.uses(op.output_start, dim) and plan.tile[dim] > 1]
        return max(dims, key=lambda dim: plan.tile[dim], default=None)

    def new_results(self) -> Value:
        """Return memory for the results in the registers of a tile."""
        count = math.prod(points for dim, points in self.plan.tile.items() if dim not in self.op.reductions)
        return linalg.empty([count, self.plan.lanes], self.op.block.arguments[self.op.input_count].type)

    def _changes_vectors(self, dim: int) -> bool:
        with_vectors = (operand for operand in range(self.op.input_count) if self.op.uses(operand, self.plan.vector))
        return any(self.op.uses(operand, dim) for operand in with_vectors)

    def neutral(self, output: int) -> Value:
        if ("neutral", output) not in self.hoisted:
            with ir.InsertionPoint.at_block_begin(self.op.operation.block):
                self.hoisted["neutral", output] = self.combiners[output].neutral()
        return self.hoisted["neutral", output]


class VectorStep:
    """One step of the innermost loops: the points of a tile, one after the other."""

    def __init__(self, nest: Computation, state: State):
        self.nest = nest
        self.op = nest.op
        self.state = state
        self.vector = nest.plan.vector
        square = nest.plan.square
        is_square = square is not None and state.counts[square] == state.lanes > 1 and state.rest is None
        dot = nest.plan.dot
        self.access = VectorAccess(
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
        """Yield the points of the tile in the parallel loops.

        Points that share a scalar operand are adjacent, so that the operand needs one register.
        """
        counts = [1 if dim in self.op.reductions else count for dim, count in enumerate(self.state.counts)]
        order = self.nest.point_order
        for found in itertools.product(*(range(counts[dim]) for dim in order)):
            yield tuple(place for _, place in sorted(zip(order, found, strict=True)))

    def _partials(self) -> int:
        """Return the number of accumulators of an output's element: the vectors that a step of a reduction takes."""
        return self.nest.plan.tile.get(self.vector, 1) if self._reduces_lanes else 1

    def accumulators(self) -> list[tuple[int, Point]]:
        """Return the output and the point of each accumulator. Partial accumulators of one element are adjacent."""
        return [slot for slot in self._slots() for _ in range(self._partials())]

    def _slots(self) -> list[tuple[int, Point]]:
        """Return each output with each point of the tile."""
        return [(output, point) for output in range(len(self.op.outputs)) for point in self._outer()]

    def first(self, output: int, point: Point, outputs: Sequence[Value]) -> Value | None:
        """Return the initial value of an accumulator."""
        if self._reduces_lanes:
            return self.lanes.vector(self.nest.neutral(output))
        initial = self.nest.initial[output]
        if initial is None and not self.op.reads_output(output):
            return None
        if initial is None:
            initial = self.access.load(self.op.output_start + output, point, outputs[output])
        return self._without_zeros(self.lanes.vector(initial), point)

    def _without_zeros(self, first: Value, point: Point) -> Value:
        """Return the initial value of a sum of dot products, less the contribution of rows of zeros."""
        dots, of_zeros = self.nest.dots, self.state.of_zeros
        if dots is None or not of_zeros:
            return first
        place = tuple(at if self.op.uses(dots.columns, dim) else 0 for dim, at in enumerate(point))
        return result_of("arith.subi", [first, of_zeros[place]], first.type)

    def nothing(self) -> Value:
        """Return a vector of identity elements."""
        (combiner,) = combiners(self.op)
        return self.lanes.vector(combiner.neutral())

    def combine(self, values: Sequence[Value | None], outputs: Sequence[Value]) -> list[Value]:
        """Return the accumulators after the points of this step."""
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
        """Return the results at the points of a step that is no reduction."""
        places, given = list(self._outer()), list[BodyContext]()
        for place, point in enumerate(places):
            loaded = [self._input(operand, point, outputs) for operand in range(self.op.input_count)]
            arguments, index_of = [*loaded, *values[place :: len(places)]], partial(self.access.index, point=point)
            given.append(BodyContext(arguments, index_of, self._widened_before(loaded)))
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
        """Return the sums with a group's products added."""
        assert before is not None  # a reduction reads its accumulators
        columns, masks = self._columns(dots, point, outputs), self._masks(dots, point)
        if self.state.is_of_zeros:
            return dots.add(before, columns, dots.zeros(columns.type), masks)
        rows = self.access.load_group(dots.rows, point, self.op.operands[dots.rows], self.state.tail)
        return dots.add(before, columns, dots.turned(rows, rows.type) if dots.is_turned else rows, masks)

    def _columns(self, dots: Dots, point: Point, outputs: Sequence[Value]) -> Value:
        panel, packed = self.nest.plan.panel, self.nest.packed
        if panel is not None:
            return self._from_panel(panel, point, outputs)
        if packed is not None:
            return self.access.load_packed_group(dots.columns, point, packed)
        return self.access.load_group(dots.columns, point, self.op.operands[dots.columns], self.state.tail)

    def _masks(self, dots: Dots, point: Point) -> Value | None:
        """Load the masks of a point's packed columns, or return None if there are none."""
        packed, panel = self.nest.packed, self.nest.plan.panel
        if packed is None or dots.pairs != MASKED:
            return None
        before = packed.type.shape[0] // 2
        if panel is None:
            return self.access.load_packed_group(dots.columns, point, packed, before)
        return self._from_packed_panel(packed, panel, point, before)

    def _from_packed_panel(self, packed: Value, panel: Panel, point: Point, before: int = 0) -> Value:
        """Load a point's vector from packed panels. `before` is the number of panels before the first one."""
        return self.access.load_packed(packed, points_of_step(self.nest.plan, self.vector), panel.dim, point, before)

    def _from_panel(self, panel: Panel, point: Point, outputs: Sequence[Value]) -> Value:
        if self.nest.packed is not None:
            return self._from_packed_panel(self.nest.packed, panel, point)
        return self.access.load_from_panel(outputs[-1], self._row(panel.dim), panel.dim, point)

    def _row(self, dim: int) -> Size:
        """Return the panel's row at which the step begins."""
        return self.state.positions[dim] // group_of(self.nest.plan, dim)

    def _widened_before(self, loaded: Sequence[Value]) -> dict[Value, Value]:
        """Return widened values that are known before the body.

        Values of a panel are widened already. Values of f16 convert faster after a broadcast.
        """
        panel = self.nest.plan.panel
        known = {}
        for operand, value in enumerate(loaded):
            if (widening := widening_of(self.op, operand)) is None:
                continue
            if panel is not None and operand == panel.operand:
                known[widening.results[0]] = value
            elif str(value.type) == "f16" and not self._reduces_lanes:
                if value not in self.converted:
                    self.converted[value] = self.lanes.widened(widening, self.lanes.vector(value))
                known[widening.results[0]] = self.converted[value]
        return known

    def _input(self, operand: int, point: Point, outputs: Sequence[Value]) -> Value:
        """Return an input's element.

        An input that is also an output is read from the current output, which is unchanged at that place.
        """
        panel = self.nest.plan.panel
        if panel is not None and operand == panel.operand:
            return self._from_panel(panel, point, outputs)
        value = self.op.operands[operand]
        for output, (place, access) in enumerate(zip(self.op.outputs, self.op.output_accesses, strict=True)):
            if value == place and access == self.op.accesses[operand] and not self.op.reductions:
                return self.access.load(operand, point, outputs[output])
        return self.access.load(operand, point, value)

    def copy_to_panel(self, operand: int, panel: Value) -> Value:
        """Copy this step's vectors of an input to a row of the panel, and return the panel."""
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
        if self._reduces_lanes:
            return self._write_finished(self._reduced(values, outputs), outputs)
        dim, state = self.nest.finish_dim, self.state
        if state.kept_before is not None:
            return self._keep(values, outputs)
        if dim is None or state.counts[dim] == 1 or state.lanes != self.nest.plan.lanes:
            return self._write_finished(values, outputs)
        return self.finish_kept(state.counts[dim], self._keep(values, outputs))

    def _keep(self, values: Sequence[Value], outputs: Sequence[Value]) -> list[Value]:
        """Store the registers for a delayed epilogue, in rows along its loop."""
        written, place = list(outputs), len(self.op.outputs)
        before = 0 if self.state.kept_before is None else self.state.kept_before
        for (_, point), value in zip(self._slots(), values, strict=True):
            written[place] = write_vector(value, written[place], self._place_of_kept(before, point))
        return written

    def _place_of_kept(self, before: Size, point: Point) -> list[Size]:
        """Return the place of a point's stored result. `before` is the number of rows before its tile."""
        assert self.nest.finish_dim is not None
        row, column, width = before + point[self.nest.finish_dim], 0, 1
        for dim in self.op.parallels:
            if dim != self.nest.finish_dim:
                column, width = column * self.state.counts[dim] + point[dim], width * self.state.counts[dim]
        return [row * width + column, 0]

    def finish_kept(self, rows: Size, outputs: Sequence[Value]) -> list[Value]:
        """Apply the epilogue to stored rows, the first of which belongs to this step."""
        dim, state, (written, kept, *others) = self.nest.finish_dim, self.state, outputs
        assert dim is not None
        zero = hoisted_zero(self.op, kept.type.element_type, self.nest.hoisted)

        def finish(row: Size, before: Value) -> list[Value]:
            step = VectorStep(self.nest, state.at(dim, state.starts[dim] + row, 1, state.positions[dim] + row))
            places = [step._place_of_kept(row, point) for _, point in step._slots()]
            return step._write_finished([read_vector(kept, place, state.lanes, zero) for place in places], [before])

        return [*run_steps(0, rows, 1, finish, [written]), kept, *others]

    def _write_finished(self, values: Sequence[Value], outputs: Sequence[Value]) -> list[Value]:
        """Store the results of the epilogue, or the results themselves."""
        new = list(outputs)
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
        """Return the value that is stored for a result, which is the epilogue's if there is one."""
        if (epilogue := self.nest.epilogue) is None:
            return value
        arguments = [
            value if operand is None else self.access.load(operand, point, self.op.operands[operand])
            for operand in epilogue.operands
        ]
        lanes = Lanes(epilogue.op, self.state.lanes, self.nest.hoisted)
        (finished,) = lanes.evaluate([*arguments, None], lambda dim: self.access.index(dim, point))
        return lanes.vector(finished) if is_vector(value) else finished

    def _reduced(self, values: Sequence[Value], outputs: Sequence[Value]) -> list[Value]:
        """Reduce lanes and partial accumulators to one scalar for each output and point."""
        partials, slots = self._partials(), self._slots()
        reduced = []
        for output, slots_of_output in itertools.groupby(enumerate(slots), lambda slot: slot[1][0]):
            combiner, vectors, starts = self.nest.combiners[output], [], []
            for slot, (_, point) in slots_of_output:
                mine = list(values[slot * partials : (slot + 1) * partials])
                while len(mine) > 1:
                    half = len(mine) // 2
                    mine = [combiner.apply(*pair) for pair in zip(mine[:half], mine[half:], strict=True)]
                if (first := self.nest.initial[output]) is None:
                    first = self.access.load(self.op.output_start + output, point, outputs[output])
                vectors.append(mine[0])
                starts.append(first)
            reduced += combiner.reduce_all(vectors, starts)
        return reduced
