# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory scopes and barriers of a kernel: the threads that compute each block, owners of buffers, places of barriers.

All threads of a block run the same loops: no trip count depends on the thread. Only the innermost parts, the blocks of
the tree, run on some of the threads. The innermost loop over threads of each axis selects these threads. A loop over
threads inside of one with the same axis replaces the outer loop. All threads together compute what each step of the
outer loop needs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from ....dialects.core.symbols_expr import Size, variables_of
from ....support.errors import RelaxError
from .apart import Owner, admitted_steps, common_owners, keeps_apart, overlaps, owners_of, spatial_bindings
from .buffer_allocation import BufferPlace
from .intrins import TENSORIZED
from .tree import (
    MOST_THREADS,
    PARALLEL,
    SERIAL,
    THREAD_AXES,
    VECTORIZED,
    Block,
    Loop,
    Node,
    Place,
    Tree,
    blocks_in,
    loops_in,
    loops_of,
    variable,
    written_by,
)
from .tree_buffers import Buffer
from .turns import Turn, Turns, place_in

BLOCKS, THREADS = THREAD_AXES[:3], THREAD_AXES[3:]
#: Maximum number of bytes of one thread's memory. More is slow: the device reserves it for each resident thread.
_MOST_OF_THREAD = 64 << 10


class BufferScope(NamedTuple):
    """Owner of a buffer: each thread, or the block, with one part per step of the loops `along` over threads."""

    is_own: bool
    along: tuple[Loop, ...] = ()


@dataclass(frozen=True)
class _Leaf:
    """Block, or loops that an intrinsic computes, with the loops around it in the kernel."""

    node: Node
    around: tuple[Loop, ...]

    def blocks(self) -> list[Block]:
        return blocks_in([self.node])

    def extents(self) -> dict[str, Size]:
        """Return the extents of all loops around the blocks."""
        return {loop.name: loop.extent for loop in (*self.around, *loops_in([self.node]))}

    def thread_loop(self, axis: str) -> Loop | None:
        """Return the loop over threads that selects the threads of an axis."""
        return next((loop for loop in reversed(self.around) if loop.kind == axis), None)

    def hidden(self) -> list[Loop]:
        """Return the loops over threads that inner loops of the same axis replace."""
        return [loop for loop in self.around if loop.kind in THREADS and self.thread_loop(loop.kind) is not loop]

    def written(self) -> list[Buffer]:
        return written_by(self.blocks())

    def buffers(self) -> list[Buffer]:
        return list(dict.fromkeys(buffer for block in self.blocks() for buffer in block.buffers))


class _Use(NamedTuple):
    """Use of a buffer that several threads access.

    `threads` names the loop over threads of each axis. The steps of the loops `together` share the buffer's memory.
    """

    buffer: Buffer
    is_written: bool
    threads: tuple[str, ...]
    #: Versions of a pipelined buffer that the use accesses, by dimension.
    turns: tuple[tuple[int, Turn], ...]
    together: frozenset[str] = frozenset()
    #: Rules that determine the steps of these loops from an element.
    owners: frozenset[Owner] = frozenset()
    #: The only place of the memory that a point accesses, if a written element has the same thread at all steps.
    place: Place | None = None

    def at(self, values: Mapping[str, Size]) -> _Use:
        return self._replace(turns=tuple((dim, turn.at(values)) for dim, turn in self.turns))

    def is_apart(self, other: _Use) -> bool:
        """Return True if each element belongs to one thread, in both of two uses by the same loops."""
        if self.place is not None and self.place == other.place:
            return True
        return self.together <= {owner.loop for owner in common_owners(self.owners, other.owners)}


_FIRST, _ALL = "the first", "all"


class Sharing:
    """Buffers that the threads of a kernel share, and the barriers that they need."""

    def __init__(self, tree: Tree, root: Loop, places: Mapping[Buffer, tuple[str, BufferPlace]]):
        self._tree, self._places, self._turns = tree, places, Turns(tree, places)
        self.chain, self.nodes = _chain(root)
        self._check_blocks()
        #: Number of threads of each axis.
        self.sizes = {axis: _size_of(axis, self.nodes) for axis in THREADS}
        self._check_size()
        self._axes = [axis for axis, size in self.sizes.items() if size > 1]
        self._leaves = _leaves(self.nodes, ())
        self._by_name = {leaf.node.name: leaf for leaf in self._leaves}
        names = {loop.name for loop in (root, *self.chain, *loops_in(self.nodes))}
        self.memory = self._whose([buffer for buffer, (where, _) in places.items() if where in names])
        for leaf in self._leaves:
            self._check_leaf(leaf)
        #: Nodes that are preceded by a barrier.
        self.waits: set[str] = set()
        self._found: dict[str, frozenset[_Use]] = {}
        self._wait(self.nodes, frozenset())

    # ---- threads of nodes ----

    def limits(self, node: Node) -> dict[str, int] | None:
        """Return the threads that run a node, as upper bounds by axis, or None if its parts need different threads."""
        found = [self._limits(leaf) for leaf in self._within(node)]
        waits = any(each.name in self.waits for each in _inside(node) if each is not node)
        return found[0] if found and not waits and all(each == found[0] for each in found) else None

    def _limits(self, leaf: _Leaf) -> dict[str, int]:
        limits: dict[str, int] = {}
        for axis in self._axes:
            loop = leaf.thread_loop(axis)
            count = self.sizes[axis] if loop is None and self._is_for_all(leaf) else loop.extent if loop else 1
            assert isinstance(count, int)
            if count < self.sizes[axis]:
                limits[axis] = count
        return limits

    def _within(self, node: Node) -> list[_Leaf]:
        return [self._by_name[each.name] for each in _inside(node) if each.name in self._by_name]

    def _is_for_all(self, leaf: _Leaf) -> bool:
        """Return True if all threads that no loop selects compute the leaf, each for itself.

        Else only the first one does.
        """
        return all(buffer in self.memory and self.memory[buffer].is_own for buffer in leaf.written())

    # ---- owners of buffers ----

    def along(self, buffer: Buffer) -> tuple[Loop, ...]:
        """Return the loops over threads with a separate part of the block's memory for each step."""
        return self.memory[buffer].along if buffer in self.memory else ()

    def _whose(self, buffers: Sequence[Buffer]) -> dict[Buffer, BufferScope]:
        found = {buffer: self._memory(buffer) for buffer in buffers}
        while (seen := next((each for each in found if self._is_seen(each, found)), None)) is not None:
            found[seen] = BufferScope(False, self._private(seen))
        for buffer, memory in found.items():
            self._check_memory(buffer, memory)
        return found

    def _memory(self, buffer: Buffer) -> BufferScope:
        along, around = self._private(buffer), self._threads_around(buffer)
        users, writers = self._users(buffer), self._writers(buffer)
        inside = [axis for leaf in writers for axis in self._axes if leaf.thread_loop(axis) not in (None, *around)]
        moved = [axis for leaf in users for axis in self._axes if leaf.thread_loop(axis) not in (None, *around)]
        # Without an enclosing loop over threads, a buffer is a thread's own only on request. Otherwise the first thread
        # computes it for all.
        is_own = len(along) == len(around) and not inside and (bool(around) or not moved or buffer.scope == "local")
        return BufferScope(True) if is_own and buffer.scope != "shared" else BufferScope(False, along)

    def _is_seen(self, buffer: Buffer, buffer_scopes: Mapping[Buffer, BufferScope]) -> bool:
        """Return True if one thread computes a buffer of each thread together with a buffer that all threads see."""
        if not buffer_scopes[buffer].is_own:
            return False
        around = self._threads_around(buffer)
        for leaf in self._writers(buffer):
            is_apart = all(leaf.thread_loop(axis) in around for axis in self._axes)
            if not is_apart and not all(
                each in buffer_scopes and buffer_scopes[each].is_own for each in leaf.written()
            ):
                return True
        return False

    def _private(self, buffer: Buffer) -> tuple[Loop, ...]:
        """Return the enclosing loops over threads with a separate part of the buffer for each step.

        Steps of the others share a part.
        """
        found = []
        for loop in self._threads_around(buffer):
            hiding = [leaf for leaf in self._users(buffer) if leaf.thread_loop(loop.kind) is not loop]
            if not hiding:
                found.append(loop)
                continue
            plain = next((leaf for leaf in self._writers(buffer) if leaf not in hiding), None)
            if plain is not None:
                other = hiding[0].thread_loop(loop.kind)
                assert other is not None
                problem = f"'{plain.node.name}' makes '{buffer.name}' at each step of '{loop.name}' ({loop.kind})"
                self._refuse(f"{problem}, of which '{hiding[0].node.name}' in '{other.name}' cannot see the others'")
        return tuple(found)

    def _threads_around(self, buffer: Buffer) -> list[Loop]:
        """Return the loops over several threads for one step of which a buffer lives.

        Only the innermost loop of each axis counts.
        """
        where, _ = self._places[buffer]
        around = next((leaf.around for leaf in self._users(buffer)), ())
        names = [loop.name for loop in around]
        until = around[: names.index(where) + 1] if where in names else ()
        innermost = {loop.kind: loop for loop in until if loop.kind in self._axes}
        return [loop for loop in until if innermost.get(loop.kind) is loop]

    def _users(self, buffer: Buffer) -> list[_Leaf]:
        return [leaf for leaf in self._leaves if buffer in leaf.buffers()]

    def _writers(self, buffer: Buffer) -> list[_Leaf]:
        return [leaf for leaf in self._leaves if buffer in leaf.written()]

    # ---- barriers ----

    def _wait(self, nodes: Sequence[Node], pending: frozenset[_Use]) -> frozenset[_Use]:
        """Find the nodes that need a barrier before them.

        `pending` are the uses since the last barrier; returns the pending uses at the end.
        """
        for node in nodes:
            if node.name in self.waits:
                pending = frozenset()
            elif _meet(pending, self._uses(node)) and not self._begins_with_wait(node):
                self.waits.add(node.name)
                pending = frozenset()
            if isinstance(node, Block) or node.kind == TENSORIZED:
                pending |= self._uses(node)
                continue
            before = pending
            pending = self._wait(node.body, frozenset(self._entered(node, use) for use in pending))
            if node.kind not in (*THREADS, VECTORIZED) and node.extent != 1:
                # The end of a step precedes the begin of the next step and the steps that use the same versions again.
                for _ in range(1 + self._turns_of_steps(node)):
                    before_step = {node.name: variable(node.name, node.extent) - 1}
                    pending = self._wait(node.body, frozenset(use.at(before_step) for use in pending))
            pending = frozenset(use.at({node.name: node.extent - 1}) for use in pending)
            if not isinstance(node.extent, int) or node.extent == 0:
                pending |= before
        return pending

    def _turns_of_steps(self, loop: Loop) -> int:
        """Return the largest number of versions that the steps of a loop use in turn."""
        turns = [turn for use in self._uses(loop) for _, turn in use.turns if loop.name in variables_of(turn.step)]
        return max((turn.turns for turn in turns), default=0)

    def _entered(self, loop: Loop, use: _Use) -> _Use:
        return use._replace(
            turns=tuple((dim, self._turns.entered(loop, use.buffer, dim, turn)) for dim, turn in use.turns)
        )

    def _begins_with_wait(self, node: Node) -> bool:
        if node.name in self.waits:
            return True
        runs = isinstance(node, Loop) and node.kind != TENSORIZED and isinstance(node.extent, int) and node.extent > 0
        return runs and self._begins_with_wait(node.body[0])  # type: ignore[union-attr]

    def _uses(self, node: Node) -> frozenset[_Use]:
        if node.name not in self._found:
            self._found[node.name] = self._uses_of(node)
        return self._found[node.name]

    def _uses_of(self, node: Node) -> frozenset[_Use]:
        if node.name not in self._by_name:
            return frozenset().union(*map(self._uses, node.body))  # type: ignore[union-attr]
        leaf = self._by_name[node.name]
        rest = _ALL if self._is_for_all(leaf) else _FIRST
        loops = [leaf.thread_loop(axis) for axis in self._axes]
        threads = tuple(rest if loop is None else loop.name for loop in loops)
        shared = [buffer for buffer in leaf.buffers() if buffer not in self.memory or not self.memory[buffer].is_own]
        return frozenset(self._use(leaf, buffer, threads) for buffer in shared)

    def _use(self, leaf: _Leaf, buffer: Buffer, threads: tuple[str, ...]) -> _Use:
        """Return the use of a buffer by a leaf. `threads` names the loops over threads."""
        use = _Use(buffer, buffer in leaf.written(), threads, self._turns_of(leaf, buffer))
        if not self._writers(buffer):
            return use
        loops = [loop for axis in self._axes if (loop := leaf.thread_loop(axis)) is not None and loop.extent != 1]
        together = [loop for loop in loops if loop not in self.along(buffer)]
        memory = place_in(self._places, buffer)
        places = [(block, memory.inside_known(place)) for block in leaf.blocks() for place in block.places(buffer)]
        owners = [owners_of(place, together, admitted_steps(block, leaf.extents())) for block, place in places]
        return use._replace(
            together=frozenset(loop.name for loop in together),
            owners=functools.reduce(common_owners, owners),
            place=self._only_place(leaf, buffer, {place for _, place in places}),
        )

    def _only_place(self, leaf: _Leaf, buffer: Buffer, places: set[Place]) -> Place | None:
        first, *others = places
        wanders = buffer in leaf.written() and self._wanders(leaf, buffer, first)
        return None if others or None in first or wanders else first

    def _turns_of(self, leaf: _Leaf, buffer: Buffer) -> tuple[tuple[int, Turn], ...]:
        """Return the versions of a buffer that all accesses of a leaf agree on, by dimension."""
        each = [self._turns.of(access)
                for block in leaf.blocks() for access in block.placed_accesses if access.buffer is buffer]  # fmt: skip
        first = each[0] if each else {}
        return tuple((dim, turn) for dim, turn in first.items() if all(other.get(dim) == turn for other in each))

    def _wanders(self, leaf: _Leaf, buffer: Buffer, place: Place) -> bool:
        """Return True if an element's thread may differ between steps of a loop around the loops over threads."""
        where = self._places[buffer][0] if buffer in self._places else ""
        names = [loop.name for loop in leaf.around]
        reusing = names[: names.index(where) + 1] if where in names else []
        threads = [number for number, loop in enumerate(leaf.around) if loop.kind in self._axes and loop.extent != 1]
        for number, loop in enumerate(leaf.around[: threads[-1]] if threads else ()):
            if loop.kind in (*THREADS, VECTORIZED) or loop.extent == 1:
                continue
            inner = {each.name: each.extent for each in leaf.around[number + 1 :]}
            if loop.name in reusing:  # all steps have the same memory
                wanders = any(loop.name in variables_of(at) for at in place if at is not None)
            else:
                wanders = any(_moves(block, loop) and not keeps_apart(block, loop, inner) for block in leaf.blocks())
            if wanders:
                return True
        return False

    # ---- checks ----

    def _check_blocks(self) -> None:
        inside = next((loop for loop in loops_in(self.nodes) if loop.kind in BLOCKS), None)
        if inside is not None:
            self._refuse(
                f"'{inside.name}' is {inside.kind}: loops over blocks must be outermost and nested in each other"
            )

    def _check_size(self) -> None:
        if (count := math.prod(self.sizes.values())) > MOST_THREADS:
            each = ", ".join(f"{size} of {axis}" for axis, size in self.sizes.items() if size > 1)
            self._refuse(f"its loops over threads take {count} threads in a block ({each}), {MOST_THREADS} at most")

    def _check_leaf(self, leaf: _Leaf) -> None:
        hidden = {loop.name for loop in leaf.hidden() if loop.extent != 1}
        for block in leaf.blocks():
            used = loops_of(block) | {name for index, _ in block.where for name in variables_of(index)}
            for loop in leaf.hidden():
                if loop.name in used & hidden:
                    inner = leaf.thread_loop(loop.kind)
                    assert inner is not None
                    problem = f"'{block.name}' depends on '{loop.name}', in whose place '{inner.name}' is {loop.kind}"
                    self._refuse(f"{problem}: bind loops before compute_at puts a block there that all threads share")
            for access in block.writes:
                self._check_apart(leaf, block, access.buffer)

    def _check_apart(self, leaf: _Leaf, block: Block, buffer: Buffer) -> None:
        """Check that each thread writes elements of its own in a buffer that several threads see."""
        if buffer in self.memory and self.memory[buffer].is_own:
            return
        own = self._threads_around(buffer) if buffer in self.memory else []
        chain = [] if buffer in self.memory else self.chain
        threads = [loop for axis in self._axes if (loop := leaf.thread_loop(axis)) is not None and loop not in own]
        for loop in (*chain, *threads):
            path = (*self.chain, *leaf.around)
            inner = {each.name: each.extent for each in path[path.index(loop) + 1 :]}
            if loop.extent != 1 and (loop.name not in loops_of(block) or overlaps(block, loop, inner)):
                same = f"the same elements of '{buffer.name}' at each step of '{loop.name}'"
                self._refuse(f"'{block.name}' writes {same}")

    def _check_memory(self, buffer: Buffer, memory: BufferScope) -> None:
        _, place = self._places[buffer]
        if place.elements is None:
            shown = ", ".join(map(str, place.sizes))
            self._refuse(f"a kernel needs static sizes for '{buffer.name}', not ({shown})")
        width = getattr(buffer.element, "width", 64)
        taken = place.elements * -(-width // 8)
        if memory.is_own and taken > _MOST_OF_THREAD:
            least = f"at most {_MOST_OF_THREAD} are allowed: split its loops, or compute it at a loop further inside"
            self._refuse(f"each thread needs {taken} bytes for '{buffer.name}', {least}")

    def _refuse(self, problem: str) -> NoReturn:
        raise RelaxError(f"@{self._tree.name}: {problem}, to be a kernel")


def _meet(some: frozenset[_Use], others: frozenset[_Use]) -> bool:
    """Return True if one of two sets of uses writes what other threads use in the other set.

    Uses by the same loops belong to the same thread if each element does.
    """
    return any(
        one.buffer is other.buffer
        and (one.is_written or other.is_written)
        and not (one.threads == other.threads and one.is_apart(other))
        and not any(turn.is_apart(known) for dim, turn in one.turns for at, known in other.turns if dim == at)
        for one in some
        for other in others
    )


def independent_steps(root: Loop) -> list[Loop]:
    """Return the outermost loops of a nest of one block that may run in any order.

    Each step writes its own elements.
    """
    loops: list[Loop] = []
    node: Node = root
    block, *others = blocks_in([root])
    inner = {loop.name: loop.extent for loop in loops_in([root])}
    written = {access.buffer: access.indices for access in block.writes}
    moved = [access for access in block.reads if written.get(access.buffer, access.indices) != access.indices]
    if others or moved or any(buffer in written for buffer in block.loaded):
        return []
    while isinstance(node, Loop) and node.kind in (SERIAL, PARALLEL, VECTORIZED) and len(node.body) == 1:
        inner = {name: extent for name, extent in inner.items() if name != node.name}
        if node.extent != 1 and not keeps_apart(block, node, inner):
            break
        loops.append(node)
        node = node.body[0]
    return loops


def _moves(block: Block, loop: Loop) -> bool:
    return any(loop.name in variables_of(at) for at in spatial_bindings(block))


def _chain(loop: Loop) -> tuple[list[Loop], Sequence[Node]]:
    """Return the loops over blocks, outermost first, and the nodes inside of them."""
    chain: list[Loop] = []
    nodes: Sequence[Node] = [loop]
    while len(nodes) == 1 and isinstance(nodes[0], Loop) and nodes[0].kind in BLOCKS:
        chain.append(nodes[0])
        nodes = nodes[0].body
    return chain, nodes


def _leaves(nodes: Sequence[Node], around: tuple[Loop, ...]) -> list[_Leaf]:
    leaves: list[_Leaf] = []
    for node in nodes:
        if isinstance(node, Block) or node.kind == TENSORIZED:
            leaves.append(_Leaf(node, around))
        else:
            leaves += _leaves(node.body, (*around, node))
    return leaves


def _inside(node: Node) -> list[Node]:
    """Return a node and all nodes inside of it."""
    return [node, *(loops_in(node.body) if isinstance(node, Loop) else ()), *blocks_in([node])]


def _size_of(axis: str, nodes: Sequence[Node]) -> int:
    extents = [loop.extent for loop in loops_in(nodes) if loop.kind == axis]
    return max([1, *(extent for extent in extents if isinstance(extent, int))])
