# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop-carried values, each in the memory with the lowest cost per iteration.

- A small tensor has one buffer, which the end of each iteration writes.
- A tensor that one kernel may update in place has one buffer, too.
- Another tensor with constant sizes alternates between two buffers: each iteration writes the other buffer.
- Gathered rows are in their final place from the start, and are not carried.
- Other tensors are copied into their own memory, which the next iteration frees.
- Scalars are values.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from ....bindings.ir import Block, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, constant_of, last_of
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import equal, product
from ....emit import linalg, memrefs
from ....emit.numbers import Number, Size, as_index, floor_divide, maximum, minimum
from .function_lowering import FunctionLowering
from .gathering import Gathering
from .memory_plan import KernelUpdate


class Counter:
    """Iteration counter of a loop: the number of iterations and the current index."""

    def __init__(self, bounds: Sequence[Value]):
        numbers = [bound if (known := constant_of(bound)) is None else known for bound in bounds]
        self._lower, self._upper, self._step = map(as_index, numbers)

    @property
    def turns(self) -> Number:
        return maximum(0 - self._steps(self._lower - self._upper), 0)

    def turn(self, position: Value) -> Number:
        return self._steps(as_index(position) - self._lower)

    def _steps(self, distance: Number) -> Number:
        return distance if constant_of(self._step.value) == 1 else floor_divide(distance, self._step)


class Carried:
    """Value that is copied from iteration to iteration. A scalar is passed on."""

    def __init__(self, into: FunctionLowering, argument: Value, type_: Type):
        self.into, self.argument, self.type = into, argument, type_

    def given(self, initial: Value) -> list[Value]:
        """Return the initial values of the loop."""
        return [self.handed_over(initial)]

    def shown(self, values: Sequence[Value]) -> Value:
        """Return the value as the condition of a loop sees it."""
        return values[0]

    def enter(self, position: Value | None, values: Sequence[Value]) -> None:
        """Define the block argument inside the loop. `values` are the loop's values for the carried value."""
        self.into.set(self.argument, values[0])
        if isinstance(self.type, ir.MemRefType):
            self.into.own(values[0])

    def settle(self, yielded: Value, others: Container[Value]) -> None:
        """Read the yielded value at the end of an iteration, before `others`, the persistent buffers, are written."""
        self._handed_over = self.handed_over(yielded)

    def leave(self, yielded: Value) -> list[Value]:
        """Return the values for the next iteration, and write the persistent buffers."""
        return [self._handed_over]

    def result(self, values: Sequence[Value]) -> Value:
        """Return the value after the loop, given the loop's final values."""
        if isinstance(self.type, ir.MemRefType):
            self.into.own(values[0])
        return values[0]

    def handed_over(self, value: Value) -> Value:
        lowered = self.into.get(value)
        is_tensor = isinstance(lowered.type, ir.MemRefType)
        return memrefs.cast(memrefs.copied(lowered), self.type) if is_tensor else lowered


class Alternating(Carried):
    """Tensor with constant sizes, in two alternating buffers."""

    def given(self, initial: Value) -> list[Value]:
        lowered = self.into.get(initial)
        first = self.into.own(memrefs.copied(lowered))
        second = self.into.own(memrefs.allocate(memrefs.dims(lowered), lowered.type.element_type))
        return [memrefs.cast(each, self.type) for each in (first, second)]

    def enter(self, position: Value | None, values: Sequence[Value]) -> None:
        now, self._next = values
        self._now = now
        self.into.set(self.argument, now)
        make_in(self.into, _yielded_value(self.argument), self._next, self.argument.owner)

    def settle(self, yielded: Value, others: Container[Value]) -> None:
        fill(self.into, yielded, self._next)

    def leave(self, yielded: Value) -> list[Value]:
        return [self._next, self._now]

    def result(self, values: Sequence[Value]) -> Value:
        return values[0]


class StackState(Carried):
    """Small tensor in one buffer, which each iteration overwrites at its end with the next value."""

    #: The buffer, which the block around the loop owns.
    memory: Value

    def given(self, initial: Value) -> list[Value]:
        lowered = self.into.get(initial)
        self.memory = self.into.new_slot(memrefs.dims(lowered), lowered.type.element_type)
        memrefs.copy(lowered, self.memory)
        return []

    def shown(self, values: Sequence[Value]) -> Value:
        return memrefs.cast(self.memory, self.type)

    def enter(self, position: Value | None, values: Sequence[Value]) -> None:
        self.into.set(self.argument, self.shown(values))

    def settle(self, yielded: Value, others: Container[Value]) -> None:
        self._source = self.into.get(yielded)
        if (root := memrefs.root_of(self._source)) in others and root != self.memory:
            self._source = self._apart(self._source)

    def _apart(self, source: Value) -> Value:
        """Return a copy of a tensor that another tensor of the loop is about to overwrite."""
        copied = self.into.new_slot(memrefs.dims(source), source.type.element_type)
        memrefs.copy(source, copied)
        return copied

    def leave(self, yielded: Value) -> list[Value]:
        if memrefs.root_of(self._source) != self.memory:
            memrefs.copy(self._source, self.memory)
        return []

    def result(self, values: Sequence[Value]) -> Value:
        return self.shown(values)


class Updated(StackState):
    """Tensor that one kernel of the loop's body may update in place."""

    def __init__(self, into: FunctionLowering, argument: Value, type_: Type, update: KernelUpdate):
        super().__init__(into, argument, type_)
        self._update = update

    def enter(self, position: Value | None, values: Sequence[Value]) -> None:
        super().enter(position, values)
        self.into.wanted[self._update.buffer] = self.memory
        self.into.plan.written_over.add(self._update.parameters)

    def settle(self, yielded: Value, others: Container[Value]) -> None:
        """Do nothing: the kernel has written the buffer."""

    def leave(self, yielded: Value) -> list[Value]:
        return []


class Gathered(Carried):
    """Tensor to which each iteration appends the same number of rows."""

    def __init__(self, into: FunctionLowering, argument: Value, type_: Type, gathering: Gathering, counter: Counter):
        super().__init__(into, argument, type_)
        self._rows, self._counter = gathering.rows, counter
        self._count = gathering.added
        self._sizes = [into.sizes.compute(size) for size in gathering.sizes if size is not None]

    def given(self, initial: Value) -> list[Value]:
        lowered = self.into.get(initial)
        self._before = memrefs.dim(lowered, 0)
        # The upper bound prevents sums and products from wrapping around: no memory holds more.
        most = memrefs.MOST_BYTES // (self._count + 1)
        extents = [self._before + minimum(self._counter.turns, most) * self._count, *self._sizes]
        element = lowered.type.element_type
        info = decode(self.argument.type)
        assert isinstance(info, TensorInfo)
        self.into.sizes.require_room(extents, element, memrefs.shape_text(info))
        self._all = self.into.own(memrefs.allocate(extents, element))
        if not isinstance(self._before, int) or self._before > 0:
            memrefs.copy(lowered, self._place(0, self._before))
        return []

    def enter(self, position: Value | None, values: Sequence[Value]) -> None:
        assert position is not None
        self._next = self._place(self._before + self._counter.turn(position) * self._count, self._count)
        make_in(self.into, self._rows, self._next, self.argument.owner)

    def settle(self, yielded: Value, others: Container[Value]) -> None:
        fill(self.into, self._rows, self._next)

    def leave(self, yielded: Value) -> list[Value]:
        return []

    def result(self, values: Sequence[Value]) -> Value:
        return memrefs.cast(self._all, self.type)

    def _place(self, first: Size, count: Size) -> Value:
        """Return a view of `count` rows from `first` on."""
        element = self._all.type.element_type
        start = first * linalg.product([*self._sizes, memrefs.storage_bytes(element)])
        return memrefs.view(memrefs.as_bytes(self._all), start, [count, *self._sizes], element)


def make_in(into: FunctionLowering, value: Value, memory: Value, block: Block) -> None:
    """Create a tensor of a block directly in memory of the enclosing block if possible."""
    buffer = into.plan.memory_of.get(value)
    info = decode(value.type)
    if buffer is None or not isinstance(info, TensorInfo):
        return
    root = buffer.root
    is_here = root.path[-1] == block and root.output is None and not root.is_divided
    is_whole = equal(root.size, product((*(info.shape or ()), memrefs.storage_bytes(memory.type.element_type))))
    if is_here and is_whole is True and root.info.dtype == info.dtype and root not in into.wanted:
        into.wanted[root] = memory


def fill(into: FunctionLowering, value: Value, memory: Value) -> None:
    """Copy a tensor into memory, unless the tensor was created there."""
    buffer = into.plan.memory_of.get(value)
    place = None if buffer is None else into.wanted.get(buffer.root)
    if place is None or place != memory:
        memrefs.copy(into.get(value), memory)


def _yielded_value(argument: Value) -> Value:
    block: Block = argument.owner
    first = 1 if block.owner.operation.name == "scf.for" else 0
    return last_of(block).operands[argument.arg_number - first]


def carry_counted_loop(into: FunctionLowering, loop: Operation, types: Sequence[Type]) -> list[Carried]:
    """Return the strategies for the values of a counted loop."""
    counter = Counter([into.get(bound) for bound in list(loop.operands)[:3]])
    _, *arguments = body_of(loop).arguments
    carried_values: list[Carried] = []
    for argument, type_ in zip(arguments, types, strict=True):
        gathering = into.plan.gathered.get(argument)
        if gathering is not None and _are_known(into, gathering.rows):
            carried_values.append(Gathered(into, argument, type_, gathering, counter))
        else:
            carried_values.append(_choose_carried(into, argument, type_))
    return carried_values


def carry_conditional_loop(into: FunctionLowering, loop: Operation, types: Sequence[Type]) -> list[Carried]:
    """Return the strategies for the values of a loop with a condition."""
    arguments = loop.regions[1].blocks[0].arguments
    return [_choose_carried(into, *each) for each in zip(arguments, types, strict=True)]


def _choose_carried(into: FunctionLowering, argument: Value, type_: Type) -> Carried:
    if not isinstance(type_, ir.MemRefType) or not _are_known(into, argument) or not _keeps_sizes(argument):
        return Carried(into, argument, type_)
    if into.is_small(type_):
        return StackState(into, argument, type_)
    update = into.plan.updates.get(argument)
    return Alternating(into, argument, type_) if update is None else Updated(into, argument, type_, update)


def _are_known(into: FunctionLowering, value: Value) -> bool:
    """Check whether all sizes of a tensor are known before the loop."""
    info = decode(value.type)
    return isinstance(info, TensorInfo) and all(map(into.sizes.knows, info.shape or ()))


def _keeps_sizes(argument: Value) -> bool:
    return memrefs.is_same_shape(decode(argument.type), decode(_yielded_value(argument).type))
