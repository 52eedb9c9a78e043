# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Versions of pipelined buffers that steps of loops take turns with: `(i + 1) % 2`, and which of them are others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...dialects.core.symbols_expr import Size, substituted, terms_of, variables_of
from .buffer_allocation import BufferPlace
from .ranges import turn_of
from .tree import THREAD_AXES, VECTORIZED, Access, Block, Buffer, Loop, Tree, blocks_in, variable

Places = Mapping[Buffer, tuple[str, BufferPlace]]


class Turn(NamedTuple):
    """The index step % turns."""

    step: Size
    turns: int

    def at(self, values: Mapping[str, Size]) -> Turn:
        return turn(substituted(self.step, values), self.turns)

    def is_apart(self, other: Turn) -> bool:
        """Whether it is known to be another one, at the same step of all loops."""
        distance = self.step - other.step
        return isinstance(distance, int) and self.turns == other.turns and distance % self.turns != 0


def turn(step: Size, turns: int) -> Turn:
    known = terms_of(step).get((), 0)
    return Turn(step - known + known % turns, turns)


def place_in(places: Places, buffer: Buffer) -> BufferPlace:
    """Of parameters, too."""
    _, place = places.get(buffer, ("", BufferPlace((), buffer.shape)))
    return place


class Turns:
    """Of a tree."""

    def __init__(self, tree: Tree, places: Places):
        self._places = places
        #: Steps that run at the same time use several versions.
        self._apart = {loop.name for loop in tree.loops() if loop.kind in (*THREAD_AXES[3:], VECTORIZED)}
        written = {access.buffer for block in tree.blocks() for access in block.writes}
        #: Along which dimensions steps take turns, between how many.
        self._of: dict[tuple[Buffer, int], int] = {}
        for block in tree.blocks():
            for access in (each for each in block.placed_accesses if each.buffer in written):
                place = place_in(places, access.buffer)
                for dim, (index, size) in enumerate(zip(place.inside(access.indices), place.sizes, strict=True)):
                    found = turn_of(index)
                    if found is not None and found[1] == size and self._apart.isdisjoint(variables_of(found[0])):
                        self._of[access.buffer, dim] = found[1]

    def of(self, access: Access) -> dict[int, Turn]:
        """By the dimensions of an access, which is by the loops around. Few turns may make the step an index itself."""
        found = {}
        place = place_in(self._places, access.buffer)
        for dim, index in enumerate(place.inside(access.indices)) if self._of else ():
            turns = self._of.get((access.buffer, dim))
            if turns is not None and self._apart.isdisjoint(variables_of(index)):
                known = turn_of(index)
                found[dim] = turn(index if known is None else known[0], turns)
        return found

    def entered(self, loop: Loop, buffer: Buffer, dim: int, known: Turn) -> Turn:
        """As it is written in a loop that takes turns: at its first step, 1 is the version of the step behind."""
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
