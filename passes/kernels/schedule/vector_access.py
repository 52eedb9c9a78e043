# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vector loads and stores (contiguous, strided, gathered) of a structured operation's operands along one loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....bindings.affine import Linear
from ....bindings.ir import Value
from ....emit import linalg
from ....emit.numbers import Size, as_index, constant, operation, select
from ....emit.structured import StructuredOp, is_scalar, is_storable
from ....emit.tensors import merge, split
from ....emit.vectors import (
    first_lanes,
    from_elements,
    in_each_lane,
    is_vector,
    lane_of,
    read_vector,
    repeated,
    shuffle,
    transposed,
    vector_of,
    write_vector,
)
from .segments import round_down
from .vector_body import hoisted_zero

#: Offset in tile points from the start of a step, for each loop.
Point = tuple[int, ...]


def is_lanewise(op: StructuredOp, dim: int, operand: int) -> bool:
    """Return True if the elements for the lanes of a vector along `dim` are loaded one by one."""
    if not op.uses(operand, dim):
        return False
    is_near = op.is_contiguous(operand, dim) or (operand < op.input_count and op.is_contiguous(operand, dim, 2))
    return not (is_near and is_storable(op.element(operand)))


def loop_between(op: StructuredOp, vector: int, operand: int, tile: Mapping[int, int]) -> int | None:
    """Return the loop with points that an output interleaves with the lanes, if a step takes all points."""
    if len(op.shapes[operand]) < 2 or not is_storable(op.element(operand)):
        return None
    axis, last = op.accesses[operand][-2:]
    dim, size = last.dim, op.shapes[operand][-1]
    is_whole = dim is not None and op.sizes[dim] == tile.get(dim) == size and size & (size - 1) == 0
    return dim if is_whole and size > 1 and axis.dim == vector else None


def is_transposed(op: StructuredOp, vector: int, operand: int, square: int | None) -> bool:
    """Return True if an input's elements are contiguous along `square` and strided along `vector`."""
    if square is None or operand >= op.input_count or not is_lanewise(op, vector, operand):
        return False
    *outer, last = op.accesses[operand]
    elsewhere = [index for index in outer if index.factor(vector) or index.factor(square)]
    is_plain = len(elsewhere) == 1 and elsewhere[0].dim == vector and last.dim == square
    return is_plain and is_storable(op.element(operand))


class VectorAccess:
    """Elements around one place of the loops. Each value is computed once in the block that uses it."""

    def __init__(
        self,
        op: StructuredOp,
        vector: int,
        starts: Sequence[Size],
        lanes: int,
        rest: Size | None,
        hoisted: dict[object, Value],
        square: int | None = None,
        group: tuple[int, int] = (-1, 1),
    ):
        self._op = op
        self._vector = vector
        self._starts = starts
        self._lanes = lanes
        self._rest = rest
        self._hoisted = hoisted
        #: Loop of which a step takes as many points as there are lanes, so that squares can be transposed.
        self._square = square
        #: Loop of which N steps form a point, and N.
        self._grouped, self._group = group
        self._made: dict[object, Value] = {}
        self._squares: dict[tuple[int, Point], list[Value]] = {}
        self._bases: dict[tuple[int, int], Size] = {}

    def at(self, starts: Sequence[Size]) -> VectorAccess:
        """Return the accesses around another place."""
        group = (self._grouped, self._group)
        return VectorAccess(self._op, self._vector, starts, self._lanes, self._rest, self._hoisted, self._square, group)

    def load(self, operand: int, point: Point, tensor: Value) -> Value:
        """Return a scalar if the lanes share it, else a vector."""
        if is_scalar(tensor.type):
            return tensor
        key = ("load", operand, tensor, self._offsets(operand, point))
        if key not in self._made:
            self._made[key] = self._load(operand, point, tensor)
        return self._made[key]

    def _load(self, operand: int, point: Point, tensor: Value) -> Value:
        indices = self._indices(operand, point)
        if not self._op.uses(operand, self._vector):
            return linalg.extract(tensor, indices).value
        if is_transposed(self._op, self._vector, operand, self._square):
            return self._load_transposed(operand, point, tensor)
        if is_lanewise(self._op, self._vector, operand):
            lanes = [self._indices(operand, point, lane) for lane in range(self._lanes)]
            return from_elements([linalg.extract(tensor, place).value for place in lanes])
        if self._op.is_contiguous(operand, self._vector):
            return self._read(tensor, indices, self.mask(point))
        return self._read_every_second(tensor, indices, point)

    def _load_transposed(self, operand: int, point: Point, tensor: Value) -> Value:
        """Return the vector that is a column of a square of elements in memory."""
        assert self._square is not None
        corner = tuple(0 if dim == self._square else offset for dim, offset in enumerate(point))
        if (operand, corner) not in self._squares:
            places = [self._indices(operand, corner, lane) for lane in range(self._lanes)]
            self._squares[operand, corner] = transposed([self._read(tensor, place, None) for place in places])
        return self._squares[operand, corner][point[self._square]]

    def load_from_panel(self, panel: Value, row: Size, dim: int, point: Point) -> Value:
        """Return the vector of a point from the panel. The panel's rows are the steps of loop `dim`."""
        column = point[self._vector] * self._lanes * self._group
        key = ("panel", point[dim], column)
        if key not in self._made:
            self._made[key] = self._read(panel, [row + point[dim], column], None, self._lanes * self._group)
        return self._made[key]

    def load_packed(self, panels: Value, width: int, dim: int, point: Point, before: int = 0) -> Value:
        """Return the vector of a point from packed panels, which have `width` columns of all steps of loop `dim`.

        `before` is the number of other panels before the first one.
        """
        key = ("packed", point[dim], point[self._vector], before)
        if key not in self._made:
            first, *inside = self.packed_place(width, dim, point)
            self._made[key] = self._read(panels, [first + before, *inside], None, self._lanes * self._group)
        return self._made[key]

    def packed_place(self, width: int, dim: int, point: Point) -> list[Size]:
        """Return the place of the vector of a point in panels."""
        start, column = self._starts[self._vector], point[self._vector] * self._lanes
        inside = (start - round_down(start, width) + column) * self._group
        return [start // width, self._starts[dim] // self._group + point[dim], inside]

    def store_to_panel(self, value: Value, panel: Value, row: Size, point: Point) -> Value:
        return self._write(value, panel, [row, point[self._vector] * self._lanes * self._group], None)

    # ---- groups of a reduction's steps, for dot products ----

    def load_group(self, operand: int, point: Point, tensor: Value, tail: Size | None) -> Value:
        """Load the elements of a group of steps for each lane, contiguously.

        `tail` is the number of steps left in the last group. The group's other elements are zeros.
        """
        key = ("group", operand, tensor, self._offsets(operand, point))
        if key not in self._made:
            self._made[key] = self._load_group(operand, point, tensor, tail)
        return self._made[key]

    def _load_group(self, operand: int, point: Point, tensor: Value, tail: Size | None) -> Value:
        wide = self._lanes * self._group
        if not self._op.uses(operand, self._vector):
            mask = None if tail is None else self._mask(tail, self._group)
            return repeated(self._read(tensor, self._indices(operand, point), mask, self._group), self._lanes)
        if self._vector == self._grouped:
            left = None if self._rest is None else self._rest - point[self._vector] * wide
            mask = None if left is None else self._mask(left, wide)
            return self._read(tensor, self._indices(operand, point), mask, wide)
        return interleaved([self._load_step(operand, point, tensor, step, tail) for step in range(self._group)])

    def _load_step(self, operand: int, point: Point, tensor: Value, step: int, tail: Size | None) -> Value:
        """Load a vector of one step of a group."""
        place = self._indices(operand, point, step=step)
        if tail is None:
            return self._read(tensor, place, self.mask(point))
        if isinstance(tail, int):
            zeros = vector_of(self._lanes, tensor.type.element_type)
            return self._read(tensor, place, self.mask(point)) if step < tail else constant(0, zeros).value
        left = self._lanes if self._rest is None else self._rest - point[self._vector] * self._lanes
        is_there = as_index(step) < as_index(tail)
        return self._read(tensor, place, self._mask(select(is_there, as_index(left), as_index(0))))

    def load_along(self, operand: int, tensor: Value, count: int, left: int | None) -> Value:
        """Load a vector of elements from the start along the operand's last axis. Missing elements are zeros."""
        mask = None if left is None else self._mask(left, count)
        return self._read(tensor, self._indices(operand, (0,) * len(self._op.dims)), mask, count)

    def load_packed_group(self, operand: int, point: Point, packed: Value, before: int = 0) -> Value:
        """Load a group of steps for each lane from an input with packed groups of rows.

        `before` is the number of other elements along the first dimension before the input's.
        """
        key = ("packed group", operand, self._offsets(operand, point), before)
        if key not in self._made:
            first, *inside = self.grouped_place(operand, point)
            self._made[key] = self._read(packed, [first + before, *inside], None, self._lanes * self._group)
        return self._made[key]

    def place(self, operand: int, point: Point) -> list[Size]:
        """Return the place of the first lane of a point's vector."""
        return self._indices(operand, point)

    def grouped_place(self, operand: int, point: Point) -> list[Size]:
        """Return the place of a point's vector in groups of rows."""
        *outer, row, column = self._indices(operand, point)
        return [*outer, row // self._group, column * self._group]

    def store(self, value: Value, operand: int, point: Point, tensor: Value) -> Value:
        """Store a scalar or a vector in its place, and return the new tensor."""
        indices = self._indices(operand, point)
        if not is_vector(value):
            return linalg.insert(value, tensor, indices)
        if is_lanewise(self._op, self._vector, operand):
            for lane in range(self._lanes):
                tensor = linalg.insert(lane_of(value, lane), tensor, self._indices(operand, point, lane))
            return tensor
        if self._has_one_lane(point):
            return linalg.insert(lane_of(value, 0), tensor, indices)
        return self._write(value, tensor, indices, self.mask(point))

    def _has_one_lane(self, point: Point) -> bool:
        """Check whether the remainder is known to be one element.

        LLVM 22 stores one lane of a vector that it narrows as a number of the wider type: it writes behind the end.
        """
        return isinstance(self._rest, int) and self._rest - point[self._vector] * self._lanes == 1

    def store_between(self, vectors: Sequence[Value], operand: int, point: Point, tensor: Value) -> Value:
        """Store interleaved vectors: all first lanes, then all second lanes, and so on. Return the new tensor."""
        *outer, place, _ = self._indices(operand, point)
        at = [*outer, place * len(vectors)]
        written = self._write(interleaved(vectors), merge(tensor, len(outer), 2), at, None)
        return split(written, len(outer), linalg.sizes(tensor)[-2:])

    def index(self, dim: int, point: Point) -> Value:
        """Return the index of a loop: a scalar, or one index per lane."""
        scalar = as_index(self._starts[dim] + point[dim] * (self._lanes if dim == self._vector else 1)).value
        if dim != self._vector:
            return scalar
        step = operation("vector.step", [], vector_of(self._lanes, scalar.type))
        return (in_each_lane(scalar, self._lanes) + step).value

    def mask(self, point: Point) -> Value | None:
        """Return the mask of lanes inside of the loop, or None if all are."""
        return None if self._rest is None else self._mask(self._rest - point[self._vector] * self._lanes)

    def _mask(self, count: Size, lanes: int = 0) -> Value | None:
        """Return the mask of the first `count` lanes. `count` may be negative or more than there are."""
        lanes = lanes or self._lanes
        if isinstance(count, int) and count >= lanes:
            return None
        key = ("mask", count if isinstance(count, int) else count.value, lanes)
        if key not in self._made:
            bound = max(count, 0) if isinstance(count, int) else count
            self._made[key] = first_lanes(bound, lanes)
        return self._made[key]

    # ---- places ----

    def _indices(self, operand: int, point: Point, lane: int = 0, step: int = 0) -> list[Size]:
        offsets = self._offsets(operand, point, lane, step)
        return [self._base(operand, axis) + offset for axis, offset in enumerate(offsets)]

    def _offsets(self, operand: int, point: Point, lane: int = 0, step: int = 0) -> tuple[int, ...]:
        """Return the distance of the point from the step's start, for each axis of the operand."""

        def distance(dim: int) -> int:
            steps = point[dim] * self._group + step if dim == self._grouped else point[dim]
            return steps * self._lanes + lane if dim == self._vector else steps

        access = self._op.accesses[operand]
        return tuple(sum(factor * distance(dim) for dim, factor in index.factors) for index in access)

    def _base(self, operand: int, axis: int) -> Size:
        if (operand, axis) not in self._bases:
            self._bases[operand, axis] = self._linear(self._op.accesses[operand][axis])
        return self._bases[operand, axis]

    def _linear(self, index: Linear) -> Size:
        total: Size = index.constant
        for dim, factor in index.factors:
            total = total + self._starts[dim] * factor
        return total

    # ---- memory ----

    def _read(self, tensor: Value, indices: Sequence[Size], mask: Value | None, lanes: int = 0) -> Value:
        zero = hoisted_zero(self._op, tensor.type.element_type, self._hoisted)
        return read_vector(tensor, indices, lanes or self._lanes, zero, mask)

    def _write(self, value: Value, tensor: Value, indices: Sequence[Size], mask: Value | None) -> Value:
        return write_vector(value, tensor, indices, mask)

    def _read_every_second(self, tensor: Value, indices: Sequence[Size], point: Point) -> Value:
        """Load every second element.

        The two loaded vectors end with the last element needed, so that no load reads behind that element.
        """
        if (lanes := self._lanes) == 1:
            return self._read(tensor, indices, self.mask(point))
        *outer, last = indices
        masks: list[Value | None] = [None, None]
        if self._rest is not None:
            left = self._rest - point[self._vector] * lanes
            masks = [self._mask(left * 2 - 1), self._mask(left * 2 - lanes)]
        low = self._read(tensor, indices, masks[0])
        high = self._read(tensor, [*outer, last + (lanes - 1)], masks[1])
        # The second vector starts with the element lanes - 1.
        picked = [place if place < lanes else place + 1 for place in range(0, 2 * lanes, 2)]
        return shuffle(low, high, picked)


def interleaved(rows: Sequence[Value]) -> Value:
    """Interleave vectors, a power of two of them: all first lanes, then all second lanes, and so on."""
    if len(rows) == 1:
        return rows[0]
    left, right = interleaved(rows[::2]), interleaved(rows[1::2])
    count = left.type.shape[0]
    return shuffle(left, right, [place + half for place in range(count) for half in (0, count)])
