# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unique elements, or slices, by sorting: equal ones are adjacent then. NaN equals NaN.

The first PrimFunc finds and counts groups of equal items. The second one copies an item of each group, to results of
that size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...bindings.rewriting import Decline
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, product
from ...emit.arithmetic import element
from ...emit.loops import and_then, for_range, load, repeat_while, scratches, size, store, when
from ...emit.numbers import Number, maximum
from ...emit.parallel import share_places
from ...emit.sorting import Order, Record, Records, Sorter, around_axis, equals, precedes, with_sorter
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

#: Results of grouping: the first position of a group, its size, and the group of each item.
FIRSTS, COUNTS, INVERSE = "firsts", "counts", "inverse"


class Grouping(NamedTuple):
    """Attributes: the axis of the slices, None for elements; the dtype; and the order."""

    axis: int | None
    dtype: str
    is_sorted: bool
    of_elements: bool


class Steps(NamedTuple):
    """Functions that find groups."""

    #: Numbers the groups in the order of their items, and writes the requested results and the number of groups.
    group: Callable[[Value, Grouping, Mapping[str, Value], Value], object]
    #: Renumbers the groups by their first positions, from all results and memory for a number per group.
    by_first: Callable[[Mapping[str, Value], Value, Mapping[str, Value], Value], object]


@register_legalize("relax.unique")
def unique(call: LegalizeCall) -> Legalized:
    return unique_by(Steps(_group, _renumber_by_first), call)


def unique_by(steps: Steps, call: LegalizeCall) -> Legalized:
    """Legalize the operator with functions that find groups."""
    data, is_sorted, *flags = call.operands[:5]
    shape = call.shape(data)
    if call.scalar_value(is_sorted) is None:
        return call.decline("whether the result is sorted must be a constant")
    axis = _axis(call, call.operands[5:], len(shape))
    of_elements = axis is None or len(shape) == 1
    grouping = Grouping(axis, call.dtype(data), bool(call.scalar_value(is_sorted)), of_elements)
    with_firsts, with_inverse, with_counts = (bool(call.scalar_value(flag)) for flag in flags)

    asked = [FIRSTS, *([COUNTS] if with_counts else []), *([INVERSE] if with_inverse else [])]
    found = _grouped(call, steps, shape, asked, grouping)
    taken = _take_first(call, data, shape, [found[name] for name in asked if name != INVERSE], found["size"], axis)
    results = [
        taken[0],
        *([taken[1]] if with_firsts else []),
        *([found[INVERSE]] if with_inverse else []),
        *([taken[2]] if with_counts else []),
    ]
    return list(map(call.cast, results, call.result_infos))


def _axis(call: LegalizeCall, operand: Sequence[Value], rank: int) -> int | None:
    if not operand:
        return None
    if not isinstance(axis := call.scalar_value(operand[0]), int):
        raise Decline("the axis must be a constant")
    return axis % rank


# ---- groups of equal items ----


def _grouped(
    call: LegalizeCall, steps: Steps, shape: Sequence[Dim], asked: Sequence[str], grouping: Grouping
) -> dict[str, Value]:
    """Return the requested results of grouping, with room for as many groups as items, and "size", their number."""
    most: Dim = product(shape) if grouping.axis is None else shape[grouping.axis]
    outputs = [*(TensorInfo((most,), "i64") for _ in asked), TensorInfo((1,), "i64")]

    def body(buffer: Value, *outs: Value) -> None:
        items = around_axis(buffer, grouping.axis)
        results = dict(zip(asked, outs, strict=False))
        if grouping.is_sorted:
            steps.group(items, grouping, results, outs[-1])
            return
        place, room = ir.IndexType.get(), [size(items, 1)]

        def renumber(firsts: Value, counts: Value, inverse: Value, numbers: Value) -> None:
            groups = {FIRSTS: firsts, COUNTS: counts, INVERSE: inverse}
            steps.group(items, grouping, groups, outs[-1])
            steps.by_first(groups, numbers, results, outs[-1])

        scratches(room, [element("i64")] * 3 + [place], renumber)

    values = call.loops(body, call.operands[:1], outputs, name="unique_groups")
    return dict(zip([*asked, "size"], values, strict=True))


def _group(items: Value, grouping: Grouping, results: Mapping[str, Value], value: Value) -> None:
    """Number the groups in the order of their items."""
    from .unique_few import group_few  # few programs need it

    element, dtype = items.type.element_type, grouping.dtype
    before, total, after = (size(items, axis) for axis in range(3))

    def finish(count: Number) -> None:
        store(count.to("i64"), value, 0)

    def by_value(sorter: Sorter) -> None:
        few, groups = group_few(items, dtype, (FIRSTS, COUNTS, INVERSE), results, sorter)
        finish(when(few, lambda: groups, lambda: sort_all(sorter), [ir.IndexType.get()])[0])

    def sort_all(sorter: Sorter) -> Number:
        in_order = sorter.sort(total, lambda i: [i, load(items, 0, i, 0)], lambda a, b: precedes(a[1], b[1], dtype))
        return _number(total, in_order, lambda a, b: equals(a[1], b[1], dtype), results)

    def by_slice(sorter: Sorter) -> None:
        order, same = slice_order(items, dtype, before, after)
        finish(_number(total, sorter.sort(total, lambda i: [i], order), same, results))

    if grouping.of_elements:
        with_sorter(total, [ir.IndexType.get(), element], by_value)
    else:
        with_sorter(total, [ir.IndexType.get()], by_slice)


def _number(total: Number, in_order: Records, same: Order, results: Mapping[str, Value]) -> Number:
    """Visit records in order, with their positions first, and write the begin of each group.

    Return the number of groups.
    """

    def step(place: Number, groups: Number) -> Number:
        record = in_order(place)
        previous = in_order(maximum(place - 1, 0))
        begins = (place == 0) | ~same(previous, record)
        counted = groups + begins.to("index")
        group = counted - 1
        when(begins, lambda: _begin(group, record[0], results))
        if COUNTS in results:
            store(load(results[COUNTS], group) + 1, results[COUNTS], group)
        if INVERSE in results:
            store(group.to("i64"), results[INVERSE], record[0])
        return counted

    return for_range(0, total, step, 0)[0]


def _begin(group: Number, position: Number, results: Mapping[str, Value]) -> None:
    # Sorting is stable: the first item in order is the first one in the tensor.
    store(position.to("i64"), results[FIRSTS], group)
    if COUNTS in results:
        store(0, results[COUNTS], group)


def _renumber_by_first(groups: Mapping[str, Value], numbers: Value, results: Mapping[str, Value], total: Value) -> None:
    """Renumber the groups by their first positions."""

    def step(position: Number, found: Number) -> Number:
        group = load(groups[INVERSE], position)
        is_first = load(groups[FIRSTS], group) == position.to("i64")
        when(is_first, lambda: begin(group, position, found))
        if INVERSE in results:
            store(load(numbers, group).to("i64"), results[INVERSE], position)
        return found + is_first.to("index")

    def begin(group: Number, position: Number, number: Number) -> None:
        store(number, numbers, group)
        store(position.to("i64"), results[FIRSTS], number)
        if COUNTS in results:
            store(load(groups[COUNTS], group), results[COUNTS], number)

    store(for_range(0, size(numbers, 0), step, 0)[0].to("i64"), total, 0)


def slice_order(items: Value, dtype: str, before: Number, after: Number) -> tuple[Order, Order]:
    """Return the order of two slices by their first difference, and their equality test."""
    total = before * after

    def element(record: Record, place: Number) -> Number:
        return load(items, place // after, record[0], place % after)

    def difference(left: Record, right: Record) -> Number:
        """Return the place of the first difference, or the size without one."""

        def goes_on(place: Number) -> Number:
            return and_then(place < total, lambda: equals(element(left, place), element(right, place), dtype))

        return repeat_while([0], goes_on, lambda place: place + 1)[0]

    def order(left: Record, right: Record) -> Number:
        place = difference(left, right)
        return and_then(place < total, lambda: precedes(element(left, place), element(right, place), dtype))

    def same(left: Record, right: Record) -> Number:
        return difference(left, right) == total

    return order, same


# ---- one item of each group ----


def _take_first(
    call: LegalizeCall, data: Value, shape: Sequence[Dim], values: Sequence[Value], size_tensor: Value, axis: int | None
) -> list[Value]:
    """Return the first item of each group, then `found` cut to the number of groups."""
    count: Dim = 1 if not shape else call.define_sizes(size_tensor, 1)[0]
    sizes = tuple(count if dim is None else dim for dim in call.result_shape())
    outputs = [TensorInfo(sizes, call.result_dtype()), *(TensorInfo((count,), "i64") for _ in values)]

    def body(buffer: Value, *rest: Value) -> None:
        given, outs = rest[: len(values)], rest[len(values) :]
        source, target = around_axis(buffer, axis), around_axis(outs[0], axis)

        def copy(before: Number, group: Number, after: Number) -> None:
            store(load(source, before, load(given[0], group), after), target, before, group, after)

        share_places([size(target, index) for index in range(3)], copy)
        for padded, out in zip(given, outs[1:], strict=True):
            share_places([size(out, 0)], lambda i, padded=padded, out=out: store(load(padded, i), out, i))

    return call.loops(body, [data, *values], outputs, name="unique_take")
