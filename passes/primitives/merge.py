# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive merge: loops of several nests as one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ...dialects.core.indices import is_never_negative
from ...dialects.core.symbols_expr import Size
from ...support.replacing import replace
from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.ranges import factor_of, range_of, without
from ..loops.tree import SERIAL, Block, Buffer, Loop, Place, around_all, blocks_in, rebound, variable


@register_primitive
def merge(edit: Edit, *loops: LoopRV) -> LoopRV:
    """Makes one loop of loops that stand one behind the other and go as far, and of those around them that they do not
    share: each step does what a step of each did."""
    found = [edit.loop(loop) for loop in loops]
    if len(found) < 2:
        edit.refuse(f"expected two loops or more, got {len(found)}")
    paths = [[*edit.tree.around(loop.name), loop] for loop in found]
    own = [path[len(around_all(paths)) :] for path in paths]
    uneven = next((loop.name for loop, path in zip(found, own, strict=True) if len(path) != len(own[0])), None)
    if uneven is not None or not own[0]:
        edit.refuse(f"'{uneven or found[1].name}' and '{found[0].name}' are not in as many loops")
    for outer in (loop for path in own for loop in path[:-1]):
        if len(outer.body) > 1:
            edit.refuse(f"there is more in '{outer.name}' than one loop")
    name = ""
    for level in zip(*own, strict=True):
        name = _merged(edit, [edit.tree.loop(loop.name) for loop in level])
    return edit.handle(name)


def _merged(edit: Edit, found: list[Loop]) -> str:
    """Of loops that stand one behind the other; the name of what they are."""
    first = found[0]
    for loop in found:
        if loop.kind != SERIAL:
            edit.refuse(f"'{loop.name}' is {loop.kind}: merge it before it is made so")
        if loop.extent != first.extent:
            edit.refuse(f"'{loop.name}' goes {loop.extent} times, '{first.name}' {first.extent}")
    _check_adjacent(edit, found)
    for earlier, later in combinations(found, 2):
        _check_steps(edit, earlier, later)
    name = edit.new_name(f"{first.name}_m")
    index = variable(name, first.extent)
    body = tuple(node for loop in found for node in rebound(loop.body, {loop.name: index}))
    for loop in found[1:]:
        edit.replace(loop.name, [])
    edit.replace(first.name, [replace(first, name=name, body=body)])
    return name


def _check_adjacent(edit: Edit, loops: list[Loop]) -> None:
    around = edit.tree.around(loops[0].name)
    siblings = [node.name for node in (around[-1].body if around else edit.tree.body)]
    names = [loop.name for loop in loops]
    place = siblings.index(names[0])
    if siblings[place : place + len(names)] != names:
        edit.refuse(f"{', '.join(names)} do not stand one directly behind the other")


def _check_steps(edit: Edit, earlier: Loop, later: Loop) -> None:
    """What both use and one writes is used by the same steps of both."""
    if earlier.extent == 1:
        return
    for one in blocks_in([earlier]):
        for other in blocks_in([later]):
            for buffer, place, next_ in _conflicts(one, other):
                dims = range(len(buffer.shape))
                if not any(_is_of_same_step(place[dim], earlier, next_[dim], later) for dim in dims):
                    problem = f"'{other.name}' needs of '{buffer.name}' what other steps of '{earlier.name}' use"
                    edit.refuse(problem)


def _conflicts(one: Block, other: Block) -> Iterator[tuple[Buffer, Place, Place]]:
    """Where both use a buffer, and one of them writes it."""
    for buffer in one.buffers:
        written = [[block.placed(access).indices for access in block.writes_of(buffer)] for block in (one, other)]
        yield from ((buffer, place, next_) for place in written[0] for next_ in other.places(buffer))
        yield from ((buffer, place, next_) for place in one.read_places(buffer) for next_ in written[1])


def _is_of_same_step(index: Size | None, earlier: Loop, next_: Size | None, later: Loop) -> bool:
    """Whether no step of one loop comes to an index that another step of the other one uses: what one step has made for
    the next one would not be there, as memory lives for one step."""
    if index is None or next_ is None:
        return False
    by = factor_of(index, earlier.name)
    rest = range_of(without(index, earlier.name), earlier.inner_extents())
    next_rest = range_of(without(next_, later.name), later.inner_extents())
    if not by or by != factor_of(next_, later.name) or rest is None or next_rest is None:
        return False
    pairs = ((rest, next_rest), (next_rest, rest))
    return all(is_never_negative(one.start + abs(by) - other.start - other.extent) for one, other in pairs)
