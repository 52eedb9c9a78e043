# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive compute_at: moves a producer into a consumer's loop."""

from __future__ import annotations

from collections.abc import Mapping

from ....dialects.core.symbols_expr import Size
from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.ranges import Range, ranges_of
from ..loops.tree import Block, Iter, Loop, blocks_in, written_by
from .code_motion import check_moves, check_passes, in_loops, points_in
from .legality import check_lanes


@register_primitive
def compute_at(edit: Edit, block: BlockRV, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1) -> None:
    """Move a block into a loop, where each step computes what the loop's other blocks need.

    The block precedes the first of these. With `index` -2 it is first in the loop; other values are its position.
    """
    found, around = edit.block(block), edit.loop(loop)
    check_moves(edit, found, around)
    inside = blocks_in([around])
    for access in found.writes:
        if access.buffer.is_given:
            edit.refuse(f"'{access.buffer.name}' is a parameter, which must be complete: use reverse_compute_at")
        for reader in edit.tree.readers(access.buffer):
            if reader not in inside:
                edit.refuse(f"'{reader.name}' needs '{access.buffer.name}', too, and is not in '{around.name}'")
    if not any(access.buffer in user.buffers for access in found.writes for user in inside):
        edit.refuse(f"nothing in '{around.name}' needs the result of '{found.name}'")
    place = _place(edit, found, around, index)
    blocks = edit.tree.blocks()
    first = next(map(blocks.index, blocks_in(around.body[place:])), len(blocks))
    check_passes(edit, found, blocks[blocks.index(found) : first])
    check_passes(edit, found, inside, between=written_by([found]))
    together = _threads_around(edit, found, around)
    node = in_loops(edit, found, needed_in(found, around, inside, together), keep_units=preserve_unit_loops)
    edit.replace(found.name, [])
    edit.insert(place, node, around)
    check_lanes(edit)


def _place(edit: Edit, found: Block, around: Loop, index: int) -> int:
    """Return the index in the loop, which must precede all consumers."""
    needs = [
        place
        for place, node in enumerate(around.body)
        if any(access.buffer in block.buffers for block in blocks_in([node]) for access in found.writes)
    ]
    if index in (-1, -2):
        return needs[0] if index == -1 else 0
    if not 0 <= index <= needs[0]:
        edit.refuse(f"index {index} is after the first consumer: {needs[0]} at most")
    return index


def _threads_around(edit: Edit, block: Block, around: Loop) -> dict[str, Size]:
    """Return the loops over threads that share the result: "shared" memory of a GPU serves all threads."""
    if any(access.buffer.scope != "shared" for access in block.writes):
        return {}
    loops = [*edit.tree.around(around.name), around]
    return {loop.name: loop.extent for loop in loops if loop.kind.startswith("threadIdx")}


def needed_in(block: Block, around: Loop, inside: list[Block], together: Mapping[str, Size]) -> dict[str, Range]:
    """Return the range of each iter that one step of the loop needs, for all steps of the loops in `together`."""
    inner, ranges = {**around.inner_extents(), **together}, dict[str, Range]()
    unclear: set[str] = set()
    for access in block.writes:
        reads = [place for user in inside for place in user.needed_places(access.buffer)]
        reached = ranges_of(reads, inner, access.buffer.shape)
        for place, range_ in zip(access.indices, reached, strict=True):
            for own in block.iters:
                if (points := points_in(block, own, place, range_)) is None or _is_all(own, points.range):
                    continue
                if ranges.setdefault(own.name, points.range) != points.range:
                    unclear.add(own.name)
    return {name: range_ for name, range_ in ranges.items() if name not in unclear}


def _is_all(own: Iter, points: Range) -> bool:
    return isinstance(points.extent, int) and isinstance(own.extent, int) and points.extent >= own.extent
