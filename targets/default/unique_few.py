# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of equal elements if there are few: a hash table finds each element's group, and the groups are sorted."""

from __future__ import annotations

from collections.abc import Mapping

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...emit.loops import and_then, for_range, load, repeat_while, scratches, size, store, when
from ...emit.numbers import Number, as_index, constant, minimum
from ...emit.sorting import Sorter, equals, lower_key, precedes

#: More groups are found by sorting all elements. The table is half empty and stays in the first-level cache.
_MOST, _SLOTS = 512, 1024
#: An odd factor that spreads keys over the upper bits: 2^64 divided by the golden ratio.
_SPREAD, _UPPER = 0x9E3779B97F4A7C15, 64 - 10


def group_few(
    items: Value, dtype: str, names: tuple[str, str, str], results: Mapping[str, Value], sorter: Sorter
) -> tuple[Number, Number]:
    """Write the results of the groups in order if there are few. Return that condition, and the number of groups.

    `names` are the names in `results` of a group's first position, its size, and the group of each item.
    """
    firsts, counts, inverse = names
    found: list[Number] = []

    def with_memory(slots: Value) -> None:
        def with_groups(first: Value, count: Value, rank: Value) -> None:
            groups = _find(items, dtype, slots, first, count, results.get(inverse))
            few = groups <= _MOST
            found.extend((few, groups))
            when(few, lambda: finish(groups, first, count, rank))

        scratches([_MOST], [ir.IndexType.get()] * 3, with_groups)

    def finish(groups: Number, first: Value, count: Value, rank: Value) -> None:
        in_order = sorter.sort(
            groups,
            lambda group: [group, load(items, 0, load(first, group), 0)],
            lambda left, right: precedes(left[1], right[1], dtype),
        )

        def write(place: Number) -> None:
            group = in_order(place)[0]
            store(place, rank, group)
            store(load(first, group).to("i64"), results[firsts], place)
            if counts in results:
                store(load(count, group).to("i64"), results[counts], place)

        for_range(0, groups, write)
        if inverse in results:
            number = lambda i: load(rank, load(results[inverse], i).to("index")).to("i64")  # noqa: E731
            for_range(0, size(items, 1), lambda i: store(number(i), results[inverse], i))

    scratches([_SLOTS], [ir.IndexType.get()], with_memory)
    few, groups = found
    return few, groups


def _find(items: Value, dtype: str, slots: Value, first: Value, count: Value, inverse: Value | None) -> Number:
    """Number groups in order of appearance, until there are too many.

    Return their number, at most one above the limit.
    """
    for_range(0, _SLOTS, lambda slot: store(0, slots, slot))
    total = size(items, 1)

    def element(position: Number) -> Number:
        return load(items, 0, position, 0)

    def step(position: Number, groups: Number) -> list[Number]:
        value = element(position)

        def is_of_another(slot: Number) -> Number:
            entry = load(slots, slot)
            return and_then(entry != 0, lambda: ~equals(element(load(first, entry - 1)), value, dtype))

        (slot,) = repeat_while([_slot_of(value, dtype)], is_of_another, lambda slot: (slot + 1) % _SLOTS)
        entry = load(slots, slot)
        is_new, has_room = entry == 0, groups < _MOST
        when(is_new & has_room, lambda: begin(slot, groups, position))
        group = minimum((entry - 1) * (~is_new).to("index") + groups * is_new.to("index"), _MOST - 1)
        store(load(count, group) + 1, count, group)
        if inverse is not None:
            store(group.to("i64"), inverse, position)
        return [position + 1, groups + is_new.to("index")]

    def begin(slot: Number, group: Number, position: Number) -> None:
        store(group + 1, slots, slot)
        store(position, first, group)
        store(0, count, group)

    def goes_on(position: Number, groups: Number) -> Number:
        return (position < total) & (groups <= _MOST)

    return repeat_while([as_index(0), as_index(0)], goes_on, step)[1]


def _slot_of(value: Number, dtype: str) -> Number:
    """Return the start of a search. It is equal for equal elements, including both zeros and all NaNs."""
    key = lower_key(value.of(dtype), dtype)
    return ((key.of(f"ui{key.bits}").to("ui64") * constant(_SPREAD, "ui64")) >> _UPPER).to("index")
