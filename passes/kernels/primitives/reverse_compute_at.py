# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reverse_compute_at: moves a consumer into a producer's loop."""

from __future__ import annotations

from collections.abc import Collection

from ....dialects.core.symbols_expr import Size, variables_of
from ..loops.boxes import box_of
from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, Refused, register_primitive
from ..loops.ranges import Range, guards
from ..loops.tree import REDUCE, Block, Loop, Node, blocks_in, loops_of, written_by
from ..loops.tree_buffers import Buffer
from .code_motion import check_moves, check_passes, in_loops, is_reduced_by, points_in
from .following import in_loops_of_producer
from .legality import check_lanes

_Ranges = dict[str, Range]
_Limits = tuple[tuple[Size, Size], ...]


@register_primitive
def reverse_compute_at(
    edit: Edit, block: BlockRV, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
) -> None:
    """Move a block into a loop, where it consumes what one step has computed.

    The block follows everything in the loop. With `index` -2 it directly follows its producers; other values are its
    position.
    """
    found, around = edit.block(block), edit.loop(loop)
    check_moves(edit, found, around)
    inside = blocks_in([around])
    read = [*(access.buffer for access in found.reads), *found.loaded]
    if not (buffers := [buffer for buffer in written_by(inside) if buffer in read]):
        edit.refuse(f"nothing in '{around.name}' writes what '{found.name}' reads")
    if any(buffer in found.loaded for buffer in buffers):
        edit.refuse(f"'{found.name}' reads at computed indices: it needs the complete buffer")
    outer = [*edit.tree.around(around.name), around]
    for buffer in buffers:
        for writer in edit.tree.writers(buffer):
            if writer not in inside:
                edit.refuse(f"'{writer.name}' writes '{buffer.name}', too, and is not in '{around.name}'")
            if (reducing := is_reduced_by(writer, outer)) is not None:
                edit.refuse(
                    f"'{writer.name}' is not complete after one step of '{reducing.name}', along which it reduces"
                )
    place = _place(edit, around, buffers, index)
    blocks, before = edit.tree.blocks(), blocks_in(around.body[:place])
    check_passes(edit, found, blocks[blocks.index(before[-1]) + 1 : blocks.index(found)])
    check_passes(edit, found, inside, between=buffers)
    node = _node(edit, found, around, inside, buffers, preserve_unit_loops)
    edit.replace(found.name, [])
    edit.insert(place, node, around)
    check_lanes(edit)


def _node(edit: Edit, block: Block, around: Loop, inside: list[Block], buffers: list[Buffer], keep_units: bool) -> Node:
    """Return the block in loops over the elements that one step has computed."""
    try:
        ranges, where = made_in(edit, block, around, inside, buffers)
    except Refused:
        node = in_loops_of_producer(edit, block, around, inside, buffers[0]) if len(buffers) == 1 else None
        if node is None:
            raise
        return node
    return in_loops(edit, block, ranges, keep_units=keep_units, where=where)


def _place(edit: Edit, around: Loop, buffers: list[Buffer], index: int) -> int:
    """Return the index in the loop, which must follow all producers."""
    makes = [
        place for place, node in enumerate(around.body)
        if any(buffer in buffers for buffer in written_by(blocks_in([node])))
    ]  # fmt: skip
    first = makes[-1] + 1
    if index in (-1, -2):
        return len(around.body) if index == -1 else first
    if not first <= index <= len(around.body):
        edit.refuse(f"index {index} is before the last producer: {first} at least, {len(around.body)} at most")
    return index


def _left_out(edit: Edit, block: Block, writer: Block, inner: Collection[str]) -> tuple[_Limits, _Limits]:
    """Return the conditions of a writer's points: in terms of the loops outside, and of the loops inside."""
    ends = list(zip(writer.bindings, (iter_.extent for iter_ in writer.iters), strict=True))
    outside, inside = [], []
    for guard in guards(writer, edit.tree.extents()):
        used = variables_of(guard.at)
        if guard.of_steps or (guard.at, guard.limit) in ends or used <= loops_of(writer, REDUCE):
            continue
        if used <= set(inner) and isinstance(guard.limit, int):
            inside.append((guard.at, guard.limit))
        elif used.isdisjoint(inner):
            outside.append((guard.at, guard.limit))
        else:
            problem = f"'{writer.name}' excludes points where {guard.at} is not below {guard.limit}"
            edit.refuse(f"{problem}, but '{block.name}' could not: split loops by factors that divide their extents")
    return tuple(outside), tuple(inside)


def made_in(
    edit: Edit, found: Block, around: Loop, inside: list[Block], buffers: list[Buffer]
) -> tuple[_Ranges, _Limits]:
    """Return the ranges of iters that one step of the loop has computed, and the condition for such steps."""
    inner, ranges, where = around.inner_extents(), dict[str, Range](), dict[tuple[Size, Size], None]()
    for buffer in buffers:
        boxes = []
        for writer in (block for block in inside if block.writes_of(buffer)):
            outer, within = _left_out(edit, found, writer, inner)
            where.update(dict.fromkeys(outer))
            boxes += [box_of(writer.placed(write), inner, within) for write in writer.writes_of(buffer)]
        box = boxes[0]
        if box is None or any(each != box for each in boxes):
            problem = (
                f"the part of '{buffer.name}' that one step of '{around.name}' writes is no range in each dimension"
            )
            hint = "name a loop whose steps write whole rows"
            edit.refuse(f"{problem}, which '{found.name}' could read: {hint}")
        for access in found.reads:
            if access.buffer is not buffer:
                continue
            for dim, (at, each) in enumerate(zip(access.indices, box, strict=True)):
                if each == Range(0, buffer.shape[dim]):
                    continue
                name, points = _points(edit, found, at, each, around)
                if ranges.setdefault(name, points) != points:
                    edit.refuse(f"'{found.name}' reads more of '{buffer.name}' than one step of '{around.name}' writes")
    return ranges, tuple(where)


def _points(edit: Edit, block: Block, at: Size, reached: Range, around: Loop) -> tuple[str, Range]:
    """Return the iter along which the block reads, and its range in the computed part."""
    step = f"one step of '{around.name}'"
    for iter_ in block.iters:
        if (points := points_in(block, iter_, at, reached)) is None or not points.is_exact:
            continue
        if iter_.kind == REDUCE:
            edit.refuse(f"'{block.name}' reduces along '{iter_.name}', but {step} writes only a part of it")
        return iter_.name, points.range
    edit.refuse(f"'{block.name}' reads at {at}, but {step} writes only a part: it must be whole points of one iter")
