# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Position in a loop nest of the code that is emitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ....bindings.ir import Value
from ....emit.numbers import Size
from .vector_access import Point


class State(NamedTuple):
    """Position in the loops: the start of a step and its number of points, by loop."""

    starts: tuple[Size, ...]
    counts: tuple[int, ...]
    #: Position of each loop in its block.
    positions: tuple[Size, ...]
    lanes: int
    #: Remaining elements in the vector loop from its start on, or None if all vectors are whole.
    rest: Size | None = None
    #: Remaining steps in the loop of dot products, or None if all groups are whole.
    tail: Size | None = None
    #: Remaining rows in a loop of tiles, or None if all tiles are whole.
    rows: Size | None = None
    #: Contribution of rows of zeros, which the sums subtract; `is_of_zeros` while it is computed.
    of_zeros: Mapping[Point, Value] | None = None
    is_of_zeros: bool = False
    #: Rows of results that are stored for a delayed epilogue before this step, if the epilogue waits for several steps.
    kept_before: Size | None = None

    def at(self, dim: int, start: Size, count: int, position: Size) -> State:
        starts, counts, positions = list(self.starts), list(self.counts), list(self.positions)
        starts[dim], counts[dim], positions[dim] = start, count, position
        return self._replace(starts=tuple(starts), counts=tuple(counts), positions=tuple(positions))

    def vectors(self, lanes: int, rest: Size | None) -> State:
        return self._replace(lanes=lanes, rest=rest)
