# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of a row group as one loop over some rows at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....bindings.navigation import made_by, operations_of
from ....emit import linalg, loops, tensors
from ....emit.groups import fill_of
from ....emit.numbers import Number, Size
from ....emit.parallel import FLOPS, share_steps
from ....emit.structured import StructuredOp, is_scalar
from ....targets.core.machine import Machine
from ..schedule.parallel_grain import OPERATIONS
from ..schedule.unplanned import on_operands
from ..schedule.vector_body import widest_bits
from .row_groups import RowGroup

#: Most rows per step.
_ROWS = 8


def is_worth_it(rows: RowGroup, machine: Machine) -> bool:
    """Check whether the rows exceed a core's cache between two operations.

    The rows always exceed a GPU's. On a GPU, however, an operation and its elementwise users are one kernel anyway,
    with more threads.
    """
    if machine.shared_bytes:
        return not _is_point_by_point(rows)
    sizes, bytes_ = rows.sizes(), rows.row_bytes()
    known = [size for size in sizes if size is not None]
    return bytes_ is not None and len(known) == len(sizes) and math.prod(known) * bytes_ > machine.own_cache // 2


def _is_point_by_point(rows: RowGroup) -> bool:
    """Check whether each operation after the first, except for fills, reads the previous one's results in place."""
    ops = [op for op in rows.ops if fill_of(op.operation.results[0]) is None]
    return all(itertools.starmap(_takes_results, itertools.pairwise(ops)))


def _takes_results(before: StructuredOp, op: StructuredOp) -> bool:
    results = list(before.operation.results)
    inputs = zip(op.operands[: op.output_start], op.accesses, strict=False)
    read = [access for value, access in inputs if value in results]
    return (
        not op.reductions
        and len(read) == 1
        and [list(output_access) for output_access in op.output_accesses] == [list(read[0])]
    )


class Given(NamedTuple):
    """Parts of tensors that a step computes for itself."""

    #: Map the starts of a step to the parts of tensors.
    parts: Callable[[Sequence[Number]], Mapping[Value, Value]] = lambda _: {}
    nanoseconds: float = 0


def write(rows: RowGroup, machine: Machine, at_once: int | None = None, given: Given | None = None) -> None:
    """Write the loop in place of the operations."""
    last, given = rows.ops[-1].operation, given or Given()
    places = [place for _, place in rows.wanted]
    with ir.InsertionPoint(last), last.location:
        at_once = at_once or _rows_at_once(rows, machine)
        sizes = _sizes(rows)
        steps = [*sizes[:-1], sizes[-1] // at_once if isinstance(sizes[-1], int) else sizes[-1]]

        def step(position: Number, *written: Value) -> list[Value]:
            starts = _starts(position, steps)
            starts[-1] = starts[-1] * at_once
            return RowStep(rows, starts, at_once, dict(zip(places, written, strict=True)), given.parts(starts)).write()

        count = linalg.product(steps)
        if machine.shared_bytes:
            results = loops.for_range(0, count, step, *places, grain=1)
        elif machine.cores > 1:
            results = share_steps(
                count, _work(rows, machine, at_once) + math.ceil(given.nanoseconds * FLOPS), step, *places
            )
        else:
            results = loops.for_range(0, count, step, *places)
    for (value, _), result in zip(rows.wanted, results, strict=True):
        value.replace_all_uses_with(result)
    for op in reversed(rows.ops):
        op.operation.erase()


def _rows_at_once(rows: RowGroup, machine: Machine) -> int:
    """Return a divisor of the last loop's size for which the rows fit into the first-level cache together."""
    size, bytes_ = rows.sizes()[-1], rows.row_bytes()
    if size is None or bytes_ is None or not machine.caches:
        return 1
    most = min(machine.caches[0] // 2 // max(bytes_, 1), _ROWS)
    return next((count for count in range(most, 1, -1) if size % count == 0), 1)


def _sizes(rows: RowGroup) -> list[Size]:
    pairs = zip(rows.loops, rows.sizes(), strict=True)
    return [rows.size(0, loop[0]) if known is None else known for loop, known in pairs]


def _starts(position: Number, sizes: Sequence[Size]) -> list[Number]:
    """Return the index of each loop for a step. The last loop is the fastest."""
    found: list[Number] = []
    for size in reversed(sizes[1:]):
        found.append(position % size)
        position = position // size
    return [position, *reversed(found)]


def _work(rows: RowGroup, machine: Machine, at_once: int) -> Size:
    """Estimate the work of a step as a number of float operations."""
    total: Size = 0
    for place, op in enumerate(rows.ops):
        looped = [loop[place] for loop in rows.loops]
        each = len(operations_of(op.block)) * FLOPS / OPERATIONS / machine.lanes(widest_bits(op)) * at_once
        points = linalg.product([rows.size(place, dim) for dim in op.dims if dim not in looped])
        more = points * math.ceil(each)
        total = more + total if isinstance(total, int) and not isinstance(more, int) else total + more
    return total


class RowStep:
    """One step: some rows of all operations."""

    def __init__(
        self,
        rows: RowGroup,
        starts: Sequence[Number],
        at_once: int,
        written: Mapping[Value, Value],
        given: Mapping[Value, Value],
    ):
        self._rows, self._starts, self._at_once = rows, starts, at_once
        #: Tensors that results overwrite, as they are in this step.
        self._written = written
        self._parts: dict[object, Value] = dict(given.items())

    def write(self) -> list[Value]:
        """Write the step and return the overwritten tensors with these rows."""
        for place, op in enumerate(self._rows.ops):
            operands = [self._part(place, op, operand) for operand in range(len(op.operands))]
            copy = on_operands(op, operands)
            looped = [loop[place] for loop in self._rows.loops]
            linalg.move_indices(copy, dict(zip(looped, self._starts, strict=True)))
            for result, part in zip(op.operation.results, copy.results, strict=True):
                self._parts[result] = part
        return [self._put(value, place) for value, place in self._rows.wanted]

    def _place(self, place: int, op: StructuredOp, operand: int) -> tuple[list[Size], list[Size]]:
        """Return the offsets and sizes of an operand's part."""
        looped = [loop[place] for loop in self._rows.loops]
        offsets: list[Size] = []
        sizes: list[Size] = []
        whole = linalg.sizes(self._rows.outside(op.operands[operand]))
        for index, size in zip(op.accesses[operand], whole, strict=True):
            if index.dim in looped:
                number_of_loop = looped.index(index.dim)
                is_last = number_of_loop == len(looped) - 1
                offsets.append(self._starts[number_of_loop])
                sizes.append(self._at_once if is_last else 1)
            else:
                offsets.append(0)
                sizes.append(size)
        return offsets, sizes

    def _part(self, place: int, op: StructuredOp, operand: int) -> Value:
        value = op.operands[operand]
        if is_scalar(value.type) or value in self._parts:
            return self._parts.get(value, value)
        offsets, sizes = self._place(place, op, operand)
        key = (value, str(op.accesses[operand]), place)
        if key not in self._parts:
            is_scratch = made_by(value, "tensor.empty") is not None and value not in self._written
            self._parts[key] = (
                linalg.empty(sizes, value.type.element_type)
                if is_scratch
                else tensors.slice_of(self._written.get(value, value), offsets, sizes)
            )
        return self._parts[key]

    def _put(self, value: Value, place: Value) -> Value:
        number_of_op = self._rows.made[value]
        op = self._rows.ops[number_of_op]
        operand = op.output_start + list(op.operation.results).index(value)
        offsets, sizes = self._place(number_of_op, op, operand)
        return tensors.put_slice(self._parts[value], self._written[place], offsets, sizes=sizes)
