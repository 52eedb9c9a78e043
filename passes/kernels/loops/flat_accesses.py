# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collapsing of buffer dimensions that fused loops index together.

A loop that `fuse` has made of i and j reads A[f // 50, f % 50]. In a row, that is element f of A: no division for each
point, and eight steps are eight contiguous elements wherever they begin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from functools import reduce

from ....dialects.core.indices import divisions, undivided
from ....dialects.core.symbols_expr import Size
from ....support.replacing import replace
from .buffer_allocation import places_of
from .device_copies import copies_of
from .intrins import TENSORIZED
from .tree import Access, Block, Tree, blocks_in, iter_variable, names_in, unique
from .tree_buffers import Buffer

#: Groups of a buffer's dimensions; each group becomes one dimension.
Groups = tuple[tuple[int, ...], ...]


def flattened(tree: Tree, strided: Set[Buffer] = frozenset()) -> tuple[Tree, Mapping[Buffer, tuple[Buffer, Groups]]]:
    """Return a tree with flat buffers, and for each of them the original buffer and its collapsed groups.

    Buffers in `strided` keep their dimensions. Accesses of the others are indexed by loops from here on, not by iters.
    """
    if not any(
        divisions(index) for block in tree.blocks() for access in block.placed_accesses for index in access.indices
    ):
        return tree, {}
    kept = _kept(tree) | strided
    joined = {buffer: groups for buffer in tree.buffers if buffer not in kept
              if len(groups := _groups(tree, buffer)) < len(buffer.shape)}  # fmt: skip
    made = _joined(tree, joined)
    if larger := _larger(tree, *made):
        made = _joined(tree, {buffer: groups for buffer, groups in joined.items() if buffer not in larger})
    return made


def _joined(tree: Tree, joined: Mapping[Buffer, Groups]) -> tuple[Tree, Mapping[Buffer, tuple[Buffer, Groups]]]:
    new = {buffer: buffer.laid_out(_collapsed(buffer.shape, groups)) for buffer, groups in joined.items()}
    loops = set(names_in(tree.body))

    def change(block: Block) -> Block:
        block = _apart(block, loops)
        return block.with_accesses(lambda each: _flat(block, each, joined, new))

    if joined:
        tree = replace(tree.mapped(change), buffers=tuple(new.get(buffer, buffer) for buffer in tree.buffers))
    return tree, {value: (buffer, joined[buffer]) for buffer, value in new.items()}


def _larger(tree: Tree, flat: Tree, new: Mapping[Buffer, tuple[Buffer, Groups]]) -> set[Buffer]:
    """Return buffers of which a loop step would need more memory if they were flat.

    A part is the box around the used elements; of a row, it is everything from the first to the last element.
    """
    if not (own := {name: old for name, (old, _) in new.items() if not name.is_given}):
        return set()
    before, after = places_of(tree), places_of(flat)
    counts = {old: (before[old][1].elements, after[key][1].elements) for key, old in own.items()}
    return {old for old, (own, flat) in counts.items() if own is not None and (flat is None or flat > own)}


def _apart(block: Block, loops: set[str]) -> Block:
    """Rename the iters that share a name with a loop: accesses are indexed by loops from here on."""
    names = [iter_.name for iter_ in block.iters]
    if loops.isdisjoint(names):
        return block
    taken = {*loops, *names}
    own = [replace(iter_, name=unique(f"v_{iter_.name}", taken)) for iter_ in block.iters]
    moved = block.at({old: iter_variable(each) for old, each in zip(names, own, strict=True)})
    return replace(moved, iters=tuple(own))


def _kept(tree: Tree) -> set[Buffer]:
    """Return buffers that keep their dimensions for computed indices, instructions, device copies or strides."""
    shaped = {buffer for block in tree.blocks() for buffer in block.loaded}
    for loop in tree.loops():
        if loop.kind == TENSORIZED:
            shaped |= {buffer for block in blocks_in([loop]) for buffer in block.buffers}
    for copy in copies_of(tree).values():
        shaped |= set(copy.block.buffers)
    return shaped | {buffer for buffer in tree.buffers if buffer.alignments or buffer.rolling or 0 in buffer.shape}


def _groups(tree: Tree, buffer: Buffer) -> Groups:
    """Group adjacent dimensions if an access has fewer divisions with the group."""
    accesses = (access for block in tree.blocks() for access in block.placed_accesses if access.buffer is buffer)
    places = [access.indices for access in accesses if any(map(divisions, (*access.indices, *buffer.shape)))]
    groups: list[tuple[int, ...]] = []
    for dim in range(len(buffer.shape)):
        if groups and any(_is_simpler(place, groups[-1], dim, buffer.shape) for place in places):
            groups[-1] = (*groups[-1], dim)
        else:
            groups.append((dim,))
    return tuple(groups)


def _is_simpler(place: Sequence[Size], group: Sequence[int], dim: int, shape: Sequence[Size]) -> bool:
    apart = divisions(_index(place, group, shape)) + divisions(place[dim])
    return apart > 0 and divisions(_index(place, (*group, dim), shape)) < apart


def _index(place: Sequence[Size], group: Sequence[int], shape: Sequence[Size]) -> Size:
    return undivided(reduce(lambda index, dim: index * shape[dim] + place[dim], group[1:], place[group[0]]))


def _collapsed(shape: Sequence[Size], groups: Groups) -> tuple[Size, ...]:
    return tuple(math.prod((shape[dim] for dim in group[1:]), start=shape[group[0]]) for group in groups)


def _flat(block: Block, access: Access, joined: Mapping[Buffer, Groups], new: Mapping[Buffer, Buffer]) -> Access:
    if (buffer := access.buffer) not in joined:
        return access
    place = block.placed(access).indices
    return Access(new[buffer], tuple(_index(place, group, buffer.shape) for group in joined[buffer]))
