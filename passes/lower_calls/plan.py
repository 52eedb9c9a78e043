# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a graph function's tensors lie: which share memory, how long each lives, its place in the arena.

Positions count operations in program order; what a loop reads from outside lives until the loop has ended. Buffers
of fixed size share one region, the largest are placed first; buffers of a symbolic size take turns in slots of equal
size. A buffer whose size is not known when the function begins is allocated where it is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ...bindings.ir import Block, Operation, Value
from ...bindings.navigation import blocks_of, body_of, last_of, operations_of
from ...dialects.core.aliases import aliases
from ...dialects.core.codec import decode
from ...dialects.core.dialect import row_of
from ...dialects.core.infos import TensorInfo, bit_width
from ...dialects.core.symbols import Dim, SymExpr, equal, product
from .memrefs import ALIGNMENT, is_same_shape

#: Upstream's operations that write their tensors into new memory.
_PRODUCERS = frozenset("func.call tensor.from_elements tensor.splat".split())


@dataclass(eq=False)
class Buffer:
    """Memory for one tensor and whatever is a view of it."""

    info: TensorInfo
    first: int
    last: int
    #: The blocks around, outermost first.
    path: tuple[Block, ...]
    #: Which result of the function it is, where it is one.
    output: int | None = None
    #: Whether it has that result's shape, whatever the symbols stand for.
    is_whole_output: bool = False
    #: Its place in the arena: bytes from the start, or the slot of its size.
    offset: int | None = None
    slot: int | None = None

    @property
    def size(self) -> Dim:
        """In bytes; None where nothing tells, or no expression that is short enough."""
        return product((*dims_of(self.info), storage_bytes(self.info.dtype)))


def dims_of(info: TensorInfo) -> tuple[Dim, ...]:
    """The sizes of a tensor; one that is unknown where not even their number is known."""
    return (None,) if info.shape is None else tuple(info.shape)


def storage_bytes(dtype: str) -> int:
    """What an element takes in memory: whole bytes."""
    return -(-bit_width(dtype) // 8)


@dataclass
class Plan:
    """Buffers by the value that is written into each, and the arena that holds those with a place in it."""

    buffers: dict[Value, Buffer] = field(default_factory=dict)
    fixed_bytes: int = 0
    #: Slots of symbolic size: the size of each in bytes.
    slots: list[SymExpr] = field(default_factory=list)
    #: Whose memory a value has; values that are not in it have memory from elsewhere.
    memory_of: dict[Value, Buffer] = field(default_factory=dict)
    #: The operations with their positions.
    operations: list[tuple[int, Operation]] = field(default_factory=list)


def make_plan(function: Operation, knows: Callable[[Dim], bool]) -> Plan:
    """`knows(dim)`: whether a size can be computed when the function begins."""
    plan = lifetimes(function, knows)
    inside = [each for each in plan.buffers.values() if each.output is None and is_sized_at_entry(each, knows)]
    _place_fixed(plan, [buffer for buffer in inside if isinstance(buffer.size, int)])
    _place_symbolic(plan, [buffer for buffer in inside if not isinstance(buffer.size, int)])
    return plan


def lifetimes(function: Operation, knows: Callable[[Dim], bool]) -> Plan:
    """What makes memory, how long it is read, and which of it the function's results can be written into."""
    planner = _Planner(knows)
    block = body_of(function)
    planner.visit(block, (block,))
    planner.choose_outputs(block)
    return planner.plan


def is_sized_at_entry(buffer: Buffer, knows: Callable[[Dim], bool]) -> bool:
    return all(knows(dim) for dim in dims_of(buffer.info)) and buffer.size is not None


class _Planner:
    def __init__(self, knows: Callable[[Dim], bool]):
        self.plan = Plan()
        self._knows = knows
        self._position = 0
        self._owner = self.plan.memory_of
        #: For each region operation around, buffers of outside that are read in it.
        self._read_inside: list[set[Buffer]] = []

    def visit(self, block: Block, path: tuple[Block, ...]) -> None:
        for op in operations_of(block):
            self._position += 1
            self.plan.operations.append((self._position, op))
            for operand in op.operands:
                self._use(operand, path)
            if op.regions:
                self._visit_regions(op, path)
            else:
                self._produce(op, path)

    def _visit_regions(self, op: Operation, path: tuple[Block, ...]) -> None:
        self._read_inside.append(set())
        for block in blocks_of(op):
            self.visit(block, (*path, block))
        self._position += 1
        for buffer in self._read_inside.pop():
            buffer.last = self._position

    def _use(self, value: Value, path: tuple[Block, ...]) -> None:
        buffer = self._owner.get(value)
        if buffer is None:
            return
        buffer.last = self._position
        for depth in range(len(buffer.path), len(path)):
            self._read_inside[depth - 1].add(buffer)

    def _produce(self, op: Operation, path: tuple[Block, ...]) -> None:
        row = row_of(op)
        makes_memory = op.name in _PRODUCERS if row is None else row.destinations
        for result, source in zip(op.results, aliases(op), strict=True):
            if source in self._owner:
                self._owner[result] = self._owner[source]
            elif source is None and makes_memory and isinstance(info := decode(result.type), TensorInfo):
                buffer = Buffer(info, self._position, self._position, path)
                self.plan.buffers[result] = self._owner[result] = buffer

    def choose_outputs(self, block: Block) -> None:
        """What the function returns is written into the caller's memory at once where that is possible."""
        for index, value in enumerate(last_of(block).operands):
            buffer = self._owner.get(value)
            returned = decode(value.type)
            if buffer is None or buffer.output is not None or len(buffer.path) > 1:
                continue
            if not isinstance(returned, TensorInfo):
                continue
            # What is made may be a view of other size, which the program refuses only when it has been written.
            if equal(product(dims_of(buffer.info)), product(dims_of(returned))) is not True:
                continue
            if all(self._knows(dim) for dim in (*dims_of(buffer.info), *dims_of(returned))):
                buffer.output = index
                buffer.is_whole_output = is_same_shape(buffer.info, returned)


def _place_fixed(plan: Plan, buffers: Iterable[Buffer]) -> None:
    """The largest first, each at the lowest place that nothing that is alive with it has."""
    placed_at: dict[int, list[Buffer]] = defaultdict(list)  # by position, what is alive there
    for buffer in sorted(buffers, key=lambda each: (-padded(each), each.first)):
        positions = range(buffer.first, buffer.last + 1)
        around = {id(each): each for position in positions for each in placed_at[position]}
        buffer.offset = _lowest_gap(list(around.values()), padded(buffer))
        plan.fixed_bytes = max(plan.fixed_bytes, end_of(buffer))
        for position in positions:
            placed_at[position].append(buffer)


def _lowest_gap(around: list[Buffer], size: int) -> int:
    """Where so many bytes are free between these."""
    start = 0
    for each in sorted(around, key=lambda each: each.offset or 0):
        if (each.offset or 0) - start >= size:
            break
        start = max(start, end_of(each))
    return start


def padded(buffer: Buffer) -> int:
    size = buffer.size
    assert isinstance(size, int)
    return -(-size // ALIGNMENT) * ALIGNMENT


def end_of(buffer: Buffer) -> int:
    """Where the arena goes on behind it."""
    assert buffer.offset is not None
    return buffer.offset + padded(buffer)


def _place_symbolic(plan: Plan, buffers: Iterable[Buffer]) -> None:
    """Buffers of equal size share a slot one after the other."""
    free_from: list[int] = []  # for each slot, the position after which it is free
    for buffer in sorted(buffers, key=lambda each: each.first):
        size = buffer.size
        assert isinstance(size, SymExpr)
        slots = [index for index, held in enumerate(plan.slots) if held == size and free_from[index] < buffer.first]
        if slots:
            buffer.slot = slots[0]
        else:
            buffer.slot = len(plan.slots)
            plan.slots.append(size)
            free_from.append(0)
        free_from[buffer.slot] = buffer.last
