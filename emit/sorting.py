# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits stable sorting: merge sort from the bottom up, between two halves of scratch memory.

A record is what is sorted, a tuple of scalars: often an element and where it stands.

    def sorted_row(sorter):
        row = sorter.sort(size(x, 0), lambda i: [load(x, i), i], lambda a, b: precedes(a[0], b[0], "f32"))
        for_range(0, size(x, 0), lambda i: store(row(i)[0], out, i))

    with_sorter(size(x, 0), [element, ir.IndexType.get()], sorted_row)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ..bindings.ir import Type, Value
from ..bindings.mlir import ir
from ..dialects.core.infos import is_float, is_unsigned
from .arithmetic import bits_of, element, from_bits
from .conversions import to_float, widened
from .linalg import segments
from .loops import and_then, for_range, load, repeat_while, scratches, size, store, when
from .numbers import Number, Size, as_i64, as_index, constant, maximum, minimum, select

#: Records that are compared at once.
_BLOCK = 16

#: The scalars of a record, and the record at a place.
Record = Sequence[Number]
Records = Callable[[Number], Record]
#: Whether a record must come before another; false for equal ones.
Order = Callable[[Record, Record], Number]
#: The same of one record and that at a place.
Before = Callable[[Record], Callable[[Number], Number]]


def around_axis(buffer: Value, axis: int | None) -> Value:
    """The elements as [before the axis, along it, after it]; without an axis all are along it."""
    sizes = [size(buffer, each) for each in range(len(buffer.type.shape))]
    if axis is None or not sizes:
        return _reshaped(buffer, [as_index(1), as_index(prod(sizes)), as_index(1)])
    return _reshaped(buffer, [as_index(prod(sizes[:axis])), sizes[axis], as_index(prod(sizes[axis + 1 :]))])


def _reshaped(buffer: Value, sizes: Sequence[Number]) -> Value:
    dynamic = ir.ShapedType.get_dynamic_size()
    rank = len(sizes)
    strides = [prod(sizes[axis + 1 :]) for axis in range(rank - 1)]
    layout = ir.StridedLayoutAttr.get(0, [*[dynamic] * (rank - 1), 1])
    attributes = {
        **segments(1, 0, rank, rank - 1),
        "static_offsets": ir.DenseI64ArrayAttr.get([0]),
        "static_sizes": ir.DenseI64ArrayAttr.get([dynamic] * rank),
        "static_strides": ir.DenseI64ArrayAttr.get([*[dynamic] * (rank - 1), 1]),
    }
    return ir.Operation.create(
        "memref.reinterpret_cast",
        results=[ir.MemRefType.get([dynamic] * rank, buffer.type.element_type, layout)],
        operands=[buffer, *sizes, *strides],
        attributes=attributes,
    ).result


def precedes(left: Number, right: Number, dtype: str, *, descending: bool = False) -> Number:
    """Whether an element comes before another one. NaN comes last in either direction, as numpy has it."""
    first, second = widened(left.of(dtype)), widened(right.of(dtype))
    in_order = first > second if descending else first < second
    return in_order | ((first == first) & (second != second)) if first.is_float else in_order


def lower_key(value: Number, dtype: str) -> Number:
    """An integer that is lower without sign where the element is; for floats both zeros have one, and all NaNs 0."""
    x = widened(value)
    if not x.is_float:
        return x if is_unsigned(dtype) else x ^ _sign(x)
    bits = bits_of(x)
    positive = select((bits < 0) & (x != 0.0), bits ^ -1, bits | _sign(bits))
    return select(x != x, 0, positive)


def from_lower_key(key: Number, dtype: str, result: str) -> Number:
    """The element with a key, NaN for 0."""
    if not is_float(dtype):
        return key if is_unsigned(dtype) else key ^ _sign(key)
    bits = select(key < 0, key ^ _sign(key), key ^ -1)
    return to_float(from_bits(bits, element(f"f{key.bits}")), result)


def _sign(x: Number) -> int:
    """The bit that says whether an integer is negative."""
    return -(1 << (x.bits - 1))


#: Elements that have no more bits, and their places in a row, are one number.
MOST_BITS = 32


def placed_key(value: Number, place: Number, dtype: str, *, descending: bool = False) -> Number:
    """An i64 that is lower where an element comes before another one, or is as large and has a lower place."""
    key = lower_key(value.of(dtype), dtype)
    # NaN, which is 0, comes last: the largest number without sign.
    key = key ^ -1 if descending else key - 1 if value.is_float else key
    wide = (key ^ _sign(key)).of(f"i{key.bits}").to("i64")
    return (wide << MOST_BITS) | as_i64(place)


def place_of(key: Number) -> Number:
    """The place in a placed key."""
    return as_index(key & ((1 << MOST_BITS) - 1))


def equals(left: Number, right: Number, dtype: str) -> Number:
    """Whether elements are the same; NaN is the same as NaN."""
    first, second = widened(left.of(dtype)), widened(right.of(dtype))
    same = first == second
    return same | ((first != first) & (second != second)) if first.is_float else same


def get_record(memories: Sequence[Value], *at: Size) -> Record:
    return [load(memory, *at) for memory in memories]


def put_record(record: Record, memories: Sequence[Value], *at: Size) -> None:
    for value, memory in zip(record, memories, strict=True):
        store(value, memory, *at)


def first_not(start: Size, end: Size, holds: Callable[[Number], Number]) -> Number:
    """The first position in a range for which it is false, or its end, by halving."""

    def halve(low: Number, high: Number) -> list[Number]:
        middle = (low + high).shift_right_unsigned(1)
        is_before = holds(middle)
        return [select(is_before, middle + 1, low), select(is_before, high, middle)]

    return repeat_while([start, end], lambda low, high: low < high, halve)[0]


class Sorter:
    """Memory for a number of records, and sorting in it."""

    def __init__(self, halves: Sequence[Value]):
        self._halves = halves

    def sort(self, count: Size, record: Records, order: Order) -> Records:
        """Sorts `count` records, `record(i)` at first; what comes back gives them by their place in the order."""
        zero, total = as_index(0), as_index(count)
        for_range(0, total, lambda i: put_record(record(i), self._halves, zero, i))
        _, half = repeat_while(
            [1, zero], lambda width, _: width < total, lambda width, half: self._merge_all(width, half, total, order)
        )
        return lambda i: get_record(self._halves, half, i)

    def _merge_all(self, width: Number, half: Number, total: Number, order: Order) -> list[Number]:
        """Merges pairs of neighbouring runs of this width into the other half: runs of twice the width."""
        other, double = 1 - half, width + width

        def merge(start: Number) -> None:
            middle, end = minimum(start + width, total), minimum(start + double, total)
            self._merge(half, other, (start, middle, end), order)

        for_range(0, total, merge, step=double)
        return [double, other]

    def _merge(self, half: Number, other: Number, bounds: tuple[Number, Number, Number], order: Order) -> None:
        start, middle, end = bounds
        first, last = start, end - 1

        def at(place: Number) -> Record:
            # A run that is used up is not asked; what is read for it is any record, so that no branch is needed.
            return get_record(self._halves, half, maximum(minimum(place, last), first))

        def put(is_second: Number, one: Record, second: Record, place: Number) -> None:
            pairs = zip(second, one, strict=True)
            put_record([select(is_second, after, before) for after, before in pairs], self._halves, other, place)

        def step(done: Number, left: Number, right: Number, left_end: Number, right_end: Number) -> list[Number]:
            # From both ends: neither waits for the other. The one in the middle may be put there twice.
            one, second = at(left), at(right)
            takes_right = (right < end) & ((left >= middle) | order(second, one))
            put(takes_right, one, second, start + done)
            before, behind = at(left_end), at(right_end)
            leaves_left = (left_end >= start) & ((right_end < middle) | order(behind, before))
            put(~leaves_left, before, behind, last - done)
            forward, back = takes_right.to("index"), leaves_left.to("index")
            return [left + (1 - forward), right + forward, left_end - back, right_end - (1 - back)]

        for_range(0, (end - start + 1) // 2, step, start, middle, middle - 1, last)


def with_sorter(most: Size, elements: Sequence[Type], use: Callable[[Sorter], object]) -> None:
    """`use(sorter)` with memory for so many records of these types; it can sort one row after the other."""
    scratches([2, most], elements, lambda *halves: use(Sorter(halves)))


class FirstOfMany:
    """Finds the first records of an order without sorting the others; each ends in its place, which decides between
    equal ones.

    Those found so far are a heap, the last of them on top: most others are passed after one comparison with it.
    """

    def __init__(self, sorter: Sorter, heap: Sequence[Value], wanted: Number, order: Order):
        self._sorter = sorter
        self._heap = heap
        self._wanted = wanted
        self._order = order

    def select(self, count: Number, record: Records, before: Before) -> Records:
        """The first of `count` records in their order; `before(top)(i)` is whether record i comes before another."""
        for_range(0, self._wanted, lambda i: put_record(record(i), self._heap, i))
        parents = self._wanted // 2
        last_parent = parents - 1
        for_range(0, parents, lambda i: self._sink_at(last_parent - i))

        def take_next(place: Number) -> Number:
            (found,) = self._passed(place, count, before(get_record(self._heap, 0)))
            when(found < count, lambda: self._sink(record(found), as_index(0)))
            return found + 1

        start = select(self._wanted > 0, self._wanted, count)
        repeat_while([start], lambda place: place < count, take_next)
        return self._sorter.sort(self._wanted, lambda i: get_record(self._heap, i), self._precedes)

    def _passed(self, place: Number, count: Number, wants: Callable[[Number], Number]) -> list[Number]:
        """From a place on the first record that is wanted, or their count: in blocks, then one by one."""
        last = count - 1

        def is_block_passed(place: Number) -> Number:
            end = place + _BLOCK

            def has_none() -> Number:
                # Without an end before the block's, the comparisons are vectors.
                return ~for_range(place, end, lambda i, any_: any_ | wants(i), constant(False, "i1"))[0]

            return and_then(end <= count, has_none)

        def is_passed(place: Number) -> Number:
            return (place < count) & ~wants(minimum(place, last))

        (place,) = repeat_while([place], is_block_passed, lambda place: place + _BLOCK)
        return repeat_while([place], is_passed, lambda place: place + 1)

    def _precedes(self, left: Record, right: Record) -> Number:
        """The order with equal records by their places."""
        return self._order(left, right) | ((left[-1] < right[-1]) & ~self._order(right, left))

    def _sink_at(self, hole: Number) -> None:
        self._sink(get_record(self._heap, hole), hole)

    def _sink(self, record: Record, hole: Number) -> None:
        """Puts a record into the heap at or below a hole: what is below and comes after it moves up."""
        last = self._wanted - 1

        def later_child(hole: Number) -> Number:
            left = hole + hole + 1
            right = left + 1
            pair = (get_record(self._heap, minimum(place, last)) for place in (left, right))
            return left + ((right < self._wanted) & self._precedes(*pair)).to("index")

        def moves_up(_: Number, child: Number) -> Number:
            return (child < self._wanted) & self._precedes(record, get_record(self._heap, minimum(child, last)))

        def move_up(hole: Number, child: Number) -> list[Number]:
            put_record(get_record(self._heap, child), self._heap, hole)
            return [child, later_child(child)]

        hole, _ = repeat_while([hole, later_child(hole)], moves_up, move_up)
        put_record(record, self._heap, hole)


def with_first_of_many(
    wanted: Number, elements: Sequence[Type], order: Order, use: Callable[[FirstOfMany], object]
) -> None:
    """`use(first)` with memory to find the first `wanted` of more records, in one row after the other."""

    def with_heap(*heap: Value) -> None:
        with_sorter(wanted, elements, lambda sorter: use(FirstOfMany(sorter, heap, wanted, order)))

    scratches([wanted], elements, with_heap)
