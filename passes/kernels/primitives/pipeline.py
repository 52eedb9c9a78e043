# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive pipeline: software pipelining of a loop that copies its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ....dialects.core.indices import is_never_negative
from ....dialects.core.symbols_expr import Size, extremum, substituted, variables_of
from ....support.replacing import replace
from ..loops.buffer_allocation import BufferPlace, places_of
from ..loops.device_copies import is_copy
from ..loops.handles import LoopRV
from ..loops.intrins import INTRIN, TENSORIZED, find_intrin
from ..loops.memories import find_memory
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import (
    PIPELINED,
    REDUCE,
    SERIAL,
    SPATIAL,
    STAGES,
    UNROLLED,
    VECTORIZED,
    Access,
    Block,
    Iter,
    Loop,
    Node,
    Tree,
    blocks_in,
    loops_of,
    map_nodes,
    names_in,
    rebind,
    unique,
    variable,
    written_by,
)
from ..loops.tree_buffers import Buffer
from .body_copies import drop_unreached_init, rename_nodes

_MOST_STAGES = 16


@register_primitive
def pipeline(edit: Edit, loop: LoopRV, stages: int = 2) -> None:
    """Let each step of a loop copy the inputs of a later one, `stages` - 1 steps ahead.

    The copies' buffers have `stages` versions. A prologue before the loop copies for the first steps, and an epilogue
    behind the loop runs the last ones. Results in memories with asynchronous copies have as many versions, too.
    """
    found = edit.loop(loop)
    _check(edit, found, stages)
    if isinstance(found.extent, int):
        stages = min(stages, found.extent)
    places = places_of(edit.tree)
    own = [buffer for buffer, (where, _) in places.items() if where == found.name]
    fetching = [node for node in found.body if _fetches(edit.tree, found, node, own)]
    stored = [buffer for buffer in own if _is_stored(edit.tree, buffer)]
    if not fetching and not stored:
        problem = (
            f"no step of '{found.name}' copies data that only this step uses from memory that the loop does not write"
        )
        edit.refuse(f"{problem}: cache_read and compute_at create such copies")
    if stages < 2:
        return
    fetched = written_by(blocks_in(fetching))
    ahead = stages - 1 if fetching else 0
    steady: Size = found.extent - ahead
    # Blocks also run in the prologue and epilogue, and a version belongs to one step.
    nodes: Sequence[Node] = map_nodes(found.body, lambda block: replace(block, is_part=True))
    for buffer in dict.fromkeys([*fetched, *stored]):
        nodes = _with_versions(edit, found, nodes, buffer, places[buffer][1], stages)
    # The last steps run behind the loop. A device memory has only one step's part of other buffers that move with the
    # steps.
    for buffer in own:
        moves = any(found.name in variables_of(start) for start in places[buffer][1].starts)
        if moves and find_memory(buffer.scope) is not None and buffer not in fetched and buffer not in stored:
            nodes = _with_versions(edit, found, nodes, buffer, places[buffer][1], 1)
    names = {node.name for node in fetching}
    first = [node for node in nodes if node.name in names]
    rest = [node for node in nodes if node.name not in names]
    step = variable(found.name, steady)
    fetch_next, now = rebind(first, {found.name: step + ahead}), rebind(rest, {found.name: step})
    # Where steps are only started, queue the next step before waiting for those in flight.
    body = (*now, *fetch_next) if all(map(_is_started, rest)) else (*fetch_next, *now)
    made: Loop = replace(
        found, extent=steady, body=body, kind=PIPELINED, annotations={**found.annotations, STAGES: stages}
    )
    taken = set(names_in([found]))
    short = ahead if isinstance(found.extent, int) else extremum("min", [found.extent, ahead])
    before = _once_more(edit, found, "prologue", first, short, 0, taken) if ahead else []
    behind = _once_more(edit, found, "epilogue", rest, short, found.extent - short, taken) if ahead else []
    edit.replace(found.name, [*before, made, *behind])


def _check(edit: Edit, loop: Loop, stages: int) -> None:
    if type(stages) is not int or not 2 <= stages <= _MOST_STAGES:
        edit.refuse(f"stages must be a number from 2 to {_MOST_STAGES}, got {stages!r}")
    if loop.kind != SERIAL:
        edit.refuse(f"'{loop.name}' is {loop.kind}: only serial loops can be pipelined")
    around = next((each for each in edit.tree.around(loop.name) if each.kind in (VECTORIZED, UNROLLED)), None)
    if around is not None:
        edit.refuse(f"'{around.name}' around '{loop.name}' is {around.kind}: pipeline a loop inside of serial loops")


def _fetches(tree: Tree, loop: Loop, node: Node, own: Sequence[Buffer]) -> bool:
    """Return True if a node copies from memory that no step writes to memory that lives for one step."""
    inside, written = blocks_in([node]), written_by(blocks_in(loop.body))
    if not all(is_copy(block) and not block.loaded for block in inside):
        return False
    for block in inside:
        (target,) = block.writes
        writers = tree.writers(target.buffer)
        if target.buffer not in own or any(writer not in inside for writer in writers):
            return False
        if any(target.buffer in other.loaded for other in tree.blocks()):
            return False
        if any(access.buffer in written for access in block.reads):
            return False
    return True


def _is_stored(tree: Tree, buffer: Buffer) -> bool:
    """Return True if results of steps are only copied out of a buffer, by copies that run during the next step."""
    memory = find_memory(buffer.scope)
    readers, writers = tree.readers(buffer), tree.writers(buffer)
    is_asynchronous = memory is not None and memory.wait is not None
    return is_asynchronous and bool(readers) and all(map(is_copy, readers)) and not any(map(is_copy, writers))


def _is_started(node: Node) -> bool:
    """Return True if a node runs asynchronously, while the code behind it runs."""
    if isinstance(node, Block):
        return False
    if node.kind == TENSORIZED:
        return find_intrin(str(node.annotations[INTRIN])).engine.wait is not None
    return all(map(_is_started, node.body))


# ---- versions ----


def _with_versions(
    edit: Edit, loop: Loop, nodes: Sequence[Node], buffer: Buffer, place: BufferPlace, stages: int
) -> tuple[Node, ...]:
    """Add a version of a buffer for each step in flight. A step uses version `step % stages`."""
    if not place.starts or any(buffer in block.loaded for block in edit.tree.blocks()):
        edit.refuse(f"'{buffer.name}' is read at computed indices: a step has no version of it")
    firsts = [substituted(start, {loop.name: 0}) for start in place.starts]
    shape: list[Size] = []
    for first, size, whole in zip(firsts, place.sizes, buffer.shape, strict=True):
        if not isinstance(first, int) and not is_never_negative(first):
            edit.refuse(f"'{buffer.name}' begins at {first} in a step, which may be out of bounds")
        shape.append(size if isinstance(first, int) else whole)
    moves = [start - first for start, first in zip(place.starts, firsts, strict=True)]
    offsets = [move + (first if isinstance(first, int) else 0) for move, first in zip(moves, firsts, strict=True)]
    versions = replace(buffer, shape=(stages, *shape))
    edit.tree = edit.tree.redeclared(buffer, versions)

    def change(block: Block) -> Block:
        if buffer not in block.buffers:
            return block
        return _stepping(edit, loop, block, buffer, versions, offsets)

    return map_nodes(nodes, change)


def _stepping(edit: Edit, loop: Loop, block: Block, old: Buffer, new: Buffer, offsets: Sequence[Size]) -> Block:
    """Return a block that uses its step's version, selected by an iter for the step."""
    at = variable(loop.name, loop.extent)
    own = next((iter_ for iter_, binding in zip(block.iters, block.bindings, strict=True)
                if binding == at and iter_.name.startswith("vstep")), None)  # fmt: skip
    if own is None:
        own = Iter(unique("vstep", [iter_.name for iter_ in block.iters]), _kind(edit, loop, block), loop.extent)
        block = replace(block, iters=(*block.iters, own), bindings=(*block.bindings, at))
    step = variable(own.name, own.extent)

    def other(access: Access) -> Access:
        if access.buffer is not old:
            return access
        moved = (substituted(offset, {loop.name: step}) for offset in offsets)
        indices = (index - move for index, move in zip(access.indices, moved, strict=True))
        return Access(new, (step % new.shape[0], *indices))

    return block.with_accesses(other)


def _kind(edit: Edit, loop: Loop, block: Block) -> str:
    kinds = [kind for kind in (SPATIAL, REDUCE) if loop.name in loops_of(block, kind)]
    if len(kinds) == 2:
        edit.refuse(f"'{loop.name}' moves both the reduction and a spatial iter of '{block.name}'")
    if not kinds and not is_copy(block):
        edit.refuse(f"'{block.name}' does the same at each step of '{loop.name}'")
    return kinds[0] if kinds else SPATIAL


# ---- prologue and epilogue ----


def _once_more(
    edit: Edit, loop: Loop, word: str, nodes: Sequence[Node], extent: Size, first: Size, taken: set[str]
) -> list[Node]:
    """Return copies of nodes for a few more steps, with new names."""
    name = edit.new_name(f"{loop.name}_{word}", taken)
    taken.add(name)
    names: dict[str, str] = {}
    for each in sorted(names_in(nodes)):
        names[each] = edit.new_name(f"{each}_{word}", {*taken, *names.values()})
    taken |= set(names.values())
    values: Mapping[str, Size] = {loop.name: first if extent == 1 else first + variable(name, extent)}
    part = Loop(name, extent, rename_nodes(rebind(nodes, values), names))
    part = replace(part, body=map_nodes(part.body, partial(drop_unreached_init, edit, part)))
    return list(part.body) if extent == 1 else [part]
