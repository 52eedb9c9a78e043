# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows over a padded copy of a tensor, done in parts: each copies what it reads to where the cache keeps it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...bindings.ir import Block, Value
from ...bindings.mlir import DYNAMIC
from ...bindings.navigation import operations_of, use_count
from ...dialects.core.infos import bit_width
from ...emit import linalg
from ...emit.generic import GENERIC, GenericOp
from ...emit.groups import fill_of
from ...emit.numbers import Number, Size, maximum, minimum
from ...emit.structured import StructuredOp
from ...emit.tensors import slice_of
from ...emit.windows import in_room
from ...targets.core.backend import Machine
from .padding import Padding, padding_of
from .row_groups import RowGroup, analyzed, is_vector, ordered, shared_loops, wanted_of
from .writing import write

#: The share of a core's own cache for the copy of a part is one by this.
_SHARE = 8
#: Parts for each core at least, where it is known how many there are.
_PARTS_OF_CORE = 4


class _Along(NamedTuple):
    """How windows go along an axis of the padded tensor."""

    axis: int
    dim: int
    stride: int
    #: From the first tap of a window to the last.
    reach: int


@dataclass(frozen=True)
class PaddedWindows:
    """Operations that make all that is wanted of windows over a padded tensor. No steps of their loops read the same of
    it but rows, of which a step makes some."""

    padding: Padding
    rows: RowGroup
    #: The access to the padded tensor of the operation that reads it, and its loops among the others'.
    op: StructuredOp
    loops: tuple[int, ...]
    #: Where a step makes some rows alone, these are the last of the loops.
    along: _Along | None
    at_once: int

    def write(self, machine: Machine) -> None:
        """The loop over parts, in the place of the operations and of the copy."""
        write(self.rows, machine, self.at_once, lambda starts: {self.padding.whole: self._part(starts)})
        for maker in self.padding.makers:
            maker.erase()

    def _part(self, starts: Sequence[Number]) -> Value:
        """The part of the padded tensor that a step reads."""
        padding, along = self.padding, self.along
        before: list[Size] = list(padding.before)
        after: list[Size] = list(padding.after)
        offsets: list[Size] = [0] * len(before)
        sizes = linalg.sizes(padding.data)
        for axis, index in enumerate(_access(self.op, padding.whole)):
            if index.dim in self.loops:
                offsets[axis], sizes[axis] = starts[self.loops.index(index.dim)], 1
        room = [size + (low + high) for size, low, high in zip(sizes, padding.before, padding.after, strict=True)]
        if along is not None:
            axis, count, first = along.axis, _rows_read(along, self.at_once), starts[-1] * along.stride
            size, start = sizes[axis], padding.before[axis] - first
            # Where a border is wider than windows are, some are within it.
            before[axis] = minimum(maximum(start, 0), count)
            end = maximum(minimum(start + size, count), before[axis])
            offsets[axis] = minimum(maximum(before[axis] - start, 0), size)
            sizes[axis] = end - before[axis]
            after[axis], room[axis] = count - end, count
        part = slice_of(padding.data, offsets, sizes)
        return in_room(part, padding.number, before, after, room)


def windows_over_copy(block: Block, machine: Machine) -> PaddedWindows | None:
    """The first of a block over a copy that the cache does not keep."""
    for operation in [each for each in operations_of(block) if each.name == GENERIC]:
        padding = _padding_read(GenericOp(operation))
        op = None if padding is None or not _is_large(padding.whole, machine) else analyzed(operation)
        if op is None or padding is None or not op.reductions:
            continue
        found = _windows(op, padding, machine)
        if found is not None:
            return found
    return None


def _padding_read(op: GenericOp) -> Padding | None:
    """What an operation, the only user, reads of a copy with a border."""
    inputs = [value for value in op.inputs if use_count(value) == 1]
    return next((padding for value in inputs if (padding := padding_of(value)) is not None), None)


def _is_large(tensor: Value, machine: Machine) -> bool:
    shape = list(tensor.type.shape)
    if DYNAMIC in shape:
        return machine.own_cache > 0
    return 0 < machine.own_cache // 2 < math.prod(shape) * _element_bytes(tensor)


def _element_bytes(tensor: Value) -> int:
    return -(-bit_width(str(tensor.type.element_type)) // 8)


def _windows(op: StructuredOp, padding: Padding, machine: Machine) -> PaddedWindows | None:
    """With as much of what follows as goes through the same loops."""
    fill = fill_of(op.operands[op.output_start])
    start = None if fill is None else analyzed(fill)
    ops = [op] if start is None else [start, op]
    reader = len(ops) - 1
    ops += _consumers(op)
    ends = range(len(ops), reader, -1)
    found = (_in_parts(ops[:end], reader, padding, machine) for end in ends)
    return next((each for each in found if each is not None), None)


def _consumers(op: StructuredOp) -> list[StructuredOp]:
    """What reads what was made, one after the other, as far as it is loops."""
    found: list[StructuredOp] = []
    made = set(op.operation.results)
    for operation in operations_of(op.operation.block):
        if made.isdisjoint(operation.operands):
            continue
        reader = analyzed(operation)
        if reader is None:
            break
        found.append(reader)
        made.update(operation.results)
    return found


def _in_parts(ops: Sequence[StructuredOp], reader: int, padding: Padding, machine: Machine) -> PaddedWindows | None:
    op = ops[reader]
    access = _access(op, padding.whole)
    if not _is_read_once(op, padding.whole):
        return None
    made = {result: number for number, each in enumerate(ops) for result in each.operation.results}
    wanted = wanted_of(ops, made)
    shared = [loop for loop in shared_loops(ops, made, padding.whole) if not is_vector(ops, [loop], loop)]
    along = _along(op, padding)
    apart = {index.dim for axis, index in enumerate(access) if not padding.is_along(axis) and not index.is_partial}
    parts = ordered(ops[-1], [loop for loop in shared if loop[reader] in apart])
    rows = [loop for loop in shared if along is not None and loop[reader] == along.dim]
    at_once = _rows_at_once(op, padding, along, machine) if rows and along is not None else 1
    loops = (*parts, *rows)
    if wanted is None or not loops:
        return None
    found = RowGroup(tuple(ops), loops, wanted, (padding.whole,))
    steps = [size for size in found.sizes() if size is not None]
    is_shared = machine.cores == 1 or len(steps) < len(loops)
    if not is_shared and math.prod(steps) // at_once < _PARTS_OF_CORE * machine.cores:
        return None
    return PaddedWindows(padding, found, op, tuple(loop[reader] for loop in loops), along if rows else None, at_once)


def _access(op: StructuredOp, tensor: Value) -> tuple:
    return op.accesses[op.operands.index(tensor)]


def _is_read_once(op: StructuredOp, tensor: Value) -> bool:
    """Whether no element is read for several channels, nor summed but in windows."""
    used = {dim for index in _access(op, tensor) for dim, _ in index.factors}
    summed = {index.dim for index in _access(op, tensor)} & op.reductions
    return not summed and all(dim in used or op.sizes[dim] == 1 for dim in op.parallels)


def _along(op: StructuredOp, padding: Padding) -> _Along | None:
    """The outermost axis along which windows go, if all of its sizes are known."""
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


def _rows_at_once(op: StructuredOp, padding: Padding, along: _Along, machine: Machine) -> int:
    """As many as make parts that the cache has room for, of which all have the same number."""
    rows = op.sizes[along.dim] or 1
    access = _access(op, padding.whole)
    shape = padding.whole.type.shape
    row = [shape[axis] for axis, index in enumerate(access) if axis > along.axis and index.factors]
    bytes_of_row = math.prod(row) * _element_bytes(padding.whole)
    fits = lambda count: _rows_read(along, count) * bytes_of_row <= machine.own_cache // _SHARE  # noqa: E731
    return next((count for count in range(rows, 1, -1) if rows % count == 0 and fits(count)), 1)
