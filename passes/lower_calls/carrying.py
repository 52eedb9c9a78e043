# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop-carried values of counted loops, each in the memory that costs an iteration the least.

A tensor that keeps its sizes alternates between two buffers: each iteration makes it in the other one. Rows
that are gathered are in their place from the start, and are not carried at all. Other tensors are copied into memory of
their own, which the next iteration gives back; scalars are values.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Block, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, constant_of, last_of
from ...dialects.core.codec import decode
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import equal, product
from ...emit import linalg, memrefs
from ...emit.numbers import Number, Size, as_index, floor_divide, maximum, minimum
from .function_lowering import FunctionLowering
from .gathering import Gathering


class Counter:
    """The turns of a loop: how many there are, and which one it is inside."""

    def __init__(self, bounds: Sequence[Value]):
        numbers = [each if (known := constant_of(each)) is None else known for each in bounds]
        self._lower, self._upper, self._step = map(as_index, numbers)

    @property
    def turns(self) -> Number:
        return maximum(0 - self._steps(self._lower - self._upper), 0)

    def turn(self, position: Value) -> Number:
        return self._steps(as_index(position) - self._lower)

    def _steps(self, distance: Number) -> Number:
        return distance if constant_of(self._step.value) == 1 else floor_divide(distance, self._step)


class Carried:
    """A value that is copied from turn to turn; a scalar is handed on."""

    def __init__(self, into: FunctionLowering, argument: Value, type_: Type):
        self.into, self.argument, self.type = into, argument, type_

    def given(self, initial: Value) -> list[Value]:
        """What the loop begins with."""
        return [self.handed_over(initial)]

    def enter(self, position: Value, values: Sequence[Value]) -> None:
        """Inside, where the loop stands; `values` are those that it carries for this."""
        self.into.set(self.argument, values[0])
        if isinstance(self.type, ir.MemRefType):
            self.into.own(values[0])

    def leave(self, yielded: Value) -> list[Value]:
        """At the end of a turn, before its memory is given back: what the next one carries."""
        return [self.handed_over(yielded)]

    def result(self, values: Sequence[Value]) -> Value:
        """Behind the loop, which carries these in the end."""
        if isinstance(self.type, ir.MemRefType):
            self.into.own(values[0])
        return values[0]

    def handed_over(self, value: Value) -> Value:
        lowered = self.into.get(value)
        is_tensor = isinstance(lowered.type, ir.MemRefType)
        return memrefs.cast(memrefs.copied(lowered), self.type) if is_tensor else lowered

    def made_in(self, value: Value, memory: Value) -> None:
        """Has a tensor of the loop's body made where it is wanted, if nothing is against it."""
        buffer = self.into.plan.memory_of.get(value)
        info = decode(value.type)
        if buffer is None or not isinstance(info, TensorInfo):
            return
        root = buffer.root
        is_here = root.path[-1] == self.argument.owner and root.output is None and not root.is_divided
        is_whole = equal(root.size, product((*(info.shape or ()), memrefs.storage_bytes(memory.type.element_type))))
        if is_here and is_whole is True and root.info.dtype == info.dtype and root not in self.into.wanted:
            self.into.wanted[root] = memory

    def fill(self, value: Value, memory: Value) -> None:
        """Puts a tensor where it is wanted, unless it was made there."""
        buffer = self.into.plan.memory_of.get(value)
        place = None if buffer is None else self.into.wanted.get(buffer.root)
        if place is None or place != memory:
            memrefs.copy(self.into.get(value), memory)


class Alternating(Carried):
    """A tensor whose sizes stay."""

    def given(self, initial: Value) -> list[Value]:
        lowered = self.into.get(initial)
        first = self.into.own(memrefs.copied(lowered))
        second = self.into.own(memrefs.allocate(memrefs.dims(lowered), lowered.type.element_type))
        return [memrefs.cast(each, self.type) for each in (first, second)]

    def enter(self, position: Value, values: Sequence[Value]) -> None:
        now, self._next = values
        self._now = now
        self.into.set(self.argument, now)
        self.made_in(_yielded(self.argument), self._next)

    def leave(self, yielded: Value) -> list[Value]:
        self.fill(yielded, self._next)
        return [self._next, self._now]

    def result(self, values: Sequence[Value]) -> Value:
        return values[0]


class Gathered(Carried):
    """Rows, of which each turn puts as many behind those that are there."""

    def __init__(self, into: FunctionLowering, argument: Value, type_: Type, gathering: Gathering, counter: Counter):
        super().__init__(into, argument, type_)
        self._rows, self._counter = gathering.rows, counter
        self._count = gathering.added
        self._sizes = [into.sizes.compute(size) for size in gathering.sizes if size is not None]

    def given(self, initial: Value) -> list[Value]:
        lowered = self.into.get(initial)
        self._before = memrefs.dim(lowered, 0)
        # An upper bound so that sums and products do not wrap around: no memory holds more.
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

    def enter(self, position: Value, values: Sequence[Value]) -> None:
        self._next = self._place(self._before + self._counter.turn(position) * self._count, self._count)
        self.made_in(self._rows, self._next)

    def leave(self, yielded: Value) -> list[Value]:
        self.fill(self._rows, self._next)
        return []

    def result(self, values: Sequence[Value]) -> Value:
        return memrefs.cast(self._all, self.type)

    def _place(self, first: Size, count: Size) -> Value:
        """`count` rows from `first` on."""
        element = self._all.type.element_type
        start = first * linalg.product([*self._sizes, memrefs.storage_bytes(element)])
        return memrefs.view(memrefs.as_bytes(self._all), start, [count, *self._sizes], element)


def _yielded(argument: Value) -> Value:
    block: Block = argument.owner
    return last_of(block).operands[argument.arg_number - 1]


def carried_by(into: FunctionLowering, loop: Operation, types: Sequence[Type]) -> list[Carried]:
    """How each of the values that a counted loop carries is."""
    counter = Counter([into.get(bound) for bound in list(loop.operands)[:3]])
    _, *arguments = body_of(loop).arguments
    found: list[Carried] = []
    for argument, type_ in zip(arguments, types, strict=True):
        gathering = into.plan.gathered.get(argument)
        if gathering is not None and _are_known(into, gathering.rows):
            found.append(Gathered(into, argument, type_, gathering, counter))
        elif isinstance(type_, ir.MemRefType) and _are_known(into, argument) and _keeps_sizes(argument):
            found.append(Alternating(into, argument, type_))
        else:
            found.append(Carried(into, argument, type_))
    return found


def _are_known(into: FunctionLowering, value: Value) -> bool:
    """Whether all sizes of a tensor are, before the loop."""
    info = decode(value.type)
    return isinstance(info, TensorInfo) and all(map(into.sizes.knows, info.shape or ()))


def _keeps_sizes(argument: Value) -> bool:
    return memrefs.is_same_shape(decode(argument.type), decode(_yielded(argument).type))
