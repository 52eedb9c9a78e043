# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting along an axis. Equal elements keep their order, in either direction; NaN comes last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...bindings.ir import OpView, Value
from ...bindings.mlir import ir
from ...emit.linalg import product
from ...emit.loops import for_range, load, require, size, sizes, store
from ...emit.numbers import Number, Size
from ...emit.sorting import FirstOfMany, Order, Record, Sorter, around_axis, precedes, with_first_of_many, with_sorter
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize
from ...passes.schedule.sharing import share_ranges

#: The indices of an element of a row.
Place = Callable[[Any], list[Any]]
#: What is done with a row's memory.
Work = Callable[[Any], object]
#: Nanoseconds for an element of a row.
_SORTING, _SELECTING = 16, 2


def _axis(op: OpView, builder: RuleBuilder) -> int:
    """The axis from the front."""
    return int(op.axis) % len(builder.shape(builder.operands[0]))


def _rows(data: Value, nanoseconds: int, use: Callable[[Work], object], body: Callable[[Any, Place], None]) -> None:
    """`body(memory, at)` for each row of the data, seen as [before the axis, along it, after it], of which an element
    takes so long. `use(work)` is `work(memory)`: threads that share the rows have memory of their own."""
    before, count, after = sizes(data)

    def part(start: Number, rows: Size) -> None:
        def place(row: Number) -> Place:
            return lambda i: [row // after, i, row % after]

        use(lambda memory: for_range(start, start + rows, lambda row: body(memory, place(row))))

    share_ranges(product([before, after]), product([count, nanoseconds]), part)


def _order(builder: RuleBuilder, *, descending: bool) -> Order:
    dtype = builder.dtype(builder.operands[0])
    return lambda left, right: precedes(left[0], right[0], dtype, descending=descending)


@register_legalize(["relax.sort", "relax.argsort"])
def sort(op: OpView, operands: list[Value], builder: RuleBuilder) -> Any:
    axis, order = _axis(op, builder), _order(builder, descending=op.descending)
    is_of_places, dtype = op.definition.name == "argsort", builder.result_dtype()

    def body(*buffers: Value) -> None:
        data, out = (around_axis(buffer, axis) for buffer in buffers)
        count = size(data, 1)

        def sort_row(sorter: Sorter, at: Place) -> None:
            row = sorter.sort(count, lambda i: [load(data, *at(i)), *([i] if is_of_places else [])], order)
            wanted = lambda i: row(i)[1].to(dtype) if is_of_places else row(i)[0]  # noqa: E731
            for_range(0, count, lambda i: store(wanted(i), out, *at(i)))

        elements = [data.type.element_type, *([ir.IndexType.get()] if is_of_places else [])]
        _rows(data, _SORTING, lambda work: with_sorter(count, elements, work), sort_row)

    return builder.loops(body)


@register_legalize("relax.topk")
def topk(op: OpView, operands: list[Value], builder: RuleBuilder) -> Any:
    """Of equal elements those with the lowest positions, as ONNX has it."""
    axis, order = _axis(op, builder), _order(builder, descending=op.largest)
    dtype = "" if op.ret_type == "values" else builder.result_dtype(-1)
    size_, result = builder.shape(operands[0])[axis], builder.result_shape()[axis]
    is_unsure = isinstance(result, int) and not isinstance(size_, int)

    def write(record: Record, outs: Sequence[Value], place: Sequence[Number]) -> None:
        written = {"values": record[:1], "indices": record[1:], "both": record}[op.ret_type]
        for value, out in zip(written, outs, strict=True):
            is_position = isinstance(value.type, ir.IndexType)
            store(value.to(dtype) if is_position else value, out, *place)

    def body(*buffers: Value) -> None:
        data, *outs = (around_axis(buffer, axis) for buffer in buffers)
        count, wanted = size(data, 1), size(outs[0], 1)
        if is_unsure:
            are_enough = wanted <= count
            message = f"{{}} elements are asked for along axis {axis} of size {{}}"
            require(are_enough, "ValueError", message, wanted, count)

        def select_row(first: FirstOfMany, at: Place) -> None:
            row = first.select(count, lambda i: [load(data, *at(i)), i])
            for_range(0, wanted, lambda i: write(row(i), outs, at(i)))

        elements = [data.type.element_type, ir.IndexType.get()]
        _rows(data, _SELECTING, lambda work: with_first_of_many(wanted, elements, order, work), select_row)

    return builder.loops(body)
