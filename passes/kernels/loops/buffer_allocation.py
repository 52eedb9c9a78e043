# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Allocation of a tree's buffers: scope and size.

A buffer lives for one step of the innermost loop around all its users, and holds the elements that the step needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ....dialects.core.symbols_expr import Size, variables_of
from ....support.errors import RelaxError
from .ranges import ranges_of, turn_of
from .tree import PIPELINED, THREAD_AXES, UNROLLED, VECTORIZED, Block, Loop, Place, Tree, around_all, loops_of
from .tree_buffers import Buffer

_THREADS = THREAD_AXES[3:]
#: Maximum number of elements of a buffer on the stack.
_MOST_ON_STACK = 1 << 14


class BufferPlace(NamedTuple):
    """Allocated part of a buffer: `sizes` elements from `starts` on, or from its origin if `starts` is empty."""

    starts: tuple[Size, ...]
    sizes: tuple[Size, ...]
    on_stack: bool = False
    #: Offset in the arena of its memory, for device memories.
    offset: int | None = None

    @property
    def elements(self) -> int | None:
        """Return the number of elements, or None if it is dynamic."""
        known = [size for size in self.sizes if isinstance(size, int)]
        return math.prod(known) if len(known) == len(self.sizes) else None

    def inside(self, indices: Sequence[Size]) -> Sequence[Size]:
        """Translate the buffer's indices to indices of the allocated part."""
        return [index - start for index, start in zip(indices, self.starts, strict=True)] if self.starts else indices

    def inside_known(self, place: Place) -> Place:
        """Translate the buffer's indices like `inside`; unknown indices stay unknown."""
        starts = self.starts or [0] * len(place)
        return tuple(None if at is None else at - start for at, start in zip(place, starts, strict=True))


def places_of(tree: Tree) -> dict[Buffer, tuple[str, BufferPlace]]:
    """Map each buffer that is no parameter to (loop, place).

    The buffer lives for one step of the loop; "" is the whole call.
    """
    return {buffer: _place_of(tree, buffer) for buffer in tree.buffers if not buffer.is_given}


def _place_of(tree: Tree, buffer: Buffer) -> tuple[str, BufferPlace]:
    users = [block for block in tree.blocks() if buffer in block.buffers]
    paths = [tree.around(block.name) for block in users]
    shared = around_all(paths)
    if buffer.rolling:
        shared = shared[: len(buffer.rolling) - 1]
    # Buffers of an unrolled or vectorized loop are allocated outside of it; their indices keep its steps apart.
    while shared and shared[-1].kind in (VECTORIZED, UNROLLED):
        shared = shared[:-1]
    while shared and _takes_turns(shared[-1], buffer, users):
        shared = shared[:-1]
    inner = {loop.name: loop.extent for path in paths for loop in path[len(shared) :]}
    # Lanes run together, each with an element of its own. So do threads, if each thread computes all elements that it
    # needs.
    used = {name for block in users if block.writes_of(buffer) for name in loops_of(block)}
    together = [loop for loop in shared if loop.kind == VECTORIZED or (loop.kind in _THREADS and loop.name not in used)]
    inner.update({loop.name: loop.extent for loop in together})
    reached = ranges_of([place for block in users for place in block.places(buffer)], inner, buffer.shape)
    sizes = _padded(buffer, [range_.extent for range_ in reached])
    place = BufferPlace(tuple(range_.start for range_ in reached), sizes)
    is_small = place.elements is not None and place.elements <= _MOST_ON_STACK
    return shared[-1].name if shared else "", place._replace(on_stack=is_small)


def _padded(buffer: Buffer, sizes: Sequence[Size]) -> tuple[Size, ...]:
    """Return sizes with padded rows, so that the strides are aligned as requested."""
    padded = list(sizes)
    for axis, factor, offset in sorted(buffer.alignments, reverse=True):
        stride, size = math.prod(padded[axis + 2 :]), padded[axis + 1]
        found: Size | None = size + (offset - size) % factor if stride == 1 else None
        if isinstance(stride, int) and isinstance(size, int):
            longer = range(size, size + factor)
            found = next((each for each in longer if (each * stride - offset) % factor == 0), None)
        if found is None:
            problem = f"the stride of its axis {axis} cannot be a multiple of {factor} plus {offset}"
            raise RelaxError(f"'{buffer.name}': {problem}, as that of axis {axis + 1} is {stride}")
        padded[axis + 1] = found
    return tuple(padded)


def _takes_turns(loop: Loop, buffer: Buffer, users: Sequence[Block]) -> bool:
    """Return True if a pipelined loop has several versions of a buffer, which live for several of its steps."""
    if loop.kind != PIPELINED:
        return False
    accesses = (access for block in users for access in block.placed_accesses if access.buffer is buffer)
    indices = [index for access in accesses for index in access.indices]
    turns = [turn for index in indices if (turn := turn_of(index)) is not None]
    return any(loop.name in variables_of(step) for step, _ in turns)
