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
from ..dialects.core.infos import bit_width, is_float, is_unsigned
from .arithmetic import bits_of, element, from_bits
from .conversions import to_float, widened
from .loops import for_range, load, repeat_while, scratches, size, store
from .numbers import Number, Size, as_i64, as_index, minimum, select
from .subviews import seen_as

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
    rank = len(sizes)
    return seen_as(buffer, 0, sizes, [*(prod(sizes[axis + 1 :]) for axis in range(rank - 1)), 1])


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


def key_dtype(dtype: str) -> str:
    """The type of ordered keys of elements."""
    return "i32" if bit_width(dtype) <= MOST_BITS else "i64"


def ordered_key(value: Number, dtype: str, *, descending: bool = False) -> Number:
    """An integer that is lower where an element comes before another one."""
    key = lower_key(value.of(dtype), dtype)
    # NaN, which is 0, comes last: the largest number without sign.
    key = key ^ -1 if descending else key - 1 if value.is_float else key
    return (key ^ _sign(key)).of(f"i{key.bits}").to(key_dtype(dtype))


def placed_key(value: Number, place: Number, dtype: str, *, descending: bool = False) -> Number:
    """An i64 that is lower where an element comes before another one, or is as large and has a lower place."""
    return (ordered_key(value, dtype, descending=descending).to("i64") << MOST_BITS) | as_i64(place)


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
        pairs = total // 2 * 2

        def put_pair(i: Number) -> None:
            first, second = record(i), record(i + 1)
            swaps = order(second, first)
            put_record([select(swaps, *each) for each in zip(second, first, strict=True)], self._halves, zero, i)
            put_record([select(swaps, *each) for each in zip(first, second, strict=True)], self._halves, zero, i + 1)

        for_range(0, pairs, put_pair, step=2)
        for_range(pairs, total, lambda i: put_record(record(i), self._halves, zero, i))
        _, half = repeat_while(
            [2, zero], lambda width, _: width < total, lambda width, half: self._merge_all(width, half, total, order)
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
        """From both ends, where neither waits for the other, as many steps as the shorter run has records, until one is
        used up: a step asks for nothing but the order. Two whole runs are merged so at once."""
        start, middle, end = bounds
        flipped = lambda one, other: order(other, one)  # noqa: E731

        def both_ends(left: Number, right: Number, left_end: Number, right_end: Number) -> list[Number]:
            # What is left of both goes between what was put from the front and what was put from behind.
            first, last = left + right - middle, left_end + right_end - middle + 1

            def step(done: Number, left: Number, right: Number, left_end: Number, right_end: Number) -> list[Number]:
                takes_right = self._put_one(half, (right, left), other, first + done, order)
                leaves_left = self._put_one(half, (left_end, right_end), other, last - done, flipped)
                forward, back = takes_right.to("index"), leaves_left.to("index")
                return [left + (1 - forward), right + forward, left_end - back, right_end - (1 - back)]

            steps = minimum(left_end - left, right_end - right) + 1
            return for_range(0, steps, step, left, right, left_end, right_end)

        def are_left(left: Number, right: Number, left_end: Number, right_end: Number) -> Number:
            return minimum(left_end - left, right_end - right) >= 0

        left, right, left_end, right_end = repeat_while([start, middle, middle - 1, end - 1], are_left, both_ends)
        copied, place = select(left <= left_end, left, right), left + right - middle
        rest = left_end - left + right_end - right + 2

        def copy(i: Number) -> None:
            put_record(get_record(self._halves, half, copied + i), self._halves, other, place + i)

        for_range(0, rest, copy)

    def _put_one(self, half: Number, pair: tuple[Number, Number], other: Number, place: Number, order: Order) -> Number:
        """Puts one of two records, the first where the order says so of the pair."""
        first, second = (get_record(self._halves, half, each) for each in pair)
        is_first = order(first, second)
        chosen = [select(is_first, *each) for each in zip(first, second, strict=True)]
        put_record(chosen, self._halves, other, place)
        return is_first


def with_sorter(most: Size, elements: Sequence[Type], use: Callable[[Sorter], object]) -> None:
    """`use(sorter)` with memory for `count` records of these types; it can sort one row after the other."""
    scratches([2, most], elements, lambda *halves: use(Sorter(halves)))
