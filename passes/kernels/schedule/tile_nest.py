# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of a product or a convolution with an innermost step that multiplies tiles: registers of several rows (AMX).

Rows of one factor are packed into contiguous tiles, once for all columns. Columns of the other factor are packed at
compile time (packing.py) or before the loop over rows. Tiles beyond a sum's last step contain zeros. A convolution's
rows are places, and its columns are a block of channels. Its sum also covers the taps: consecutive pieces of some
channels. Sums are stored from tiles to a small buffer. Its rows are finished and written as vectors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ....bindings.ir import Type, Value
from ....bindings.mlir import ir
from ....emit import linalg, tensors
from ....emit.arithmetic import result_of
from ....emit.combiner import combiners
from ....emit.numbers import Size, ceil_divided, constant, minimum
from ....emit.vectors import read_vector, transposed, write_vector
from .dots import call_intrinsic
from .segments import Segment, groups, run_steps, vectors
from .state import State
from .tiles import outer_sums, size_of_sum
from .vector_body import hoisted_zero
from .vector_nest import Ranges, VectorNest
from .vector_step import VectorStep

#: Memory that the loops carry, in this order.
_COLUMNS, _ROWS, _SUMS = "columns", "rows", "sums"
_TILE = "!llvm.x86_amx"
TO_TILE, FROM_TILE, ZEROS = (
    "llvm.x86.cast.vector.to.tile",
    "llvm.x86.cast.tile.to.vector",
    "llvm.x86.tilezero.internal",
)
#: Number of bytes of a tile's row.
ROW_BYTES = 64


class TileNest(VectorNest):
    """Loops of a product under a plan with tiles."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        plan = self.plan
        assert plan.tiles is not None and plan.dot is not None and self.dots is not None
        self.row_loop, self.height = plan.tiles
        self.sum_loop, self.group = plan.dot.dim, plan.dot.group
        #: Number of elements of a tile's row, and number of tiles in a sum.
        self.width = self.height * self.group
        #: The sum's other loops, and the loop with separate columns for each point, if it is not the vector loop.
        self.outer_sums = outer_sums(self.op, plan, self.dots.columns)
        self.blocks = next((dim for dim in plan.tile if dim not in (self.row_loop, plan.vector)), None)
        self.steps = size_of_sum(self.op, [self.sum_loop])
        #: Number of elements that are copied at a time and fill a part of a tile's row.
        self.piece = min(self.steps, self.width) if self.outer_sums else self.width
        self.depth = -(-self.steps * size_of_sum(self.op, self.outer_sums) // self.width)
        shared = None if plan.parallel is None else plan.order.index(plan.parallel.dim)
        rows, columns = plan.order.index(self.row_loop), plan.order.index(plan.vector)
        # Memory that several threads would write is allocated for each thread, in the loop that they share.
        inside = {_COLUMNS: rows - 1, _ROWS: rows, _SUMS: columns}
        names = [name for name in inside if name != _COLUMNS or self.packed is None]
        own = [name for name in names if shared is not None and shared <= inside[name]]
        self._common, self._own = [name for name in names if name not in own], own

    # ---- memory ----

    def _new_panel(self, dim: int | None) -> list[Value]:
        parallel = self.plan.parallel
        if dim is None:
            return [self._memory(name) for name in self._common]
        return [self._memory(name) for name in self._own] if parallel is not None and parallel.dim == dim else []

    def _memory(self, name: str) -> Value:
        assert self.dots is not None
        rows = self.plan.tile.get(self.row_loop, 1)
        columns = math.prod(self.plan.tile.values()) // rows
        if name == _SUMS:
            # The output may have another type: an epilogue computes it from sums.
            return linalg.empty([rows * columns, self.height * self.plan.lanes], combiners(self.op)[0].element)
        if name == _ROWS:
            return linalg.empty([rows, self.depth, self.height * self.width], self.op.element(self.dots.rows))
        loop, points = self._columns_loop
        sizes = [ceil_divided(self.op.size(loop), points), self.depth * self.height, self.width]
        return linalg.empty(sizes, self.op.element(self.dots.columns))

    @property
    def _columns_loop(self) -> tuple[int, int]:
        """Return the loop over tiles of columns, and the number of its points in a tile."""
        return (self.plan.vector, self.plan.lanes) if self.blocks is None else (self.blocks, 1)

    def _column(self, state: State) -> Size:
        """Return the number of the tile of columns at a state."""
        loop, points = self._columns_loop
        return state.starts[loop] // points

    def _place(self, name: str) -> int:
        return len(self.op.outputs) + [*self._common, *self._own].index(name)

    def _with(self, name: str, memory: Value, values: Sequence[Value]) -> list[Value]:
        return [memory if place == self._place(name) else value for place, value in enumerate(values)]

    # ---- loops ----

    def segments(self, dim: int, size: Size) -> list[Segment]:
        points = {self.row_loop: self.height, self.plan.vector: self.plan.lanes}
        if dim not in points:
            return super().segments(dim, size)
        return list(vectors(size, points[dim], self.plan.tile.get(dim, 1), masked=True))

    def _loop(self, level: int, ranges: Ranges, state: State, outputs: list[Value]) -> list[Value]:
        is_around_rows = level < len(self.plan.order) and self.plan.order[level] == self.row_loop
        if is_around_rows and self.packed is None:
            panel = self._copied_columns(ranges, state, outputs[self._place(_COLUMNS)])
            outputs = self._with(_COLUMNS, panel, outputs)
        return super()._loop(level, ranges, state, outputs)

    def _entered(self, dim: int, ranges: Ranges, state: State, values: list[Value]) -> tuple[State, list[Value]]:
        if dim != self.row_loop:
            return state, values
        return state, self._with(_ROWS, self._copied_rows(state, values[self._place(_ROWS)]), values)

    def _rows_in(self, state: State, tile: int) -> Size:
        """Return the number of rows of a tile in a step."""
        return self.height if state.rows is None else minimum(self.height, state.rows - tile * self.height)

    # ---- copies ----

    def _copied_rows(self, state: State, panel: Value) -> Value:
        """Copy the rows of a step to tiles. Elements behind the last row are ignored."""
        for tile in range(state.counts[self.row_loop]):

            def row(at: Size, memory: Value, tile: int = tile) -> list[Value]:
                start = state.starts[self.row_loop] + tile * self.height + at
                return self._copied_row(state.at(self.row_loop, start, 1, 0), tile, at * self.width, memory)

            (panel,) = run_steps(0, self._rows_in(state, tile), 1, row, [panel])
        return panel

    def _copied_row(self, state: State, tile: int, row: Size, panel: Value) -> list[Value]:
        """Copy one row of the first factor, piece by piece."""
        assert self.dots is not None
        operand, of_row = self.dots.rows, self.width // self.piece

        def pieces(inner: State, number: Size, memory: Value) -> list[Value]:
            def copy(step: Size, target: Value) -> list[Value]:
                place = number * -(-self.steps // self.piece) + step
                depth = place // of_row
                column = row + (place - depth * of_row) * self.piece if of_row > 1 else row
                return [write_vector(self._piece(inner, operand, step), target, [tile, depth, column])]

            return self._along_sum(copy, memory)

        return self._in_sums(pieces, state, panel)

    def _in_sums(self, body: Callable[[State, Size, Value], list[Value]], state: State, memory: Value) -> list[Value]:
        """Run `body(state, number, memory)` for the points of the sum's other loops, numbered consecutively."""
        return self._in_inner_sums(0, body, state, 0, memory)

    def _in_inner_sums(
        self, level: int, body: Callable[[State, Size, Value], list[Value]], state: State, number: Size, memory: Value
    ) -> list[Value]:
        if level == len(self.outer_sums):
            return body(state, number, memory)
        dim = self.outer_sums[level]
        size = size_of_sum(self.op, [dim])

        def step(at: Size, target: Value) -> list[Value]:
            return self._in_inner_sums(level + 1, body, state.at(dim, at, 1, at), number * size + at, target)

        return run_steps(0, size, 1, step, [memory])

    def _along_sum(self, copy: Callable[[Size, Value], list[Value]], memory: Value) -> list[Value]:
        """Copy whole pieces, then the remainder."""
        whole = self.steps // self.piece
        steps = run_steps(0, whole, 1, copy, [memory])
        return copy(whole, steps[0]) if self.steps % self.piece else steps

    def _piece(self, state: State, operand: int, step: Size) -> Value:
        """Load a piece of an input along the sum, with zeros behind the end."""
        place = state.at(self.sum_loop, step * self.piece, 1, 0)
        left = self.steps - step * self.piece if isinstance(step, int) else None
        return VectorStep(self, place).access.load_along(operand, self.op.operands[operand], self.piece, left)

    def _copied_columns(self, ranges: Ranges, state: State, panel: Value) -> Value:
        assert self.dots is not None
        loop, points = self._columns_loop
        start, size = ranges[loop]
        is_contiguous = self.op.is_contiguous(self.dots.columns, self.plan.vector)
        copied = self._grouped_rows if is_contiguous else self._turned_columns

        def columns(position: Size, memory: Value) -> list[Value]:
            left = size - position if self.blocks is None else self.plan.lanes
            return copied(state.at(loop, start + position, 1, position), left, memory)

        return run_steps(0, size, points, columns, [panel])[0]

    def _grouped_rows(self, state: State, left: Size, panel: Value) -> list[Value]:
        """Copy a tile's columns of a matrix with contiguous rows: interleave groups of rows."""
        assert self.dots is not None
        operand, count = self.dots.columns, self._column(state)
        origin = (0,) * len(self.op.dims)
        of_piece = -(-self.steps // self.group)

        def pieces(inner: State, number: Size, memory: Value) -> list[Value]:
            values = [memory]
            for segment in groups(self.steps, 1, self.group):

                def copy(position: Size, target: Value, segment: Segment = segment) -> list[Value]:
                    tail = self.steps - position if segment.tail else None
                    place = inner.at(self.sum_loop, position, 1, position).vectors(self.plan.lanes, left)
                    group = VectorStep(self, place).access.load_group(operand, origin, self.op.operands[operand], tail)
                    row = number * of_piece + position // self.group
                    return [write_vector(group, target, [count, row, 0])]

                values = run_steps(segment.start, segment.stop, segment.step, copy, values)
            return values

        def clear(group: Size, memory: Value) -> list[Value]:
            zeros = constant(0, ir.VectorType.get([self.width], memory.type.element_type)).value
            return [write_vector(zeros, memory, [count, group, 0])]

        filled = of_piece * size_of_sum(self.op, self.outer_sums)
        return run_steps(filled, self.depth * self.height, 1, clear, self._in_sums(pieces, state, panel))

    def _turned_columns(self, state: State, left: Size, panel: Value) -> list[Value]:
        """Copy a tile's columns of a matrix with contiguous columns: transpose squares of groups."""
        assert self.dots is not None
        operand, vector = self.dots.columns, self.plan.vector
        start, count = state.starts[vector], self._column(state)
        words = ir.VectorType.get([self.height], ir.IntegerType.get_signless(32))

        def copy(step: Size, memory: Value) -> list[Value]:
            rows = []
            for lane in range(self.plan.lanes):
                # The last column is repeated behind it: results there are dead.
                at = start + minimum(lane, left - 1)
                piece = self._piece(state.at(vector, at, 1, 0), operand, step)
                rows.append(result_of("vector.bitcast", [piece], words))
            elements = ir.VectorType.get([self.width], memory.type.element_type)
            for row, group in enumerate(transposed(rows)):
                place = [count, step * self.height + row, 0]
                memory = write_vector(result_of("vector.bitcast", [group], elements), memory, place)
            return [memory]

        return self._along_sum(copy, panel)

    # ---- tiles ----

    def _registers(self, ranges: Ranges, state: State, outputs: list[Value]) -> list[Value]:
        rows, columns = state.counts[self.row_loop], self._columns_at_once(state)
        left = outputs[self._place(_ROWS)]
        packed = outputs[self._place(_COLUMNS)] if self.packed is None else self.packed
        grouped = tensors.merge(packed, 1, packed.type.rank - 2) if packed.type.rank > 3 else packed
        right = tensors.merge(tensors.split(grouped, 1, [self.depth, self.height]), 2, 2)
        first = self._column(state)
        places = list(itertools.product(range(rows), range(columns)))
        # One zero per tile: a shared one would be copied through memory.
        zeros = [call_intrinsic(ZEROS, self._sizes(2), ir.Type.parse(_TILE)) for _ in places]

        def step(at: Size, *sums: Value) -> list[Value]:
            lefts = [self._tile(left, [row, at, 0]) for row in range(rows)]
            rights = [self._tile(right, [first + column, at, 0]) for column in range(columns)]
            found = zip(places, sums, strict=True)
            return [self._add(total, lefts[row], rights[column]) for (row, column), total in found]

        sums = run_steps(0, self.depth, 1, step, zeros)
        buffer = outputs[self._place(_SUMS)]
        for place, tile in enumerate(sums):
            buffer = write_vector(self._elements(tile, buffer.type.element_type), buffer, [place, 0])
        held = self._with(_SUMS, buffer, outputs)
        for row in range(rows):
            held[:1] = self._finished_rows(state, row, buffer, held[0])
        return held

    def _columns_at_once(self, state: State) -> int:
        return state.counts[self.plan.vector] * (1 if self.blocks is None else state.counts[self.blocks])

    def _tile(self, memory: Value, place: Sequence[Size]) -> Value:
        zero = hoisted_zero(self.op, memory.type.element_type, self.hoisted)
        elements = read_vector(memory, place, self.height * self.width, zero)
        return call_intrinsic(TO_TILE, [result_of("vector.bitcast", [elements], self._words)], ir.Type.parse(_TILE))

    def _elements(self, tile: Value, element: Type) -> Value:
        words = call_intrinsic(FROM_TILE, [tile], self._words)
        return result_of("vector.bitcast", [words], ir.VectorType.get([self.height * self.plan.lanes], element))

    def _add(self, total: Value, left: Value, right: Value) -> Value:
        assert self.dots is not None
        return call_intrinsic(self.dots.instruction.intrinsic, [*self._sizes(3), total, left, right], total.type)

    @property
    def _words(self) -> Type:
        return ir.VectorType.get([self.height * ROW_BYTES // 4], ir.IntegerType.get_signless(32))

    def _sizes(self, count: int) -> list[Value]:
        """Return the number of rows and the bytes of a row, for all tiles but one."""
        type_ = ir.IntegerType.get_signless(16)
        return [constant(size, type_).value for size in (self.height, *[ROW_BYTES] * (count - 1))]

    def _finished_rows(self, state: State, tile: int, buffer: Value, output: Value) -> list[Value]:
        """Return the output with the rows of a tile, computed from the sums in the buffer."""
        (combiner,) = combiners(self.op)
        columns, lanes = self._columns_at_once(state), self.plan.lanes

        def row(at: Size, result: Value) -> list[Value]:
            start = state.starts[self.row_loop] + tile * self.height + at
            step = VectorStep(self, state.at(self.row_loop, start, 1, 0))
            zero = hoisted_zero(self.op, buffer.type.element_type, self.hoisted)
            for number, point in step.accumulators():
                place = [tile * columns + point[self._columns_loop[0]], at * lanes]
                total = read_vector(buffer, place, lanes, zero)
                before = step.first(number, point, [result])
                assert before is not None  # a reduction reads its output
                finished = step.finished(combiner.apply(before, total), point)
                result = step.access.store(finished, self.op.output_start, point, result)
            return [result]

        return run_steps(0, self._rows_in(state, tile), 1, row, [output])
