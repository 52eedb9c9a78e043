# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of stable merge sorts by many threads.

Each record of two merged runs computes its own place: its position in its run, plus the number of records of the other
run that precede it. A block sorts a piece of a row in its own memory. Longer runs are merged with one thread per
record, in one launch per doubling of their length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....bindings.ir import Type, Value
from ....emit.linalg import product
from ....emit.loops import for_range, repeat_while, scratches, when
from ....emit.memrefs import storage_bytes
from ....emit.numbers import Number, Size, as_index, ceil_divided, minimum, select
from ....emit.sorting import Order, Record, Records, first_not, get_record, put_record

#: Bytes of a block's own memory, the records that it sorts there, and the number for large records.
_MOST_BYTES, _PIECE, _SHORT_PIECE = 20 << 10, 1024, 512

#: Returns the record of a row at a place. `Write` receives a row, a place and the record.
RowRecord = Callable[[Number, Number], Record]
Write = Callable[[Number, Number, Record], None]


class MergeSorter:
    """Merge sorter with memory for the records of some rows; the threads that run the code sort together."""

    def __init__(self, halves: Sequence[Value], rows: Size = 1):
        self._halves = halves
        self._rows = rows

    def sort(self, count: Size, record: Records, order: Order) -> Records:
        """Emit a sort of `count` records, initially `record(i)`. Return a function from a rank to its record."""
        for_range(0, count, lambda i: put_record(record(i), self._halves, 0, 0, i), grain=1)
        half = self.merge_runs(1, as_index(count), order)
        return lambda i: get_record(self._halves, half, 0, i)

    def merge_runs(self, width: int, count: Number, order: Order) -> Number:
        """Merge the sorted runs of `width` records in the first half of rows of `count` records.

        Return the half that contains the result.
        """
        _, half = repeat_while(
            [width, 0], lambda width, _: width < count, lambda width, half: self._merge_all(width, half, count, order)
        )
        return half

    def _merge_all(self, width: Number, half: Number, count: Number, order: Order) -> list[Number]:
        def move(at: Number) -> None:
            is_only = isinstance(self._rows, int) and self._rows == 1
            row, place = (as_index(0), at) if is_only else (at // count, at % count)
            record = get_record(self._halves, half, row, place)
            put_record(record, self._halves, 1 - half, row, self._place(width, half, row, place, count, record, order))

        for_range(0, product([self._rows, count]), move, grain=1)
        return [width + width, 1 - half]

    def _place(
        self, width: Number, half: Number, row: Number, place: Number, count: Number, record: Record, order: Order
    ) -> Number:
        """Return the place of a record in the merged run of twice the width."""
        own = place & (width - 1)
        is_second = (place & width) != 0
        start = place - own
        begin = start ^ width
        other = minimum(begin, count)

        def is_before(at: Number) -> Number:
            """Equal records of the first run come first."""
            met = get_record(self._halves, half, row, at)
            return select(is_second, ~order(record, met), order(met, record))

        behind = first_not(other, minimum(begin + width, count), is_before) - other
        return select(is_second, begin, start) + own + behind


def _piece(elements: Sequence[Type]) -> int:
    """Return the number of records that a block sorts."""
    return _PIECE if 2 * _PIECE * sum(map(storage_bytes, elements)) <= _MOST_BYTES else _SHORT_PIECE


def _sort_pieces(
    rows: Size, count: Size, elements: Sequence[Type], order: Order, record: RowRecord, write: Callable[..., None]
) -> None:
    """Sort each piece of the rows, and emit `write(row, first, length, records)`; a piece begins at `first`."""
    piece = _piece(elements)
    pieces = ceil_divided(count, piece)

    def sort_piece(at: Number) -> None:
        row, first = at // pieces, at % pieces * piece
        length = minimum(as_index(count) - first, piece)

        def sort(*halves: Value) -> None:
            in_order = MergeSorter(halves).sort(length, lambda i: record(row, first + i), order)
            write(row, first, length, in_order)

        scratches([2, 1, piece], elements, sort)

    for_range(0, product([rows, pieces]), sort_piece, grain=1)


def sort_rows(rows: Size, count: Size, elements: Sequence[Type], order: Order, record: RowRecord, write: Write) -> None:
    """Emit `write(row, place, record)` for each record of each row, `place` being its rank."""

    def write_piece(row: Number, _: Number, length: Number, in_order: Records) -> None:
        for_range(0, length, lambda i: write(row, i, in_order(i)), grain=1)

    if isinstance(count, int) and count <= _piece(elements):
        _sort_pieces(rows, count, elements, order, record, write_piece)
        return

    def sort(*halves: Value) -> None:
        def keep(row: Number, first: Number, length: Number, in_order: Records) -> None:
            for_range(0, length, lambda i: put_record(in_order(i), halves, 0, row, first + i), grain=1)

        _sort_pieces(rows, count, elements, order, record, keep)
        half = MergeSorter(halves, rows).merge_runs(_piece(elements), as_index(count), order)

        def finish(at: Number) -> None:
            row, place = at // count, at % count
            write(row, place, get_record(halves, half, row, place))

        for_range(0, product([rows, count]), finish, grain=1)

    scratches([2, rows, count], elements, sort)


def first_of_rows(
    rows: Size, count: Size, wanted: Size, elements: Sequence[Type], order: Order, record: RowRecord, write: Write
) -> None:
    """Emit a partial sort that yields the first `wanted` records of each row.

    If `wanted` is small, each piece keeps that many records until one piece contains the rest.
    """
    piece = _piece(elements)

    def write_first(row: Number, place: Number, one: Record) -> None:
        when(place < wanted, lambda: write(row, place, one))

    if not isinstance(wanted, int) or wanted > piece // 4 or (isinstance(count, int) and count <= piece):
        sort_rows(rows, count, elements, order, record, write_first)
        return

    def left_of(total: Size) -> Number:
        """Return the number of records that the pieces of `total` records keep."""
        before_last = ceil_divided(as_index(total), piece) - 1
        return before_last * wanted + minimum(as_index(total) - before_last * piece, wanted)

    def select_first(*halves: Value) -> None:
        def keep_first(total: Size, of: RowRecord, half: Size) -> None:
            def keep(row: Number, first: Number, length: Number, in_order: Records) -> None:
                start = first // piece * wanted
                stay = lambda i: put_record(in_order(i), halves, half, row, start + i)  # noqa: E731
                for_range(0, minimum(length, wanted), stay, grain=1)

            _sort_pieces(rows, total, elements, order, of, keep)

        def again(left: Number, half: Number) -> list[Number]:
            keep_first(left, lambda row, i: get_record(halves, half, row, i), 1 - half)
            return [left_of(left), 1 - half]

        keep_first(count, record, 0)
        left, half = repeat_while([left_of(count), 0], lambda left, _: left > piece, again)

        def finish(row: Number) -> None:
            def sort(*memory: Value) -> None:
                in_order = MergeSorter(memory).sort(left, lambda i: get_record(halves, half, row, i), order)
                for_range(0, wanted, lambda i: write(row, i, in_order(i)), grain=1)

            scratches([2, 1, piece], elements, sort)

        for_range(0, rows, finish, grain=1)

    scratches([2, rows, ceil_divided(count, piece) * wanted], elements, select_first)


def with_merge_sorter(most: Size, elements: Sequence[Type], use: Callable[[MergeSorter], object]) -> None:
    """Call `use(sorter)` with memory for `most` records of these types."""
    scratches([2, 1, most], elements, lambda *halves: use(MergeSorter(halves)))
