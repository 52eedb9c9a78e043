# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Allocation of a tree's buffers: live in one step of the innermost loop around all users, as large as that needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...dialects.core.symbols_expr import Size, variables_of
from ...support.errors import RelaxError
from .ranges import ranges_of, turn_of
from .tree import PIPELINED, THREAD_AXES, UNROLLED, VECTORIZED, Block, Buffer, Loop, Tree, around_all, loops_of

_THREADS = THREAD_AXES[3:]
#: Elements that memory on the stack holds at most.
_MOST_ON_STACK = 1 << 14


class BufferPlace(NamedTuple):
    """What of a buffer there is: from `starts` on, where that is not its begin, `sizes` elements."""

    starts: tuple[Size, ...]
    sizes: tuple[Size, ...]
    on_stack: bool = False
    #: Where it begins in the arena of its memory, for memories of devices.
    offset: int | None = None

    @property
    def elements(self) -> int | None:
        """How many elements; None where that is dynamic."""
        known = [size for size in self.sizes if isinstance(size, int)]
        return math.prod(known) if len(known) == len(self.sizes) else None

    def inside(self, indices: Sequence[Size]) -> Sequence[Size]:
        """The buffer's indices in what there is."""
        return [index - start for index, start in zip(indices, self.starts, strict=True)] if self.starts else indices


def places_of(tree: Tree) -> dict[Buffer, tuple[str, BufferPlace]]:
    """For each buffer that is no parameter the loop for one step of which it lives, "" for all, and what of it."""
    return {buffer: _place_of(tree, buffer) for buffer in tree.buffers if not buffer.is_given}


def _place_of(tree: Tree, buffer: Buffer) -> tuple[str, BufferPlace]:
    users = [block for block in tree.blocks() if buffer in block.buffers]
    paths = [tree.around(block.name) for block in users]
    shared = around_all(paths)
    if buffer.rolling:
        shared = shared[: len(buffer.rolling) - 1]
    # What an unrolled or a vectorized loop makes at each step is allocated outside of it, kept apart by its indices.
    while shared and shared[-1].kind in (VECTORIZED, UNROLLED):
        shared = shared[:-1]
    while shared and _takes_turns(shared[-1], buffer, users):
        shared = shared[:-1]
    inner = {loop.name: loop.extent for path in paths for loop in path[len(shared) :]}
    # Lanes run together, each with an element of its own; threads do where all of them make what each one needs.
    used = {name for block in users if block.writes_of(buffer) for name in loops_of(block)}
    together = [loop for loop in shared if loop.kind == VECTORIZED or (loop.kind in _THREADS and loop.name not in used)]
    inner.update({loop.name: loop.extent for loop in together})
    reached = ranges_of([place for block in users for place in block.places(buffer)], inner, buffer.shape)
    sizes = _padded(buffer, [each.extent for each in reached])
    place = BufferPlace(tuple(each.start for each in reached), sizes)
    is_small = place.elements is not None and place.elements <= _MOST_ON_STACK
    return shared[-1].name if shared else "", place._replace(on_stack=is_small)


def _padded(buffer: Buffer, sizes: Sequence[Size]) -> tuple[Size, ...]:
    """Sizes with which strides are as they were asked for: lines are longer than what is in them."""
    padded = list(sizes)
    for axis, factor, offset in sorted(buffer.alignments, reverse=True):
        stride, size = math.prod(padded[axis + 2 :]), padded[axis + 1]
        found: Size | None = size + (offset - size) % factor if stride == 1 else None
        if isinstance(stride, int) and isinstance(size, int):
            longer = range(size, size + factor)
            found = next((each for each in longer if (each * stride - offset) % factor == 0), None)
        if found is None:
            problem = f"the stride of its axis {axis} cannot be a multiple of {factor} and {offset} more"
            raise RelaxError(f"'{buffer.name}': {problem}, as that of axis {axis + 1} is {stride}")
        padded[axis + 1] = found
    return tuple(padded)


def _takes_turns(loop: Loop, buffer: Buffer, users: Sequence[Block]) -> bool:
    """Whether steps of a pipelined loop have versions of a buffer, which live for several of them."""
    if loop.kind != PIPELINED:
        return False
    accesses = (access for block in users for access in block.placed_accesses if access.buffer is buffer)
    indices = [index for access in accesses for index in access.indices]
    turns = [turn for index in indices if (turn := turn_of(index)) is not None]
    return any(loop.name in variables_of(step) for step, _ in turns)
