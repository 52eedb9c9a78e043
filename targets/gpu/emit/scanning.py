# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of scans (prefix sums) of rows, by blocks of threads.

A block scans a span of a row in its own memory. Long rows need three launches: the total of each span, the prefix of
each span, and the scan of each span from its prefix. The order of the combinations depends on the row's size only.
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
#: Number of spans that one block scans in sequence, which avoids two more launches.
_FEW_SPANS = 8


@dataclass(frozen=True)
class Scan:
    """Scan of rows: element access, combination and uses of the results."""

    #: Type of the computation.
    dtype: str
    #: Associative, except for rounding.
    combine: Callable[[Number, Number], Number]
    #: Identity element of the combination.
    start: int
    #: Returns the element of a row at a place. Emission may call it more than once.
    read: Callable[[Number, Number], Number]
    #: Called with a row, a place, the exclusive and the inclusive prefix.
    write: Callable[[Number, Number, Number, Number], object]
    #: Called with a row and its total.
    finish: Callable[[Number, Number], object] = lambda row, total: None

    def neutral(self) -> Number:
        return constant(self.start, self.dtype)


def scan_rows(rows: Size, count: Size, scan: Scan) -> None:
    """Emit a scan of rows of `count` elements each."""
    if isinstance(count, int):
        _scan_rows(rows, count, scan) if count <= _FEW_SPANS * SPAN else _scan_spans(rows, count, scan)
        return
    when(count <= _FEW_SPANS * SPAN, lambda: _scan_rows(rows, count, scan), lambda: _scan_spans(rows, count, scan))


def _scan_rows(rows: Size, count: Size, scan: Scan) -> None:
    """Emit a scan with one block per row."""

    def whole(row: Number) -> None:
        scan_row(row, count, scan)

    for_range(0, rows, whole, grain=1)


def scan_row(row: Number, count: Size, scan: Scan) -> Number:
    """Emit the scan of one row by the threads of its block. Return the row's total."""
    found: list[Number] = []

    def with_memory(memory: _Memory) -> None:
        def span(first: Number, before: Number) -> Number:
            return memory.scan(scan, row, (first, count), before)

        found.extend(for_range(0, count, span, scan.neutral(), step=SPAN))
        scan.finish(row, found[0])

    _with_memory(scan.dtype, with_memory)
    return found[0]


def _scan_spans(rows: Size, count: Size, scan: Scan) -> None:
    """Emit a scan with one block per span."""
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
        _scan_rows(rows, spans, before_each)
        each_span(rescan)

    scratch([rows, spans], element(scan.dtype), with_totals)


def _with_memory(dtype: str, use: Callable[[_Memory], object]) -> None:
    def with_items(items: Value) -> None:
        scratch([2, _THREADS], element(dtype), lambda sums: use(_Memory(items, sums)))

    scratch([SPAN], element(dtype), with_items)


@dataclass(frozen=True)
class _Memory:
    """Memory of a block: the elements of a span, and two buffers for the sums of its threads."""

    items: Value
    sums: Value

    def scan(self, scan: Scan, row: Number, bounds: tuple[Number, Size], before: Number) -> Number:
        """Emit the scan of a span. Return the inclusive prefix at its end.

        `bounds` are the begin of the span and the end of the row.
        """
        half = self._sum(scan, row, bounds)
        first, count = bounds

        def begin(thread: Number) -> None:
            """Replace each element of a thread by its exclusive prefix."""
            earlier = load(self.sums, half, select(thread == 0, 0, thread - 1))
            so_far = select(thread == 0, before, scan.combine(before, earlier))
            for index in range(_EACH):
                place = thread * _EACH + index
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
        """Return the total of a span."""
        return load(self.sums, self._sum(scan, row, bounds), _THREADS - 1)

    def _sum(self, scan: Scan, row: Number, bounds: tuple[Number, Size]) -> int:
        """Emit the sums of a span up to each thread. Return the index of the buffer that contains the sums."""
        first, count = bounds

        def fetch(place: Number) -> None:
            item = when(
                first + place < count, lambda: scan.read(row, first + place), scan.neutral, [element(scan.dtype)]
            )
            store(item[0], self.items, place)

        def sum_own(thread: Number) -> None:
            total = load(self.items, thread * _EACH)
            for index in range(1, _EACH):
                total = scan.combine(total, load(self.items, thread * _EACH + index))
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
