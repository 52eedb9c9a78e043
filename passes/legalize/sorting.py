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

from ...bindings.mlir import ir
from ...dialects.core.infos import is_float
from . import scalar
from .conversions import widened
from .loops import for_range, index, load, repeat_while, scratches, size, store, when
from .movement import product

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
    """Finds the first records of an order without sorting the others.

    Candidates are collected, and now and then sorted to keep the first: n log(wanted) at most, and near to n where
    most records come after those kept.
    """

    def __init__(self, sorter: Sorter, candidates: Sequence[Any], wanted: Any, order: Order):
        self._sorter = sorter
        self._candidates = candidates
        self._wanted = wanted
        self._order = order

    def select(self, count: Any, record: Records) -> Records:
        """The first of `count` records in their order; equal ones by their place."""
        most = size(self._candidates[0], 0)
        last = scalar.subtract(count, index(1), "index")

        def step(place: Any, filled: Any, is_pruned: Any) -> list[Any]:
            new = record(place)
            is_wanted = when(is_pruned, lambda: self._order(new, self._worst()), _true, [is_pruned.type])[0]
            when(is_wanted, lambda: self._put(new, filled))
            filled = scalar.incremented_if(is_wanted, filled)
            is_full = scalar.compare("==", filled, most, "index")
            prunes = scalar.create("arith.ori", is_full, scalar.compare("==", place, last, "index"))
            left = when(prunes, lambda: self._prune(filled), lambda: filled, [filled.type])[0]
            return [left, scalar.create("arith.ori", is_pruned, prunes)]

        for_range(0, count, step, index(0), scalar.constant(False, _bool()))
        return self._get

    def _worst(self) -> Record:
        return self._get(scalar.subtract(self._wanted, index(1), "index"))

    def _prune(self, filled: Any) -> Any:
        """Leaves the first of the candidates, in order; how many these are."""
        in_order = self._sorter.sort(filled, self._get, self._order)
        kept = scalar.minimum(filled, self._wanted, "index")
        for_range(0, kept, lambda i: self._put(in_order(i), i))
        return kept

    def _get(self, place: Any) -> Record:
        return [load(memory, place) for memory in self._candidates]

    def _put(self, record: Record, place: Any) -> None:
        for value, memory in zip(record, self._candidates, strict=True):
            store(value, memory, place)


def with_first_of_many(
    wanted: Any, count: Any, elements: Sequence[Any], order: Order, use: Callable[[FirstOfMany], Any]
) -> None:
    """`use(first)` with memory to find the first `wanted` of `count` records, in one row after the other."""
    most = scalar.minimum(count, scalar.add(wanted, wanted, "index"), "index")

    def with_candidates(*candidates: Any) -> None:
        with_sorter(most, elements, lambda sorter: use(FirstOfMany(sorter, candidates, wanted, order)))

    scratches([most], elements, with_candidates)


def _true() -> Any:
    return scalar.constant(True, _bool())


def _bool() -> Any:
    return ir.IntegerType.get_signless(1)
