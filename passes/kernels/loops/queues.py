# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Queues of devices: the waits that code needs before nodes of a tree, so that nothing uses data in flight.

An asynchronous copy or intrinsic starts in program order and is done some time later. Operations of one queue are done
in order. A wait lasts until all but the last `pending` operations of a queue are done.

This module walks all program points with the operations that may not be done there. For each, it knows the least number
of operations that were started after it. Loops are walked until nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ....dialects.core.symbols_expr import Size, substituted, variables_of
from ....support.errors import RelaxError
from .device_copies import DeviceCopy
from .intrins import INTRIN, TENSORIZED, find_intrin
from .memories import EmitWait
from .memory_arenas import Arena
from .ranges import Range, guards, ranges_of
from .tree import PARALLEL, Access, Block, Loop, Node, Tree, blocks_in, loops_in, variable
from .tree_buffers import Buffer
from .turns import Places, Turn, Turns, place_in

#: Maximum number of distinct parts of a buffer per node, which earlier steps of the node may have used.
_MOST_PARTS = 8
#: Queues to wait for before a node, each with the number of operations that may still run.
Waits = dict[str, dict[EmitWait, int]]


_Part = tuple[Range | Turn, ...]


class _PartUse(NamedTuple):
    """Use of a part of a buffer, in terms of the outer loops."""

    buffer: Buffer
    is_written: bool
    part: _Part


class _Started(NamedTuple):
    """Started operation that may not be done yet."""

    queue: EmitWait
    node: str
    use: _PartUse


class _Leaf(NamedTuple):
    """Node that is started itself or that starts nothing."""

    name: str
    uses: tuple[_PartUse, ...]
    queue: EmitWait | None
    is_certain: bool


_Group = tuple[EmitWait, str, Buffer, bool]
#: Started operations, each with the least number of later operations in its queue.
_State = dict[_Started, int]


class Queues:
    """Waits of a tree: `before[node]` precedes a node, `behind[loop]` ends a loop step, `behind[""]` ends the tree."""

    def __init__(self, tree: Tree, copies: Mapping[str, DeviceCopy], arenas: Mapping[str, Arena], places: Places):
        self._tree, self._copies, self._places = tree, copies, places
        self._extents = tree.extents()
        self._parts = {part.buffer: (name, part) for name, arena in arenas.items() for part in arena.parts}
        self._leaves: dict[str, _Leaf] = {}
        self.before: Waits = {}
        self.behind: Waits = {}
        if not any(self._queue(node) for node in _nodes_in(tree.body)):
            return
        self._turns = Turns(tree, places)
        self._check()
        for queue in {started.queue: None for started in self._nodes(tree.body, {})}:
            _note(self.behind, "", queue, 0)

    def _check(self) -> None:
        for node in _nodes_in(self._tree.body):
            if self._queue(node) is None:
                continue
            for loop in self._tree.around(node.name):
                if loop.extent != 1 and (loop.kind == PARALLEL or "." in loop.kind):
                    raise RelaxError(f"'{node.name}' is asynchronous, and threads of '{loop.name}' cannot "
                                     "share it")  # fmt: skip

    def _queue(self, node: Node) -> EmitWait | None:
        """Return the queue in which a node is started."""
        if node.name in self._copies:
            return self._copies[node.name].memory.wait
        return find_intrin(str(node.annotations[INTRIN])).engine.wait if _is_intrinsic(node) else None

    # ---- walking ----

    def _nodes(self, nodes: Sequence[Node], state: _State) -> _State:
        for node in nodes:
            starts = isinstance(node, Loop) and any(self._queue(each) for each in _nodes_in(node.body))
            if starts and self._queue(node) is None:
                assert isinstance(node, Loop)
                state = self._loop(node, state)
            else:
                state = self._leaf(self._leaf_of(node), state)
        return state

    def _leaf(self, leaf: _Leaf, state: _State) -> _State:
        state = self._awaited(self.before, leaf.name, leaf.uses, state, leaf.queue)
        if leaf.queue is None:
            return state
        more = int(leaf.is_certain)
        state = {key: count + more * (key.queue is leaf.queue) for key, count in state.items()}
        state.update({_Started(leaf.queue, leaf.name, use): 0 for use in leaf.uses})
        return state

    def _awaited(
        self, waits: Waits, name: str, uses: Iterable[_PartUse], state: _State, own: EmitWait | None = None
    ) -> _State:
        """Return the state behind the waits for all operations that these uses conflict with.

        Operations in the uses' own queue are done before anyway.
        """
        for queue in {started.queue: None for started in state if started.queue is not own}:
            met = [
                count
                for started, count in state.items()
                if started.queue is queue and any(self._meets(started.use, use) for use in uses)
            ]
            if met:
                pending = min(met)
                _note(waits, name, queue, pending)
                state = {key: count for key, count in state.items() if key.queue is not queue or count < pending}
        return state

    def _loop(self, loop: Loop, entry: _State) -> _State:
        head = self._entered(loop, entry)
        wide: set[_Group] = set()
        left = loop.extent if isinstance(loop.extent, int) else None
        while True:
            end = self._ended(loop, self._nodes(loop.body, head))
            left = None if left is None else left - 1
            if left is not None and left <= 0:
                break
            joined = self._widened(_joined(head, _moved(end, {loop.name: variable(loop.name, loop.extent) - 1})), wide)
            if joined == head:
                break
            head = joined
        behind = _moved(end, {loop.name: loop.extent - 1})
        inside = {node.name for node in _nodes_in(loop.body)}
        for started in entry:
            # An operation from before the loop precedes all operations that the steps have started.
            if started in behind and started.node not in inside:
                least = min(count for key, count in entry.items() if key.node == started.node)
                behind[started] = max(behind[started], least + self._started_in(loop, started.queue))
        certain = isinstance(loop.extent, int) and loop.extent > 0
        return behind if certain else _joined(entry, behind)

    def _started_in(self, node: Node, queue: EmitWait) -> int:
        """Return the least number of operations that a node starts in a queue."""
        if self._queue(node) is not None:
            return int(self._queue(node) is queue and self._leaf_of(node).is_certain)
        if isinstance(node, Block) or not isinstance(node.extent, int):
            return 0
        return node.extent * sum(self._started_in(each, queue) for each in node.body)

    def _ended(self, loop: Loop, state: _State) -> _State:
        """Wait at the end of a step for uses of memory that lives for one step.

        The memory is freed afterwards, or belongs to another buffer.
        """
        uses = [
            _PartUse(buffer, True, self._whole(buffer))
            for buffer, (where, place) in self._places.items()
            if where == loop.name and not place.on_stack and place.offset is None
        ]
        return self._awaited(self.behind, loop.name, uses, state)

    def _entered(self, loop: Loop, state: _State) -> _State:
        def entered(use: _PartUse) -> _PartUse:
            part = (
                self._turns.entered(loop, use.buffer, dim, reached) if isinstance(reached, Turn) else reached
                for dim, reached in enumerate(use.part)
            )
            return use._replace(part=tuple(part))

        return {started._replace(use=entered(started.use)): count for started, count in state.items()}

    def _widened(self, state: _State, wide: set[_Group]) -> _State:
        """Widen uses of too many parts to whole dimensions where the parts differ, and keep them wide from then on."""
        groups: dict[_Group, list[_Started]] = {}
        for started in state:
            groups.setdefault((started.queue, started.node, started.use.buffer, started.use.is_written), []).append(
                started
            )
        found: _State = {}
        for key, group in groups.items():
            if len(group) <= _MOST_PARTS and key not in wide:
                found.update({each: state[each] for each in group})
                continue
            wide.add(key)
            dims = zip(*(each.use.part for each in group), self._whole(group[0].use.buffer), strict=True)
            part = tuple(first if all(each == first for each in others) else whole for first, *others, whole in dims)
            started = group[0]._replace(use=group[0].use._replace(part=part))
            found[started] = min(state[each] for each in group)
        return found

    # ---- uses ----

    def _leaf_of(self, node: Node) -> _Leaf:
        if node.name not in self._leaves:
            self._leaves[node.name] = self._made_leaf(node)
        return self._leaves[node.name]

    def _made_leaf(self, node: Node) -> _Leaf:
        loops = () if isinstance(node, Block) else (node, *loops_in(node.body))
        inner = {loop.name: loop.extent for loop in loops}
        uses: dict[_PartUse, None] = {}
        for block in blocks_in([node]):
            for access in block.reads:
                uses[_PartUse(access.buffer, False, self._part(block.placed(access), inner))] = None
            for access in block.writes:
                uses[_PartUse(access.buffer, True, self._part(block.placed(access), inner))] = None
            for buffer in block.loaded:
                uses[_PartUse(buffer, False, self._whole(buffer))] = None
        is_certain = False
        if node.name in self._copies:
            is_certain = self._copies[node.name].is_certain
        elif _is_intrinsic(node):
            is_certain = not any(guards(block, self._extents) for block in blocks_in([node]))
        return _Leaf(node.name, tuple(uses), self._queue(node), is_certain)

    def _whole(self, buffer: Buffer) -> tuple[Range, ...]:
        return tuple(Range(0, size) for size in place_in(self._places, buffer).sizes)

    def _part(self, access: Access, inner: Mapping[str, Size]) -> _Part:
        place = place_in(self._places, access.buffer)
        at = place.inside(access.indices)
        part: list[Range | Turn] = list(ranges_of([tuple(at)], inner, place.sizes))
        for dim, turn in self._turns.of(access).items():
            if variables_of(at[dim]).isdisjoint(inner):
                part[dim] = turn
        return tuple(part)

    def _meets(self, one: _PartUse, other: _PartUse) -> bool:
        """Return True if one of two uses writes what the other one uses."""
        if not (one.is_written or other.is_written):
            return False
        if one.buffer is other.buffer:
            return not any(map(_are_apart, one.part, other.part))
        if one.buffer not in self._parts or other.buffer not in self._parts:
            return False
        (name, mine), (other_name, others) = self._parts[one.buffer], self._parts[other.buffer]
        is_apart = mine.offset + mine.bytes <= others.offset or others.offset + others.bytes <= mine.offset
        return name == other_name and not is_apart


def _note(waits: Waits, name: str, queue: EmitWait, pending: int) -> None:
    of_node = waits.setdefault(name, {})
    of_node[queue] = min(pending, of_node.get(queue, pending))


def _nodes_in(nodes: Sequence[Node]) -> list[Node]:
    return [*loops_in(nodes), *blocks_in(nodes)]


def _is_intrinsic(node: Node) -> bool:
    return isinstance(node, Loop) and node.kind == TENSORIZED


# ---- states ----


def _joined(one: _State, other: _State) -> _State:
    found = dict(one)
    for started, count in other.items():
        found[started] = min(count, found.get(started, count))
    return found


def _moved(state: _State, values: Mapping[str, Size]) -> _State:
    """Substitute values for loop variables, and merge states that become equal."""
    found: _State = {}
    for started, count in state.items():
        part = tuple(_at(each, values) for each in started.use.part)
        moved = started._replace(use=started.use._replace(part=part))
        found[moved] = min(count, found.get(moved, count))
    return found


# ---- parts ----


def _at(part: Range | Turn, values: Mapping[str, Size]) -> Range | Turn:
    return part.at(values) if isinstance(part, Turn) else Range(substituted(part.start, values), part.extent)


def _are_apart(one: Range | Turn, other: Range | Turn) -> bool:
    """Return True if the two parts have no index in common, at the same step of all loops."""
    if isinstance(one, Turn) or isinstance(other, Turn):
        return isinstance(one, Turn) and isinstance(other, Turn) and one.is_apart(other)
    if not isinstance(distance := one.start - other.start, int):
        return False
    after = isinstance(other.extent, int) and distance >= other.extent
    return after or (isinstance(one.extent, int) and -distance >= one.extent)
