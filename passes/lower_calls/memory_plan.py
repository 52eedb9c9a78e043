# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffer assignment: liveness, aliasing and arena offsets of a graph function's tensors.

Positions count operations in program order; what a loop reads from outside lives until the loop has ended. Buffers
of fixed size, or of one that has an upper bound, share one region, the largest are placed first, others where that
takes less. Those of a symbolic size share a slot with others whose sizes are multiples of the same expression. A
buffer whose size is not known when the function begins is allocated where it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from ...bindings.ir import Block, Operation, Value
from ...bindings.navigation import blocks_of, body_of, last_of, outermost
from ...bindings.rewriting import located_error
from ...dialects.core.aliases import aliases, written_by
from ...dialects.core.codec import decode
from ...dialects.core.dialect import row_of
from ...dialects.core.infos import TensorInfo, bit_width, is_dtype, no_element_type
from ...dialects.core.ir_attributes import ANY_ORDER, CONCURRENT
from ...dialects.core.symbols import Dim, Size, SymExpr, at_most, equal, product
from ...dialects.core.symbols_expr import make, terms_of
from ...emit.memrefs import ALIGNMENT
from ...targets.core.backend import Machine
from .arranging import arranged
from .gathering import Gathering
from .size_bounds import Ranges, size_bounds, symbol_ranges
from .stacking import SizeGroup, stacked

#: The most bytes of a tensor that is worth a place on the stack, and of all of them in a function.
_SMALL_BYTES, _STACK_BYTES = 256, 8192
#: Upstream's operations that write their tensors into new memory.
_PRODUCERS = frozenset("func.call tensor.from_elements tensor.splat".split())


@dataclass(eq=False)
class PlannedBuffer:
    """Memory for one tensor and whatever is a view of it."""

    info: TensorInfo
    first: int
    last: int
    #: The blocks around, outermost first.
    path: tuple[Block, ...]
    #: Which result of the function it is, where it is one.
    output: int | None = None
    #: Its place in the arena: bytes from the start, or the slot of its size.
    offset: int | None = None
    slot: int | None = None
    is_on_stack: bool = False
    #: The buffer that it aliases, if it has no memory for itself; its offset in bytes in that, or in its slot.
    within: PlannedBuffer | None = None
    shift: Size = 0
    #: What it may overlap although both are alive for a moment: it is written when that has been read.
    covers: set[PlannedBuffer] = field(default_factory=set)
    #: Whether it shows what is there, and nothing is computed.
    is_view: bool = False
    #: Whether others are parts of it, of other types or behind its start; whether it is changed after it was made.
    is_divided: bool = False
    #: Whether parts have another element type. C has no arrays of several types, but for memory from malloc.
    has_several_types: bool = False
    is_written: bool = False

    @property
    def root(self) -> PlannedBuffer:
        """The buffer at the end of the chain of aliases, which has memory of its own."""
        return self if self.within is None else self.within.root

    @property
    def start(self) -> Size:
        """The offset in bytes from the root's place in the arena, or from its slot's."""
        return self.shift if self.within is None else self.shift + self.within.start

    def __post_init__(self) -> None:
        #: In bytes; None where unknown, or no expression that is short enough. `is_fixed`: static.
        self.size, self.is_fixed = measured(self.info)
        #: The upper bound in bytes; None where unknown.
        self.room = self.size if isinstance(self.size, int) else None


def dims_of(info: TensorInfo) -> tuple[Dim, ...]:
    """The sizes of a tensor; one that is unknown where not even their number is known."""
    return (None,) if info.shape is None else tuple(info.shape)


def storage_bytes(dtype: str) -> int:
    """What an element takes in memory: whole bytes."""
    return -(-bit_width(dtype) // 8)


@lru_cache(maxsize=4096)
def measured(info: TensorInfo) -> tuple[Dim, bool]:
    """How many bytes a tensor takes, and whether each of its sizes is a number."""
    dims = dims_of(info)
    return product((*dims, storage_bytes(info.dtype))), all(isinstance(dim, int) for dim in dims)


class KernelUpdate(NamedTuple):
    """In-place update: the buffer of the next value, the kernel's name, and the parameters that share the memory."""

    buffer: PlannedBuffer
    parameters: tuple[str, int, int]


@dataclass
class MemoryPlan:
    """Buffers by the value that is written into each, and the arena that holds those with a place in it."""

    buffers: dict[Value, PlannedBuffer] = field(default_factory=dict)
    fixed_bytes: int = 0
    #: Slots of symbolic size: the size of each in bytes.
    slots: list[SymExpr] = field(default_factory=list)
    #: Whose memory a value has; values that are not in it have memory from elsewhere.
    memory_of: dict[Value, PlannedBuffer] = field(default_factory=dict)
    #: Offsets in other memory are multiples of this many bytes: GPUs load vectors from where these begin.
    step: int = 1
    #: The operations with their positions, constants left out.
    operations: list[tuple[int, Operation]] = field(default_factory=list)
    #: Results that are written over an operand: which one.
    over: dict[Value, int] = field(default_factory=dict)
    #: The kernels that do so by their names, with the parameters that are the same memory: the input, the output.
    written_over: set[tuple[str, int, int]] = field(default_factory=set)
    #: Results that are there without the calls that would make them; what is not called for that.
    needless: set[Value] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    #: Concatenations that find some of their operands in their place: which operands.
    put_there: dict[Operation, tuple[int, ...]] = field(default_factory=dict)
    #: Loop-carried values that gather rows.
    gathered: dict[Value, Gathering] = field(default_factory=dict)
    #: Loop-carried values that a kernel may update in place.
    updates: dict[Value, KernelUpdate] = field(default_factory=dict)
    #: Whether the memory is the host's, whose functions have a stack.
    has_stack: bool = True

    @property
    def roots(self) -> dict[Value, PlannedBuffer]:
        """The buffers that are parts of no other."""
        return {value: buffer for value, buffer in self.buffers.items() if buffer.within is None}


def place_all(plan: MemoryPlan, knows: Callable[[Dim], bool]) -> None:
    """`knows(dim)`: whether a size can be computed when the function begins."""
    _put_on_stack(plan)
    apart = {update.buffer for update in plan.updates.values()}
    inside = [
        each
        for each in plan.roots.values()
        if each.output is None and not each.is_on_stack and each not in apart and is_sized_at_entry(each, knows)
    ]
    _place_fixed(plan, [buffer for buffer in inside if buffer.room is not None])
    _place_symbolic(plan, [buffer for buffer in inside if buffer.room is None])


def is_small(bytes_: int | None) -> bool:
    """Check whether a tensor is so small that registers may hold it."""
    return bytes_ is not None and bytes_ <= _SMALL_BYTES


def may_be_on_stack(buffer: PlannedBuffer) -> bool:
    """Check whether a buffer is small, of fixed size and one element type, and of a loop or a branch."""
    is_plain = buffer.output is None and not buffer.has_several_types and buffer.is_fixed
    return is_plain and len(buffer.path) > 1 and is_small(buffer.room)


def _put_on_stack(plan: MemoryPlan) -> None:
    """Move small tensors from the arena to the stack, where code generators see all uses and keep them in registers."""
    room = _STACK_BYTES
    for buffer in plan.roots.values() if plan.has_stack else ():
        if may_be_on_stack(buffer):
            room -= padded(buffer)
            buffer.is_on_stack = room >= 0


def lifetimes(function: Operation, knows: Callable[[Dim], bool]) -> MemoryPlan:
    """Liveness: what makes memory, its last read, and which of it the function's results can be written into."""
    planner = _Planner(knows, symbol_ranges(function))
    planner.plan.has_stack = ANY_ORDER not in outermost(function).attributes
    planner.plan.step = 1 if planner.plan.has_stack else Machine.thread_bytes
    block = body_of(function)
    planner.visit(block, (block,))
    planner.choose_outputs(block)
    return planner.plan


def is_sized_at_entry(buffer: PlannedBuffer, knows: Callable[[Dim], bool]) -> bool:
    """Whether its bytes can be computed then, and multiples of them: more than that each of its sizes is known."""
    return buffer.is_fixed if buffer.is_fixed or buffer.size is None else all(map(knows, _needed_for(buffer.info)))


@lru_cache(maxsize=4096)
def _needed_for(info: TensorInfo) -> tuple[Dim, ...]:
    """What has to be known for multiples of a tensor's bytes to be computed."""
    size, _ = measured(info)
    assert size is not None
    return (2 * size, *dims_of(info))


class _Planner:
    def __init__(self, knows: Callable[[Dim], bool], ranges: Ranges):
        self.plan = MemoryPlan()
        self._ranges = ranges
        self._knows = knows
        self._position = 0
        self._owner = self.plan.memory_of
        #: For each region operation around, buffers of outside that are read in it.
        self._read_inside: list[set[PlannedBuffer]] = []

    def visit(self, block: Block, path: tuple[Block, ...]) -> None:
        concurrent: int | None = None
        for view in block.operations:
            op = view.operation
            name = op.name
            is_concurrent = name == "func.call" and CONCURRENT in op.attributes
            before, concurrent = concurrent, op.attributes[CONCURRENT].value if is_concurrent else None
            # What runs at the same time has one position: no memory of one is another's.
            if concurrent is None or before != concurrent:
                self._position += 1
            if name == "arith.constant":
                # There may be more of these than of all others: nothing is used or made.
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
        buffer = self._owner.get(value)
        if buffer is None:
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
                # Those of relax are verified; of upstream's operations it is the first to ask.
                if not is_dtype(info.dtype):
                    raise located_error(f"no memory for {result.type}: {no_element_type(info.dtype)}", op.location)
                buffer = PlannedBuffer(info, self._position, self._position, path)
                if buffer.room is None and self._ranges:
                    _, buffer.room = size_bounds(buffer.size, self._ranges)
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


def _place_fixed(plan: MemoryPlan, buffers: Iterable[PlannedBuffer]) -> None:
    places, plan.fixed_bytes = arranged({buffer: padded(buffer) for buffer in buffers})
    for buffer, place in places.items():
        buffer.offset = place


def padded(buffer: PlannedBuffer) -> int:
    assert buffer.room is not None
    return -(-buffer.room // ALIGNMENT) * ALIGNMENT


def end_of(buffer: PlannedBuffer) -> int:
    """Where the arena goes on behind it."""
    assert buffer.offset is not None
    return buffer.offset + padded(buffer)


def _place_symbolic(plan: MemoryPlan, buffers: Iterable[PlannedBuffer]) -> None:
    """A slot for each expression of which sizes are multiples, or one for several that are not large at one time."""
    counts: dict[SymExpr, dict[PlannedBuffer, int]] = {}
    step = max([plan.step, *(storage_bytes(buffer.info.dtype) for buffer in plan.buffers.values())])
    for buffer in sorted(buffers, key=lambda each: each.first):
        count, unit = _count_of(_as_symbolic(buffer.size))
        counts.setdefault(unit, {})[buffer] = count
    groups = {
        unit: SizeGroup(counted, {buffer: _room(count, step) for buffer, count in counted.items()})
        for unit, counted in counts.items()
    }
    stack = stacked(groups)
    if stack is not None:
        _take_slot(plan, stack.places, stack.end)
    for unit, group in groups.items():
        places, end = (group if stack is None else group.without(stack.places)).arranged()
        if places:
            offsets = {place: place * unit for place in {*places.values(), end}}
            _take_slot(plan, {buffer: offsets[place] for buffer, place in places.items()}, offsets[end])


def _room(count: int, step: int) -> int:
    """How many times its unit a buffer has; what is large begins where cache lines do."""
    rounding = step if count < _MANY * ALIGNMENT else max(step, ALIGNMENT)
    return -(-count // rounding) * rounding


def _take_slot(plan: MemoryPlan, places: Mapping[PlannedBuffer, Size], end: Size) -> None:
    for buffer, place in places.items():
        buffer.slot, buffer.shift = len(plan.slots), place
    plan.slots.append(_as_symbolic(end))


#: Sizes of this many times the alignment may grow by it.
_MANY = 16


def is_multiple(place: Size, step: int) -> bool:
    """Whether a place is a multiple of `step` bytes, whatever the symbols are."""
    factors = [place] if isinstance(place, int) else terms_of(place).values()
    return all(factor % step == 0 for factor in factors)


def is_behind(place: Size, other: Size, held: SymExpr) -> bool:
    """Whether other <= place is certain; `held` are the bytes of a tensor, which are never less than none.

    Of h - 3 alone that is unknown: only where it is a size do multiples of it grow.
    """
    if at_most(other, place):
        return True
    distance = place - other
    return isinstance(distance, SymExpr) and _count_of(distance)[1] == _count_of(held)[1]


@lru_cache(maxsize=4096)
def _count_of(size: SymExpr) -> tuple[int, SymExpr]:
    """12*n + 8*m as 4 and 3*n + 2*m."""
    terms = terms_of(size)
    count = gcd(*terms.values())
    return count, _as_symbolic(make({monomial: factor // count for monomial, factor in terms.items()}))


def _as_symbolic(size: Dim) -> SymExpr:
    assert isinstance(size, SymExpr)
    return size
