# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unique elements or slices. Threads sort them, and a scan numbers the first element of each group."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...emit.loops import for_range, load, scratch, size, store, when
from ...emit.numbers import Number, maximum
from ...emit.sorting import Order, Record, equals
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ..default.legalize_sort import by_element
from ..default.legalize_unique import COUNTS, FIRSTS, INVERSE, Grouping, Steps, slice_order, unique_by
from .emit.numbering import numbering
from .emit.scanning import scan_rows
from .emit.sorting import sort_rows


@register_legalize("relax.unique", target="gpu")
def unique(call: LegalizeCall) -> Legalized:
    return unique_by(Steps(_group, _renumber_by_first), call)


def _group(items: Value, grouping: Grouping, results: Mapping[str, Value], value: Value) -> None:
    """Number the groups in the order of their items."""
    total, place = size(items, 1), ir.IndexType.get()

    def with_places(places: Value) -> None:
        same = _sort(items, grouping, places)

        def with_starts(starts: Value) -> None:
            def begins(at: Number) -> Number:
                return (at == 0) | ~same(load(places, maximum(at - 1, 0)), load(places, at))

            def write(at: Number, before: Number, behind: Number) -> None:
                group, position = (behind - 1).to("index"), load(places, at)
                if INVERSE in results:
                    store(behind - 1, results[INVERSE], position)

                def begin() -> None:
                    # Sorting is stable: the first item in order is the first one in the tensor.
                    store(position.to("i64"), results[FIRSTS], group)
                    store(at.to("i64"), starts, group)

                when(behind != before, begin)

            scan_rows(1, total, numbering(begins, write, value))
            if COUNTS in results:
                for_range(0, total, lambda group: _count(group, starts, results[COUNTS], value), grain=1)

        scratch([total], ir.IntegerType.get_signless(64), with_starts)

    scratch([total], place, with_places)


def _count(group: Number, starts: Value, counts: Value, value: Value) -> None:
    """Store the number of items between the begin of a group and the begin of the next one."""
    groups, total = load(value, 0).to("index"), size(starts, 0)

    def write() -> None:
        is_last = group + 1 == groups
        end = when(is_last, lambda: total.to("i64"), lambda: load(starts, group + 1), [starts.type.element_type])[0]
        store(end - load(starts, group), counts, group)

    when(group < groups, write)


def _sort(items: Value, grouping: Grouping, places: Value) -> Callable[[Number, Number], Number]:
    """Write the places of the items in sorted order. Return the equality test of the items at two places."""
    before, total, after = (size(items, axis) for axis in range(3))
    dtype, place = grouping.dtype, ir.IndexType.get()

    def keep(_: Number, at: Number, record: Record) -> None:
        store(record[-1], places, at)

    if grouping.of_elements:
        element = lambda at: load(items, 0, at, 0)  # noqa: E731
        choice = by_element(dtype, descending=False)
        types = choice.types(items.type.element_type)
        sort_rows(1, total, types, choice.order, lambda _, at: choice.record(element(at), at), keep)
        return lambda one, other: equals(element(one), element(other), dtype)
    orders: tuple[Order, Order] = slice_order(items, dtype, before, after)
    sort_rows(1, total, [place], orders[0], lambda _, at: [at], keep)
    return lambda one, other: orders[1]([one], [other])


def _renumber_by_first(groups: Mapping[str, Value], numbers: Value, results: Mapping[str, Value], value: Value) -> None:
    """Renumber the groups by their first occurrence."""
    total = size(numbers, 0)
    group_at = lambda position: load(groups[INVERSE], position).to("index")  # noqa: E731

    def is_first(position: Number) -> Number:
        return load(groups[FIRSTS], group_at(position)) == position.to("i64")

    def write(position: Number, before: Number, behind: Number) -> None:
        group, number = group_at(position), before.to("index")

        def begin() -> None:
            store(number, numbers, group)
            store(position.to("i64"), results[FIRSTS], number)
            if COUNTS in results:
                store(load(groups[COUNTS], group), results[COUNTS], number)

        when(behind != before, begin)

    scan_rows(1, total, numbering(is_first, write, value))
    if INVERSE in results:
        renumber = lambda at: store(load(numbers, group_at(at)).to("i64"), results[INVERSE], at)  # noqa: E731
        for_range(0, total, renumber, grain=1)
