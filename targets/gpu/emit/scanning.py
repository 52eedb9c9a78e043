# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits scans (prefix sums) of rows, by blocks of threads.

A block scans a span of a row in its own memory. Long rows have three launches: what each span comes to, what is before
each span, and the spans again from there. The order in which elements are put together depends on the row's size alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....bindings.ir import Value
from ....emit.arithmetic import element
from ....emit.linalg import product
from ....emit.loops import for_range, load, scratch, store, when
from ....emit.numbers import Number, Size, as_index, constant, minimum, select

#: Threads that scan together, and the elements of each.
_THREADS, _EACH = 256, 4
#: Elements that a block scans at once.
SPAN = _THREADS * _EACH
#: Spans that one block scans one after the other rather than having two more launches.
_FEW_SPANS = 8


@dataclass(frozen=True)
class Scan:
    """What is scanned, and what is done with what comes out."""

    #: What is computed with.
    dtype: str
    #: Associative, but for rounding.
    combine: Callable[[Number, Number], Number]
    #: Which changes nothing.
    start: int
    #: Of a row and a place in it: the element. It may be asked more than once.
    read: Callable[[Number, Number], Number]
    #: Of a row, a place, what came before, and that with the element.
    write: Callable[[Number, Number, Number, Number], object]
    #: Of a row and all of it.
    finish: Callable[[Number, Number], object] = lambda row, total: None

    def neutral(self) -> Number:
        return constant(self.start, self.dtype)


def scan_rows(rows: Size, count: Size, scan: Scan) -> None:
    """Scans rows of `count` elements each."""
    if isinstance(count, int):
        _by_rows(rows, count, scan) if count <= _FEW_SPANS * SPAN else _by_spans(rows, count, scan)
        return
    when(
        count <= _FEW_SPANS * SPAN,
        lambda: _by_rows(rows, count, scan),
        lambda: _by_spans(rows, count, scan),
    )


def _by_rows(rows: Size, count: Size, scan: Scan) -> None:
    """A block for each row."""

    def whole(row: Number) -> None:
        scan_row(row, count, scan)

    for_range(0, rows, whole, grain=1)


def scan_row(row: Number, count: Size, scan: Scan) -> Number:
    """One row, by the threads of the block that runs it. What it ends with."""
    found: list[Number] = []

    def with_memory(memory: _Memory) -> None:
        def span(first: Number, before: Number) -> Number:
            return memory.scan(scan, row, (first, count), before)

        found.extend(for_range(0, count, span, scan.neutral(), step=SPAN))
        scan.finish(row, found[0])

    _with_memory(scan.dtype, with_memory)
    return found[0]


def _by_spans(rows: Size, count: Size, scan: Scan) -> None:
    """A block for each span."""
    spans = (count + SPAN - 1) // SPAN

    def with_totals(totals: Value) -> None:
        def each_span(work: Callable[[_Memory, Number, Number], object]) -> None:
            step = lambda at: _with_memory(scan.dtype, lambda memory: work(memory, at // spans, at % spans))  # noqa: E731
            for_range(0, product([rows, spans]), step, grain=1)

        def total(memory: _Memory, row: Number, span: Number) -> None:
            store(memory.total(scan, row, (span * SPAN, count)), totals, row, span)

        def rescan(memory: _Memory, row: Number, span: Number) -> None:
            memory.scan(scan, row, (span * SPAN, count), load(totals, row, span))

        each_span(total)
        before_each = Scan(
            scan.dtype,
            scan.combine,
            scan.start,
            lambda row, span: load(totals, row, span),
            lambda row, span, before, _: store(before, totals, row, span),
            scan.finish,
        )
        _by_rows(rows, spans, before_each)
        each_span(rescan)

    scratch([rows, spans], element(scan.dtype), with_totals)


def _with_memory(dtype: str, use: Callable[[_Memory], object]) -> None:
    def with_items(items: Value) -> None:
        scratch([2, _THREADS], element(dtype), lambda sums: use(_Memory(items, sums)))

    scratch([SPAN], element(dtype), with_items)


@dataclass(frozen=True)
class _Memory:
    """Of a block: the elements of a span, and what those of each thread come to, twice."""

    items: Value
    sums: Value

    def scan(self, scan: Scan, row: Number, bounds: tuple[Number, Size], before: Number) -> Number:
        """Scans a span that begins at the first of the bounds; the row ends at the second. What it ends with."""
        half = self._sum(scan, row, bounds)
        first, count = bounds

        def begin(thread: Number) -> None:
            """What comes before each element of a thread, in its place."""
            earlier = load(self.sums, half, select(thread == 0, 0, thread - 1))
            so_far = select(thread == 0, before, scan.combine(before, earlier))
            for each in range(_EACH):
                place = thread * _EACH + each
                item = load(self.items, place)
                store(so_far, self.items, place)
                so_far = scan.combine(so_far, item)

        def write(place: Number) -> None:
            earlier = load(self.items, place)
            scan.write(row, first + place, earlier, scan.combine(earlier, scan.read(row, first + place)))

        for_range(0, _THREADS, begin, grain=1)
        for_range(0, minimum(as_index(count) - first, SPAN), write, grain=1)
        return scan.combine(before, load(self.sums, half, _THREADS - 1))

    def total(self, scan: Scan, row: Number, bounds: tuple[Number, Size]) -> Number:
        """What a span comes to."""
        return load(self.sums, self._sum(scan, row, bounds), _THREADS - 1)

    def _sum(self, scan: Scan, row: Number, bounds: tuple[Number, Size]) -> int:
        """Puts the span's elements, and what those up to each thread come to, into memory: into which half."""
        first, count = bounds

        def fetch(place: Number) -> None:
            item = when(
                first + place < count, lambda: scan.read(row, first + place), scan.neutral, [element(scan.dtype)]
            )
            store(item[0], self.items, place)

        def sum_own(thread: Number) -> None:
            total = load(self.items, thread * _EACH)
            for each in range(1, _EACH):
                total = scan.combine(total, load(self.items, thread * _EACH + each))
            store(total, self.sums, 0, thread)

        def double(thread: Number, half: int, distance: int) -> None:
            own, is_there = load(self.sums, half, thread), thread >= distance
            other = load(self.sums, half, select(is_there, thread - distance, thread))
            store(select(is_there, scan.combine(other, own), own), self.sums, 1 - half, thread)

        for_range(0, SPAN, fetch, grain=1)
        for_range(0, _THREADS, sum_own, grain=1)
        half, distance = 0, 1
        while distance < _THREADS:
            for_range(0, _THREADS, lambda thread: double(thread, half, distance), grain=1)  # noqa: B023
            half, distance = 1 - half, 2 * distance
        return half
