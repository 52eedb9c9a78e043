# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tree as IR for a device with threads: a nest of bound loops is what each thread of a kernel does.

Loops over blocks are outermost. What stands in them and has no loop over threads around is for all threads of a block:
the first one does it. Threads wait for each other between such parts. Memory that is needed across these is the
block's, all other a thread's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects.core.symbols_expr import Size
from ...emit import linalg, loops
from ...emit.arithmetic import result_of
from ...emit.numbers import Number, as_index, number
from ...support.errors import RelaxError
from .intrins import TENSORIZED
from .memory import Place
from .tree import SERIAL, THREAD_AXES, VECTORIZED, Block, Buffer, Loop, Node, blocks_in, loops_in
from .writing import State, Writer

_BLOCKS, _THREADS = THREAD_AXES[:3], THREAD_AXES[3:]


class KernelWriter(Writer):
    """Writes bound nests as kernels; all others as ever."""

    #: How many threads each axis has, in the kernel that is written.
    _sizes: Mapping[str, int] = {}

    def _loop(self, loop: Loop, state: State) -> None:
        if state.threads is None and (_axes_in([loop]) or any(each.kind == TENSORIZED for each in loops_in([loop]))):
            self._launch(loop, state)
        elif state.threads is None and loop.kind == VECTORIZED:
            super()._loop(replace(loop, kind=SERIAL), state)  # whoever finds threads for it looks for single elements
        elif state.threads is not None and loop.kind in _THREADS:
            self._thread(loop, state)
        else:
            super()._loop(loop, state)

    def _launch(self, loop: Loop, state: State) -> None:
        chain, nodes = _chain(loop)
        inside = next((each for each in loops_in(nodes) if each.kind in _BLOCKS), None)
        if inside is not None:
            problem = f"'{inside.name}' is {inside.kind}: loops over blocks have to be outermost, one in another"
            raise RelaxError(f"@{self._tree.name}: {problem}, to be a kernel")
        sizes = self._sizes = {axis: _size_of(axis, nodes) for axis in _THREADS}
        steps: Size = 1
        for each in chain:
            steps = steps * each.extent

        def block(index: Number) -> None:
            known, rest = dict(state.known), index
            for each in reversed(chain[1:]):
                extent = as_index(self._size(each.extent, state))
                known[each.name], rest = (rest % extent).value, rest // extent
            if chain:
                known[chain[0].name] = rest
            x = ir.Attribute.parse("#gpu<dim x>")
            thread = number(result_of("gpu.thread_id", [], ir.IndexType.get(), dimension=x))
            threads: dict[str, Number] = {}
            for axis, size in sizes.items():
                threads[axis], thread = thread % size, thread // size
            inner = replace(state, known=known, threads=threads, stack=ir.InsertionPoint.current.block)
            if chain:
                self._within(chain[-1].name, nodes, inner)
            else:
                self._nodes(nodes, inner)

        loops.for_blocks(self._size(steps, state), math.prod(sizes.values()), block)

    def _thread(self, loop: Loop, state: State) -> None:
        assert state.threads is not None and isinstance(loop.extent, int)
        own = state.threads[loop.kind]
        inner = replace(state.with_known(loop.name, own), entered=state.entered | {loop.kind})
        if loop.extent == self._sizes[loop.kind]:
            self._within(loop.name, loop.body, inner)
        else:
            loops.when(own < loop.extent, lambda: self._within(loop.name, loop.body, inner))

    def _nodes(self, nodes: Sequence[Node], state: State) -> None:
        if state.threads is None:
            return super()._nodes(nodes, state)
        for node in nodes:
            self._node(node, state)
            if not state.entered and (len(nodes) > 1 or self._is_repeated(node)):
                ir.Operation.create("gpu.barrier")
        return None

    def _is_repeated(self, node: Node) -> bool:
        """Whether a loop that is none over blocks is around."""
        return any(each.kind not in _BLOCKS for each in self._tree.around(node.name))

    def _node(self, node: Node, state: State) -> None:
        """By the threads that its loops name. Where others of the block are there, too, the first does what all see."""
        assert state.threads is not None
        named = state.entered | _axes_in([node])
        missing = [axis for axis in _THREADS if axis not in named and self._sizes[axis] > 1]
        if not missing or (state.entered and not self._writes_for_all(node, state)):
            return self._emitted(node, state)
        if state.entered:
            problem = f"'{node.name}' writes what all threads see, and no loop around or in it is {missing[0]}"
            raise RelaxError(f"@{self._tree.name}: {problem}, to be a kernel")
        is_first = state.threads[missing[0]] == 0
        for axis in missing[1:]:
            is_first = is_first & (state.threads[axis] == 0)
        loops.when(is_first, lambda: self._emitted(node, replace(state, entered=state.entered | set(missing))))
        return None

    def _emitted(self, node: Node, state: State) -> None:
        if isinstance(node, Block):
            self._block(node, state)
        else:
            self._loop(node, state)

    def _writes_for_all(self, node: Node, state: State) -> bool:
        written = {access.buffer for block in blocks_in([node]) for access in block.writes}
        return any(buffer.is_given or not _is_own(state.memory.get(buffer)) for buffer in written)

    def _allocate(self, buffer: Buffer, place: Place, state: State) -> tuple[Value, bool]:
        if state.threads is None:
            return super()._allocate(buffer, replace(place, on_stack=False), state)
        if not all(isinstance(size, int) for size in place.sizes):
            shown = ", ".join(map(str, place.sizes))
            problem = f"a kernel needs memory for '{buffer.name}' of known sizes, not ({shown})"
            raise RelaxError(f"@{self._tree.name}: {problem}")
        if state.entered:
            return super()._allocate(buffer, replace(place, on_stack=True), state)
        type_ = ir.MemRefType.get([int(size) for size in place.sizes], buffer.element)  # type: ignore[arg-type]
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 64)
        return result_of("memref.alloc", [], type_, alignment=alignment, **linalg.segments(0, 0)), False


def _is_own(memory: tuple[Value, Place] | None) -> bool:
    """Whether memory is a thread's; None: it is taken further inside."""
    if memory is None:
        return True
    owner: Any = memory[0].owner
    return not isinstance(owner, ir.Block) and owner.operation.name == "memref.alloca"


def _chain(loop: Loop) -> tuple[list[Loop], Sequence[Node]]:
    """The loops over blocks, outermost first, and what is in them."""
    chain: list[Loop] = []
    nodes: Sequence[Node] = [loop]
    while len(nodes) == 1 and isinstance(nodes[0], Loop) and nodes[0].kind in _BLOCKS:
        chain.append(nodes[0])
        nodes = nodes[0].body
    return chain, nodes


def _axes_in(nodes: Sequence[Node]) -> set[str]:
    return {loop.kind for loop in loops_in(nodes) if loop.kind in THREAD_AXES}


def _size_of(axis: str, nodes: Sequence[Node]) -> int:
    extents = [loop.extent for loop in loops_in(nodes) if loop.kind == axis]
    return max([1, *(extent for extent in extents if isinstance(extent, int))])
