# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rematerialisation of group heads that several kernels read, if a store would move more bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from .block import BlockGroups, Found
from .block_reading import BlockReading
from .fusion_group import bytes_of
from .kinds import GroupOf, Kinds

# Bytes from which a tensor is read from memory. At 256 KiB recomputing takes 0.7 to 1.1 times as long.
_LEAST_STORED = 1 << 20


class Copy(NamedTuple):
    """A copy of a call, and the calls of one group that read the copy instead of the original."""

    call: Operation
    original: Operation
    readers: Sequence[Operation]

    def redirect(self, old: Value, new: Value) -> None:
        for reader in self.readers:
            for place, operand in enumerate(reader.operands):
                if operand == old:
                    reader.operands[place] = new

    def undo(self) -> None:
        self.redirect(self.call.results[0], self.original.results[0])
        self.call.erase()


def with_heads(
    blocks: BlockGroups, found: list[Found], reading: BlockReading, kinds: Kinds
) -> tuple[BlockGroups, list[Found]]:
    """Copy shared heads into the groups that read them if that pays, and group the block again."""
    copies = list(_copies(blocks, reading, kinds))
    is_settled = not copies
    while not is_settled:
        reading = reading.again()
        blocks = BlockGroups(reading, kinds)
        found = blocks.find()
        stored = _find_stored(copies, blocks, reading)
        for copy in copies:
            if copy.original in stored:
                copy.undo()
        copies = [copy for copy in copies if copy.original not in stored]
        is_settled = not stored
    return blocks, found


def _find_stored(copies: Iterable[Copy], blocks: BlockGroups, reading: BlockReading) -> set[Operation]:
    """Return the originals that are still stored, themselves or by a copy. One call is enough for them."""
    outside = {reading.values[value].owner for group in blocks.groups() for value in blocks.outputs_of(group)}
    return {copy.original for copy in copies if not outside.isdisjoint((copy.call, copy.original))}


def _copies(blocks: BlockGroups, reading: BlockReading, kinds: Kinds) -> Iterable[Copy]:
    taken: set[int] = set()
    for position in reading.plain_calls:
        readers = _readers(position, blocks, reading, kinds)
        # A decision about a head is valid only while its readers do not change.
        if not readers or position in taken or any(not taken.isdisjoint(users) for users in readers):
            continue
        for users in readers:
            taken.update(users)
        original = reading.operations[position]
        for users in readers[1:]:
            first, *_ = calls = [reading.operations[user] for user in users]
            copy = Copy(original.clone(ip=ir.InsertionPoint(first)).operation, original, calls)
            copy.redirect(original.results[0], copy.call.results[0])
            yield copy


def _readers(position: int, blocks: BlockGroups, reading: BlockReading, kinds: Kinds) -> list[list[int]]:
    """Return the readers of a call by group if each group should have a call of its own, else an empty list."""
    own, alone = blocks.group_at(position), kinds.single(reading, position)
    if own is None or alone is None or not _is_cheap(alone):
        return []
    (value,) = reading.results[position]
    if value not in own.outputs and len(own.calls) > 1:
        return []
    if any(reading.defined[operand] in own.inside for operand in reading.operands[position]):
        return []
    groups: dict[GroupOf | None, list[int]] = {}
    for user in reading.users[value]:
        groups.setdefault(blocks.group_at(user), []).append(user)
    inside = groups.pop(own, [])
    if None in groups or not _saves(reading, position, len(groups), is_inside=bool(inside)):
        return []
    taking = [group for group in groups if group is not None and _takes(kinds, alone, group, blocks, reading)]
    if len(taking) < len(groups):
        return []
    return [inside, *groups.values()] if inside else list(groups.values())


def _is_cheap(alone: GroupOf) -> bool:
    """Check whether a call computes little, and reads elements in the order in which it writes them."""
    (member,) = alone.kind.example.all_members
    info = member.info
    if not info.is_cheap or info.moved_from is not None:
        return False
    maps = [map_ for read in info.reads.values() for map_ in read.maps]
    return all(map_ == info.out_map or len(map_.results) < map_.n_dims for map_ in maps)


def _saves(reading: BlockReading, position: int, groups: int, *, is_inside: bool) -> bool:
    """Check whether copies move fewer bytes. A store reads the cache line that it overwrites."""
    made = bytes_of(reading.values[reading.results[position][0]].type)
    if groups + is_inside < 2 or not _LEAST_STORED <= made < math.inf:
        return False
    read = sum(bytes_of(reading.values[operand].type) for operand in set(reading.operands[position]))
    return (groups + is_inside) * read < read + (2 + groups) * made


def _takes(kinds: Kinds, alone: GroupOf, group: GroupOf, blocks: BlockGroups, reading: BlockReading) -> bool:
    joined = kinds.joined(alone, group, reading)
    return joined is not None and not kinds.why_not(joined, blocks.outputs_of(group), reading)
