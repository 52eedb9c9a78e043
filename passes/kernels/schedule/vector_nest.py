# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectorized loop nests: a structured operation as loops over tensors, the innermost with vectors in registers.

The plan states the loop that becomes lanes, each loop's number of points in one step (its tile), and the order. Sizes
are arbitrary: a loop runs over whole tiles first, then over the remainder with a masked last vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....bindings.ir import Value
from ....emit import linalg
from ....emit.numbers import Size, minimum
from .ahead import fetch_ahead
from .dynamic_slices import loop_size
from .parallel_grain import grain_by_work
from .plan import group_of, points_of_step
from .segments import Segment, all_at_once, groups, in_steps, run_steps, vectors, whole_and_rest
from .state import State
from .vector_access import Point, is_lanewise
from .vector_body import runs_on_whole_vectors, widening_of
from .vector_step import Computation, VectorStep

#: Start and size of each loop, inside of the loops around.
Ranges = Sequence[tuple[Size, Size]]


class VectorNest(Computation):
    """Loops of one operation under a plan."""

    def emit(self) -> list[Value]:
        """Return the values of the outputs, computed before the operation."""
        ranges = [(0, loop_size(self.op, dim)) for dim in self.op.dims]
        results = self._block(0, ranges, [*self.op.outputs, *self._new_results(None), *self._new_panel(None)])
        return results[: len(self.op.outputs)]

    def _new_results(self, dim: int | None) -> list[Value]:
        """Return memory for the results that an epilogue reads, if this loop allocates it.

        `dim` is None outside of all loops.
        The inner loops carry this memory between the outputs and the panel.
        """
        parallel = self.plan.parallel
        is_new = self.finish_dim is not None and dim == (None if parallel is None else parallel.dim)
        return [self.new_results()] if is_new else []

    def _new_panel(self, dim: int | None) -> list[Value]:
        """Return the panel, if this loop allocates it. `dim` is None outside of all loops.

        The inner loops carry the panel after the outputs, so that its memory stays the same. Threads that share a loop
        around the code that fills the panel have one each.
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

    # ---- loops around registers ----

    def _block(self, level: int, ranges: Ranges, outputs: list[Value]) -> list[Value]:
        if level == len(self.plan.blocks):
            starts = tuple(start for start, _ in ranges)
            state = State(starts, (1,) * len(starts), (0,) * len(starts), self.plan.lanes)
            return self._loop(0, ranges, state, outputs)
        dim, block = self.plan.blocks[level]
        start, size = ranges[dim]
        known = min(block, size) if isinstance(size, int) and (size % block == 0 or size < block) else None

        def inside(position: Size, *values: Value) -> list[Value]:
            inner = list(ranges)
            inner[dim] = (start + position, minimum(block, size - position) if known is None else known)
            return self._block(level + 1, inner, list(values))

        return run_steps(0, size, block, inside, outputs, self._grain(dim, block))

    def _loop(self, level: int, ranges: Ranges, state: State, outputs: list[Value]) -> list[Value]:
        if level == len(self.plan.order) - self.plan.carried:
            return self._registers(ranges, state, outputs)
        dim, parallel = self.plan.order[level], self.plan.parallel
        if parallel is None or parallel.dim != dim or parallel.grain is not None:
            return self._each(level, ranges, state, outputs)
        start, size = ranges[dim]
        grain, step = grain_by_work(self.op, self.plan, [each for _, each in ranges]), points_of_step(self.plan, dim)
        # A grain consists of whole steps. If the loop does, too, no thread needs code for a partial step.
        has_whole_steps = isinstance(size, int) and size % step == 0

        def share(position: Size, *values: Value) -> list[Value]:
            count = minimum(grain, size - position)
            part = (start + position, in_steps(count, step) if has_whole_steps else count)
            return self._each(level, [*ranges[:dim], part, *ranges[dim + 1 :]], state, list(values))

        return run_steps(0, size, grain, share, outputs, 1)

    def _each(self, level: int, ranges: Ranges, state: State, outputs: list[Value]) -> list[Value]:
        dim, count = self.plan.order[level], len(self.op.outputs)

        def inside(new: State, carried: list[Value]) -> list[Value]:
            kept = self._new_results(dim) if new.kept_before is None else []
            panel = self._new_panel(dim)
            new, values = self._entered(dim, ranges, new, [*carried[:count], *kept, *carried[count:], *panel])
            after = self._loop(level + 1, ranges, new, values)
            return [*after[:count], *after[count + len(kept) :][: len(carried) - count]]

        return self._steps(dim, ranges[dim], state, inside, outputs)

    def _entered(self, dim: int, ranges: Ranges, state: State, values: list[Value]) -> tuple[State, list[Value]]:
        """Return the state and the values at the start of a step's inner loops."""
        if dim == self.plan.vector:
            values = self._fill_panel(ranges, state, values)
        is_wanted = self.dots is not None and self.dots.subtracts_zeros and state.of_zeros is None
        if is_wanted and dim == self._loop_of_zeros(ranges):
            state = state._replace(of_zeros=self._of_zeros(ranges, state, values))
        return state, values

    def _steps(
        self,
        dim: int,
        range_: tuple[Size, Size],
        state: State,
        body: Callable[[State, list[Value]], list[Value]],
        values: list[Value],
    ) -> list[Value]:
        """Emit a loop: `values = body(state of the step, values)` for each of its steps."""
        (start, size), count = range_, len(self.op.outputs)
        segments = self.segments(dim, size)
        # The remainder is short: one loop finishes the results of all shorter tiles.
        shorter = segments[1:] if len(segments) > 2 and self._is_finished_along(dim, state) else []
        tail_results = self._new_results(dim) if shorter else []
        for segment in segments:
            if shorter and segment is shorter[0]:
                values = [*values[:count], *tail_results, *values[count:]]

            def inside(
                position: Size, *carried: Value, segment: Segment = segment, points: int = segment.points
            ) -> list[Value]:
                new = state.at(dim, start + position, points, position)
                if any(segment is each for each in shorter):
                    new = new._replace(kept_before=position - shorter[0].start)
                if dim == self.plan.vector:
                    new = new.vectors(segment.lanes, segment.left(size, position) if segment.rest else None)
                elif self.plan.tiles is not None and dim == self.plan.tiles.dim:
                    new = new._replace(rows=size - position if segment.rest else None)
                elif self.plan.dot is not None and dim == self.plan.dot.dim:
                    new = new._replace(tail=size - position if segment.tail else None)
                return body(new, list(carried))

            if segment.at_once:
                values = all_at_once(segment, inside, values)
                continue
            # Sharing the remainder does not pay off.
            is_shared = segment.step == points_of_step(self.plan, dim) and dim not in dict(self.plan.blocks)
            grain = self._grain(dim, segment.step) if is_shared else None
            values = run_steps(segment.start, segment.stop, segment.step, inside, values, grain)
        if shorter:
            first = shorter[0].start
            rest = VectorStep(self, state.at(dim, start + first, 1, first))
            values = rest.finish_kept(size - first, values)
            values = [*values[:count], *values[count + len(tail_results) :]]
        return values

    def _is_finished_along(self, dim: int, state: State) -> bool:
        """Return True if a long epilogue runs along this loop, which is the innermost loop around registers."""
        around = self.plan.order[: len(self.plan.order) - self.plan.carried]
        is_inside = self.plan.vector in around[:-1] and dim == around[-1]
        return is_inside and dim == self.finish_dim and state.lanes == self.plan.lanes

    def _grain(self, dim: int, step: int) -> int | None:
        """Return the number of steps of a loop that one thread takes at a time, or None if threads do not share it."""
        parallel = self.plan.parallel
        if parallel is None or parallel.dim != dim or parallel.grain is None:
            return None
        return parallel.grain // step

    def _fill_panel(self, ranges: Ranges, state: State, values: list[Value]) -> list[Value]:
        """Fill the panel, which is the last of the values, if there is one."""
        if (panel := self.plan.panel) is None or panel.is_packed:
            return values
        start, size = ranges[panel.dim]
        filled = [values[-1]]
        for segment in groups(size, 1, group_of(self.plan, panel.dim)):

            def copy(position: Size, *panels: Value, segment: Segment = segment) -> list[Value]:
                new = state.at(panel.dim, start + position, 1, position)
                new = new._replace(tail=size - position if segment.tail else None)
                return [VectorStep(self, new).copy_to_panel(panel.operand, panels[0])]

            filled = run_steps(segment.start, segment.stop, segment.step, copy, filled)
        return [*values[:-1], *filled]

    def segments(self, dim: int, size: Size) -> list[Segment]:
        tile, group = self.plan.tile.get(dim, 1), group_of(self.plan, dim)
        if dim != self.plan.vector:
            if group > 1:
                return list(groups(size, tile, group))
            return list(whole_and_rest(size, tile, one_by_one=dim == self.plan.square))
        one_by_one = any(is_lanewise(self.op, dim, operand) for operand in range(len(self.op.operands)))
        is_masked = not (one_by_one or runs_on_whole_vectors(self.op))
        # Of a reduction, the remainder goes to the first accumulator, which may have several vectors.
        unit = min(self.order.lanes // self.plan.lanes, tile) if self.order is not None else 1
        is_reduced = is_masked and group == 1 and dim in self.op.reductions
        return list(vectors(size, self.plan.lanes, tile, masked=is_masked, group=group, unit=unit if is_reduced else 0))

    # ---- registers ----

    def _registers(self, ranges: Ranges, state: State, outputs: list[Value]) -> list[Value]:
        if self.dots is not None and self.dots.subtracts_zeros and state.of_zeros is None:
            state = state._replace(of_zeros=self._of_zeros(ranges, state, outputs))
        step = VectorStep(self, state)
        first = [step.first(output, offsets, outputs) for output, offsets in step.accumulators()]
        level = len(self.plan.order) - self.plan.carried
        return step.write(self._reduce(level, ranges, state, outputs, first), outputs)

    def _loop_of_zeros(self, ranges: Ranges) -> int | None:
        """Return the loop in which tiles share the contribution of rows of zeros, or None if each tile has its own.

        The loop is the vector loop, or a loop around it if the vector loop has one step.
        """
        around = self.plan.order[: len(self.plan.order) - self.plan.carried]
        parallel, place = self.plan.parallel, around.index(self.plan.vector)
        changing = [at for at, dim in enumerate(around) if at != place and self._changes_vectors(dim)]
        places = [place]
        if self._only_step(ranges) is not None:
            places.insert(0, min(place, max(changing, default=0)))
        for found in places:
            is_apart = parallel is not None and parallel.dim in around[found + 1 :]
            if not is_apart and found >= max(changing, default=0):
                return around[found]
        return None

    def _only_step(self, ranges: Ranges) -> Segment | None:
        """Return the only step of the vector loop, if there is one of whole vectors and no panel to copy."""
        panel, size = self.plan.panel, ranges[self.plan.vector][1]
        if panel is not None and not panel.is_packed:
            return None
        first, *more = self.segments(self.plan.vector, size)
        # Threads that share the vector loop have ranges that are known at run time only.
        is_known = isinstance(first.start, int) and isinstance(first.stop, int)
        return first if is_known and not (more or first.rest) and (first.start, first.stop) == (0, first.step) else None

    def _of_zeros(self, ranges: Ranges, state: State, outputs: list[Value]) -> dict[Point, Value]:
        """Return the contribution of rows of flipped zeros to the sums, by point, with the rows' loops at 0."""
        assert self.dots is not None
        columns, only = self.dots.columns, self._only_step(ranges)
        if only is not None:  # the loop may be outside of the vector loop
            start = ranges[self.plan.vector][0]
            state = state.at(self.plan.vector, start, only.points, 0).vectors(only.lanes, None)
        counts = [count if self.op.uses(columns, dim) else 1 for dim, count in enumerate(state.counts)]
        zeros = state._replace(counts=tuple(counts), of_zeros={}, is_of_zeros=True)
        step = VectorStep(self, zeros)
        points = [point for _, point in step.accumulators()]
        first: list[Value | None] = [step.nothing() for _ in points]
        sums = self._reduce(len(self.plan.order) - self.plan.carried, ranges, zeros, outputs, first)
        return dict(zip(points, sums, strict=True))

    def _reduce(
        self, level: int, ranges: Ranges, state: State, outputs: list[Value], values: Sequence[Value | None]
    ) -> list[Value]:
        if level == len(self.plan.order):
            step = VectorStep(self, state)
            fetch_ahead(step)
            return step.combine(values, outputs)
        dim = self.plan.order[level]
        # A reduction reads its accumulators.
        before = [value for value in values if value is not None]
        return self._steps(
            dim, ranges[dim], state, lambda new, carried: self._reduce(level + 1, ranges, new, outputs, carried), before
        )
