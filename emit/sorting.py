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
from typing import Any

from ..bindings.mlir import ir
from ..dialects.core.infos import is_float
from . import scalar
from .conversions import widened
from .loops import for_range, index, load, repeat_while, scratches, size, store, when
from .movement import product

#: Records that are compared at once.
_BLOCK = 16

#: The scalars of a record, and the record at a place.
Record = Sequence[Any]
Records = Callable[[Any], Record]
#: Whether a record must come before another, an i1; false for equal ones.
Order = Callable[[Record, Record], Any]


def around_axis(buffer: Any, axis: int | None) -> Any:
    """The elements as [before the axis, along it, after it]; without an axis all are along it."""
    sizes = [size(buffer, each) for each in range(len(buffer.type.shape))]
    if axis is None or not sizes:
        return _reshaped(buffer, [index(1), index(product(sizes)), index(1)])
    return _reshaped(buffer, [index(product(sizes[:axis])), sizes[axis], index(product(sizes[axis + 1 :]))])


def _reshaped(buffer: Any, sizes: Sequence[Any]) -> Any:
    dynamic = ir.ShapedType.get_dynamic_size()
    rank = len(sizes)
    strides = [product(sizes[axis + 1 :]) for axis in range(rank - 1)]
    layout = ir.StridedLayoutAttr.get(0, [*[dynamic] * (rank - 1), 1])
    attributes = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, rank, rank - 1]),
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


def precedes(left: Any, right: Any, dtype: str, *, descending: bool = False) -> Any:
    """Whether an element comes before another one. NaN comes last in either direction, as numpy has it."""
    if not is_float(dtype):
        return scalar.compare(">" if descending else "<", left, right, dtype)
    first, second = widened(left).value, widened(right).value
    in_order = scalar.compare(">" if descending else "<", first, second, dtype)
    is_number, is_nan = scalar.compare("==", first, first, dtype), scalar.compare("!=", second, second, dtype)
    return scalar.create("arith.ori", in_order, scalar.create("arith.andi", is_number, is_nan))


def equals(left: Any, right: Any, dtype: str) -> Any:
    """Whether elements are the same; NaN is the same as NaN."""
    if not is_float(dtype):
        return scalar.compare("==", left, right, dtype)
    first, second = widened(left).value, widened(right).value
    same = scalar.compare("==", first, second, dtype)
    both = scalar.create("arith.andi", *(scalar.compare("!=", each, each, dtype) for each in (first, second)))
    return scalar.create("arith.ori", same, both)


class Sorter:
    """Memory for a number of records, and sorting in it."""

    def __init__(self, halves: Sequence[Any]):
        self._halves = halves

    def sort(self, count: int | Any, record: Records, order: Order) -> Records:
        """Sorts `count` records, `record(i)` at first; what comes back gives them by their place in the order."""
        zero, total = index(0), index(count)
        for_range(0, total, lambda i: self._put(record(i), zero, i))
        _, half = repeat_while(
            [index(1), zero],
            lambda width, _: scalar.compare("<", width, total, "index"),
            lambda width, half: self._merge_all(width, half, total, order),
        )
        return lambda i: self._get(half, i)

    def _get(self, half: Any, place: Any) -> Record:
        return [load(memory, half, place) for memory in self._halves]

    def _put(self, record: Record, half: Any, place: Any) -> None:
        for value, memory in zip(record, self._halves, strict=True):
            store(value, memory, half, place)

    def _merge_all(self, width: Any, half: Any, total: Any, order: Order) -> list[Any]:
        """Merges pairs of neighbouring runs of this width into the other half: runs of twice the width."""
        other = scalar.subtract(index(1), half, "index")
        double = scalar.add(width, width, "index")

        def merge(start: Any) -> None:
            middle = scalar.minimum(scalar.add(start, width, "index"), total, "index")
            end = scalar.minimum(scalar.add(start, double, "index"), total, "index")
            self._merge(half, other, (start, middle, end), order)

        for_range(0, total, merge, step=double)
        return [double, other]

    def _merge(self, half: Any, other: Any, bounds: tuple[Any, Any, Any], order: Order) -> None:
        start, middle, end = bounds
        last = scalar.subtract(end, index(1), "index")

        def step(place: Any, left: Any, right: Any) -> list[Any]:
            # A run that is used up is not asked; what is read for it is any record, so that no branch is needed.
            first = self._get(half, scalar.minimum(left, last, "index"))
            second = self._get(half, scalar.minimum(right, last, "index"))
            left_is_used_up = scalar.compare(">=", left, middle, "index")
            overtakes = scalar.create("arith.ori", left_is_used_up, order(second, first))
            takes_right = scalar.create("arith.andi", scalar.compare("<", right, end, "index"), overtakes)
            pairs = zip(first, second, strict=True)
            self._put([scalar.select(takes_right, after, before) for before, after in pairs], other, place)
            takes_left = scalar.inverted(takes_right)
            return [scalar.incremented_if(takes_left, left), scalar.incremented_if(takes_right, right)]

        for_range(start, end, step, start, middle)


def with_sorter(most: int | Any, elements: Sequence[Any], use: Callable[[Sorter], Any]) -> None:
    """`use(sorter)` with memory for so many records of these types; it can sort one row after the other."""
    scratches([2, most], elements, lambda *halves: use(Sorter(halves)))


class FirstOfMany:
    """Finds the first records of an order without sorting the others; each ends in its place, which decides between
    equal ones.

    Those found so far are a heap, the last of them on top: most others are passed after one comparison with it.
    """

    def __init__(self, sorter: Sorter, heap: Sequence[Any], wanted: Any, order: Order):
        self._sorter = sorter
        self._heap = heap
        self._wanted = wanted
        self._order = order

    def select(self, count: Any, record: Records) -> Records:
        """The first of `count` records in their order."""
        for_range(0, self._wanted, lambda i: self._put(record(i), i))
        parents = scalar.create("arith.divui", self._wanted, index(2))
        last_parent = scalar.subtract(parents, index(1), "index")
        for_range(0, parents, lambda i: self._sink_at(scalar.subtract(last_parent, i, "index")))

        def take_next(place: Any) -> list[Any]:
            (found,) = self._passed(place, count, record)
            when(scalar.compare("<", found, count, "index"), lambda: self._sink(record(found), index(0)))
            return [scalar.add(found, index(1), "index")]

        wants_any = scalar.compare(">", self._wanted, index(0), "index")
        start = scalar.select(wants_any, self._wanted, count)
        repeat_while([start], lambda place: scalar.compare("<", place, count, "index"), take_next)
        return self._sorter.sort(self._wanted, self._get, self._precedes)

    def _passed(self, place: Any, count: Any, record: Records) -> list[Any]:
        """From a place on the first record that comes before the top, or their count: in blocks, then one by one."""
        top, one, block = self._get(index(0)), index(1), index(_BLOCK)
        last, false = scalar.subtract(count, one, "index"), scalar.constant(False, ir.IntegerType.get_signless(1))

        def is_block_passed(place: Any) -> Any:
            end = scalar.add(place, block, "index")

            def has_none() -> Any:
                # Without an end before the block's, the comparisons are vectors.
                found = for_range(place, end, lambda i, any_: scalar.create("arith.ori", any_, wants(i)), false)
                return scalar.inverted(found[0])

            return when(scalar.compare("<=", end, count, "index"), has_none, lambda: false, [false.type])[0]

        def wants(place: Any) -> Any:
            return self._order(record(place), top)

        def is_passed(place: Any) -> Any:
            is_inside = scalar.compare("<", place, count, "index")
            is_not_wanted = scalar.inverted(wants(scalar.minimum(place, last, "index")))
            return scalar.create("arith.andi", is_inside, is_not_wanted)

        (place,) = repeat_while([place], is_block_passed, lambda place: [scalar.add(place, block, "index")])
        return repeat_while([place], is_passed, lambda place: [scalar.add(place, one, "index")])

    def _precedes(self, left: Record, right: Record) -> Any:
        """The order with equal records by their places."""
        is_before = scalar.compare("<", left[-1], right[-1], "index")
        is_not_after = scalar.inverted(self._order(right, left))
        return scalar.create(
            "arith.ori", self._order(left, right), scalar.create("arith.andi", is_before, is_not_after)
        )

    def _sink_at(self, hole: Any) -> None:
        self._sink(self._get(hole), hole)

    def _sink(self, record: Record, hole: Any) -> None:
        """Puts a record into the heap at or below a hole: what is below and comes after it moves up."""
        last = scalar.subtract(self._wanted, index(1), "index")

        def is_below(place: Any) -> Any:
            return scalar.compare("<", place, self._wanted, "index")

        def later_child(hole: Any) -> Any:
            left = scalar.add(scalar.add(hole, hole, "index"), index(1), "index")
            right = scalar.add(left, index(1), "index")
            pair = (self._get(scalar.minimum(place, last, "index")) for place in (left, right))
            takes_right = scalar.create("arith.andi", is_below(right), self._precedes(*pair))
            return scalar.incremented_if(takes_right, left)

        def moves_up(_: Any, child: Any) -> Any:
            comes_after = self._precedes(record, self._get(scalar.minimum(child, last, "index")))
            return scalar.create("arith.andi", is_below(child), comes_after)

        def move_up(hole: Any, child: Any) -> list[Any]:
            self._put(self._get(child), hole)
            return [child, later_child(child)]

        hole, _ = repeat_while([hole, later_child(hole)], moves_up, move_up)
        self._put(record, hole)

    def _get(self, place: Any) -> Record:
        return [load(memory, place) for memory in self._heap]

    def _put(self, record: Record, place: Any) -> None:
        for value, memory in zip(record, self._heap, strict=True):
            store(value, memory, place)


def with_first_of_many(wanted: Any, elements: Sequence[Any], order: Order, use: Callable[[FirstOfMany], Any]) -> None:
    """`use(first)` with memory to find the first `wanted` of more records, in one row after the other."""

    def with_heap(*heap: Any) -> None:
        with_sorter(wanted, elements, lambda sorter: use(FirstOfMany(sorter, heap, wanted, order)))

    scratches([wanted], elements, with_heap)
