# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffer assignment: liveness, aliasing and arena offsets of a graph function's tensors.

Positions number operations in program order. A value that a loop reads from outside is live until the end of the loop.
Buffers with a fixed size or an upper bound share one region, placed largest first, or in another order if that needs
less space. Buffers of symbolic size share a slot with buffers whose sizes are multiples of the same expression. A
buffer with a size unknown at function entry is allocated at its definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from ....bindings.ir import Block, Operation, Value
from ....bindings.navigation import blocks_of, body_of, last_of, outermost
from ....bindings.rewriting import located_error
from ....dialects.core.aliases import aliases, written_by
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import TensorInfo, is_dtype, no_element_type
from ....dialects.core.ir_attributes import ANY_ORDER, CONCURRENT
from ....dialects.core.size_bounds import Ranges, size_bounds, symbol_ranges
from ....dialects.core.symbols import Dim, Size, SymExpr, at_most, equal, product
from ....dialects.core.symbols_expr import from_terms, terms_of
from ....emit.memrefs import ALIGNMENT
from ....targets.core.machine import Machine
from .arranging import arrange
from .gathering import Gathering
from .planned_buffer import PlannedBuffer, dims_of, measure_bytes, storage_bytes
from .stacking import SizeGroup, plan_stack

#: Maximum bytes of a tensor on the stack, and of all such tensors of a function.
_SMALL_BYTES, _STACK_BYTES = 256, 8192
#: Upstream's operations that write their tensors into new memory.
_PRODUCERS = frozenset("func.call tensor.from_elements tensor.splat".split())


class KernelUpdate(NamedTuple):
    """In-place update: the buffer of the next value, the kernel's name, and the parameters that share the memory."""

    buffer: PlannedBuffer
    parameters: tuple[str, int, int]


@dataclass
class MemoryPlan:
    """Buffers by the value written to each, and the arena that contains the placed buffers."""

    buffers: dict[Value, PlannedBuffer] = field(default_factory=dict)
    fixed_bytes: int = 0
    #: Sizes in bytes of the symbolic slots.
    slots: list[SymExpr] = field(default_factory=list)
    #: Buffer that holds each value. Other values have memory from elsewhere.
    memory_of: dict[Value, PlannedBuffer] = field(default_factory=dict)
    #: Alignment in bytes of offsets inside other buffers: GPUs load vectors from these offsets.
    step: int = 1
    #: Operations with their positions, without constants.
    operations: list[tuple[int, Operation]] = field(default_factory=list)
    #: Index of the operand that a result overwrites.
    over: dict[Value, int] = field(default_factory=dict)
    #: Kernels that overwrite an operand: name, and the input and output parameters that share memory.
    written_over: set[tuple[str, int, int]] = field(default_factory=set)
    #: Results that exist without their calls, and the kernels that need no call for them.
    needless: set[Value] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    #: Concatenations with operands that are already in place, and the indices of these operands.
    put_there: dict[Operation, tuple[int, ...]] = field(default_factory=dict)
    #: Loop-carried values that gather rows.
    gathered: dict[Value, Gathering] = field(default_factory=dict)
    #: Loop-carried values that a kernel may update in place.
    updates: dict[Value, KernelUpdate] = field(default_factory=dict)
    #: True for host memory, whose functions have a stack.
    has_stack: bool = True

    @property
    def roots(self) -> dict[Value, PlannedBuffer]:
        """Return the buffers that alias no other buffer."""
        return {value: buffer for value, buffer in self.buffers.items() if buffer.within is None}


def place_all(plan: MemoryPlan, knows: Callable[[Dim], bool]) -> None:
    """Place all buffers. `knows(dim)` checks whether a size is computable at function entry."""
    _put_on_stack(plan)
    apart = {update.buffer for update in plan.updates.values()}
    inside = [
        root
        for root in plan.roots.values()
        if root.output is None and not root.is_on_stack and root not in apart and is_sized_at_entry(root, knows)
    ]
    _place_fixed(plan, [buffer for buffer in inside if buffer.room is not None])
    _place_symbolic(plan, [buffer for buffer in inside if buffer.room is None])


def is_small(bytes_: int | None) -> bool:
    """Check whether a tensor is small enough to be kept in registers."""
    return bytes_ is not None and bytes_ <= _SMALL_BYTES


def may_be_on_stack(buffer: PlannedBuffer) -> bool:
    """Check whether a buffer is small, has a fixed size and one element type, and belongs to a loop or a branch."""
    is_plain = buffer.output is None and not buffer.has_several_types and buffer.is_fixed
    return is_plain and len(buffer.path) > 1 and is_small(buffer.room)


def _put_on_stack(plan: MemoryPlan) -> None:
    """Move small tensors from the arena to the stack, where code generators see all uses and can use registers."""
    room = _STACK_BYTES
    for buffer in plan.roots.values() if plan.has_stack else ():
        if may_be_on_stack(buffer):
            room -= padded_size(buffer)
            buffer.is_on_stack = room >= 0


def lifetimes(function: Operation, knows: Callable[[Dim], bool]) -> MemoryPlan:
    """Compute liveness: the buffer of each value, its last read, and buffers for the function's results."""
    planner = _Planner(knows, symbol_ranges(function))
    planner.plan.has_stack = ANY_ORDER not in outermost(function).attributes
    planner.plan.step = 1 if planner.plan.has_stack else Machine.thread_bytes
    block = body_of(function)
    planner.visit(block, (block,))
    planner.choose_outputs(block)
    return planner.plan


def is_sized_at_entry(buffer: PlannedBuffer, knows: Callable[[Dim], bool]) -> bool:
    """Check whether a buffer's bytes, and multiples of them, are computable at entry.

    All its sizes must be known, too.
    """
    return buffer.is_fixed if buffer.is_fixed or buffer.size is None else all(map(knows, _unit_sizes(buffer.info)))


@lru_cache(maxsize=4096)
def _unit_sizes(info: TensorInfo) -> tuple[Dim, ...]:
    """Return the sizes that must be known to compute multiples of a tensor's bytes."""
    size, _ = measure_bytes(info)
    assert size is not None
    return (2 * size, *dims_of(info))


class _Planner:
    def __init__(self, knows: Callable[[Dim], bool], ranges: Ranges):
        self.plan = MemoryPlan()
        self._ranges = ranges
        self._knows = knows
        self._position = 0
        self._owner = self.plan.memory_of
        #: For each enclosing region operation, the outside buffers read inside.
        self._read_inside: list[set[PlannedBuffer]] = []

    def visit(self, block: Block, path: tuple[Block, ...]) -> None:
        concurrent: int | None = None
        for view in block.operations:
            op = view.operation
            name = op.name
            is_concurrent = name == "func.call" and CONCURRENT in op.attributes
            before, concurrent = concurrent, op.attributes[CONCURRENT].value if is_concurrent else None
            # Concurrent calls share a position, so that none reuses another's memory.
            if concurrent is None or before != concurrent:
                self._position += 1
            if name == "arith.constant":
                # Scalar constants need no memory, and can outnumber all other operations.
                continue
            self.plan.operations.append((self._position, op))
            operands = list(op.operands)
            for operand in operands:
                self._use(operand, path)
            for value in operands if name == "func.call" else written_by(op):
                if value in self._owner:
                    self._owner[value].is_written = True
            if len(op.regions):
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
        if (buffer := self._owner.get(value)) is None:
            return
        buffer.last = self._position
        for depth in range(len(buffer.path), len(path)):
            self._read_inside[depth - 1].add(buffer)

    def _produce(self, op: Operation, path: tuple[Block, ...]) -> None:
        row = row_of(op)
        makes_memory = op.name in _PRODUCERS if row is None else row.destinations
        if row is None and not makes_memory:
            return
        for result, source in zip(op.results, aliases(op), strict=True):
            if source in self._owner:
                self._owner[result] = self._owner[source]
            elif source is None and makes_memory and isinstance(info := decode(result.type), TensorInfo):
                # Relax types are verified, but the element type of an upstream operation may be unsupported.
                if not is_dtype(info.dtype):
                    raise located_error(f"no memory for {result.type}: {no_element_type(info.dtype)}", op.location)
                buffer = PlannedBuffer(info, self._position, self._position, path)
                if buffer.room is None and self._ranges:
                    _, buffer.room = size_bounds(buffer.size, self._ranges)
                self.plan.buffers[result] = self._owner[result] = buffer

    def choose_outputs(self, block: Block) -> None:
        """Assign results of the function to the caller's memory where possible."""
        for index, value in enumerate(last_of(block).operands):
            buffer = self._owner.get(value)
            returned = decode(value.type)
            if buffer is None or buffer.output is not None or len(buffer.path) > 1:
                continue
            if not isinstance(returned, TensorInfo):
                continue
            # A result may be a view of another size, which is refused only after the write.
            if equal(product(dims_of(buffer.info)), product(dims_of(returned))) is not True:
                continue
            if all(self._knows(dim) for dim in (*dims_of(buffer.info), *dims_of(returned))):
                buffer.output = index


def _place_fixed(plan: MemoryPlan, buffers: Iterable[PlannedBuffer]) -> None:
    places, plan.fixed_bytes = arrange({buffer: padded_size(buffer) for buffer in buffers})
    for buffer, place in places.items():
        buffer.offset = place


def padded_size(buffer: PlannedBuffer) -> int:
    assert buffer.room is not None
    return -(-buffer.room // ALIGNMENT) * ALIGNMENT


def end_of(buffer: PlannedBuffer) -> int:
    """Return the end of a buffer in the arena, including padding."""
    assert buffer.offset is not None
    return buffer.offset + padded_size(buffer)


def _place_symbolic(plan: MemoryPlan, buffers: Iterable[PlannedBuffer]) -> None:
    """Create a slot for each common unit of symbolic sizes, or one slot for units with few large buffers at a time."""
    counts: dict[SymExpr, dict[PlannedBuffer, int]] = {}
    step = max([plan.step, *(storage_bytes(buffer.info.dtype) for buffer in plan.buffers.values())])
    for buffer in sorted(buffers, key=lambda each: each.first):
        count, unit = _count_of(_as_symbolic(buffer.size))
        counts.setdefault(unit, {})[buffer] = count
    groups = {
        unit: SizeGroup(counted, {buffer: _room(count, step) for buffer, count in counted.items()})
        for unit, counted in counts.items()
    }
    stack = plan_stack(groups)
    if stack is not None:
        _take_slot(plan, stack.places, stack.end)
    for unit, group in groups.items():
        places, end = (group if stack is None else group.without(stack.places)).arrange()
        if places:
            offsets = {place: place * unit for place in {*places.values(), end}}
            _take_slot(plan, {buffer: offsets[place] for buffer, place in places.items()}, offsets[end])


def _room(count: int, step: int) -> int:
    """Return a buffer's room in units. A large buffer is rounded up to cache line alignment."""
    rounding = step if count < _MANY * ALIGNMENT else max(step, ALIGNMENT)
    return -(-count // rounding) * rounding


def _take_slot(plan: MemoryPlan, places: Mapping[PlannedBuffer, Size], end: Size) -> None:
    for buffer, place in places.items():
        buffer.slot, buffer.shift = len(plan.slots), place
    plan.slots.append(_as_symbolic(end))


#: Number of alignments from which on a size may be rounded up.
_MANY = 16


def is_multiple(place: Size, step: int) -> bool:
    """Check whether a place is a multiple of `step` bytes for all values of the symbols."""
    factors = [place] if isinstance(place, int) else terms_of(place).values()
    return all(factor % step == 0 for factor in factors)


def is_behind(place: Size, other: Size, held: SymExpr) -> bool:
    """Check whether other <= place for all symbols.

    `held` are a tensor's bytes, and therefore nonnegative.

    The sign of h - 3 alone is unknown. Its multiples only grow because it is a size.
    """
    if at_most(other, place):
        return True
    distance = place - other
    return isinstance(distance, SymExpr) and _count_of(distance)[1] == _count_of(held)[1]


@lru_cache(maxsize=4096)
def _count_of(size: SymExpr) -> tuple[int, SymExpr]:
    """Split a size into its greatest common factor and the rest: 12*n + 8*m into 4 and 3*n + 2*m."""
    terms = terms_of(size)
    count = gcd(*terms.values())
    return count, _as_symbolic(from_terms({monomial: factor // count for monomial, factor in terms.items()}))


def _as_symbolic(size: Dim) -> SymExpr:
    assert isinstance(size, SymExpr)
    return size
