# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting along an axis. Equal elements keep their order in both directions; NaN comes last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...bindings.ir import Type, Value
from ...bindings.mlir import ir
from ...dialects.core.infos import bit_width
from ...emit.arithmetic import element
from ...emit.linalg import product
from ...emit.loops import for_range, load, require, scratch, size, sizes, store
from ...emit.numbers import Number, Size
from ...emit.parallel import share_ranges
from ...emit.sorting import (
    MOST_BITS,
    Order,
    Record,
    Sorter,
    around_axis,
    key_dtype,
    ordered_key,
    place_of,
    placed_key,
    precedes,
    with_sorter,
)
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

if TYPE_CHECKING:
    from ...emit.first_of_many import FirstOfMany

#: Returns the indices of an element of a row.
Place = Callable[[Number], list[Number]]
#: Work with a row's memory.
Work = Callable[[Any], object]
#: Nanoseconds per element of a row.
_SORTING, _SELECTING = 16, 2


def axis_of(call: LegalizeCall) -> int:
    """Return the nonnegative axis."""
    return int(call.op.axis) % len(call.shape(call.operands[0]))


def _rows(data: Value, nanoseconds: int, use: Callable[[Work], object], body: Callable[[Any, Place], None]) -> None:
    """Run `body(memory, at)` for each row of the data, viewed as [before the axis, along it, after it].

    An element takes `nanoseconds`. `use(work)` calls `work(memory)`; threads that share the rows have memory of their
    own.
    """
    before, count, after = sizes(data)

    def part(start: Number, rows: Size) -> None:
        def place(row: Number) -> Place:
            return lambda i: [row // after, i, row % after]

        use(lambda memory: for_range(start, start + rows, lambda row: body(memory, place(row))))

    share_ranges(product([before, after]), product([count, nanoseconds]), part)


def _order(call: LegalizeCall, *, descending: bool) -> Order:
    dtype = call.dtype(call.operands[0])
    return lambda left, right: precedes(left[0], right[0], dtype, descending=descending)


@register_legalize(["relax.sort", "relax.argsort"])
def sort(call: LegalizeCall) -> Legalized:
    axis, order = axis_of(call), _order(call, descending=call.op.descending)
    is_of_places, dtype = call.op.definition.name == "argsort", call.result_dtype()

    def body(*buffers: Value) -> None:
        data, out = (around_axis(buffer, axis) for buffer in buffers)
        count = size(data, 1)

        def sort_row(sorter: Sorter, at: Place) -> None:
            row = sorter.sort(count, lambda i: [load(data, *at(i)), *([i] if is_of_places else [])], order)
            wanted = lambda i: row(i)[1].to(dtype) if is_of_places else row(i)[0]  # noqa: E731
            for_range(0, count, lambda i: store(wanted(i), out, *at(i)))

        elements = [data.type.element_type, *([ir.IndexType.get()] if is_of_places else [])]
        _rows(data, _SORTING, lambda work: with_sorter(count, elements, work), sort_row)

    return call.loops(body)


@register_legalize("relax.topk")
def topk(call: LegalizeCall) -> Legalized:
    """Select the k largest elements. Ties go to the lowest index, as in ONNX."""
    from ...emit.first_of_many import with_first_of_many  # few programs need it

    axis = axis_of(call)
    size_, wanted_ = call.shape(call.operands[0])[axis], call.result_shape()[axis]
    choice = choice_of(call.dtype(call.operands[0]), size_, call.op.largest)
    dtype = "" if call.op.ret_type == "values" else call.result_dtype(-1)
    is_across = any(size != 1 for size in call.shape(call.operands[0])[axis + 1 :])

    def body(*buffers: Value) -> None:
        data, *outs = (around_axis(buffer, axis) for buffer in buffers)
        count, wanted = size(data, 1), size(outs[0], 1)
        if not isinstance(size_, int):
            if isinstance(wanted_, int):
                message = f"{{}} elements are asked for along axis {axis} of size {{}}"
                require(wanted <= count, "ValueError", message, wanted, count)
            choice.check(axis, count)

        def select_row(first: FirstOfMany, copied: Value | None, at: Place) -> None:
            if copied is not None:
                for_range(0, count, lambda i: store(load(data, *at(i)), copied, i))

            def read(i: Number) -> Number:
                return load(data, *at(i)) if copied is None else load(copied, i)

            row = first.select(
                count,
                lambda i: choice.record(read(i), i),
                lambda top: choice.before(read, top),
                lambda i: choice.key(read(i)),
            )

            def write_one(i: Number) -> None:
                place = choice.place(row(i))
                write_chosen(call.op.ret_type, read(place), place.to(dtype) if dtype else None, outs, at(i))

            for_range(0, wanted, write_one)

        types = choice.types(data.type.element_type)

        def with_memory(work: Work) -> None:
            def with_heap(first: FirstOfMany) -> None:
                if is_across:
                    scratch([count], data.type.element_type, lambda copied: work((first, copied)))
                else:
                    work((first, None))

            sizes_ = (wanted_ if isinstance(wanted_, int) else wanted, size_ if isinstance(size_, int) else count)
            with_first_of_many(*sizes_, types, element(choice.key_dtype), choice.order, with_heap)

        _rows(data, _SELECTING, with_memory, lambda memory, at: select_row(memory[0], memory[1], at))

    return call.loops(body)


def write_chosen(asked: str, value: Number, place: Number | None, outs: Sequence[Value], at: Sequence[Number]) -> None:
    """Write an element, its position, or both, as requested."""
    choices: dict[str, list[Any]] = {"values": [value], "indices": [place], "both": [value, place]}
    for each, out in zip(choices[asked], outs, strict=True):
        store(each, out, *at)


class Selection(NamedTuple):
    """Representation of elements while the first ones are selected."""

    types: Callable[[Type], list[Type]]
    record: Callable[[Number, Number], Record]
    order: Order
    #: Takes a function that reads elements, and a record.
    before: Callable[[Callable[[Number], Number], Record], Callable[[Number], Number]]
    place: Callable[[Record], Number]
    #: Returns an integer that orders like the elements.
    key: Callable[[Number], Number]
    key_dtype: str
    #: True if the number of elements must fit in MOST_BITS bits.
    is_limited: bool

    def check(self, axis: int, count: Number) -> None:
        """Raise ValueError if there are more elements along an axis."""
        if self.is_limited:
            are_few = count < 1 << MOST_BITS
            require(are_few, "ValueError", f"axis {axis} of size {{}} has more elements than indices can count", count)


def choice_of(dtype: str, size: object, descending: bool) -> Selection:
    """Choose the representation for rows of a size: a single number if it has room for element and position."""
    is_long = isinstance(size, int) and size >> MOST_BITS > 0
    return (by_element if bit_width(dtype) > MOST_BITS or is_long else _select_by_key)(dtype, descending)


def by_element(dtype: str, descending: bool) -> Selection:
    """Represent an element by itself and its position."""
    comes_first = lambda left, right: precedes(left, right, dtype, descending=descending)  # noqa: E731
    return Selection(
        lambda element: [element, ir.IndexType.get()],
        lambda value, place: [value, place],
        lambda left, right: comes_first(left[0], right[0]),
        lambda read, top: lambda i: comes_first(read(i), top[0]),
        lambda record: record[1],
        lambda value: ordered_key(value, dtype, descending=descending),
        key_dtype(dtype),
        False,
    )


def _select_by_key(dtype: str, descending: bool) -> Selection:
    """Represent an element by one number that a single comparison orders. Blocks of elements are compared directly."""

    def before(read: Callable[[Number], Number], top: Record) -> Callable[[Number], Number]:
        last = read(place_of(top[0]))
        return lambda i: precedes(read(i), last, dtype, descending=descending)

    return Selection(
        lambda _: [ir.IntegerType.get_signless(64)],
        lambda value, place: [placed_key(value, place, dtype, descending=descending)],
        lambda left, right: left[0] < right[0],
        before,
        lambda record: place_of(record[0]),
        lambda value: ordered_key(value, dtype, descending=descending),
        key_dtype(dtype),
        True,
    )
