# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive merge: fuses adjacent loops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ....dialects.core.indices import is_never_negative
from ....dialects.core.symbols_expr import Size
from ....support.replacing import replace
from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.ranges import factor_of, range_of, substitute_zero
from ..loops.tree import SERIAL, Block, Loop, Place, around_all, blocks_in, rebind, variable
from ..loops.tree_buffers import Buffer


@register_primitive
def merge(edit: Edit, *loops: LoopRV) -> LoopRV:
    """Merge adjacent loops with equal extents, together with the loops around them that they do not share.

    Each step of the result does one step of each loop.
    """
    found = [edit.loop(loop) for loop in loops]
    if len(found) < 2:
        edit.refuse(f"expected two loops or more, got {len(found)}")
    paths = [[*edit.tree.around(loop.name), loop] for loop in found]
    own = [path[len(around_all(paths)) :] for path in paths]
    uneven = next((loop.name for loop, path in zip(found, own, strict=True) if len(path) != len(own[0])), None)
    if uneven is not None or not own[0]:
        edit.refuse(f"'{uneven or found[1].name}' and '{found[0].name}' are not nested in equally many loops")
    for outer in (loop for path in own for loop in path[:-1]):
        if len(outer.body) > 1:
            edit.refuse(f"'{outer.name}' contains more than one loop")
    name = ""
    for level in zip(*own, strict=True):
        name = _merged(edit, [edit.tree.loop(loop.name) for loop in level])
    return edit.handle(name)


def _merged(edit: Edit, loops: list[Loop]) -> str:
    """Merge adjacent loops, and return the name of the result."""
    first = loops[0]
    for loop in loops:
        if loop.kind != SERIAL:
            edit.refuse(f"'{loop.name}' is already {loop.kind}: merge it first")
        if loop.extent != first.extent:
            edit.refuse(f"'{loop.name}' has {loop.extent} steps, but '{first.name}' has {first.extent}")
    _check_adjacent(edit, loops)
    for earlier, later in combinations(loops, 2):
        _check_steps(edit, earlier, later)
    name = edit.new_name(f"{first.name}_m")
    index = variable(name, first.extent)
    body = tuple(node for loop in loops for node in rebind(loop.body, {loop.name: index}))
    for loop in loops[1:]:
        edit.replace(loop.name, [])
    edit.replace(first.name, [replace(first, name=name, body=body)])
    return name


def _check_adjacent(edit: Edit, loops: list[Loop]) -> None:
    around = edit.tree.around(loops[0].name)
    siblings = [node.name for node in (around[-1].body if around else edit.tree.body)]
    names = [loop.name for loop in loops]
    place = siblings.index(names[0])
    if siblings[place : place + len(names)] != names:
        edit.refuse(f"{', '.join(names)} are not adjacent")


def _check_steps(edit: Edit, earlier: Loop, later: Loop) -> None:
    """Check that the steps of two loops conflict only with the same step of the other loop."""
    if earlier.extent == 1:
        return
    for one in blocks_in([earlier]):
        for other in blocks_in([later]):
            for buffer, place, next_ in _conflicts(one, other):
                dims = range(len(buffer.shape))
                if not any(_is_of_same_step(place[dim], earlier, next_[dim], later) for dim in dims):
                    problem = (
                        f"'{other.name}' needs elements of '{buffer.name}' that other steps of '{earlier.name}' use"
                    )
                    edit.refuse(problem)


def _conflicts(one: Block, other: Block) -> Iterator[tuple[Buffer, Place, Place]]:
    """Yield the conflicting accesses of two blocks: uses of one buffer, at least one of which writes."""
    for buffer in one.buffers:
        written = [[block.placed(access).indices for access in block.writes_of(buffer)] for block in (one, other)]
        yield from ((buffer, place, next_) for place in written[0] for next_ in other.places(buffer))
        yield from ((buffer, place, next_) for place in one.read_places(buffer) for next_ in written[1])


def _is_of_same_step(index: Size | None, earlier: Loop, next_: Size | None, later: Loop) -> bool:
    """Return True if the loops provably use the index in the same step only.

    Values for another step would not survive: memory lives for one step.
    """
    if index is None or next_ is None:
        return False
    by = factor_of(index, earlier.name)
    rest = range_of(substitute_zero(index, earlier.name), earlier.inner_extents())
    next_rest = range_of(substitute_zero(next_, later.name), later.inner_extents())
    if not by or by != factor_of(next_, later.name) or rest is None or next_rest is None:
        return False
    pairs = ((rest, next_rest), (next_rest, rest))
    return all(is_never_negative(one.start + abs(by) - other.start - other.extent) for one, other in pairs)
