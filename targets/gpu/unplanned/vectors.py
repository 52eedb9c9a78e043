# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectorization per thread: adjacent points access their contiguous elements as one vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....bindings.affine import dims_in, linear_form
from ....bindings.ir import AffineExpr, Value
from ....bindings.mlir import ir
from ....bindings.navigation import made_by, operations_in
from ....emit.groups import Group
from ....emit.loops import for_range, when
from ....emit.memrefs import root_of, storage_bytes
from ....emit.numbers import Number, number
from ....emit.structured import is_storable
from ....emit.vectors import from_elements
from ...core.machine import Machine
from ..emit.memory_access import elements, load, store
from ..parallel_work import FUNCTION, code_of
from .points import WHOLE, Indices, Points

#: Bytes that a thread reads or writes at once.
_VECTOR_BYTES = Machine.thread_bytes
#: Most operations of all of a thread's points. Longer code costs more to load than it saves.
_MOST_CODE = 256
#: With fewer results, a reduction gets one thread per result.
_MANY = 1 << 14


def lanes_of(points: Points, epilogues: Sequence[Points]) -> int:
    """Return the number of points per thread: 16 bytes of the widest operand, or 1 if the outputs are not vectors.

    Epilogues work on each of the results.
    """
    if not (places := _contiguous(points)) or not _is_worth(points):
        return 1
    widest = max(storage_bytes(points.operands[place].type.element_type) for place in places)
    lanes = max(_VECTOR_BYTES // widest, 1)
    code = sum(code_of(op) for epilogue in (points, *epilogues) for op in operations_in(epilogue.operation))
    while lanes > 1 and not (
        lanes * code <= _MOST_CODE and all(_fits(epilogue, lanes, code) for epilogue in (points, *epilogues))
    ):
        lanes //= 2
    return lanes


def _contiguous(points: Points) -> list[int]:
    """Return the operands that are contiguous along the last loop."""
    if not points.parallels:
        return []
    last = points.parallels[-1]
    return [place for place in range(len(points.maps)) if _starts(points, place, last) is not None]


def _is_worth(points: Points) -> bool:
    if not points.reductions:
        return True
    count = points.known_count(points.parallels)
    few = count is not None and count < _MANY
    last = points.parallels[-1]
    moving = [place for place, map_ in enumerate(points.maps) if last in dims_in(*map_.results)]
    return not few and set(moving) <= set(_contiguous(points))


def _fits(points: Points, lanes: int, code: int) -> bool:
    is_light = len(points.parallels) == 1 and not points.reductions and code <= FUNCTION
    if not is_light and points.known_factor(points.parallels[-1]) % lanes:
        return False
    return all(is_vector(points, place, lanes) for place in points.output_numbers)


def is_vector(points: Points, place: int, lanes: int, dim: int | None = None) -> bool:
    """Check whether an operand's elements at `lanes` steps of a loop are contiguous and aligned to a vector.

    The loop defaults to the last parallel one.
    """
    starts = _starts(points, place, points.parallels[-1] if dim is None else dim)
    return starts is not None and not any(start % lanes for start in starts)


def _starts(points: Points, place: int, dim: int) -> list[int] | None:
    """Return the factors of an operand's start offset for a loop, or None if the loop is not contiguous.

    The offset is a sum of multiples of these factors.
    """
    memref = points.operands[place]
    exprs = points.maps[place].results
    if not isinstance(memref.type, ir.MemRefType) or not exprs or not is_storable(memref.type.element_type):
        return None
    if memref.type.element_type.width < 8 or dim in dims_in(*exprs[:-1]):
        return None
    constant = _find_offset(exprs[-1], dim)
    strides, offset = memref.type.get_strides_and_offset()
    if constant is None or strides[-1] != 1:
        return None
    moving = [stride for stride, expr in zip(strides[:-1], exprs, strict=False) if str(expr) != "0"]
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    return [1 if each == unknown else each for each in (*moving, constant, *_begin(memref, offset))]


def _find_offset(expr: AffineExpr, dim: int) -> int | None:
    """Return the constant offset of an index from a loop's index, or None for other expressions."""
    form = linear_form(expr)
    return form.constant if form is not None and form.factors == ((dim, 1),) else None


def _begin(memref: Value, offset: int) -> list[int]:
    """Return the known factors of the offset of a memref's first element."""
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    part = made_by(memref, "memref.subview")
    if offset != unknown or part is None:
        return [offset]
    source = part.operands[0]
    strides, begin = source.type.get_strides_and_offset()
    offsets = part.attributes["static_offsets"]
    moved = [
        stride if at == unknown else at * stride if stride != unknown else unknown
        for at, stride in zip(offsets, strides, strict=True)
        if at != 0
    ]
    return [*moved, *_begin(source, begin)]


class Lanes:
    """Code of a thread for `count` adjacent points of an operation, or of a reduction with fused operations."""

    def __init__(self, group: Group, count: int):
        self._group = group
        self.points = Points(group.main)
        self.count = count
        self._starts = group.initial
        self._epilogues = [Points(epilogue) for epilogue in group.epilogues]

    def write(self, first: Number, count: Number) -> None:
        """Compute and store the points from `first` on, unless they are beyond `count`."""
        if self.count == 1 or self.points.known_factor(self.points.parallels[-1]) % self.count == 0:
            when(first < count, lambda: self._write(self.points.at(first)))
            return
        # This happens for a single loop only: the last thread has fewer points.
        when(first + self.count <= count, lambda: self._write(self.points.at(first)), lambda: self._rest(first, count))

    def _rest(self, first: Number, count: Number) -> None:
        alone = Lanes(self._group, 1)
        for_range(first, count, lambda point: alone._write(self.points.at(point)))

    def _write(self, indices: Indices) -> None:
        points, count = self.points, len(self.points.outputs)
        before = self.first(indices) if points.reads_outputs() else [None] * (count * self.count)
        self.finish(
            points.reduced(indices, before, self._step) if points.reductions else self._step(indices, before), indices
        )

    def first(self, indices: Indices) -> list[Value]:
        """Return the initial contents of the outputs, output by output."""
        if self._starts:
            return [start for start in self._starts for _ in range(self.count)]
        places = self.points.output_numbers
        return [value for place in places for value in self._read(self.points, place, indices)]

    def overwrites_inputs(self) -> bool:
        """Check whether the final stores overwrite memory that the reduction reads."""
        written = {root_of(memref) for memref in [self.points, *self._epilogues][-1].outputs}
        return any(root_of(self.points.operands[place]) in written for place in self.points.read_inputs)

    def finish(self, values: Sequence[Value], indices: Indices) -> None:
        """Apply the epilogues and store the outputs' values."""
        points = self.points
        for epilogue in self._epilogues:
            memory = root_of(points.outputs[0])
            indices = epilogue.at(indices[WHOLE])
            (place,) = [place for place, operand in enumerate(epilogue.inputs) if root_of(operand) == memory]
            values = self._evaluated(epilogue, indices, [None] * self.count, {place: values})
            points = epilogue
        for output in range(len(points.outputs)):
            self._store(points, output, values[output * self.count : (output + 1) * self.count], indices)

    def _step(self, indices: Indices, before: Sequence[Value | None]) -> list[Value]:
        return self._evaluated(self.points, indices, before, {})

    def _evaluated(
        self, points: Points, indices: Indices, before: Sequence[Value | None], known: Mapping[int, Sequence[Value]]
    ) -> list[Value]:
        """Return the outputs' values at all points, output by output. Inputs in `known` are not loaded."""
        inputs = {place: known.get(place) or self._read(points, place, indices) for place in points.read_inputs}
        found = [
            points.evaluated(
                self._move(points, indices, lane),
                {place: values[lane] for place, values in inputs.items()},
                before[lane :: self.count],
            )
            for lane in range(self.count)
        ]
        return [value for values in zip(*found, strict=True) for value in values]

    def _move(self, points: Points, indices: Indices, lane: int) -> Indices:
        if lane == 0:
            return indices
        moved = {dim: (number(indices[dim]) + lane).value for dim in (points.parallels[-1], WHOLE)}
        return {**indices, **moved}

    def _read(self, points: Points, place: int, indices: Indices) -> Sequence[Value]:
        """Load an operand's elements at each point."""
        if self.count > 1 and is_vector(points, place, self.count):
            memref, at = points.element(place, indices)
            return elements(load(memref, at, self.count))
        if self.count == 1 or points.parallels[-1] not in dims_in(*points.maps[place].results):
            return [points.load(place, indices)] * self.count
        return [points.load(place, self._move(points, indices, lane)) for lane in range(self.count)]

    def _store(self, points: Points, output: int, values: Sequence[Value], indices: Indices) -> None:
        memref, at = points.element(points.input_count + output, indices)
        store(values[0] if self.count == 1 else from_elements(values), memref, at)
