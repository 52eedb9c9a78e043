# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Position in a loop nest of the code that is emitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...bindings.ir import Value
from ...emit.numbers import Size
from .vector_access import Point


class State(NamedTuple):
    """Where in the loops a piece of code is: where each loop stands, how many points of it are taken at once."""

    starts: tuple[Size, ...]
    counts: tuple[int, ...]
    #: Where each loop stands in its block.
    positions: tuple[Size, ...]
    lanes: int
    #: Elements left in the vector loop from its start on; None where all vectors are whole.
    rest: Size | None = None
    #: Steps left in the loop of dot products; None where all groups are whole.
    tail: Size | None = None
    #: Rows left in a loop of tiles; None where all are whole.
    rows: Size | None = None
    #: What rows of zeros would add, where that is taken away from the sums; `is_of_zeros` where it is computed.
    of_zeros: Mapping[Point, Value] | None = None
    is_of_zeros: bool = False
    #: Where the epilogue waits for several steps, the rows of results that are kept for it before this one.
    kept_before: Size | None = None

    def at(self, dim: int, start: Size, count: int, position: Size) -> State:
        starts, counts, positions = list(self.starts), list(self.counts), list(self.positions)
        starts[dim], counts[dim], positions[dim] = start, count, position
        return self._replace(starts=tuple(starts), counts=tuple(counts), positions=tuple(positions))

    def vectors(self, lanes: int, rest: Size | None) -> State:
        return self._replace(lanes=lanes, rest=rest)
