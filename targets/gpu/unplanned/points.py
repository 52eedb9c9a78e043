# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The points of a linalg operation on memory, written one by one: what a thread does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ....bindings.affine import plain_dim
from ....bindings.ir import Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import last_of, made_by, operations_of
from ....bindings.rewriting import copy_operation
from ....emit.arithmetic import convert
from ....emit.collapse import groups_of
from ....emit.generic import GenericOp
from ....emit.linalg import affine_value, product
from ....emit.loops import load, nest, store, when
from ....emit.memrefs import flat, is_dense
from ....emit.numbers import Number, Size, as_index, number, operation

#: Of rows that a block's threads reduce together.
_LONG = 8
#: Divisions of 32 bits take a part of the time of those of 64.
_NARROW = 1 << 31
#: Among indices: how many points come before.
WHOLE = -1
#: Of loops, and how many points come before where that is known.
Indices = dict[int, Value]


class Points(GenericOp):
    """A linalg.generic on memory: how many points it has, and what is computed at one."""

    def known_count(self, dims: Sequence[int]) -> int | None:
        """How many points loops have together as far as types state it."""
        sizes = [self.known_size(dim) for dim in dims]
        return None if None in sizes else math.prod(size for size in sizes if size is not None)

    def known_factor(self, dim: int) -> int:
        """What a loop's size is a multiple of."""
        return max((_factor(operand, axis) for operand, axis in self.axes_along(dim)), default=1)

    def reduces_rows(self) -> bool:
        """Whether many contiguous elements become one."""
        count = self.known_count(self.reductions)
        if not self.reductions or (count is not None and count < _LONG):
            return False
        lasts = [map_.results[-1] for map_ in self.maps[: self.input_count] if len(map_.results)]
        return all(plain_dim(last) in self.reductions for last in lasts)

    def count(self) -> Size:
        """How many points the parallel loops have."""
        return product([self.size(dim) for dim in self.parallels])

    def at(self, point: Value, dims: Sequence[int] | None = None) -> Indices:
        """The indices of loops (the parallel ones) at a point counted through, the last loop fastest."""
        loops = self.parallels if dims is None else list(dims)
        sizes = [self.size(dim) for dim in loops]
        found = dict(zip(loops, taken_apart(as_index(point), sizes), strict=True))
        return {**found, WHOLE: point} if dims is None else found

    def element(self, place: int, indices: Indices) -> tuple[Value, list[Number]]:
        """The memory of an operand, and where in it is what it has at these indices."""
        memref = self.operands[place]
        if WHOLE in indices and self._goes_through(place):
            return flat(memref), [as_index(indices[WHOLE])]
        return memref, [affine_value(expr, lambda dim: self._index(indices, dim)) for expr in self.maps[place].results]

    def _index(self, indices: Indices, dim: int) -> Value:
        return indices[dim] if dim in indices else as_index(0).value

    def _goes_through(self, place: int) -> bool:
        """Whether an operand's elements are those of the points, one after the other."""
        type_ = self.operands[place].type
        dims = tuple(plain_dim(expression) for expression in self.maps[place].results)
        return isinstance(type_, ir.MemRefType) and len(dims) > 1 and dims == self.parallels and is_dense(type_)

    def first(self, indices: Indices) -> list[Value]:
        """What the outputs hold before."""
        return [self.load(place, indices) for place in self.output_numbers]

    def reduced(
        self, indices: Indices, first: Sequence[Value | None], step: Callable[[Indices, Sequence[Value]], list[Value]]
    ) -> list[Value]:
        """What `step(indices, before)` makes of values at all steps of the reductions, one after the other."""
        dims = self.reductions

        def inside(*values: Value) -> list[Value]:
            at = dict(zip(dims, values[: len(dims)], strict=True))
            return step({**indices, **at}, values[len(dims) :])

        return nest([self.size(dim) for dim in dims], inside, *[value for value in first if value is not None])

    def write(self, indices: Indices) -> None:
        """Computes and stores the outputs' elements at these indices."""
        before = self.first(indices) if self.reads_outputs() else [None] * len(self.outputs)
        self.store(self.reduced(indices, before, self.body) if self.reductions else self.body(indices, before), indices)

    def write_all(self) -> None:
        """The same, one after the other."""
        nest(
            [as_index(self.size(dim)) for dim in self.parallels],
            lambda *at: self.write(dict(zip(self.parallels, at, strict=True))),
        )

    def store(self, values: Sequence[Value], indices: Indices) -> None:
        for place, value in enumerate(values, self.input_count):
            memref, at = self.element(place, indices)
            store(value, memref, *at)

    def reads_outputs(self) -> bool:
        """Whether what outputs hold before is asked for."""
        return bool(self.reductions) or any(map(self.is_read, self.output_numbers))

    def body(self, indices: Indices, before: Sequence[Value | None]) -> list[Value]:
        """What the body yields at a point."""
        inputs = {place: self.load(place, indices) for place in self.read_inputs}
        return self.evaluated(indices, inputs, before)

    def evaluated(self, indices: Indices, inputs: Mapping[int, Value], before: Sequence[Value | None]) -> list[Value]:
        """The same with inputs that were read before."""
        arguments = self.block.arguments
        outputs = {place: held for place, held in enumerate(before, self.input_count) if held is not None}
        made = {arguments[place]: value for place, value in {**inputs, **outputs}.items()}
        for op in operations_of(self.block)[:-1]:
            if op.name == "linalg.index":
                made[op.results[0]] = indices[op.attributes["dim"].value]
            else:
                _copy(op, made)
        return [made.get(value, value) for value in last_of(self.block).operands]

    def load(self, place: int, indices: Indices) -> Value:
        operand = self.operands[place]
        if not isinstance(operand.type, ir.MemRefType):
            return operand
        memref, at = self.element(place, indices)
        return load(memref, *at)


def _factor(memref: Value, axis: int) -> int:
    """What the size of an axis is a multiple of, which may be several that became one."""
    joined = made_by(memref, "memref.collapse_shape")
    if memref.type.shape[axis] != DYNAMIC or joined is None:
        return int(memref.type.shape[axis]) if memref.type.shape[axis] != DYNAMIC else 1
    return math.prod(_factor(joined.operands[0], each) for each in groups_of(joined)[axis])


def taken_apart(point: Number, sizes: Sequence[Size]) -> list[Value]:
    """The index of each loop, the last one the fastest, at a point that is below the product of their sizes."""
    if len(sizes) < 2:
        return [point.value] * len(sizes)
    total = product(sizes)
    if isinstance(total, int):
        return _divided(point, sizes, is_narrow=total <= _NARROW)
    types = [point.type] * len(sizes)
    narrow, wide = (lambda is_narrow=is_narrow: _divided(point, sizes, is_narrow) for is_narrow in (True, False))
    return when(number(total) <= _NARROW, narrow, wide, types)


def _divided(point: Number, sizes: Sequence[Size], is_narrow: bool) -> list[Value]:
    rest = _narrowed(point) if is_narrow else point
    found: list[Number] = []
    for each in reversed(sizes[1:]):
        length = number(rest.as_operand(_narrowed(each) if is_narrow and not isinstance(each, int) else each))
        quotient = operation("arith.divui", [rest, length], rest.type)
        found.insert(0, rest - quotient * length)
        rest = quotient
    index = ir.IndexType.get()
    return [(convert("arith.index_castui", each, index) if is_narrow else each).value for each in (rest, *found)]


def _narrowed(index: Value) -> Number:
    return number(convert("arith.index_cast", number(index), ir.IntegerType.get_signless(32)))


def _copy(op: Operation, made: dict[Value, Value]) -> None:
    for operand in op.operands:
        made.setdefault(operand, operand)
    copy_operation(op, made)
