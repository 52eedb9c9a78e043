# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes of rows [tokens, heads, size] to slots in pages [pages, places, heads, size], in place.

A slot is a page times the places of a page, plus the place. Negative slots drop their rows. Other slots must differ, so
that the order of the writes does not matter.
"""

from __future__ import annotations

from collections.abc import Callable

from ..bindings.ir import Value
from . import loops
from .numbers import Number, as_index, constant, intrinsic, maximum, select

#: Largest code of a row, for its element of the largest magnitude.
_LARGEST = 127.0
#: Slots that a thread checks at a time, and rows of a head that it writes at a time.
_SLOTS, _ROWS = 1024, 64


def write_rows(pages: Value, rows: Value, slots: Value, dtype: str) -> None:
    """Write rows, converted to the dtype of the pages."""
    size = loops.sizes(rows)[2]

    def put(page: Number, place: Number, token: Number, head: Number) -> None:
        def move(at: Number) -> None:
            loops.store(loops.load(rows, token, head, at).to(dtype), pages, page, place, head, at)

        loops.for_range(0, size, move)

    _check(pages, rows, slots)
    _emit_rows(pages, rows, slots, put)


def write_quantized_rows(pages: Value, scales: Value, rows: Value, slots: Value) -> None:
    """Write the codes of rows to pages of i8, and a scale for each row of a head."""
    size = loops.sizes(rows)[2]

    def put(page: Number, place: Number, token: Number, head: Number) -> None:
        number = lambda at: loops.load(rows, token, head, at).to("f32")  # noqa: E731
        largest = lambda at, most: maximum(most, intrinsic("fabs", number(at)))  # noqa: E731
        (most,) = loops.for_range(0, size, largest, constant(0.0, "f32"))
        scale = most / _LARGEST
        divisor = select(scale == 0.0, 1.0, scale)
        code = lambda at: intrinsic("roundeven", number(at) / divisor).to("i8")  # noqa: E731
        loops.store(scale, scales, page, place, head)
        loops.for_range(0, size, lambda at: loops.store(code(at), pages, page, place, head, at))

    _check(pages, rows, slots)
    for axis, what in enumerate(("number of pages", "number of places in a page", "number of heads")):
        loops.require_same(loops.sizes(pages)[axis], loops.sizes(scales)[axis], what)
    _emit_rows(pages, rows, slots, put)


def _check(pages: Value, rows: Value, slots: Value) -> None:
    """Check sizes, and all slots before the first write."""
    loops.require_same(loops.sizes(rows)[0], loops.sizes(slots)[0], "number of tokens")
    loops.require_same(loops.sizes(pages)[2], loops.sizes(rows)[1], "number of heads")
    loops.require_same(loops.sizes(pages)[3], loops.sizes(rows)[2], "size of a head")
    room = as_index(loops.sizes(pages)[0]) * loops.sizes(pages)[1]

    def check(token: Number) -> None:
        slot = as_index(loops.load(slots, token))
        loops.require(slot < room, "IndexError", "slot {} is out of range: the pages have {} places", slot, room)

    loops.for_range(0, loops.sizes(slots)[0], check, grain=_SLOTS)


def _emit_rows(pages: Value, rows: Value, slots: Value, put: Callable[[Number, Number, Number, Number], None]) -> None:
    """Emit `put(page, place, token, head)` for all rows with a slot."""
    places = loops.sizes(pages)[1]
    tokens, heads, _ = loops.sizes(rows)

    def row(position: Number) -> None:
        token, head = position // heads, position % as_index(heads)
        slot = as_index(loops.load(slots, token))
        loops.when(slot >= 0, lambda: put(slot // places, slot % as_index(places), token, head))

    loops.for_range(0, as_index(tokens) * heads, row, grain=_ROWS)
