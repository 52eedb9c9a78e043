# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention by blocks of threads: which block has which queries, heads, keys and columns of the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from ....bindings.ir import Value
from ....emit import loops
from ....emit.arithmetic import element
from ....emit.linalg import product
from ....emit.numbers import Number, Size, as_index, ceil_divided, constant, fma, is_same, maximum, minimum, select
from ...default.attention_blocks import Blocks, Rows, places, quotient
from .flash_attention import Partial, Tile, based_on, power
from .operands import Operands, RowPart

#: With fewer blocks a device has nothing to do for some; of so few keys a block is not worth it.
_ENOUGH_BLOCKS, _FEWEST_KEYS = 256, 256


class Tiles(Protocol):
    """How many queries and columns of their results a block has, and what its threads do."""

    @property
    def queries(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def threads(self) -> int: ...
    def rectangle(self, operands: Operands) -> Writes: ...


class Writes(Protocol):
    def write(self, start: Size, column: Size) -> None:
        """Of the queries from `start` on, the columns from `column` on."""


def attend(tile: Tiles, what: Blocks, query: Rows, key: Rows, value: Rows, biases: Sequence[Value], out: Value) -> None:
    """`out` overwritten by softmax(query @ key^T) @ value of each head."""
    batch, queries, heads, _ = query.sizes
    blocks, parts = ceil_divided(queries, tile.queries), ceil_divided(value.sizes[3], tile.width)

    def block(position: Number) -> None:
        part, block, head, sequence = places(position, [parts, blocks, heads, batch])
        if what.is_causal:
            # Those that see most keys first.
            block = as_index(blocks) - 1 - as_index(block)
        tensors = RowPart(query), RowPart(key), RowPart(value), RowPart(Rows(out, queries))
        rectangle = tile.rectangle(Operands(what, *tensors, biases, sequence, head))
        rectangle.write(block * tile.queries, part * tile.width)

    loops.for_blocks(product([parts, blocks, heads, batch]), tile.threads, block)


def attend_together(
    tile: Tile, what: Blocks, query: Rows, key: Rows, value: Rows, biases: Sequence[Value], out: Value
) -> None:
    """The same of few queries: heads that have the same keys meet them together, and where there is not enough to do
    otherwise, parts of the keys at the same time, which another kernel puts together."""
    batch, queries, heads, _ = query.sizes
    width = value.sizes[3]
    groups = key.sizes[2] if is_same(key.sizes[2], value.sizes[2]) else heads
    together = _quotient(heads, groups)
    blocks = ceil_divided(product([queries, together]), tile.queries)
    columns = ceil_divided(width, tile.width)
    parts = _parts_of_keys(product([batch, groups, blocks, columns]), key.length)
    length = ceil_divided(ceil_divided(key.length, parts), tile.keys_of_block) * tile.keys_of_block

    def share(partial: tuple[Value, Value] | None) -> None:
        def block(position: Number) -> None:
            column, block, part, group, sequence = places(position, [columns, blocks, parts, groups, batch])
            tensors = RowPart(query), RowPart(key), RowPart(value), RowPart(Rows(out, queries))
            head = group * together
            rectangle = tile.rectangle(Operands(what, *tensors, biases, sequence, head, together))
            place = block * tile.queries, column * tile.width
            if partial is None:
                rectangle.write(*place)
            else:
                first = part * length
                rectangle.write_part(*place, first, as_index(first) + length, Partial(part, *partial))

        loops.for_blocks(product([columns, blocks, parts, groups, batch]), tile.threads, block)

    if is_same(parts, 1):
        share(None)
        return

    def share_and_join(rows: Value, totals: Value) -> None:
        share((rows, totals))
        _join(what, key.length, parts, rows, totals, out)

    sizes, wide = [parts, batch, queries, heads], element(what.wide)
    with_rows = lambda rows: loops.scratch([*sizes, width], wide, lambda totals: share_and_join(rows, totals))  # noqa: E731
    loops.scratch([*sizes, 2], wide, with_rows)


def _parts_of_keys(blocks: Size, keys: Size) -> Size:
    """Into how many parts keys are split, so that a device has enough to do."""
    wanted = ceil_divided(_ENOUGH_BLOCKS, maximum(blocks, 1))
    return maximum(minimum(ceil_divided(keys, _FEWEST_KEYS), wanted), 1)


def _join(what: Blocks, keys: Size, parts: Size, rows: Value, totals: Value, out: Value) -> None:
    """What parts of the keys give, put together: an element by each thread."""
    result = quotient(what, keys)
    sizes = loops.sizes(out)

    def one(position: Number) -> None:
        place, head, query, sequence = places(position, sizes[::-1])
        at = [sequence, query, head]

        def largest(part: Number, most: Number) -> Number:
            return maximum(most, loops.load(rows, part, *at, 0))

        (most,) = loops.for_range(0, parts, largest, constant(-math.inf, what.wide))
        base = based_on(most)

        def add(part: Number, total: Number, divisor: Number) -> list[Number]:
            factor = power(loops.load(rows, part, *at, 0), base)
            pairs = (total, loops.load(totals, part, *at, place)), (divisor, loops.load(rows, part, *at, 1))
            return [fma(factor, new, so_far) for so_far, new in pairs]

        zero = constant(0, what.wide)
        total, divisor = loops.for_range(0, parts, add, zero, zero)
        loops.store(result(total, divisor), out, *at, place)

    loops.for_range(0, product(sizes), one, grain=1)


def attend_to_sequences(
    tile: Tiles,
    heads: Size,
    width: Size,
    count: Size,
    rows: Size,
    sequence: Callable[[Number], Operands],
) -> None:
    """The same of packed sequences, with their numbers of queries in all; `sequence` has all of one but its head."""
    # A sequence's last block may be smaller than the others.
    blocks = as_index(rows) // tile.queries + as_index(count)
    parts = ceil_divided(width, tile.width)

    def block(position: Number) -> None:
        part, head, block = places(position, [parts, heads, blocks])

        def look(own: Number, found: Number, left: Number) -> list[Value]:
            """The sequence that has the block, and which of its blocks that is."""
            there = as_index(ceil_divided(sequence(own).queries, tile.queries))
            is_open = found < 0
            is_here = is_open & (left < there)
            left_behind = select(is_open & (left >= there), left - there, left)
            return [select(is_here, own, found), left_behind]

        found, left = loops.for_range(0, count, look, as_index(-1), as_index(block))

        def write() -> None:
            rectangle = tile.rectangle(sequence(found)._replace(head=head))
            rectangle.write(left * tile.queries, part * tile.width)

        loops.when(found >= 0, write)

    loops.for_blocks(product([parts, heads, blocks]), tile.threads, block)


def _quotient(size: Size, by: Size) -> Size:
    return 1 if is_same(size, by) else size // by
