# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The points of a linalg operation on memory, written one by one: what a thread does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, last_of, made_by, operations_of
from ....bindings.rewriting import copy_operation, located_error
from ....emit.arithmetic import convert
from ....emit.linalg import affine_value, product, size
from ....emit.loops import for_range, load, nest, store, when
from ....emit.numbers import Number, Size, as_index, number, operation
from ....emit.structured import DYNAMIC
from ....passes.lower_calls.memrefs import flat, is_dense

#: Of rows that a block's threads reduce together.
_LONG = 8
#: Divisions of 32 bits take a part of the time of those of 64.
_NARROW = 1 << 31
#: Among indices: how many points come before.
WHOLE = -1
#: Of loops, and how many points come before where that is known.
Indices = dict[int, Value]


class Points:
    """A linalg.generic on memory: its loops' sizes, and what is computed at a point."""

    def __init__(self, op: Operation):
        self.operation = op
        self.maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
        kinds = [str(attribute) for attribute in op.attributes["iterator_types"]]
        self.parallels = [dim for dim, kind in enumerate(kinds) if "parallel" in kind]
        self.reductions = [dim for dim, kind in enumerate(kinds) if "reduction" in kind]
        self.input_count = next(iter(op.attributes["operandSegmentSizes"]))

    @property
    def block(self) -> Block:
        return body_of(self.operation)

    @property
    def outputs(self) -> list[Value]:
        return list(self.operation.operands)[self.input_count :]

    def size(self, dim: int) -> Size:
        """A loop's size: a number, or an index computed at the insertion point."""
        places = self._axes_along(dim)
        if not places:
            raise located_error(f"no operand says how far loop dimension {dim} goes", self.operation.location)
        known = [operand.type.shape[axis] for operand, axis in places if operand.type.shape[axis] != DYNAMIC]
        return int(known[0]) if known else size(*places[0])

    def known_size(self, dim: int) -> int:
        """The same as far as types tell, -1 where they do not."""
        sizes = [operand.type.shape[axis] for operand, axis in self._axes_along(dim)]
        return next((int(size) for size in sizes if size != DYNAMIC), -1)

    def known_count(self, dims: Sequence[int]) -> int:
        """How many points loops have together as far as types tell, -1 where they do not."""
        sizes = [self.known_size(dim) for dim in dims]
        return -1 if -1 in sizes else math.prod(sizes)

    def known_factor(self, dim: int) -> int:
        """What a loop's size is a multiple of."""
        return max((_factor(operand, axis) for operand, axis in self._axes_along(dim)), default=1)

    def _axes_along(self, dim: int) -> list[tuple[Value, int]]:
        """Operands and their axes that are as long as a loop."""
        return [
            (operand, axis)
            for operand, map_ in zip(self.operation.operands, self.maps, strict=True)
            for axis, expr in enumerate(map_.results)
            if isinstance(expr, ir.AffineDimExpr) and expr.position == dim
        ]

    def reduces_rows(self) -> bool:
        """Whether elements that lie side by side, many of them, become one."""
        if not self.reductions or 0 <= self.known_count(self.reductions) < _LONG:
            return False
        lasts = [map_.results[-1] for map_ in self.maps[: self.input_count] if len(map_.results)]
        return all(isinstance(last, ir.AffineDimExpr) and last.position in self.reductions for last in lasts)

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
        memref = self.operation.operands[place]
        if WHOLE in indices and self._goes_through(place):
            return flat(memref), [as_index(indices[WHOLE])]
        return memref, [affine_value(expr, lambda dim: self._index(indices, dim)) for expr in self.maps[place].results]

    def _index(self, indices: Indices, dim: int) -> Value:
        return indices[dim] if dim in indices else as_index(0).value

    def _goes_through(self, place: int) -> bool:
        """Whether an operand's elements are those of the points, one after the other."""
        type_, exprs = self.operation.operands[place].type, list(self.maps[place].results)
        dims = [expr.position if isinstance(expr, ir.AffineDimExpr) else None for expr in exprs]
        return isinstance(type_, ir.MemRefType) and len(dims) > 1 and dims == self.parallels and is_dense(type_)

    def first(self, indices: Indices) -> list[Value]:
        """What the outputs hold before."""
        return [self.load(place, indices) for place in range(self.input_count, len(self.maps))]

    def reduced(
        self, indices: Indices, first: Sequence[Value | None], step: Callable[[Indices, Sequence[Value]], list[Value]]
    ) -> list[Value]:
        """What `step(indices, before)` makes of values at all steps of the reductions, one after the other."""

        def enter(dims: list[int], inner: Indices, before: Sequence[Value]) -> list[Value]:
            if not dims:
                return step(inner, before)
            dim, *rest = dims
            return for_range(0, self.size(dim), lambda i, *held: enter(rest, {**inner, dim: i}, held), *before)

        return enter(self.reductions, dict(indices), [value for value in first if value is not None])

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
        return bool(self.reductions) or any(self.is_read(place) for place in range(self.input_count, len(self.maps)))

    def is_read(self, place: int) -> bool:
        """Whether the body uses an operand's elements."""
        return next(iter(self.block.arguments[place].uses), None) is not None

    def body(self, indices: Indices, before: Sequence[Value | None]) -> list[Value]:
        """What the body yields at a point."""
        inputs = {place: self.load(place, indices) for place in range(self.input_count) if self.is_read(place)}
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
        operand = self.operation.operands[place]
        if not isinstance(operand.type, ir.MemRefType):
            return operand
        memref, at = self.element(place, indices)
        return load(memref, *at)


def _factor(memref: Value, axis: int) -> int:
    """What the size of an axis is a multiple of, which may be several that became one."""
    joined = made_by(memref, "memref.collapse_shape")
    if memref.type.shape[axis] != DYNAMIC or joined is None:
        return int(memref.type.shape[axis]) if memref.type.shape[axis] != DYNAMIC else 1
    group = [each.value for each in joined.attributes["reassociation"][axis]]
    return math.prod(_factor(joined.operands[0], each) for each in group)


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
        length = number(rest.beside(_narrowed(each) if is_narrow and not isinstance(each, int) else each))
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
