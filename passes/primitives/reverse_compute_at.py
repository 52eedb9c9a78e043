# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A block where what it reads is made."""

from __future__ import annotations

from dataclasses import replace

from ...dialects.core.symbols_expr import Size
from ..loops.handles import BlockRV, LoopRV
from ..loops.ranges import Range
from ..loops.tree import REDUCE, Block, Buffer, Loop, blocks_in, mapped
from .legality import check_lanes
from .made import left_out, made_of
from .moving import check_moves, check_passes, in_loops, is_reduced_by, order_of, written_by
from .registry import Edit, register_primitive


@register_primitive
def reverse_compute_at(
    edit: Edit, block: BlockRV, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
) -> None:
    """Moves a block into a loop, behind the blocks that make what it reads: it goes on with what one step has made."""
    found, around = edit.block(block), edit.loop(loop)
    check_moves(edit, found, around)
    inside = blocks_in([around])
    read = [*(access.buffer for access in found.reads), *found.loaded()]
    made = [buffer for buffer in written_by(inside) if buffer in read]
    if not made:
        edit.refuse(f"nothing in '{around.name}' makes what '{found.name}' reads")
    if any(buffer in found.loaded() for buffer in made):
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
    order = order_of(edit)
    before = blocks_in(around.body[:place])
    last = max(order[each.name] for each in before)
    passed = [each for each in edit.tree.blocks() if last < order[each.name] < order[found.name]]
    check_passes(edit, found, passed)
    check_passes(edit, found, inside, between=made)
    node = in_loops(edit, found, _made(edit, found, around, inside, made), keep_units=preserve_unit_loops)
    (moved,) = blocks_in([node])
    where = (*moved.where, *left_out(edit, moved, around, inside, made))
    (node,) = mapped([node], lambda each: replace(each, where=where))
    edit.replace(found.name, [])
    target = edit.tree.loop(around.name)
    edit.replace(around.name, [replace(target, body=(*target.body[:place], node, *target.body[place:]))])
    check_lanes(edit)


def _place(edit: Edit, around: Loop, made: list[Buffer], index: int) -> int:
    """Where in the loop: behind what it reads."""
    makes = [
        place for place, node in enumerate(around.body)
        if any(buffer in made for buffer in written_by(blocks_in([node])))
    ]  # fmt: skip
    first = makes[-1] + 1
    if index == -1:
        return len(around.body)
    if not first <= index <= len(around.body):
        edit.refuse(f"index {index} is before what it reads is made: {first} at least, {len(around.body)} at most")
    return index


def _made(edit: Edit, found: Block, around: Loop, inside: list[Block], made: list[Buffer]) -> dict[str, Range]:
    """The points of its iters whose elements one step of the loop has made."""
    ranges = dict[str, Range]()
    for buffer in made:
        reached = made_of(edit, found, around, inside, buffer)
        for access in found.reads:
            if access.buffer is not buffer:
                continue
            for dim, (at, each) in enumerate(zip(access.indices, reached, strict=True)):
                if each == Range(0, buffer.shape[dim]):
                    continue
                name, points = _points(edit, found, at, each, around)
                if ranges.setdefault(name, points) != points:
                    edit.refuse(f"'{found.name}' reads more of '{buffer.name}' than one step of '{around.name}' makes")
    return ranges


def _points(edit: Edit, found: Block, at: Size, reached: Range, around: Loop) -> tuple[str, Range]:
    """The iter along which it reads, and where that is in what is made."""
    step = f"one step of '{around.name}'"
    for each in found.iters:
        offset = at - _variable(found, each.name)
        if not isinstance(offset, int):
            continue
        if each.kind == REDUCE:
            edit.refuse(f"'{found.name}' reduces along '{each.name}', of which {step} makes a part")
        return each.name, Range(reached.start - offset, reached.extent)
    edit.refuse(f"'{found.name}' reads at {at}, of which {step} makes a part: that must be an iter alone")


def _variable(block: Block, name: str) -> Size:
    from ..loops.tree import iter_variable

    return next(iter_variable(each) for each in block.iters if each.name == name)
