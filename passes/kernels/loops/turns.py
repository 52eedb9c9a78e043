# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Versions of pipelined buffers that loop steps use in turn: `(i + 1) % 2`, and tests for different versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ....dialects.core.symbols_expr import Size, substituted, terms_of, variables_of
from .buffer_allocation import BufferPlace
from .ranges import turn_of
from .tree import THREAD_AXES, VECTORIZED, Access, Block, Loop, Tree, blocks_in, variable
from .tree_buffers import Buffer

Places = Mapping[Buffer, tuple[str, BufferPlace]]


class Turn(NamedTuple):
    """Index step % turns."""

    step: Size
    turns: int

    def at(self, values: Mapping[str, Size]) -> Turn:
        return turn(substituted(self.step, values), self.turns)

    def is_apart(self, other: Turn) -> bool:
        """Return True if the two versions provably differ at the same step of all loops."""
        distance = self.step - other.step
        return isinstance(distance, int) and self.turns == other.turns and distance % self.turns != 0


def turn(step: Size, turns: int) -> Turn:
    known = terms_of(step).get((), 0)
    return Turn(step - known + known % turns, turns)


def place_in(places: Places, buffer: Buffer) -> BufferPlace:
    """Return the place of a buffer. Parameters are whole."""
    _, place = places.get(buffer, ("", BufferPlace((), buffer.shape)))
    return place


class Turns:
    """Versions of the pipelined buffers of a tree."""

    def __init__(self, tree: Tree, places: Places):
        self._places = places
        #: Loops with steps that run at the same time, and so use several versions.
        self._apart = {loop.name for loop in tree.loops() if loop.kind in (*THREAD_AXES[3:], VECTORIZED)}
        written = {access.buffer for block in tree.blocks() for access in block.writes}
        #: Number of versions along each dimension that has them.
        self._of: dict[tuple[Buffer, int], int] = {}
        for block in tree.blocks():
            for access in (placed_access for placed_access in block.placed_accesses if placed_access.buffer in written):
                place = place_in(places, access.buffer)
                for dim, (index, size) in enumerate(zip(place.inside(access.indices), place.sizes, strict=True)):
                    found = turn_of(index)
                    if found is not None and found[1] == size and self._apart.isdisjoint(variables_of(found[0])):
                        self._of[access.buffer, dim] = found[1]

    def of(self, access: Access) -> dict[int, Turn]:
        """Return the versions that an access uses, by dimension, in terms of the loops around.

        With few versions, the step may be the index itself.
        """
        found = {}
        place = place_in(self._places, access.buffer)
        for dim, index in enumerate(place.inside(access.indices)) if self._of else ():
            turns = self._of.get((access.buffer, dim))
            if turns is not None and self._apart.isdisjoint(variables_of(index)):
                known = turn_of(index)
                found[dim] = turn(index if known is None else known[0], turns)
        return found

    def entered(self, loop: Loop, buffer: Buffer, dim: int, known: Turn) -> Turn:
        """Return a version in terms of a loop that uses versions in turn.

        At the loop's first step, 1 is the version of the next step.
        """
        if loop.name in variables_of(known.step):
            return known
        for block in _users(loop, buffer):
            for access in block.placed_accesses:
                own = self.of(access).get(dim) if access.buffer is buffer else None
                if own is not None and loop.name in variables_of(own.step):
                    return turn(known.step + variable(loop.name, loop.extent), known.turns)
        return known


def _users(loop: Loop, buffer: Buffer) -> list[Block]:
    return [block for block in blocks_in(loop.body) if buffer in block.buffers]
