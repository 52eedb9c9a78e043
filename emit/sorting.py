# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stable sorting: bottom-up merge sort between two halves of scratch memory.

A record is a tuple of scalars to sort, often an element and its index.

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

#: Scalars of a record, and the function that returns the record at an index.
Record = Sequence[Number]
Records = Callable[[Number], Record]
#: Predicate: True if a record must precede another; False for equal records.
Order = Callable[[Record, Record], Number]
#: The same predicate for one record and the record at an index.
Before = Callable[[Record], Callable[[Number], Number]]


def around_axis(buffer: Value, axis: int | None) -> Value:
    """Return the elements as [before the axis, along it, after it]. Without an axis, all elements are along it."""
    sizes = [size(buffer, index) for index in range(len(buffer.type.shape))]
    if axis is None or not sizes:
        return _reshape(buffer, [as_index(1), as_index(prod(sizes)), as_index(1)])
    return _reshape(buffer, [as_index(prod(sizes[:axis])), sizes[axis], as_index(prod(sizes[axis + 1 :]))])


def _reshape(buffer: Value, sizes: Sequence[Number]) -> Value:
    return seen_as(buffer, 0, sizes, [*(prod(sizes[axis + 1 :]) for axis in range(len(sizes) - 1)), 1])


def precedes(left: Number, right: Number, dtype: str, *, descending: bool = False) -> Number:
    """Return True if an element precedes another. NaN comes last in either direction, as in NumPy."""
    first, second = widened(left.of(dtype)), widened(right.of(dtype))
    in_order = first > second if descending else first < second
    return in_order | ((first == first) & (second != second)) if first.is_float else in_order


def lower_key(value: Number, dtype: str) -> Number:
    """Return an unsigned integer key in the order of the elements. Both zeros share a key, and all NaNs have key 0."""
    x = widened(value)
    if not x.is_float:
        return x if is_unsigned(dtype) else x ^ _sign(x)
    bits = bits_of(x)
    positive = select((bits < 0) & (x != 0.0), bits ^ -1, bits | _sign(bits))
    return select(x != x, 0, positive)


def from_lower_key(key: Number, dtype: str, result: str) -> Number:
    """Return the element of a key, NaN for 0."""
    if not is_float(dtype):
        return key if is_unsigned(dtype) else key ^ _sign(key)
    return to_float(from_bits(select(key < 0, key ^ _sign(key), key ^ -1), element(f"f{key.bits}")), result)


def _sign(x: Number) -> int:
    """Return the sign bit of an integer type."""
    return -(1 << (x.bits - 1))


#: An element of at most this many bits, and its index in a row, fit into one number.
MOST_BITS = 32


def key_dtype(dtype: str) -> str:
    """Return the type of the elements' ordered keys."""
    return "i32" if bit_width(dtype) <= MOST_BITS else "i64"


def ordered_key(value: Number, dtype: str, *, descending: bool = False) -> Number:
    """Return a signed integer that is lower if an element precedes another."""
    key = lower_key(value.of(dtype), dtype)
    # NaN, which is 0, comes last: the largest unsigned number.
    key = key ^ -1 if descending else key - 1 if value.is_float else key
    return (key ^ _sign(key)).of(f"i{key.bits}").to(key_dtype(dtype))


def placed_key(value: Number, place: Number, dtype: str, *, descending: bool = False) -> Number:
    """Return an i64 that is lower if an element precedes another, or is equal and has a lower index."""
    return (ordered_key(value, dtype, descending=descending).to("i64") << MOST_BITS) | as_i64(place)


def place_of(key: Number) -> Number:
    """Return the index in a placed key."""
    return as_index(key & ((1 << MOST_BITS) - 1))


def equals(left: Number, right: Number, dtype: str) -> Number:
    """Return True if elements are equal; NaN equals NaN."""
    first, second = widened(left.of(dtype)), widened(right.of(dtype))
    same = first == second
    return same | ((first != first) & (second != second)) if first.is_float else same


def get_record(memories: Sequence[Value], *at: Size) -> Record:
    return [load(memory, *at) for memory in memories]


def put_record(record: Record, memories: Sequence[Value], *at: Size) -> None:
    for value, memory in zip(record, memories, strict=True):
        store(value, memory, *at)


def first_not(start: Size, end: Size, holds: Callable[[Number], Number]) -> Number:
    """Return the first index in a range for which the predicate is false, or the end of the range, by bisection."""

    def halve(low: Number, high: Number) -> list[Number]:
        middle = (low + high).shift_right_unsigned(1)
        is_before = holds(middle)
        return [select(is_before, middle + 1, low), select(is_before, high, middle)]

    return repeat_while([start, end], lambda low, high: low < high, halve)[0]


class Sorter:
    """Memory for a number of records, and the sort in this memory."""

    def __init__(self, halves: Sequence[Value]):
        self._halves = halves

    def sort(self, count: Size, record: Records, order: Order) -> Records:
        """Sort `count` records, initially `record(i)`. Return a function from the index in the order to the record."""
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
        """Merge pairs of adjacent runs of this width into the other half, as runs of twice the width."""
        other, double = 1 - half, width + width

        def merge(start: Number) -> None:
            middle, end = minimum(start + width, total), minimum(start + double, total)
            self._merge(half, other, (start, middle, end), order)

        for_range(0, total, merge, step=double)
        return [double, other]

    def _merge(self, half: Number, other: Number, bounds: tuple[Number, Number, Number], order: Order) -> None:
        """Merge two runs from both ends, which are independent of each other.

        Each round takes as many steps as the shorter run has records, until one run is used up. A step only evaluates
        the order. Two runs of full width are merged at once.
        """
        start, middle, end = bounds
        flipped = lambda one, other: order(other, one)  # noqa: E731

        def both_ends(left: Number, right: Number, left_end: Number, right_end: Number) -> list[Number]:
            # The remaining records of both runs go between the records stored from the front and from the back.
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
        """Store one of two records, the first if the order holds for the pair."""
        first, second = (get_record(self._halves, half, number) for number in pair)
        is_first = order(first, second)
        chosen = [select(is_first, *each) for each in zip(first, second, strict=True)]
        put_record(chosen, self._halves, other, place)
        return is_first


def with_sorter(most: Size, elements: Sequence[Type], use: Callable[[Sorter], object]) -> None:
    """Call `use(sorter)` with memory for `most` records of these types. The sorter can sort one row after the other."""
    scratches([2, most], elements, lambda *halves: use(Sorter(halves)))
