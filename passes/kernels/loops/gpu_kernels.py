# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPU kernels of a tree: loops bound to threads become the work of each thread of a kernel.

Loops over blocks are outermost. All threads of a block run the other loops alike, so that they can meet at barriers
there. Innermost code runs on the threads that its loops over threads name (`memory_scopes.py`).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence

from ....bindings.ir import Value
from ....bindings.mlir import i64_attribute, ir
from ....dialects.core.symbols_expr import Size, variables_of
from ....emit import linalg, loops
from ....emit.arithmetic import result_of
from ....emit.memrefs import reshape
from ....emit.numbers import Number, as_index, number
from ....emit.subviews import part_of
from ....support.errors import RelaxError
from ....support.replacing import replace
from .buffer_allocation import BufferPlace
from .intrins import TENSORIZED
from .memory_arenas import Arena
from .memory_scopes import BLOCKS, THREADS, Sharing, independent_steps
from .ranges import Guard, is_multiple, substitute_zero
from .tree import PARALLEL, SERIAL, VECTORIZED, Access, Block, Loop, Node, loops_in
from .tree_buffers import Buffer
from .tree_writer import Writer, WriterState
from .whole_steps import WholeSteps

#: Maximum number of bytes of one load or store of a thread.
_MOST_AT_ONCE = 16


class KernelWriter(Writer):
    """Writer that emits bound nests as kernels and all other nests like its base class."""

    turns_squares = False
    #: Sharing of the current kernel.
    _sharing: Sharing
    #: Memory of the current kernel, which all steps of a loop use again.
    _taken: dict[Buffer, Value]

    def _loop(self, loop: Loop, state: WriterState) -> None:
        if state.threads is None and any(each.kind in (*BLOCKS, *THREADS, TENSORIZED) for each in loops_in([loop])):
            self._launch(loop, state)
        elif state.threads is None and not self._tree.around(loop.name) and (steps := independent_steps(loop)):
            self._share(steps, state)
        elif state.threads is None and loop.kind == VECTORIZED:
            super()._loop(replace(loop, kind=SERIAL), state)  # one thread runs the loop, element by element
        elif state.threads is not None and loop.kind in THREADS:
            self._within(loop.name, loop.body, state.with_known(loop.name, state.threads[loop.kind]))
        elif loop.kind == PARALLEL and (state.threads is not None or state.is_shared):
            super()._loop(replace(loop, kind=SERIAL), state)
        else:
            super()._loop(loop, state)

    def _whole_steps(self, loop: Loop, state: WriterState) -> WholeSteps | None:
        """Return None: threads check their bounds together, so the remainder needs no code of its own."""
        return None

    def _launch(self, loop: Loop, state: WriterState) -> None:
        self._sharing, self._taken = Sharing(self._tree, loop, self._places), {}
        chain, nodes, sizes = self._sharing.chain, self._sharing.nodes, self._sharing.sizes
        steps = _steps(chain)

        def block(index: Number) -> None:
            at = self._at_step(chain, index, state)
            inner = replace(at, threads=_threads(sizes), stack=ir.InsertionPoint.current.block)
            if chain:
                self._within(chain[-1].name, nodes, inner)
            else:
                self._nodes(nodes, inner)

        loops.for_blocks(self._size(steps, state), math.prod(sizes.values()), block)

    def _share(self, steps: Sequence[Loop], state: WriterState) -> None:
        """Emit a nest without bound loops, with one thread for each combination of the independent steps."""

        def body(index: Number) -> None:
            at = self._at_step(steps, index, state)
            inner = replace(at, stack=ir.InsertionPoint.current.block, is_shared=True)
            self._within(steps[-1].name, steps[-1].body, inner)

        loops.for_range(0, self._size(_steps(steps), state), body, grain=0)

    def _at_step(self, chain: Sequence[Loop], index: Number, state: WriterState) -> WriterState:
        """Return the state at a step of loops that are merged to one index; the last loop varies fastest."""
        known, rest = dict(state.known), index
        for loop in reversed(chain[1:]):
            extent = as_index(self._size(loop.extent, state))
            known[loop.name], rest = (rest % extent).value, rest // extent
        if chain:
            known[chain[0].name] = rest
        return replace(state, known=known)

    def _nodes(self, nodes: Sequence[Node], state: WriterState) -> None:
        if state.threads is None:
            return super()._nodes(nodes, state)
        for node in nodes:
            if node.name in self._sharing.waits:
                ir.Operation.create("gpu.barrier")
            self._node(node, state)
        return None

    def _node(self, node: Node, state: WriterState) -> None:
        """Emit a node for the threads that run it. One test surrounds all nodes of the same threads."""
        limits = None if state.is_chosen else self._sharing.limits(node)
        if limits is None:
            self._emitted(node, state)
            return
        assert state.threads is not None
        conditions = [state.threads[axis] < limit for axis, limit in limits.items()]
        loops.when_all(conditions, lambda: self._emitted(node, replace(state, is_chosen=True)))

    def _emitted(self, node: Node, state: WriterState) -> None:
        if isinstance(node, Block):
            self._block(node, state)
        else:
            self._loop(node, state)

    def _arena(self, arena: Arena) -> Value:
        raise RelaxError(f'\'{arena.memory.name}\' is no memory of a GPU\'s kernels: use "shared" or "local"')

    def _allocate(self, buffer: Buffer, place: BufferPlace, state: WriterState) -> tuple[Value, bool]:
        if state.threads is None:
            return super()._allocate(buffer, place._replace(on_stack=False), state)
        is_own, along = self._sharing.memory[buffer]
        shape = _known(place.sizes)
        if buffer not in self._taken:
            self._taken[buffer] = _taken(buffer, [*_known(loop.extent for loop in along), *shape], state, is_own)
        if not along:
            return self._taken[buffer], False
        starts: list[Number | int] = [*(state.threads[loop.kind] for loop in along), *(0 for _ in shape)]
        return part_of(self._taken[buffer], starts, range(len(along), len(starts)), shape, [1] * len(shape)), False

    def _where(
        self, asked: Sequence[Guard], state: WriterState, mask: Value | None, body: Callable[[Value | None], None]
    ) -> None:
        """Guard all lanes of a vector together if sizes prove that a thread has all or none.

        Otherwise a thread tests each lane only if not all lanes have a point.
        """
        cut = [each for each in asked if each not in state.holding and _is_along_lanes(each, state)]
        if not cut:
            super()._where(asked, state, mask, body)
            return
        assert state.lanes is not None
        lanes = state.lanes
        firsts = [substitute_zero(each.at, lanes.name) for each in cut]
        limits = [self._size(each.limit - lanes.width + 1, state) for each in cut]
        fits = [self._size(first, state) < limit for first, limit in zip(firsts, limits, strict=True)]
        is_whole = all(is_multiple(size, lanes.width) for size in (*firsts, *(guard.limit for guard in cut)))
        others = [each for each in asked if each not in cut]

        def point(inner: Value | None) -> None:
            asking = [fit for fit in fits if not isinstance(fit, bool)]
            if any(fit is False for fit in fits):
                super(KernelWriter, self)._where(cut, state, inner, body)
            elif not asking:
                body(inner)
            else:
                rest = None if is_whole else (lambda: super(KernelWriter, self)._where(cut, state, inner, body))
                loops.when(functools.reduce(operator.and_, asking), lambda: body(inner), rest)

        super()._where(others, state, mask, point)

    def _alignment(self, access: Access, state: WriterState) -> int | None:
        """Return the alignment of a vector access that begins at a multiple of its size, as all memory does."""
        if state.threads is None or state.lanes is None:
            return None
        memory, place = state.memory[access.buffer]
        lanes, width = state.lanes.width, getattr(access.buffer.element, "width", 0)
        strides, _ = memory.type.get_strides_and_offset()
        starts = [substitute_zero(index, state.lanes.name) for index in place.inside(access.indices)]
        known = [stride > 0 and is_multiple(at * stride, lanes) for at, stride in zip(starts, strides, strict=True)]
        # Other threads' parts of the block's memory precede a thread's own part.
        apart = not self._sharing.along(access.buffer) or math.prod(_known(place.sizes)) % lanes == 0
        if width % 8 or lanes & (lanes - 1) or not apart or not all(known):
            return None
        return min(lanes * width // 8, _MOST_AT_ONCE)


def _is_along_lanes(guard: Guard, state: WriterState) -> bool:
    return state.threads is not None and state.lanes is not None and state.lanes.name in variables_of(guard.at)


def _steps(chain: Sequence[Loop]) -> Size:
    steps: Size = 1
    for loop in chain:
        steps = steps * loop.extent
    return steps


def _threads(sizes: Mapping[str, int]) -> dict[str, Number]:
    """Return the thread's index on each axis."""
    x = ir.Attribute.parse("#gpu<dim x>")
    rest = number(result_of("gpu.thread_id", [], ir.IndexType.get(), dimension=x))
    threads = {}
    for axis, size in sizes.items():
        threads[axis], rest = rest % size, rest // size
    return threads


def _known(sizes: Iterable[Size]) -> list[int]:
    """Return the sizes. All sizes of memory in a kernel are known, as `Sharing` has checked."""
    return [size for size in sizes if isinstance(size, int)]


def _taken(buffer: Buffer, shape: Sequence[int], state: WriterState, is_own: bool) -> Value:
    """Allocate memory of a thread or of the block.

    A small buffer of the block is padded to the number of elements that LLVM may load at once.
    """
    least = 1 if is_own else _MOST_AT_ONCE // min(max(getattr(buffer.element, "width", 64) // 8, 1), _MOST_AT_ONCE)
    rest = math.prod(shape) % least
    sizes = [math.prod(shape) - rest + least] if rest else shape
    with ir.InsertionPoint.at_block_begin(state.stack):
        name, type_ = "memref.alloca" if is_own else "memref.alloc", ir.MemRefType.get(list(sizes), buffer.element)
        result = result_of(name, [], type_, alignment=i64_attribute(64), **linalg.segments(0, 0))
        return reshape(result, shape) if rest and len(shape) > 1 else result
