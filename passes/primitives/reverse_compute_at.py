# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reverse_compute_at: moves a consumer into a producer's loop."""

from __future__ import annotations

from collections.abc import Collection

from ...dialects.core.symbols_expr import Size, variables_of
from ..loops.boxes import box_of
from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, Refused, register_primitive
from ..loops.ranges import Range, guards
from ..loops.tree import REDUCE, Block, Buffer, Loop, Node, blocks_in, loops_of, written_by
from .code_motion import check_moves, check_passes, in_loops, is_reduced_by, points_in
from .following import in_loops_of_producer
from .legality import check_lanes

_Ranges = dict[str, Range]
_Limits = tuple[tuple[Size, Size], ...]


@register_primitive
def reverse_compute_at(
    edit: Edit, block: BlockRV, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
) -> None:
    """Moves a block into a loop, where it goes on with what one step has made: behind all that is there, with an index
    of -2 directly behind what makes what it reads, or as the `index`-th of what is in the loop."""
    found, around = edit.block(block), edit.loop(loop)
    check_moves(edit, found, around)
    inside = blocks_in([around])
    read = [*(access.buffer for access in found.reads), *found.loaded]
    made = [buffer for buffer in written_by(inside) if buffer in read]
    if not made:
        edit.refuse(f"nothing in '{around.name}' makes what '{found.name}' reads")
    if any(buffer in found.loaded for buffer in made):
        edit.refuse(f"'{found.name}' reads at places that are computed: it needs all of it")
    outer = [*edit.tree.around(around.name), around]
    for buffer in made:
        for writer in edit.tree.writers(buffer):
            if writer not in inside:
                edit.refuse(f"'{writer.name}' writes '{buffer.name}', too, and is not in '{around.name}'")
            reducing = is_reduced_by(writer, outer)
            if reducing is not None:
                edit.refuse(f"'{writer.name}' is not done after one step of '{reducing.name}', which it reduces along")
    place = _place(edit, around, made, index)
    blocks, before = edit.tree.blocks(), blocks_in(around.body[:place])
    check_passes(edit, found, blocks[blocks.index(before[-1]) + 1 : blocks.index(found)])
    check_passes(edit, found, inside, between=made)
    node = _node(edit, found, around, inside, made, preserve_unit_loops)
    edit.replace(found.name, [])
    edit.insert(place, node, around)
    check_lanes(edit)


def _node(edit: Edit, found: Block, around: Loop, inside: list[Block], made: list[Buffer], keep_units: bool) -> Node:
    """The block in loops over what one step has made."""
    try:
        ranges, where = made_in(edit, found, around, inside, made)
    except Refused:
        node = in_loops_of_producer(edit, found, around, inside, made[0]) if len(made) == 1 else None
        if node is None:
            raise
        return node
    return in_loops(edit, found, ranges, keep_units=keep_units, where=where)


def _place(edit: Edit, around: Loop, made: list[Buffer], index: int) -> int:
    """Where in the loop: behind what it reads."""
    makes = [
        place for place, node in enumerate(around.body)
        if any(buffer in made for buffer in written_by(blocks_in([node])))
    ]  # fmt: skip
    first = makes[-1] + 1
    if index in (-1, -2):
        return len(around.body) if index == -1 else first
    if not first <= index <= len(around.body):
        edit.refuse(f"index {index} is before what it reads is made: {first} at least, {len(around.body)} at most")
    return index


def _left_out(edit: Edit, found: Block, writer: Block, inner: Collection[str]) -> tuple[_Limits, _Limits]:
    """What must be below what where a writer has a point: by loops around, and by those in the loop."""
    ends = list(zip(writer.bindings, (each.extent for each in writer.iters), strict=True))
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
            problem = f"'{writer.name}' leaves out points where {guard.at} is not below {guard.limit}"
            edit.refuse(f"{problem}, '{found.name}' could not: split loops by factors that fit")
    return tuple(outside), tuple(inside)


def made_in(edit: Edit, found: Block, around: Loop, inside: list[Block], made: list[Buffer]) -> tuple[_Ranges, _Limits]:
    """The points of its iters whose elements one step of the loop has made, and at which steps there are any."""
    inner, ranges, where = around.inner_extents(), dict[str, Range](), dict[tuple[Size, Size], None]()
    for buffer in made:
        boxes = []
        for writer in (each for each in inside if each.writes_of(buffer)):
            outer, within = _left_out(edit, found, writer, inner)
            where.update(dict.fromkeys(outer))
            boxes += [box_of(writer.placed(each), inner, within) for each in writer.writes_of(buffer)]
        box = boxes[0]
        if box is None or any(each != box for each in boxes):
            problem = f"what one step of '{around.name}' makes of '{buffer.name}' is no range of each dimension"
            hint = "name a loop whose steps make whole lines of it"
            edit.refuse(f"{problem}, which '{found.name}' could go on with: {hint}")
        for access in found.reads:
            if access.buffer is not buffer:
                continue
            for dim, (at, each) in enumerate(zip(access.indices, box, strict=True)):
                if each == Range(0, buffer.shape[dim]):
                    continue
                name, points = _points(edit, found, at, each, around)
                if ranges.setdefault(name, points) != points:
                    edit.refuse(f"'{found.name}' reads more of '{buffer.name}' than one step of '{around.name}' makes")
    return ranges, tuple(where)


def _points(edit: Edit, found: Block, at: Size, reached: Range, around: Loop) -> tuple[str, Range]:
    """The iter along which it reads, and where that is in what is made."""
    step = f"one step of '{around.name}'"
    for each in found.iters:
        points = points_in(found, each, at, reached)
        if points is None or not points.is_exact:
            continue
        if each.kind == REDUCE:
            edit.refuse(f"'{found.name}' reduces along '{each.name}', of which {step} makes a part")
        return each.name, points.range
    edit.refuse(f"'{found.name}' reads at {at}, of which {step} makes a part: that must be whole points of one iter")
