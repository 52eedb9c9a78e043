# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive merge: loops of several nests as one."""

from __future__ import annotations

from dataclasses import replace

from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.ranges import factor_of
from ..loops.tree import SERIAL, Block, Buffer, Loop, blocks_in, rebound, variable


@register_primitive
def merge(edit: Edit, *loops: LoopRV) -> LoopRV:
    """Makes one loop of loops that stand one behind the other and go as far: each step does what a step of each did."""
    found = [edit.loop(loop) for loop in loops]
    if len(found) < 2:
        edit.refuse(f"expected two loops or more, got {len(found)}")
    first = found[0]
    for loop in found:
        if loop.kind != SERIAL:
            edit.refuse(f"'{loop.name}' is {loop.kind}: merge it before it is made so")
        if loop.extent != first.extent:
            edit.refuse(f"'{loop.name}' goes {loop.extent} times, '{first.name}' {first.extent}")
    _check_adjacent(edit, found)
    for place, later in enumerate(found):
        for earlier in found[:place]:
            _check_steps(edit, earlier, later)
    name = edit.new_name(f"{first.name}_m")
    index = variable(name, first.extent)
    body = tuple(node for loop in found for node in rebound(loop.body, {loop.name: index}))
    for loop in found[1:]:
        edit.replace(loop.name, [])
    edit.replace(first.name, [replace(first, name=name, body=body)])
    return edit.handle(name)


def _check_adjacent(edit: Edit, loops: list[Loop]) -> None:
    around = edit.tree.around(loops[0].name)
    siblings = [node.name for node in (around[-1].body if around else edit.tree.body)]
    names = [loop.name for loop in loops]
    place = siblings.index(names[0])
    if siblings[place : place + len(names)] != names:
        edit.refuse(f"{', '.join(names)} do not stand one directly behind the other")


def _check_steps(edit: Edit, earlier: Loop, later: Loop) -> None:
    """What both use and one writes is used by the same steps of both."""
    for one in blocks_in([earlier]):
        for other in blocks_in([later]):
            for buffer in one.buffers:
                is_written = one.writes_of(buffer) or other.writes_of(buffer)
                if buffer in other.buffers and is_written and not _is_of_same_steps(buffer, one, earlier, other, later):
                    problem = f"'{other.name}' needs of '{buffer.name}' what other steps of '{earlier.name}' use"
                    edit.refuse(problem)


def _is_of_same_steps(buffer: Buffer, one: Block, earlier: Loop, other: Block, later: Loop) -> bool:
    """Whether there is a dimension along which both go with their loop alone, by the same steps."""
    places = [
        (place, variable(loop.name, loop.extent))
        for block, loop in ((one, earlier), (other, later))
        for place in block.places(buffer)
    ]
    for dim in range(len(buffer.shape)):
        indices = [(index, step) for place, step in places if (index := place[dim]) is not None]
        factors = {factor_of(index, str(step)) for index, step in indices}
        factor = factors.pop() if len(indices) == len(places) else None
        if factors or not factor:
            continue
        if len({str(index - factor * step) for index, step in indices}) == 1:
            return True
    return False
