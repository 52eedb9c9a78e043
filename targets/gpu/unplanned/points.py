# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Points of a linalg operation on memory, and the code of a thread for one point."""

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

#: Minimum length of rows that a block's threads reduce together.
_LONG = 8
#: 32-bit divisions are cheaper than 64-bit divisions.
_NARROW = 1 << 31
#: Key of a point's linear index in `Indices`.
WHOLE = -1
#: Index of each loop, and under WHOLE the linear index if it is known.
Indices = dict[int, Value]


class Points(GenericOp):
    """A linalg.generic on memory: its number of points, and the computation at a point."""

    def known_count(self, dims: Sequence[int]) -> int | None:
        """Return the number of points of loops, or None if the types do not state it."""
        sizes = [self.known_size(dim) for dim in dims]
        return None if None in sizes else math.prod(size for size in sizes if size is not None)

    def known_factor(self, dim: int) -> int:
        """Return a known factor of a loop's size."""
        return max((_factor(operand, axis) for operand, axis in self.axes_along(dim)), default=1)

    def reduces_rows(self) -> bool:
        """Check whether the operation reduces many contiguous elements to one."""
        count = self.known_count(self.reductions)
        if not self.reductions or (count is not None and count < _LONG):
            return False
        lasts = [map_.results[-1] for map_ in self.maps[: self.input_count] if len(map_.results)]
        return all(plain_dim(last) in self.reductions for last in lasts)

    def count(self) -> Size:
        """Return the number of points of the parallel loops."""
        return product([self.size(dim) for dim in self.parallels])

    def at(self, point: Value, dims: Sequence[int] | None = None) -> Indices:
        """Return the loop indices at a linear index, with the last loop fastest.

        By default the loops are the parallel ones.
        """
        loops = self.parallels if dims is None else list(dims)
        sizes = [self.size(dim) for dim in loops]
        found = dict(zip(loops, taken_apart(as_index(point), sizes), strict=True))
        return {**found, WHOLE: point} if dims is None else found

    def element(self, place: int, indices: Indices) -> tuple[Value, list[Number]]:
        """Return an operand's memory and the indices of its element at a point."""
        memref = self.operands[place]
        if WHOLE in indices and self._goes_through(place):
            return flat(memref), [as_index(indices[WHOLE])]
        return memref, [affine_value(expr, lambda dim: self._index(indices, dim)) for expr in self.maps[place].results]

    def _index(self, indices: Indices, dim: int) -> Value:
        return indices[dim] if dim in indices else as_index(0).value

    def _goes_through(self, place: int) -> bool:
        """Check whether an operand's elements are the points in order."""
        type_ = self.operands[place].type
        dims = tuple(plain_dim(expression) for expression in self.maps[place].results)
        return isinstance(type_, ir.MemRefType) and len(dims) > 1 and dims == self.parallels and is_dense(type_)

    def first(self, indices: Indices) -> list[Value]:
        """Return the initial contents of the outputs."""
        return [self.load(place, indices) for place in self.output_numbers]

    def reduced(
        self, indices: Indices, first: Sequence[Value | None], step: Callable[[Indices, Sequence[Value]], list[Value]]
    ) -> list[Value]:
        """Fold `step(indices, before)` over all steps of the reductions, one after the other."""
        dims = self.reductions

        def inside(*values: Value) -> list[Value]:
            return step({**indices, **dict(zip(dims, values[: len(dims)], strict=True))}, values[len(dims) :])

        return nest([self.size(dim) for dim in dims], inside, *[value for value in first if value is not None])

    def write(self, indices: Indices) -> None:
        """Compute and store the outputs' elements at these indices."""
        before = self.first(indices) if self.reads_outputs() else [None] * len(self.outputs)
        self.store(self.reduced(indices, before, self.body) if self.reductions else self.body(indices, before), indices)

    def write_all(self) -> None:
        """Compute and store the outputs' elements at all points, one after the other."""
        nest(
            [as_index(self.size(dim)) for dim in self.parallels],
            lambda *at: self.write(dict(zip(self.parallels, at, strict=True))),
        )

    def store(self, values: Sequence[Value], indices: Indices) -> None:
        for place, value in enumerate(values, self.input_count):
            memref, at = self.element(place, indices)
            store(value, memref, *at)

    def reads_outputs(self) -> bool:
        """Check whether the initial contents of the outputs are read."""
        return bool(self.reductions) or any(map(self.is_read, self.output_numbers))

    def body(self, indices: Indices, before: Sequence[Value | None]) -> list[Value]:
        """Return the values that the body yields at a point."""
        return self.evaluated(indices, {place: self.load(place, indices) for place in self.read_inputs}, before)

    def evaluated(self, indices: Indices, inputs: Mapping[int, Value], before: Sequence[Value | None]) -> list[Value]:
        """Return the values that the body yields for inputs that are already loaded."""
        arguments = self.block.arguments
        outputs = {place: value for place, value in enumerate(before, self.input_count) if value is not None}
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
    """Return a known factor of the size of an axis. A collapsed axis has the product of its axes' factors."""
    joined = made_by(memref, "memref.collapse_shape")
    if memref.type.shape[axis] != DYNAMIC or joined is None:
        return int(memref.type.shape[axis]) if memref.type.shape[axis] != DYNAMIC else 1
    return math.prod(_factor(joined.operands[0], each) for each in groups_of(joined)[axis])


def taken_apart(point: Number, sizes: Sequence[Size]) -> list[Value]:
    """Return the index of each loop at a linear index, with the last loop fastest.

    The index is below the product of the sizes.
    """
    if len(sizes) < 2:
        return [point.value] * len(sizes)
    if isinstance(total := product(sizes), int):
        return _split_point(point, sizes, is_narrow=total <= _NARROW)
    types = [point.type] * len(sizes)
    narrow, wide = (lambda is_narrow=is_narrow: _split_point(point, sizes, is_narrow) for is_narrow in (True, False))
    return when(number(total) <= _NARROW, narrow, wide, types)


def _split_point(point: Number, sizes: Sequence[Size], is_narrow: bool) -> list[Value]:
    rest = _narrow_index(point) if is_narrow else point
    found: list[Number] = []
    for size in reversed(sizes[1:]):
        length = number(rest.as_operand(_narrow_index(size) if is_narrow and not isinstance(size, int) else size))
        quotient = operation("arith.divui", [rest, length], rest.type)
        found.insert(0, rest - quotient * length)
        rest = quotient
    index = ir.IndexType.get()
    return [(convert("arith.index_castui", each, index) if is_narrow else each).value for each in (rest, *found)]


def _narrow_index(index: Value) -> Number:
    return number(convert("arith.index_cast", number(index), ir.IntegerType.get_signless(32)))


def _copy(op: Operation, values: dict[Value, Value]) -> None:
    for operand in op.operands:
        values.setdefault(operand, operand)
    copy_operation(op, values)
