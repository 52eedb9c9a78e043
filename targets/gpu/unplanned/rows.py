# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over rows, as in softmax and normalization: a team of threads for each step.

Each operation maps the row's elements, reduces them, or computes scalars from scalars. A thread has the same elements
in all operations, so that barriers are only needed for reductions, with results in all threads. A row that several
operations use stays in registers if it fits: it is read once, and only its last contents are written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import ancestors, body_of, made_by, operations_in, operations_of
from ....emit.combiner import combiners
from ....emit.loops import for_range, when
from ....emit.loops import store as store_scalar
from ....emit.memrefs import root_of, storage_bytes
from ....emit.numbers import Number, as_index, number
from ....emit.subviews import strided_metadata
from ....emit.vectors import from_elements
from ..emit.memory_access import elements, load, store
from ..parallel_work import is_structured, touches
from .collapse import collapse_loops
from .points import Points
from .reduce import is_combined
from .row_teams import Team, TeamShape, guarded, lanes_for, shape_for
from .vectors import is_vector

_SAME_MEMORY = ("memref.collapse_shape", "memref.expand_shape", "memref.cast")
#: Minimum bytes of a register.
_REGISTER_BYTES = 4


def rows_of(loop: Operation) -> Rows | None:
    """Return the rows that a loop's steps compute, or None for other loops.

    This may collapse the loops of its operations.
    """
    body = operations_of(body_of(loop))[:-1]
    if any(touches(op) and op.name != "linalg.generic" for op in body):
        return None
    rows = Rows([collapse_loops(op) for op in body if is_structured(op)], loop)
    return rows if rows.are_rows() else None


class Rows:
    """Operations of one step of a loop over rows."""

    def __init__(self, ops: Sequence[Operation], loop: Operation):
        self.ops = [Points(op) for op in ops]
        self._loop = loop

    def are_rows(self) -> bool:
        lengths = {points.known_size(0) for points in self.along}
        return len(lengths) == 1 and all(map(self._is_of_row, self.ops)) and not self._overlap()

    @property
    def along(self) -> list[Points]:
        """Operations that process the row's elements."""
        return [points for points in self.ops if len(points.kinds)]

    @property
    def length(self) -> int | None:
        """Length of a row, or None if it is dynamic."""
        return self.along[0].known_size(0)

    def _is_of_row(self, points: Points) -> bool:
        if len(points.kinds) > 1 or any(
            isinstance(value.type, ir.MemRefType) for op in operations_in(points.operation) for value in op.operands
        ):
            return False
        outputs = points.output_numbers
        if points.reductions:
            return all(_is_scalar(points, place) for place in outputs) and is_combined(points)
        return all((_is_along if points.parallels else _is_scalar)(points, place) for place in outputs)

    def _overlap(self) -> bool:
        """Check whether an element that is written is also read at another index."""
        written = {root_of(operand): key_of(operand) for points in self.ops for operand in points.outputs}
        for points in self.ops:
            for place, operand in enumerate(points.operands):
                if written.get(root_of(operand), key_of(operand)) != key_of(operand):
                    return True
                is_simple = _is_along(points, place) or _is_scalar(points, place)
                if root_of(operand) in written and not is_simple:
                    return True
        return False

    @cached_property
    def kept(self) -> dict[Hashable, tuple[int, range]]:
        """Row data that several operations use: bytes per element, and the range of these operations."""
        used: dict[Hashable, tuple[int, list[int]]] = {}
        for number_, points in enumerate(self.ops):
            for place, operand in enumerate(points.operands):
                if _is_along(points, place):
                    bytes_ = max(storage_bytes(operand.type.element_type), _REGISTER_BYTES)
                    used.setdefault(key_of(operand), (bytes_, []))[1].append(number_)
        return {key: (bytes_, range(at[0], at[-1])) for key, (bytes_, at) in used.items() if at[0] < at[-1]}

    def _kept_bytes(self) -> int:
        """Return the maximum bytes per row element that are live at the same time."""
        kept = self.kept.values()
        return max(sum(bytes_ for bytes_, lives in kept if at in lives) for at in range(len(self.ops)))

    def shape(self) -> TeamShape:
        moved = [
            points.operands[place].type.element_type
            for points in self.along
            for place in range(len(points.maps))
            if _is_along(points, place) and not self.is_own(points.operands[place])
        ]
        lanes = lanes_for(moved, self.length) if moved else 1
        while lanes > 1 and not all(self._is_vector(points, lanes) for points in self.along):
            lanes //= 2
        bytes_ = max(self._kept_bytes(), _REGISTER_BYTES)
        return shape_for(self.length, lanes, bytes_)

    def _is_vector(self, points: Points, lanes: int) -> bool:
        """Check whether all accesses along the row may be vectors.

        For dynamic lengths the alignment of the begin is checked at run time.
        """
        operands = points.operands
        fits = _is_without_gaps if self.length is None else partial(is_vector, lanes=lanes, dim=0)
        return all(
            fits(points, place)
            for place in range(len(points.maps))
            if _is_along(points, place) and not self.is_own(operands[place]) and not _is_truth(operands[place])
        )

    def is_own(self, memref: Value) -> bool:
        """Check whether memory belongs to a single step."""
        alloc = made_by(root_of(memref), "memref.alloc", "memref.alloca")
        return alloc is not None and self._loop in ancestors(alloc)

    def own_memory(self) -> list[Operation]:
        return [op for op in operations_of(body_of(self._loop)) if op.name == "memref.alloc"]


def write_rows(rows: Rows, team: Team, shape: TeamShape, own: Callable[[Value], bool]) -> None:
    """Emit the code of a thread."""
    if rows.length is not None:
        _RowWriter(rows, team, shape, own).write()
        return
    sizes = [points.size(0) for points in rows.along]
    fits = [as_index(size) <= shape.threads * shape.lanes * shape.chunks for size in sizes]
    whole = [as_index(size) % shape.lanes == 0 for size in sizes if shape.lanes > 1]
    places = [_first_place(points, place) for points in rows.along for place in range(len(points.maps))
              if _is_along(points, place) and not own(points.operands[place])]  # fmt: skip
    aligned = [place % shape.lanes == 0 for place in places if shape.lanes > 1]
    condition = fits[0]
    for fit in (*fits[1:], *whole, *aligned):
        condition = condition & fit
    when(
        condition,
        lambda: _RowWriter(rows, team, shape, own).write(),
        lambda: _RowWriter(rows, team, TeamShape(shape.threads, 1, 0), own).write(),
    )


def _first_place(points: Points, place: int) -> Number:
    """Return the offset of a row in its memory."""
    return number(strided_metadata(points.operands[place]).results[1])


class _RowWriter:
    def __init__(self, rows: Rows, team: Team, shape: TeamShape, own: Callable[[Value], bool]):
        self._rows, self._team, self._shape, self._own = rows, team, shape, own
        self._is_kept = shape.chunks > 0
        self._scalars: dict[Hashable, Value] = {}
        #: Registers of kept row data: the thread's elements of each chunk.
        self._held: dict[Hashable, list[list[Value]]] = {}
        self._last = {key_of(operand): points for points in rows.ops for operand in points.outputs}

    def write(self) -> None:
        for points in self._rows.ops:
            with points.operation.location:
                if not len(points.kinds):
                    self._compute(points)
                elif points.reductions:
                    self._reduce(points)
                else:
                    self._map(points)

    # ---- scalars ----

    def _compute(self, points: Points) -> None:
        def evaluated() -> list[Value]:
            places = [place for place in range(len(points.maps)) if points.is_read(place)]
            values = {place: self._scalar(points, place) for place in places}
            return points.evaluated({}, values, [values.get(place) for place in points.output_numbers])

        self._tell(points, self._team.if_row(evaluated, _element_types(points)))

    def _scalar(self, points: Points, place: int) -> Value:
        known = self._scalars.get(key_of(points.operands[place]))
        return known if known is not None else points.load(place, {})

    def _tell(self, points: Points, values: Sequence[Value]) -> None:
        for place, value in enumerate(values, points.input_count):
            memref = points.operands[place]
            self._scalars[key_of(memref)] = value
            if self._last[key_of(memref)] is points and not self._own(memref):
                self._team.once(partial(self._store_scalar, points, place, value))

    def _store_scalar(self, points: Points, place: int, value: Value) -> None:
        memref, at = points.element(place, {})
        store_scalar(value, memref, *at)

    # ---- along the row ----

    def _reduce(self, points: Points) -> None:
        combining = combiners(points)
        self._prepare(points)

        def step(chunk: int, first: Number, *held: Value) -> list[Value]:
            lanes = self._inputs(points, chunk, first)
            values = list(held)
            for lane in range(self._shape.lanes):
                inputs = {place: each[lane] for place, each in lanes.items()}
                values = points.evaluated({0: (first + lane).value}, inputs, values)
            return values

        parts = self._loop_over_chunks(points, step, [combiner.neutral() for combiner in combining])
        wholes = [self._team.combined(combiner, part) for combiner, part in zip(combining, parts, strict=True)]
        outputs = points.output_numbers
        types = _element_types(points)
        before = self._team.if_row(lambda: [self._scalar(points, place) for place in outputs], types)
        self._tell(points, [combiner.apply(*pair) for combiner, *pair in zip(combining, before, wholes, strict=True)])

    def _loop_over_chunks(self, points: Points, step: Callable[..., list[Value]], held: list[Value]) -> list[Value]:
        """Emit `step` for each chunk, with loop-carried values. Return the last values."""
        if not self._is_kept:
            return self._loop(points, lambda first, *values: step(0, first, *values), held)
        for chunk in range(self._shape.chunks):
            first, condition = self._chunk(points, chunk)
            if condition is None:
                held = step(chunk, first, *held)
            else:
                types = [value.type for value in held]
                make = lambda chunk=chunk, first=first, held=held: step(chunk, first, *held)  # noqa: E731
                held = when(condition, make, lambda held=held: held, types)
        return held

    def _loop(self, points: Points, step: Callable[..., list[Value]], values: Sequence[Value] = ()) -> list[Value]:
        lanes = self._shape.lanes
        stride = self._shape.threads * lanes
        return for_range(self._team.thread * lanes, points.size(0), step, *values, step=stride)

    def _chunk(self, points: Points, chunk: int) -> tuple[Number, Number | None]:
        """Return the first element of a thread's chunk, and the condition that it exists (None: always)."""
        stride = self._shape.threads * self._shape.lanes
        first = self._team.thread * self._shape.lanes + chunk * stride
        known = points.known_size(0)
        if known is not None and (chunk + 1) * stride <= known:
            return first, self._team.has_row
        condition = first < points.size(0)
        return first, condition if self._team.has_row is None else condition & self._team.has_row

    def _where_there(
        self, points: Points, chunk: int, make: Callable[[Number], list[Value]], types: Sequence[ir.Type]
    ) -> list[Value]:
        """Emit `make` from the first element of a thread's chunk, if the chunk exists."""
        first, condition = self._chunk(points, chunk)
        return make(first) if condition is None else guarded(condition, partial(make, first), types)

    def _map(self, points: Points) -> None:
        self._prepare(points)

        def step(chunk: int, first: Number) -> list[Value]:
            lanes = self._inputs(points, chunk, first)
            found = []
            for lane in range(self._shape.lanes):
                inputs = {place: each[lane] for place, each in lanes.items()}
                before = [inputs.get(place) for place in points.output_numbers]
                found.append(points.evaluated({0: (first + lane).value}, inputs, before))
            made: list[Value] = []
            for place, values in enumerate(zip(*found, strict=True), points.input_count):
                self._write(points, place, list(values), first)
                made += values
            return made

        if not self._is_kept:
            self._loop(points, lambda first: step(0, first)[:0])
            return
        lanes, types = self._shape.lanes, _element_types(points)
        wanted = [type_ for type_ in types for _ in range(lanes)]
        chunks = []
        for chunk in range(self._shape.chunks):
            chunks.append(self._where_there(points, chunk, partial(step, chunk), wanted))
        for output, memref in enumerate(points.outputs):
            if key_of(memref) in self._rows.kept:
                part = slice(output * lanes, (output + 1) * lanes)
                self._held[key_of(memref)] = [values[part] for values in chunks]

    def _write(self, points: Points, place: int, values: list[Value], first: Number) -> None:
        memref = points.operands[place]
        if self._is_kept and (self._own(memref) or self._last[key_of(memref)] is not points):
            return
        memref, at = points.element(place, {0: first.value})
        store(values[0] if len(values) == 1 else from_elements(values), memref, at)

    def _prepare(self, points: Points) -> None:
        """Load kept row data for all chunks before its first use."""
        if not self._is_kept:
            return
        for place in self._read_along(points):
            key = key_of(points.operands[place])
            if key not in self._rows.kept or key in self._held:
                continue
            type_ = points.operands[place].type.element_type
            self._held[key] = []
            for chunk in range(self._shape.chunks):
                types = [type_] * self._shape.lanes
                self._held[key].append(self._where_there(points, chunk, partial(self._load, points, place), types))

    def _read_along(self, points: Points) -> list[int]:
        return [place for place in range(len(points.maps)) if _is_along(points, place) and points.is_read(place)]

    def _inputs(self, points: Points, chunk: int, first: Number) -> dict[int, list[Value]]:
        """Return the inputs of the body, for each lane."""
        inputs: dict[int, list[Value]] = {}
        last = points.input_count if points.reductions else len(points.maps)
        for place in [place for place in range(last) if points.is_read(place)]:
            key = key_of(points.operands[place])
            if _is_along(points, place):
                held = self._held.get(key)
                inputs[place] = held[chunk] if held else self._load(points, place, first)
            elif _is_scalar(points, place):
                inputs[place] = [self._scalar(points, place)] * self._shape.lanes
            else:
                lanes = range(self._shape.lanes)
                inputs[place] = [points.load(place, {0: (first + lane).value}) for lane in lanes]
        return inputs

    def _load(self, points: Points, place: int, first: Number) -> list[Value]:
        memref, at = points.element(place, {0: first.value})
        return elements(load(memref, at, self._shape.lanes))


def key_of(value: Value) -> Hashable:
    """Return a key that is equal for values that refer to the same part of memory."""
    if (view := made_by(value, *_SAME_MEMORY)) is not None:
        return key_of(view.operands[0])
    if (part := made_by(value, "memref.subview")) is None:
        return value
    statics = tuple(str(part.attributes[name]) for name in ("static_offsets", "static_sizes", "static_strides"))
    return (key_of(part.operands[0]), statics, tuple(list(part.operands)[1:]))


def _is_scalar(points: Points, place: int) -> bool:
    """Check whether an operand has the same element at all points."""
    return all(isinstance(expr, ir.AffineConstantExpr) for expr in points.maps[place].results)


def _is_along(points: Points, place: int) -> bool:
    """Check whether an operand's elements are the row's elements."""
    *outer, last = points.maps[place].results or [None]
    return isinstance(last, ir.AffineDimExpr) and all(isinstance(expr, ir.AffineConstantExpr) for expr in outer)


def _is_without_gaps(points: Points, place: int) -> bool:
    return bool(points.operands[place].type.get_strides_and_offset()[0][-1] == 1)


def _is_truth(memref: Value) -> bool:
    type_ = memref.type.element_type
    return isinstance(type_, ir.IntegerType) and type_.width < 8


def _element_types(points: Points) -> list[ir.Type]:
    return [memref.type.element_type for memref in points.outputs]
