# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention kernels: the assignment of queries, heads, keys and result columns to blocks of threads."""

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

#: With fewer blocks a device is not fully used. With fewer keys a block is not worth its launch.
_ENOUGH_BLOCKS, _FEWEST_KEYS = 256, 256


class Tiles(Protocol):
    """Tile sizes of an attention kernel: the queries and result columns of a block, and its threads."""

    @property
    def queries(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def threads(self) -> int: ...
    def rectangle(self, operands: Operands) -> Writes: ...


class Writes(Protocol):
    def write(self, start: Size, column: Size) -> None:
        """Write the columns from `column` on of the results for the queries from `start` on."""


def attend(tile: Tiles, what: Blocks, query: Rows, key: Rows, value: Rows, biases: Sequence[Value], out: Value) -> None:
    """Overwrite `out` with softmax(query @ key^T) @ value of each head."""
    batch, queries, heads, _ = query.sizes
    blocks, parts = ceil_divided(queries, tile.queries), ceil_divided(value.sizes[3], tile.width)

    def block(position: Number) -> None:
        part, block, head, sequence = places(position, [parts, blocks, heads, batch])
        if what.is_causal:
            # Queries that see the most keys come first.
            block = as_index(blocks) - 1 - as_index(block)
        tensors = RowPart(query), RowPart(key), RowPart(value), RowPart(Rows(out, queries))
        rectangle = tile.rectangle(Operands(what, *tensors, biases, sequence, head))
        rectangle.write(block * tile.queries, part * tile.width)

    loops.for_blocks(product([parts, blocks, heads, batch]), tile.threads, block)


def attend_together(
    tile: Tile, what: Blocks, query: Rows, key: Rows, value: Rows, biases: Sequence[Value], out: Value
) -> None:
    """Compute attention of few queries.

    Heads that share keys process them together. If blocks would still be too few, several blocks process parts of the
    keys at the same time, and another kernel combines the partial results.
    """
    batch, queries, heads, _ = query.sizes
    width = value.sizes[3]
    groups = key.sizes[2] if is_same(key.sizes[2], value.sizes[2]) else heads
    together = 1 if is_same(heads, groups) else heads // groups
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
    """Return the number of parts that the keys are split into, so that the device is fully used."""
    wanted = ceil_divided(_ENOUGH_BLOCKS, maximum(blocks, 1))
    return maximum(minimum(ceil_divided(keys, _FEWEST_KEYS), wanted), 1)


def _join(what: Blocks, keys: Size, parts: Size, rows: Value, totals: Value, out: Value) -> None:
    """Combine the partial results of all parts of the keys. Each thread computes one element."""
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
    tile: Tiles, heads: Size, width: Size, count: Size, rows: Size, sequence: Callable[[Number], Operands]
) -> None:
    """Compute attention of packed sequences, `rows` queries in total.

    `sequence` returns the operands of a sequence, except for the head.
    """
    # A sequence's last block may be smaller than the others.
    blocks = as_index(rows) // tile.queries + as_index(count)
    parts = ceil_divided(width, tile.width)

    def block(position: Number) -> None:
        part, head, block = places(position, [parts, heads, blocks])

        def look(own: Number, found: Number, left: Number) -> list[Value]:
            """Find the sequence that contains the block, and the block's index in this sequence."""
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
