# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a block of threads computes attention from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Value
from ....emit.broadcast import load_broadcast
from ....emit.numbers import Number, Size, as_index, minimum
from ...default.attention_blocks import Blocks, Rows


class RowPart(NamedTuple):
    """Rows of a tensor from one on: of a sequence that is packed with others."""

    rows: Rows
    start: Size = 0

    def at(self, sequence: Size, row: Size, head: Size, place: Size) -> list[Size]:
        """The indices of an element."""
        own = row + self.start
        return [sequence, head, own, place] if self.rows.is_by_head else [sequence, own, head, place]


class Operands(NamedTuple):
    """Operands of a head of a sequence, or of `heads` adjacent heads that have the same keys."""

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
        """Of a query and a key."""
        return self.query.rows.sizes[3]

    @property
    def width(self) -> Size:
        """Of a value and a result."""
        return self.value.rows.sizes[3]

    def of_keys(self, part: RowPart, row: Size, place: Size) -> list[Size]:
        """The indices of an element of the keys or values."""
        head = part.rows.head_for(self.head, self.query.rows.sizes[2])
        return part.at(self.sequence, row, head, place)

    def biases_at(self, head: Size, query: Number, key: Number) -> list[Number]:
        """What is added to a score; some value where there is no such query or key."""
        row, column = minimum(query, as_index(self.queries) - 1), minimum(key, as_index(self.keys) - 1)
        places = [as_index(self.sequence), as_index(head), row, column]
        return [load_broadcast(each, places).of(self.what.bias_dtype).to(self.what.wide) for each in self.biases]
