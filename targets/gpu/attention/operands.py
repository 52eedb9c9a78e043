# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of attention for a block of threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Value
from ....emit.broadcast import load_broadcast
from ....emit.numbers import Number, Size, as_index, minimum
from ...default.attention_blocks import Blocks, Rows


class RowPart(NamedTuple):
    """Rows of a tensor from `start` on: one sequence of several that are packed together."""

    rows: Rows
    start: Size = 0

    def at(self, sequence: Size, row: Size, head: Size, place: Size) -> list[Size]:
        """Return the indices of an element."""
        own = row + self.start
        return [sequence, head, own, place] if self.rows.is_by_head else [sequence, own, head, place]


class Operands(NamedTuple):
    """Operands of a head of a sequence, or of `heads` adjacent heads that share keys."""

    what: Blocks
    query: RowPart
    key: RowPart
    value: RowPart
    out: RowPart
    biases: Sequence[Value]
    sequence: Size
    head: Size
    heads: Size = 1

    @property
    def queries(self) -> Size:
        return self.query.rows.length

    @property
    def keys(self) -> Size:
        return self.key.rows.length

    @property
    def size(self) -> Size:
        """Elements of a query or a key."""
        return self.query.rows.sizes[3]

    @property
    def width(self) -> Size:
        """Elements of a value or a result."""
        return self.value.rows.sizes[3]

    def of_keys(self, part: RowPart, row: Size, place: Size) -> list[Size]:
        """Return the indices of an element of the keys or values."""
        head = part.rows.head_for(self.head, self.query.rows.sizes[2])
        return part.at(self.sequence, row, head, place)

    def biases_at(self, head: Size, query: Number, key: Number) -> list[Number]:
        """Return the biases of a score. A query or key out of range yields some valid element."""
        row, column = minimum(query, as_index(self.queries) - 1), minimum(key, as_index(self.keys) - 1)
        places = [as_index(self.sequence), as_index(head), row, column]
        return [load_broadcast(bias, places).of(self.what.bias_dtype).to(self.what.wide) for bias in self.biases]
