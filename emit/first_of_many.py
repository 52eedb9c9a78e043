# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Top-k selection: the first records of an order without sorting the rest, by one of two algorithms.

Few records use a heap. The last selected record is on top, and most other records fail one comparison with it.

Many records use keys, integers of the same order. Bisection finds the highest selected key: the algorithm halves its
range and counts the keys below. No branch depends on the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..bindings.ir import Type, Value
from ..bindings.mlir import ir
from .loops import and_then, for_range, load, repeat_while, scratch, scratches, store, when
from .numbers import Number, Size, as_i64, as_index, constant, maximum, minimum, select
from .sorting import Before, Order, Record, Records, Sorter, get_record, put_record, with_sorter

#: Records per block of comparisons.
_BLOCK = 16
#: Thresholds for many: more than _FEW records, and more than 1 / _OF of all. Both algorithms take equally long there.
_FEW, _OF = 24, 80


def are_many(wanted: Size, count: Size) -> Number | bool:
    """Return True if the first `wanted` of `count` records are selected by keys; a bool if the sizes are static."""
    if isinstance(wanted, int):
        return wanted > _FEW and wanted * _OF > count
    return (wanted > _FEW) & (wanted * _OF > count)


class FirstOfMany:
    """Selection of the first records of an order. Each record ends with its index, which breaks ties."""

    def __init__(
        self, sorter: Sorter, found: Sequence[Value], keys: Value | None, is_many: Number | bool, wanted: Number,
        order: Order,
    ):  # fmt: skip
        self._sorter = sorter
        self._found = found
        self._keys = keys
        self._is_many = is_many
        self._wanted = wanted
        self._order = order

    def select(self, count: Number, record: Records, before: Before, key: Callable[[Number], Number]) -> Records:
        """Return the first of `count` records, in order.

        `before(top)(i)` is True if record i precedes a record, and `key(i)` is lower then.
        """

        def by_keys() -> None:
            assert self._keys is not None
            self._select_by_keys(self._keys, count, record, key)

        def by_heap() -> None:
            self._select_by_heap(count, record, before)

        if isinstance(self._is_many, bool):
            (by_keys if self._is_many else by_heap)()
        else:
            when(self._is_many, by_keys, by_heap)
        return self._sorter.sort(self._wanted, lambda i: get_record(self._found, i), self._precedes)

    def _precedes(self, left: Record, right: Record) -> Number:
        """Compare records, with ties broken by index."""
        return self._order(left, right) | ((left[-1] < right[-1]) & ~self._order(right, left))

    # ---- many ----

    def _select_by_keys(self, keys: Value, count: Number, record: Records, key: Callable[[Number], Number]) -> None:
        last = self._last_key(keys, count, key)
        equal = self._wanted - _count(keys, count, lambda key: key < last)
        places = self._found[-1]

        def put(i: Number, at: Number, equal: Number) -> list[Number]:
            # Rejected records are stored as well, and the next record overwrites them.
            store(converted(i), places, at)
            key = load(keys, i)
            takes_equal = (key == last) & (equal > 0)
            return [at + ((key < last) | takes_equal).to("index"), equal - takes_equal.to("index")]

        converted = as_index if isinstance(places.type.element_type, ir.IndexType) else as_i64
        for_range(0, count, put, 0, equal)
        for_range(0, self._wanted, lambda i: put_record(record(as_index(load(places, i))), self._found, i))

    def _last_key(self, keys: Value, count: Number, key: Callable[[Number], Number]) -> Number:
        """Return the highest selected key."""

        def put(i: Number, low: Number, high: Number) -> list[Number]:
            store(made := key(i), keys, i)
            return [minimum(low, made), maximum(high, made)]

        def is_open(low: Number, high: Number, found: Number) -> Number:
            return (low < high) & (found != self._wanted)

        def halve(low: Number, high: Number, found: Number) -> list[Number]:
            middle = (low & high) + ((low ^ high) >> 1)
            now = _count(keys, count, lambda key: key <= middle)
            are_enough = now >= self._wanted
            lower, higher = [low, middle, now], [middle + 1, high, found]
            return [select(are_enough, *pair) for pair in zip(lower, higher, strict=True)]

        half = 1 << (keys.type.element_type.width - 1)
        none = [constant(limit, keys.type.element_type) for limit in (half - 1, -half)]
        return repeat_while([*for_range(0, count, put, *none), count], is_open, halve)[1]

    # ---- few ----

    def _select_by_heap(self, count: Number, record: Records, before: Before) -> None:
        for_range(0, self._wanted, lambda i: put_record(record(i), self._found, i))
        parents = self._wanted // 2
        last_parent = parents - 1
        for_range(0, parents, lambda i: self._sink_at(last_parent - i))

        def take_next(place: Number) -> Number:
            (found,) = self._skip(place, count, before(get_record(self._found, 0)))
            when(found < count, lambda: self._sink(record(found), as_index(0)))
            return found + 1

        repeat_while([select(self._wanted > 0, self._wanted, count)], lambda place: place < count, take_next)

    def _skip(self, place: Number, count: Number, wants: Callable[[Number], Number]) -> list[Number]:
        """Return the first accepted record from an index on, or the count: in blocks, then one by one."""
        last = count - 1

        def is_block_passed(place: Number) -> Number:
            end = place + _BLOCK

            def has_none() -> Number:
                # Without an early exit, the comparisons of a block are vectorized.
                return ~for_range(place, end, lambda i, any_: any_ | wants(i), constant(False, "i1"))[0]

            return and_then(end <= count, has_none)

        def is_passed(place: Number) -> Number:
            return (place < count) & ~wants(minimum(place, last))

        (place,) = repeat_while([place], is_block_passed, lambda place: place + _BLOCK)
        return repeat_while([place], is_passed, lambda place: place + 1)

    def _sink_at(self, hole: Number) -> None:
        self._sink(get_record(self._found, hole), hole)

    def _sink(self, record: Record, hole: Number) -> None:
        """Insert a record into the heap at or below a hole. Later records below move up."""
        last = self._wanted - 1

        def later_child(hole: Number) -> Number:
            left = hole + hole + 1
            right = left + 1
            pair = (get_record(self._found, minimum(place, last)) for place in (left, right))
            return left + ((right < self._wanted) & self._precedes(*pair)).to("index")

        def moves_up(_: Number, child: Number) -> Number:
            return (child < self._wanted) & self._precedes(record, get_record(self._found, minimum(child, last)))

        def move_up(hole: Number, child: Number) -> list[Number]:
            put_record(get_record(self._found, child), self._found, hole)
            return [child, later_child(child)]

        hole, _ = repeat_while([hole, later_child(hole)], moves_up, move_up)
        put_record(record, self._found, hole)


def _count(keys: Value, count: Number, wants: Callable[[Number], Number]) -> Number:
    """Return the number of accepted keys."""
    return for_range(0, count, lambda i, found: found + wants(load(keys, i)).to("index"), 0)[0]


def with_first_of_many(
    wanted: Size, count: Size, elements: Sequence[Type], key: Type, order: Order, use: Callable[[FirstOfMany], object]
) -> None:
    """Call `use(first)` with memory to select the first `wanted` of `count` records, for one row after the other."""
    is_many = are_many(wanted, count)

    def with_keys(values: Sequence[Value], keys: Value | None) -> None:
        def sort(sorter: Sorter) -> None:
            use(FirstOfMany(sorter, values, keys, is_many, as_index(wanted), order))

        with_sorter(wanted, elements, sort)

    def with_found(*values: Value) -> None:
        if is_many is False:
            with_keys(values, None)
        else:
            scratch([count], key, lambda keys: with_keys(values, keys))

    scratches([wanted + 1], elements, with_found)
