# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory planning of device memories: the offset of each buffer in the arena of its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....dialects.core.infos import bit_width
from ....support.errors import RelaxError
from .buffer_allocation import BufferPlace
from .device_copies import is_copy
from .intrins import TENSORIZED
from .memories import DeviceMemory, find_memory
from .tree import PARALLEL, Tree, blocks_in
from .tree_buffers import Buffer

Places = dict[Buffer, tuple[str, BufferPlace]]


class ArenaPart(NamedTuple):
    """Buffer in an arena, with its live range from block `first` to block `last`."""

    buffer: Buffer
    offset: int
    bytes: int
    first: int
    last: int


class Arena(NamedTuple):
    memory: DeviceMemory
    parts: list[ArenaPart]

    @property
    def bytes(self) -> int:
        return max(part.offset + part.bytes for part in self.parts)


def arenas_of(tree: Tree, places: Mapping[Buffer, tuple[str, BufferPlace]]) -> dict[str, Arena]:
    """Return the arena of each memory that contains buffers. Raises RelaxError if the buffers do not fit."""
    by_memory: dict[str, list[Buffer]] = {}
    for buffer in places:
        if find_memory(buffer.scope) is not None:
            by_memory.setdefault(buffer.scope, []).append(buffer)
    arenas = {}
    for name, buffers in by_memory.items():
        memory = find_memory(name)
        assert memory is not None
        _check_users(tree, memory, buffers)
        arena = Arena(memory, _planned(tree, memory, buffers, places))
        if arena.bytes > memory.bytes:
            raise RelaxError(
                f"'{name}' has {memory.bytes} bytes, buffers of @{tree.name} take {arena.bytes}: stage smaller parts, "
                "or at a loop further inside",
                notes=[_shown(tree, arena)],
            )
        arenas[name] = arena
    return arenas


def with_offsets(places: Places, arenas: Mapping[str, Arena]) -> Places:
    """Return the places of buffers, with their offsets in the arenas."""
    offsets = {part.buffer: part.offset for arena in arenas.values() for part in arena.parts}
    return {buffer: (where, place._replace(offset=offsets.get(buffer))) for buffer, (where, place) in places.items()}


def _planned(
    tree: Tree, memory: DeviceMemory, buffers: Sequence[Buffer], places: Mapping[Buffer, tuple[str, BufferPlace]]
) -> list[ArenaPart]:
    """Plan an arena. The largest buffer comes first.

    Each buffer gets the first offset that is free during its live range, in the bank with the fewest live buffers.
    """
    wanted = [
        (buffer, _bytes(buffer, places[buffer][1]), *_interval(tree, buffer, places[buffer][0])) for buffer in buffers
    ]
    parts: list[ArenaPart] = []
    for buffer, size, first, last in sorted(wanted, key=lambda each: (-each[1], each[2])):
        others = sorted(
            (part for part in parts if part.first <= last and first <= part.last), key=lambda part: part.offset
        )
        parts.append(ArenaPart(buffer, _offset_of(memory, size, others), size, first, last))
    return parts


def _offset_of(memory: DeviceMemory, size: int, others: Sequence[ArenaPart]) -> int:
    """Return an offset where no buffer of `others` is. `others` are sorted by offset."""
    length = memory.bytes // memory.banks
    taken = [sum(arena_part.offset // length == bank for arena_part in others) for bank in range(memory.banks)]
    for bank in sorted(range(memory.banks), key=taken.__getitem__) if memory.banks > 1 else ():
        offset = _first_free(memory, bank * length, size, others)
        if offset + size <= (bank + 1) * length:
            return offset
    return _first_free(memory, 0, size, others)


def _first_free(memory: DeviceMemory, start: int, size: int, others: Sequence[ArenaPart]) -> int:
    offset = start
    for other in others:
        if offset + size <= other.offset:
            break
        offset = max(offset, -(-(other.offset + other.bytes) // memory.alignment) * memory.alignment)
    return offset


def _bytes(buffer: Buffer, place: BufferPlace) -> int:
    if place.elements is None:
        sizes = ", ".join(map(str, place.sizes))
        raise RelaxError(
            f"'{buffer.name}' [{sizes}] is in '{buffer.scope}', where sizes must be static: split loops by numbers"
        )
    return max(place.elements, 1) * -(-bit_width(str(buffer.element)) // 8)


def _interval(tree: Tree, buffer: Buffer, owner: str) -> tuple[int, int]:
    """Return the first and the last block of a buffer's live range.

    A buffer that outlives the steps of a loop lives in all blocks of the loop. The next step may read what one step has
    written.
    """
    around = tree.body if not owner else tree.loop(owner).body
    order = {block.name: number for number, block in enumerate(tree.blocks())}
    nodes = [node for node in around if any(buffer in block.buffers for block in blocks_in([node]))]
    numbers = [order[block.name] for node in nodes for block in blocks_in([node])]
    return min(numbers), max(numbers)


def _check_users(tree: Tree, memory: DeviceMemory, buffers: Sequence[Buffer]) -> None:
    for block in tree.blocks():
        if (used := next((buffer for buffer in buffers if buffer in block.buffers), None)) is None:
            continue
        around = tree.around(block.name)
        shared = next((loop for loop in around if loop.kind == PARALLEL and loop.extent != 1), None)
        if shared is not None:
            raise RelaxError(
                f"'{used.name}' is in '{memory.name}', which threads of the parallel loop '{shared.name}' would share"
            )
        if memory.copies_only and not is_copy(block) and not any(loop.kind == TENSORIZED for loop in around):
            raise RelaxError(
                f"'{block.name}' computes with '{used.name}', which is in '{memory.name}': only copies and tensor "
                "intrinsics use that; tensorize it"
            )


def _shown(tree: Tree, arena: Arena) -> str:
    blocks = [block.name for block in tree.blocks()]
    lines = []
    for part in sorted(arena.parts, key=lambda each: (each.offset, each.first)):
        lives = f"from '{blocks[part.first]}' to '{blocks[part.last]}'"
        lines.append(f"    {part.offset:>8} {part.bytes:>8}  {part.buffer.name}, {lives}")
    return "\n".join([f"the plan of '{arena.memory.name}': offset, bytes, buffer", *lines])
