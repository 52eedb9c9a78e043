# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of scattered writes to indices in tensors. Duplicate indices behave as if writes were sequential.

Places are numbered from 0. Results are deterministic, whatever the order of the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....bindings.ir import Value
from ....bindings.mlir import i64_attribute, ir
from ....dialects.core.infos import bit_width, is_unsigned
from ....emit.loops import and_then, for_range, load, repeat_while, scratch, scratches, store, when
from ....emit.numbers import Number, Size, as_i64, as_index, maximum
from ....emit.parallel import share_places
from .sorting import sort_rows

#: Place of a write that has no target.
NOWHERE = -1
#: Values of arith's AtomicRMWKind for signed and unsigned reductions.
_MAX = 6
_ATOMIC, _ATOMIC_UNSIGNED = {"add": 1, "max": _MAX, "min": 10}, {"add": 1, "max": 7, "min": 11}


class Writes:
    """A number of scattered writes, with their target places."""

    def __init__(self, count: Size, places: Size, place: Callable[[Number], tuple[Number, Callable[[], None]]]):
        """`place(write)` returns the target place and a check.

        The place is less than `places`, or NOWHERE, in which case the check raises the error.
        """
        self._count, self._places, self._place = count, places, place

    def last_stays(self, inner: Sequence[Size], put: Callable[..., None]) -> None:
        """Emit `put(write, place, *at)` for the last write to each place, for all indices of the inner sizes."""

        if isinstance(self._count, int) and self._count == 1:
            self.in_any_order(inner, put)
            return

        def with_last(last: Value) -> None:
            def note(write: Number) -> None:
                place, check = self._place(write)
                when(place >= 0, lambda: change_at_once(_MAX, last, [maximum(place, 0)], as_i64(write)))
                check()

            def write_one(write: Number, *at: Number) -> None:
                place, _ = self._place(write)
                is_last = and_then(place >= 0, lambda: load(last, maximum(place, 0)) == as_i64(write))
                when(is_last, lambda: put(write, place, *at))

            for_range(0, self._places, lambda place: store(-1, last, place), grain=1)
            for_range(0, self._count, note, grain=1)
            share_places([self._count, *inner], write_one)

        scratch([self._places], ir.IntegerType.get_signless(64), with_last)

    def in_any_order(self, inner: Sequence[Size], put: Callable[..., None]) -> None:
        """Emit `put(write, place, *at)` for all writes. Writes to the same place may run at the same time."""

        def write(number: Number, *at: Number) -> None:
            place, check = self._place(number)
            check()
            put(number, place, *at)

        share_places([self._count, *inner], write)

    def in_order(self, inner: Sequence[Size], put: Callable[..., None]) -> None:
        """Emit `put(writes, place, *at)` for each place that is written.

        `writes(step, initial)` visits the writes to a place in order: `step(write, *values)` returns the next values,
        starting from `initial`. It returns the last values.
        """
        i64 = ir.IntegerType.get_signless(64)

        def with_order(places: Value, numbers: Value) -> None:
            count = as_index(self._count)

            def keep(_: Number, at: Number, record: Sequence[Number]) -> None:
                store(record[0], places, at)
                store(record[1], numbers, at)

            def check(write: Number) -> None:
                self._place(write)[1]()

            def record(_: Number, write: Number) -> list[Number]:
                return [as_i64(self._place(write)[0]), as_i64(write)]

            def write_all(first: Number, *at: Number) -> None:
                place = load(places, first)
                is_first = (first == 0) | (load(places, maximum(first - 1, 0)) != place)

                def goes_on(next_: Number, *_: Number) -> Number:
                    return and_then(next_ < count, lambda: load(places, next_) == place)

                def writes(step: Callable[..., Sequence[Value]], *initial: Value) -> list[Number]:
                    def advance(now: Number, *values: Number) -> list[Value]:
                        return [now + 1, *step(load(numbers, now).to("index"), *values)]

                    return repeat_while([first, *initial], goes_on, advance)[1:]

                when(is_first & (place >= 0), lambda: put(writes, place.to("index"), *at))

            for_range(0, count, check, grain=1)
            sort_rows(1, self._count, [i64, i64], lambda one, other: one[0] < other[0], record, keep)
            share_places([self._count, *inner], write_all)

        scratches([self._count], [i64, i64], with_order)


def atomic_kind(reduction: str, dtype: str, most_bits: int) -> int | None:
    """Return the kind of an atomic update for a reduction on a dtype.

    None if the order of the updates would matter, or if elements have more bits than the device compares. Additions may
    be wider, because they can carry.
    """
    kinds = _ATOMIC_UNSIGNED if is_unsigned(dtype) else _ATOMIC
    is_there = dtype.removeprefix("u") in ("i32", "i64") and (reduction == "add" or bit_width(dtype) <= most_bits)
    return kinds.get(reduction) if is_there else None


def change_at_once(kind: int, memory: Value, at: Sequence[Number], value: Number) -> None:
    """Emit an atomic update that combines an element with a value."""
    attribute = i64_attribute(kind)
    ir.Operation.create(
        "memref.atomic_rmw", results=[value.type], operands=[value, memory, *at], attributes={"kind": attribute}
    )
