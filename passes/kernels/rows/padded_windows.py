# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows over a padded copy of a tensor, computed in parts that each copy only their input into the cache."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ....bindings.ir import Block, Value
from ....bindings.mlir import DYNAMIC
from ....bindings.navigation import operations_of, use_count
from ....dialects.core.infos import bit_width
from ....emit import linalg
from ....emit.generic import GENERIC, GenericOp
from ....emit.groups import fill_of
from ....emit.loops import for_range
from ....emit.numbers import Number, Size, maximum, minimum
from ....emit.parallel import LEAST_GRAIN
from ....emit.structured import StructuredOp
from ....emit.tensors import put_slice, slice_of
from ....emit.windows import in_room
from ....targets.core.machine import Machine
from ..schedule.parallel_grain import BYTES, computing
from ..schedule.vector_body import widest_bits
from .padding import Padding, padding_of
from .row_groups import RowGroup, analyzed, is_vector, results_to_store, shared_loops, sort_loops
from .writing import Given, write

#: The copy of a part may take 1/2 of the first cache: filters and results take the rest. If parts would copy rows too
#: often, the copy of a part may take 1/8 of a core's own cache.
_SHARE_OF_FIRST, _SHARE_OF_OWN = 2, 8
#: Most copies of a row: 7x7 windows of one row of 56 at a time took 1.5 times as long as windows of all rows.
_COPIES = 2.5
#: Fewest parts per core if the number of parts is known, and if there is enough work.
_PARTS_OF_CORE = 4


class _Along(NamedTuple):
    """Windows along an axis of the padded tensor."""

    axis: int
    dim: int
    stride: int
    #: Distance from the first tap of a window to the last.
    reach: int


@dataclass(frozen=True)
class PaddedWindows:
    """Operations that compute windows over a padded tensor.

    Steps of the loops share no elements of the padded tensor except rows, of which each step computes some.
    """

    padding: Padding
    rows: RowGroup
    #: The operation that reads the padded tensor, and the shared loops among its own.
    op: StructuredOp
    loops: tuple[int, ...]
    #: Axis of the last loop if a step computes only some rows.
    along: _Along | None
    at_once: int

    def is_shared(self, machine: Machine) -> bool:
        """Check whether there are enough parts for all cores, or too little work for threads."""
        steps = [size for size in self.rows.sizes() if size is not None]
        if machine.cores == 1 or len(steps) < len(self.rows.loops):
            return True
        count = math.prod(steps) // self.at_once
        return count >= min(_PARTS_OF_CORE * machine.cores, self._nanoseconds(count, machine) // LEAST_GRAIN)

    def _nanoseconds(self, parts: int, machine: Machine) -> float:
        """Estimate the time of one thread."""
        summing = sum(computing(op, machine.lanes(widest_bits(op))) for op in self.rows.ops)
        return summing + parts * self._copying()

    def _copying(self) -> float:
        """Estimate the time to copy a part in nanoseconds: its bytes come from memory or from another core."""
        sizes = list(self.padding.whole.type.shape)
        for axis, index in enumerate(_access(self.op, self.padding.whole)):
            if index.dim in self.loops:
                sizes[axis] = 1
            elif self.along is not None and axis == self.along.axis:
                sizes[axis] = _rows_read(self.along, self.at_once)
        known = [size for size in sizes if size != DYNAMIC]
        return math.prod(known) * _element_bytes(self.padding.whole) / BYTES

    def write(self, machine: Machine) -> None:
        """Write the loop over parts in place of the operations and of the copy."""
        given = Given(lambda starts: {self.padding.whole: self._part(starts)}, self._copying())
        write(self.rows, machine, self.at_once, given)
        for maker in self.padding.makers:
            maker.erase()

    def _part(self, starts: Sequence[Number]) -> Value:
        """Return the part of the padded tensor that a step reads."""
        padding, along = self.padding, self.along
        offsets: list[Size] = [0] * len(padding.before)
        sizes = linalg.sizes(padding.data)
        for axis, index in enumerate(_access(self.op, padding.whole)):
            if index.dim in self.loops:
                offsets[axis], sizes[axis] = starts[self.loops.index(index.dim)], 1
        room = [size + (low + high) for size, low, high in zip(sizes, padding.before, padding.after, strict=True)]
        if along is not None:
            return self._rows(along, starts[-1], offsets, sizes, room)
        return in_room(slice_of(padding.data, offsets, sizes), padding.number, padding.before, padding.after, room)

    def _rows(
        self, along: _Along, start: Number, offsets: Sequence[Size], sizes: Sequence[Size], room: Sequence[Size]
    ) -> Value:
        """Return the rows of the padded tensor that a step reads, copied one by one.

        The number of rows in the border depends on the step. A row has a constant size, so its copy has no remainders.
        """
        padding, axis, count = self.padding, along.axis, _rows_read(along, self.at_once)
        size, first = linalg.size(padding.data, axis), padding.before[axis] - start * along.stride
        # If a border is wider than the windows, some windows are within it.
        data = minimum(maximum(first, 0), count)
        end = maximum(minimum(first + size, count), data)
        row = _replace_size(room, axis, 1)

        def border(number: Number, whole: Value) -> Value:
            place = _replace_size([0] * len(row), axis, number)
            return put_slice(linalg.fill(padding.number, slice_of(whole, place, row)), whole, place, sizes=row)

        def copy(number: Number, whole: Value) -> Value:
            place = _replace_size([0] * len(row), axis, number)
            source = slice_of(padding.data, _replace_size(offsets, axis, number - first), _replace_size(sizes, axis, 1))
            before, after = (_replace_size(each, axis, 0) for each in (padding.before, padding.after))
            padded = in_room(source, padding.number, before, after, row, slice_of(whole, place, row))
            return put_slice(padded, whole, place, sizes=row)

        whole = linalg.empty(_replace_size(room, axis, count), padding.data.type.element_type)
        for first_row, last_row, body in ((0, data, border), (data, end, copy), (end, count, border)):
            [whole] = for_range(first_row, last_row, body, whole)
        return whole


def _replace_size(sizes: Sequence[Size], axis: int, size: Size) -> list[Size]:
    return [*sizes[:axis], size, *sizes[axis + 1 :]]


def windows_over_copy(block: Block, machine: Machine) -> PaddedWindows | None:
    """Return the first windows of a block over a copy that exceeds the cache, or None."""
    for operation in [each for each in operations_of(block) if each.name == GENERIC]:
        padding = _padding_read(GenericOp(operation))
        op = None if padding is None or not _is_large(padding.whole, machine) else analyzed(operation)
        if op is None or padding is None or not op.reductions:
            continue
        if (windows := _windows(op, padding, machine)) is not None:
            return windows
    return None


def _padding_read(op: GenericOp) -> Padding | None:
    """Return the padded copy that an operation reads as its only user, or None."""
    inputs = [value for value in op.inputs if use_count(value) == 1]
    return next((padding for value in inputs if (padding := padding_of(value)) is not None), None)


def _is_large(tensor: Value, machine: Machine) -> bool:
    shape = list(tensor.type.shape)
    if DYNAMIC in shape:
        return bool(machine.caches)
    return bool(machine.caches) and machine.caches[0] < math.prod(shape) * _element_bytes(tensor)


def _element_bytes(tensor: Value) -> int:
    return -(-bit_width(str(tensor.type.element_type)) // 8)


def _windows(op: StructuredOp, padding: Padding, machine: Machine) -> PaddedWindows | None:
    """Return the windows with as many following operations as share the loops."""
    fill = fill_of(op.operands[op.output_start])
    start = None if fill is None else analyzed(fill)
    ops = [op] if start is None else [start, op]
    reader = len(ops) - 1
    ops += _consumers(op)
    ends = range(len(ops), reader, -1)
    partials = (_find_partial(ops[:end], reader, padding, machine) for end in ends)
    return next((windows for windows in partials if windows is not None), None)


def _consumers(op: StructuredOp) -> list[StructuredOp]:
    """Return the chain of operations that read the results, up to the first one without analysable loops."""
    consumers: list[StructuredOp] = []
    results = set(op.operation.results)
    for operation in operations_of(op.operation.block):
        if results.isdisjoint(operation.operands):
            continue
        if (reader := analyzed(operation)) is None:
            break
        consumers.append(reader)
        results.update(operation.results)
    return consumers


def _find_partial(ops: Sequence[StructuredOp], reader: int, padding: Padding, machine: Machine) -> PaddedWindows | None:
    op = ops[reader]
    access = _access(op, padding.whole)
    if not _is_read_once(op, padding.whole):
        return None
    made = {result: number for number, each in enumerate(ops) for result in each.operation.results}
    values = results_to_store(ops, made)
    shared = [loop for loop in shared_loops(ops, made, padding.whole) if not is_vector(ops, [loop], loop)]
    along = _window_axis(op, padding)
    apart = {index.dim for axis, index in enumerate(access) if not padding.is_along(axis) and not index.is_partial}
    parts = sort_loops(ops[-1], [loop for loop in shared if loop[reader] in apart])
    rows = [loop for loop in shared if along is not None and loop[reader] == along.dim]
    if values is None:
        return None

    def parts_of(at_once: int) -> PaddedWindows:
        loops = (*parts, *(rows if at_once else ()))
        group = RowGroup(tuple(ops), loops, values, (padding.whole,))
        return PaddedWindows(
            padding, group, op, tuple(loop[reader] for loop in loops), along if at_once else None, at_once or 1
        )

    counts = _rows_at_once(op, padding, along, machine) if rows and along is not None else [0]
    candidates = (parts_of(count) for count in counts if count or parts)
    return next((candidate for candidate in candidates if candidate.is_shared(machine)), None)


def _access(op: StructuredOp, tensor: Value) -> tuple:
    return op.accesses[op.operands.index(tensor)]


def _is_read_once(op: StructuredOp, tensor: Value) -> bool:
    """Check whether no element is read for several channels or summed outside of windows."""
    used = {dim for index in _access(op, tensor) for dim, _ in index.factors}
    summed = {index.dim for index in _access(op, tensor)} & op.reductions
    return not summed and all(dim in used or op.sizes[dim] == 1 for dim in op.parallels)


def _window_axis(op: StructuredOp, padding: Padding) -> _Along | None:
    """Return the outermost axis with windows if all of its sizes are static."""
    for axis, index in enumerate(_access(op, padding.whole)):
        if len(index.factors) < 2:
            continue
        taps = [(op.sizes[dim], factor) for dim, factor in index.factors if dim in op.reductions]
        dims = [(dim, factor) for dim, factor in index.factors if dim not in op.reductions]
        sizes = [padding.whole.type.shape[axis], *(size for size, _ in taps), *(op.sizes[dim] for dim, _ in dims)]
        if len(dims) != 1 or DYNAMIC in sizes or None in sizes:
            return None
        (dim, stride) = dims[0]
        return _Along(axis, dim, stride, sum((size - 1) * factor for size, factor in taps if size is not None))
    return None


def _rows_read(along: _Along, rows: int) -> int:
    return (rows - 1) * along.stride + along.reach + 1


def _rows_at_once(op: StructuredOp, padding: Padding, along: _Along, machine: Machine) -> list[int]:
    """Return possible numbers of rows per part, largest first: divisors for which a part fits into the cache, else 1.

    The number 0 means all rows.
    """
    rows = op.sizes[along.dim] or 1
    access = _access(op, padding.whole)
    shape = padding.whole.type.shape
    row = [shape[axis] for axis, index in enumerate(access) if axis > along.axis and index.factors]
    bytes_of_row = math.prod(row) * _element_bytes(padding.whole)
    is_often = lambda count: _rows_read(along, count) > _COPIES * count * along.stride  # noqa: E731
    # LLVM unrolls a loop over two rows: its code compiles a third longer, and is not faster than code for one row.
    skipped = 0 if is_often(1) else 2
    counts = [count for count in range(rows, 0, -1) if rows % count == 0 and count != skipped]

    def fitting(room: int) -> list[int]:
        return [count for count in counts if _rows_read(along, count) * bytes_of_row <= room]

    if not (found := fitting(machine.caches[0] // _SHARE_OF_FIRST)) or is_often(found[0]):
        found = fitting(machine.own_cache // _SHARE_OF_OWN)
    return [0 if count == rows else count for count in found or [1]]
