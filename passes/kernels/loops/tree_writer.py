# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of a tree to IR: loops, vectors, memory.

A vectorized loop runs all its steps in lockstep: its body is emitted once, on vectors. The body of an unrolled loop is
emitted once per step. Neither loop has a variable in IR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

from ....bindings.ir import Block as IrBlock
from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import i64_attribute, ir
from ....bindings.navigation import body_of, last_of, operations_of
from ....bindings.rewriting import is_used
from ....dialects.core.ir_attributes import DEVICE_MEMORY
from ....dialects.core.symbols_expr import Size, substituted, variables_of
from ....emit import linalg, loops, vectors
from ....emit.arithmetic import result_of
from ....emit.collapse import collapse
from ....emit.memrefs import is_dense, view
from ....emit.numbers import Number, as_index, constant, number
from ....emit.subviews import part_of
from ....emit.symbols import emit_size
from ....support.replacing import replace
from .body_scalars import Expr, IterIndex, Load
from .buffer_allocation import BufferPlace, places_of
from .checks import placed
from .device_calls import call_owner
from .device_copies import DeviceCopy, copies_of, emit_copy
from .flat_accesses import flattened
from .intrins import INTRIN, TENSORIZED, find_intrin, operands_of
from .lanes import LaneEvaluation, LaneLoop, fits_lanes, goes_along, is_row_of, moves_of
from .memory_arenas import Arena, arenas_of, with_offsets
from .queues import Queues, Waits
from .ranges import Guard, guards, substitute_zero
from .tree import GRAIN, PARALLEL, REDUCE, UNROLLED, VECTORIZED, Access, Block, Loop, Node, Tree, blocks_in, loops_of
from .tree_buffers import Buffer
from .tree_reader import Measured, Read
from .whole_steps import MOST_PEELED, WholeSteps, is_worth_it, whole_steps

T = TypeVar("T")


def write_tree(function: Operation, read: Read, tree: Tree, writer: type[Writer]) -> None:
    """Replace a function's code by the tree's."""
    block = body_of(function)
    end = last_of(block)
    tree, joined = flattened(tree, {key for key, value in read.memory.items() if not is_dense(value.type)})
    with function.context, function.location, ir.InsertionPoint(end):
        values = {new: collapse(read.memory[old], groups) for new, (old, groups) in joined.items() if new.is_given}
        writer(read._replace(memory={**read.memory, **values}), tree).write()
    kept = {value for buffer, value in read.memory.items() if buffer.is_given}
    for op in reversed(operations_of(block)):
        if op.name == "memref.dealloc" and op.operands[0] in kept:
            op.move_before(end)
        elif op != end and _is_replaced(op):
            op.erase()


def _is_replaced(op: Operation) -> bool:
    """Return True for operations that the tree was read from. Its loops precede them."""
    return (
        op.name.startswith("linalg.")
        or op.name in ("memref.dealloc",)
        or (op.name == "memref.alloc" and not is_used(op))
    )


@dataclass(frozen=True)
class WriterState:
    """State at the point where code is emitted: facts about the loops around."""

    #: Values of the loops' variables; integers for unrolled loops.
    known: Mapping[str, Value | int] = field(default_factory=dict)
    lanes: LaneLoop | None = None
    #: Memory and allocated part of each buffer.
    memory: Mapping[Buffer, tuple[Value, BufferPlace]] = field(default_factory=dict)
    #: Block for stack allocations: of the function, or of one step of a loop that threads share.
    stack: IrBlock | None = None
    #: In a kernel: index of the thread by axis, and True inside of the test for the threads that run the code.
    threads: Mapping[str, Number] | None = None
    is_chosen: bool = False
    #: True inside of a nest without bound loops that threads share.
    is_shared: bool = False
    #: True where reductions have no step: only their inits are written.
    only_starts: bool = False
    #: Guards that are known to be true in this part of the loops around, and the number of loops with such parts.
    holding: frozenset[Guard] = frozenset()
    peeled: int = 0

    def with_known(self, name: str, value: Value | int) -> WriterState:
        return replace(self, known={**self.known, name: value})


class Writer:
    #: True for code that a compiler for C or the like reads. Stack memory is then allocated in the loop that uses it,
    #: and all whole steps are separate. (LLVM keeps only allocations at the function's begin in registers.)
    is_source = False
    #: True if shuffles of vectors cost less than loads of single elements.
    turns_squares = True

    def __init__(self, read: Read, tree: Tree):
        self._read, self._tree = read, tree
        self._extents = tree.extents()
        places = places_of(tree)
        self._arenas = arenas_of(tree, places)
        self._places = with_offsets(places, self._arenas)
        #: Nodes that are one copy of a device, by name; waits of the code.
        self._copies = copies_of(tree)
        self._queues = Queues(tree, self._copies, self._arenas, self._places)
        #: Operations before each node, with the final operations last; the same by the node's name.
        self._between = placed(read.checks, tree.body)
        self._before = {node.name: ops for node, ops in zip(tree.body[1:], self._between[1:], strict=False)}
        self._bytes: dict[str, Value] = {}
        self._facts: dict[object, Any] = {}
        #: Squares in registers that the last code read by columns: IR block, memory, place, columns.
        self._squares: dict[Buffer, tuple[IrBlock, Value, list[Number | int], list[Value]]] = {}

    def _fact(self, of: Callable[..., T], *about: Any) -> T:
        """Return a cached fact about a block or an access; unrolled loops need each many times."""
        key = (of, about)
        if key not in self._facts:
            self._facts[key] = of(*about)
        return cast("T", self._facts[key])

    def _guards(self, block: Block) -> list[Guard]:
        return guards(block, self._extents)

    def _fits(self, block: Block, lanes: LaneLoop) -> bool:
        return fits_lanes(block, lanes, self._extents)

    def write(self, stack: IrBlock | None = None) -> None:
        """Emit the tree at the insertion point. Stack memory is allocated there, or at the begin of `stack`."""
        memory = {
            buffer: (value, BufferPlace((), buffer.shape))
            for buffer, value in self._read.memory.items()
            if buffer.is_given
        }
        self._bytes = {name: self._arena(arena) for name, arena in self._arenas.items()}
        self._within("", self._tree.body, WriterState(memory=memory, stack=stack or ir.InsertionPoint.current.block))
        _move_here(self._between[-1])
        for arena in self._bytes.values():
            ir.Operation.create("memref.dealloc", operands=[arena])

    def _arena(self, arena: Arena) -> Value:
        """Allocate the arena of a device memory; its begin represents the begin of the memory."""
        type_ = ir.MemRefType.get([arena.bytes], ir.IntegerType.get_signless(8))
        attributes = {
            **linalg.segments(0, 0),
            "alignment": i64_attribute(arena.memory.alignment),
            DEVICE_MEMORY: ir.StringAttr.get(arena.memory.name),
        }
        return result_of("memref.alloc", [], type_, **attributes)

    # ---- loops ----

    def _nodes(self, nodes: Sequence[Node], state: WriterState) -> None:
        for node in nodes:
            _move_here(self._before.get(node.name, ()))
            self._wait(self._queues.before, node.name, state)
            if node.name in self._copies:
                self._copied(self._copies[node.name], state)
            elif isinstance(node, Block):
                self._block(node, state)
            else:
                self._loop(node, state)

    def _wait(self, waits: Waits, name: str, state: WriterState) -> None:
        for wait, pending in waits.get(name, {}).items():
            # If reductions only start, nothing behind the awaited operation has been started.
            call_owner(f"wait= at '{name or self._tree.name}'", wait, 0 if state.only_starts else pending)

    def _copied(self, copy: DeviceCopy, state: WriterState) -> None:
        if state.only_starts:
            return
        self._squares.clear()
        lanes = state.lanes
        for lane in range(lanes.width if lanes and goes_along(copy.block, lanes) else 1):
            at = state if lanes is None else state.with_known(lanes.name, lane)
            emit_copy(copy, partial(self._size, state=at), at.memory)

    def _within(self, name: str, nodes: Sequence[Node], state: WriterState) -> None:
        """Emit the body of a loop, with the memory that lives for one of its steps."""
        own = [(buffer, place) for buffer, (where, place) in self._places.items() if where == name]
        values: list[Value] = []
        memory = dict(state.memory) if own else {}
        for buffer, place in own:
            value, is_heap = self._allocate(buffer, place, state)
            memory[buffer] = (value, place)
            values += [value] if is_heap else []
        self._nodes(nodes, replace(state, memory=memory) if own else state)
        self._wait(self._queues.behind, name, state)
        for value in values:
            ir.Operation.create("memref.dealloc", operands=[value])

    def _allocate(self, buffer: Buffer, place: BufferPlace, state: WriterState) -> tuple[Value, bool]:
        sizes = [self._size(size, state) for size in place.sizes]
        if place.offset is not None:
            return view(self._bytes[buffer.scope], place.offset, sizes, buffer.element), False
        shape, dynamic = linalg.static_and_dynamic(sizes)
        type_ = ir.MemRefType.get(shape, buffer.element)
        alignment = i64_attribute(64)
        attributes = {**linalg.segments(len(dynamic), 0), "alignment": alignment}
        if not place.on_stack:
            return result_of("memref.alloc", dynamic, type_, **attributes), True
        # Inside of a loop, each step would allocate it.
        with ir.InsertionPoint.at_block_begin(state.stack):
            return result_of("memref.alloca", dynamic, type_, **attributes), False

    def _loop(self, loop: Loop, state: WriterState) -> None:
        is_reduced = any(loop.name in loops_of(block, REDUCE) for block in blocks_in([loop]) if block.inits is not None)
        if state.only_starts and is_reduced:
            return self._within(loop.name, loop.body, state.with_known(loop.name, 0))
        if loop.kind == VECTORIZED and isinstance(loop.extent, int) and loop.extent > 1:
            lanes = LaneLoop(loop.name, loop.extent)
            return self._within(loop.name, loop.body, replace(state, lanes=lanes))
        if loop.kind == TENSORIZED:
            return self._tensorized(loop, state)
        if loop.kind == UNROLLED or loop.extent == 1:
            assert isinstance(loop.extent, int)
            for step in range(loop.extent):
                self._within(loop.name, loop.body, state.with_known(loop.name, step))
            return None
        if (whole := self._whole_steps(loop, state)) is None:
            self._steps(loop, 0, loop.extent, state)
        else:
            parted = replace(state, peeled=state.peeled + 1)
            self._steps(loop, 0, whole.end, replace(parted, holding=state.holding | whole.known))
            self._rest(loop, whole, parted)
        steps = self._size(loop.extent, state)
        if is_reduced and not isinstance(steps, int):
            loops.when(as_index(steps) == 0, lambda: self._loop(loop, replace(state, only_starts=True)))
        return None

    def _rest(self, loop: Loop, whole: WholeSteps, state: WriterState) -> None:
        """Emit the steps after the whole steps."""
        self._steps(loop, whole.end, loop.extent, state)

    def _whole_steps(self, loop: Loop, state: WriterState) -> WholeSteps | None:
        if state.lanes is not None or state.peeled == MOST_PEELED or not (self.is_source or is_worth_it(loop)):
            return None
        return whole_steps(loop, partial(self._fact, self._guards), state.holding)

    def _steps(self, loop: Loop, first: Size, end: Size, state: WriterState) -> None:
        if end - first == 1 and isinstance(first, int):
            return self._within(loop.name, loop.body, state.with_known(loop.name, first))
        grain = int(loop.annotations.get(GRAIN, 0)) if loop.kind == PARALLEL else None

        def body(index: Number) -> None:
            is_new = grain is not None or self.is_source
            inner = replace(state, stack=ir.InsertionPoint.current.block) if is_new else state
            self._within(loop.name, loop.body, inner.with_known(loop.name, index))

        loops.for_range(self._size(first, state), self._size(end, state), body, grain=grain)
        return None

    def _tensorized(self, loop: Loop, state: WriterState) -> None:
        """Emit the intrinsic, on the parts of memory that one run of the loop uses."""
        if state.only_starts:
            return
        self._squares.clear()
        intrin = find_intrin(str(loop.annotations[INTRIN]))
        operands = operands_of(self._tree, loop, intrin)

        def body(mask: Value | None) -> None:
            del mask
            memrefs = []
            for access, dims, sizes, steps in operands:
                memory, at = self._at(access, state)
                memrefs.append(part_of(memory, at, dims, sizes, steps))
            stack = [state.stack] if intrin.needs_stack else []
            call_owner(f"tensor intrinsic '{loop.annotations[INTRIN]}'", intrin.emit, *memrefs, *stack)

        asked = [guard for block in blocks_in([loop]) for guard in guards(block, self._extents)]
        self._where(asked, state, None, body)

    # ---- indices ----

    def _size(self, size: Size, state: WriterState) -> Number | int:
        """Emit a size or an index; an integer if all its variables are integers."""
        return emit_size(size, lambda name: self._variable(name, state))

    def _variable(self, name: str, state: WriterState) -> Number | int:
        if name in state.known:
            known = state.known[name]
            return known if isinstance(known, int) else number(known)
        value = self._read.values[name]
        return linalg.size(*value) if isinstance(value, Measured) else as_index(value)

    # ---- blocks ----

    def _block(self, block: Block, state: WriterState) -> None:
        if state.lanes is not None and not self._fact(self._fits, block, state.lanes):
            for lane in range(state.lanes.width):
                self._block(block, replace(state.with_known(state.lanes.name, lane), lanes=None))
            return
        if state.lanes is not None and not self._fact(goes_along, block, state.lanes):
            state = replace(state.with_known(state.lanes.name, 0), lanes=None)
        asked = self._fact(self._guards, block)
        if state.only_starts:
            asked = [each for each in asked if loops_of(block, REDUCE).isdisjoint(variables_of(each.at))]
        points = [each for each in asked if not each.of_steps]
        steps = [each for each in asked if each.of_steps]
        self._where(points, state, None, lambda mask: self._point(block, steps, state, mask))

    def _where(
        self, asked: Sequence[Guard], state: WriterState, mask: Value | None, body: Callable[[Value | None], None]
    ) -> None:
        """Emit code under the guards, for the lanes that have a point."""
        conditions: list[Number | bool] = []
        for guard in asked:
            if guard in state.holding:
                continue
            if state.lanes is not None and state.lanes.name in variables_of(guard.at):
                left = self._size(guard.limit - substitute_zero(guard.at, state.lanes.name), state)
                mask = vectors.first_lanes(left, state.lanes.width, mask)
                continue
            conditions += guard.conditions(partial(self._size, state=state))
        loops.when_all(conditions, lambda: body(mask))

    def _point(self, block: Block, steps: Sequence[Guard], state: WriterState, mask: Value | None) -> None:
        """Emit one point of a block, or one vector of points."""
        if block.inits is not None:
            self._start(block, block.inits, state, mask)
        if not state.only_starts:
            self._where(steps, state, mask, lambda both: self._store(block, block.results, state, both))

    def _start(self, block: Block, inits: Sequence[Expr], state: WriterState, mask: Value | None) -> None:
        """Emit the inits, which run before the first step of the reductions."""
        pairs = zip(block.iters, block.bindings, strict=True)
        first = [self._size(index, state) == 0 for each, index in pairs if each.kind == REDUCE]
        loops.when_all(first, lambda: self._store(block, inits, state, mask))

    def _store(self, block: Block, results: Sequence[Expr], state: WriterState, mask: Value | None) -> None:
        used = block.elements if results is block.results else {n for expr in results for n in expr.elements()}
        point = block.point()
        accesses = block.placed_accesses
        elements = [self._load(access, state, mask) if place in used else None for place, access in enumerate(accesses)]

        def index(expr: IterIndex) -> Value:
            at = substituted(expr.value, point)
            if state.lanes is None or state.lanes.name not in variables_of(at):
                return as_index(self._size(at, state))
            assert state.lanes is not None
            each = [
                as_index(self._size(at, replace(state.with_known(state.lanes.name, lane), lanes=None)))
                for lane in range(state.lanes.width)
            ]
            return vectors.from_elements(each)

        def load(expr: Load, indices: Sequence[Value]) -> Value:
            memory, place = state.memory[expr.buffer]
            starts = place.starts or (0,) * len(indices)
            indices = [
                index if start == 0 else as_index(number(index) - self._size(start, state))
                for index, start in zip(indices, starts, strict=True)
            ]
            last = expr.indices[-1] if expr.indices else None
            if state.lanes is None or not isinstance(last, IterIndex):
                return loops.load(memory, *indices)
            at = substituted(last.value, point)
            if state.lanes.name not in variables_of(at):
                return loops.load(memory, *indices)
            others = map(number, indices[:-1])
            first = self._size(at - starts[-1], state.with_known(state.lanes.name, 0))
            return vectors.load(_row(memory, state.lanes), memory, *others, first, mask=mask)

        lanes = state.lanes.width if state.lanes else 0
        evaluation = LaneEvaluation(elements, index, load, lanes, contract=block.is_reduction)
        values = [evaluation.of(expr) for expr in results]
        for access, value in zip(accesses[len(block.reads) :], values, strict=True):
            self._put(access, value, state, mask)

    # ---- memory ----

    def _at(self, access: Access, state: WriterState) -> tuple[Value, list[Number | int]]:
        memory, place = state.memory[access.buffer]
        return memory, [self._size(index, state) for index in self._fact(BufferPlace.inside, place, access.indices)]

    def _alignment(self, access: Access, state: WriterState) -> int | None:
        """Return the known alignment of adjacent lanes in bytes, if the target needs it."""
        del access, state
        return None

    def _load(self, access: Access, state: WriterState, mask: Value | None) -> Value:
        if state.lanes is None:
            memory, at = self._at(access, state)
            return loops.load(memory, *at)
        moves = self._fact(moves_of, access, state.lanes)
        first = state.with_known(state.lanes.name, 0)
        if not any(moves):
            memory, at = self._at(access, first)
            return loops.load(memory, *at)
        if is_row_of(moves):
            memory, at = self._at(access, first)
            row, alignment = _row(memory, state.lanes), self._alignment(access, state)
            return vectors.load(row, memory, *at, mask=mask, alignment=alignment)
        turned = self._turned(access, moves, state) if self.turns_squares else None
        return self._gathered(access, state, mask) if turned is None else turned

    def _turned(self, access: Access, moves: Sequence[int], state: WriterState) -> Value | None:
        """Return a column of a square in registers as a vector, or None for other accesses.

        The square is loaded by rows and transposed once for all columns.
        """
        assert state.lanes is not None
        width = state.lanes.width
        memory, at = self._at(access, state.with_known(state.lanes.name, 0))
        across, column, shape = moves.index(max(moves)), at[-1], memory.type.shape
        is_square = access.buffer.scope == "local" and shape[across] == shape[-1] == width and width & (width - 1) == 0
        is_down = sum(map(abs, moves)) == 1 and across < len(at) - 1 and at[across] == 0
        if not is_square or not is_down or not all(isinstance(each, int) for each in at):
            return None
        place, here = [*at[:-1], 0], ir.InsertionPoint.current.block
        found = self._squares.get(access.buffer)
        if found is None or found[:3] != (here, memory, place):
            each = ([*place[:across], row, *place[across + 1 :]] for row in range(width))
            rows = [vectors.load(_row(memory, state.lanes), memory, *row) for row in each]
            found = self._squares[access.buffer] = here, memory, place, vectors.transposed(rows)
        return found[3][cast(int, column)]

    def _gathered(self, access: Access, state: WriterState, mask: Value | None) -> Value:
        """Load elements that are not contiguous one by one. Masked lanes load nothing."""
        assert state.lanes is not None
        elements = []
        for lane in range(state.lanes.width):
            memory, at = self._at(access, replace(state.with_known(state.lanes.name, lane), lanes=None))
            if mask is None:
                elements.append(loops.load(memory, *at))
                continue
            element = access.buffer.element
            read = loops.when(
                number(vectors.lane_of(mask, lane)),
                lambda m=memory, a=at: loops.load(m, *a),
                lambda e=element: constant(0, e),
                [element],
            )
            elements.append(read[0])
        return vectors.from_elements(elements)

    def _put(self, access: Access, value: Value, state: WriterState, mask: Value | None) -> None:
        self._squares.pop(access.buffer, None)
        if state.lanes is None:
            memory, at = self._at(access, state)
            loops.store(value, memory, *at)
            return
        value = vectors.in_each_lane(value, state.lanes.width).value
        if is_row_of(self._fact(moves_of, access, state.lanes)):
            memory, at = self._at(access, state.with_known(state.lanes.name, 0))
            vectors.store(value, memory, *at, mask=mask, alignment=self._alignment(access, state))
            return
        for lane in range(state.lanes.width):
            memory, at = self._at(access, replace(state.with_known(state.lanes.name, lane), lanes=None))
            scalar = vectors.lane_of(value, lane)
            if mask is None:
                loops.store(scalar, memory, *at)
            else:
                loops.when(number(vectors.lane_of(mask, lane)), partial(loops.store, scalar, memory, *at))


def _move_here(operations: Sequence[Operation]) -> None:
    for op in operations:
        ir.InsertionPoint.current.insert(op.detach_from_parent())


def _row(memory: Value, lanes: LaneLoop) -> Type:
    return vectors.vector_of(lanes.width, memory.type.element_type)
