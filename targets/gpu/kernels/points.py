# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The points of a linalg operation on memory, written one by one: what a thread does."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, last_of, operations_of
from ....bindings.rewriting import copy_operation, located_error
from ....emit.linalg import affine_value, product, size
from ....emit.loops import for_range, load, nest, store
from ....emit.numbers import Number, Size, as_index, operation
from ....emit.structured import DYNAMIC

#: Of rows that a block's threads reduce together.
_LONG = 64
#: Of all loops.
Indices = Sequence[Value]


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
        places = [
            (operand, axis)
            for operand, map_ in zip(self.operation.operands, self.maps, strict=True)
            for axis, expr in enumerate(map_.results)
            if isinstance(expr, ir.AffineDimExpr) and expr.position == dim
        ]
        if not places:
            raise located_error(f"no operand says how far loop dimension {dim} goes", self.operation.location)
        known = [operand.type.shape[axis] for operand, axis in places if operand.type.shape[axis] != DYNAMIC]
        return int(known[0]) if known else size(*places[0])

    def known_size(self, dim: int) -> int:
        """The same as far as types tell, -1 where they do not."""
        sizes = [
            operand.type.shape[axis]
            for operand, map_ in zip(self.operation.operands, self.maps, strict=True)
            for axis, expr in enumerate(map_.results)
            if isinstance(expr, ir.AffineDimExpr) and expr.position == dim
        ]
        return next((int(size) for size in sizes if size != DYNAMIC), -1)

    def reduces_rows(self) -> bool:
        """Whether elements that lie side by side, many of them, become one."""
        if not self.reductions or 0 <= math.prod(self.known_size(dim) for dim in self.reductions) < _LONG:
            return False
        lasts = [map_.results[-1] for map_ in self.maps[: self.input_count] if len(map_.results)]
        return all(isinstance(last, ir.AffineDimExpr) and last.position in self.reductions for last in lasts)

    def count(self) -> Size:
        """How many points the parallel loops have."""
        return product([self.size(dim) for dim in self.parallels])

    def at(self, point: Value, dims: Sequence[int] | None = None) -> dict[int, Value]:
        """The indices of loops (the parallel ones) at a point counted through, the last loop fastest."""
        found: dict[int, Value] = {}
        rest, loops = as_index(point), self.parallels if dims is None else list(dims)
        for dim in reversed(loops[1:]):
            length = as_index(self.size(dim))
            found[dim] = operation("arith.remui", [rest, length], rest.type).value
            rest = operation("arith.divui", [rest, length], rest.type)
        if loops:
            found[loops[0]] = rest.value
        return found

    def first(self, indices: dict[int, Value]) -> list[Number]:
        """What the outputs hold before."""
        zero = as_index(0).value
        whole = [indices.get(dim, zero) for dim in range(self.maps[0].n_dims)]
        pairs = zip(self.outputs, self.maps[self.input_count :], strict=True)
        return [self._load(output, map_, whole) for output, map_ in pairs]

    def reduced(self, indices: dict[int, Value], first: Sequence[Value]) -> list[Value]:
        """The outputs' values at indices of the parallel loops: through all reductions, one after the other."""

        def enter(dims: list[int], inner: dict[int, Value], before: Sequence[Value]) -> list[Value]:
            if not dims:
                return self.body(inner, before)
            dim, *rest = dims
            return for_range(0, self.size(dim), lambda i, *held: enter(rest, {**inner, dim: i}, held), *before)

        return enter(self.reductions, dict(indices), first)

    def write(self, indices: dict[int, Value]) -> None:
        """Computes and stores the outputs' elements at these indices."""
        if self.reductions:
            self.store(self.reduced(indices, self.first(indices)), indices)
            return
        reads = any(self._is_read(place) for place in range(len(self.outputs)))
        self.store(self.body(indices, self.first(indices) if reads else [None] * len(self.outputs)), indices)

    def write_all(self) -> None:
        """The same, one after the other."""
        nest(
            [as_index(self.size(dim)) for dim in self.parallels],
            lambda *at: self.write(dict(zip(self.parallels, at, strict=True))),
        )

    def store(self, values: Sequence[Value], indices: dict[int, Value]) -> None:
        zero = as_index(0).value
        whole = [indices.get(dim, zero) for dim in range(self.maps[0].n_dims)]
        for value, output, map_ in zip(values, self.outputs, self.maps[self.input_count :], strict=True):
            store(value, output, *(affine_value(expr, whole.__getitem__) for expr in map_.results))

    def _is_read(self, place: int) -> bool:
        argument = self.block.arguments[self.input_count + place]
        return next(iter(argument.uses), None) is not None

    def body(self, indices: dict[int, Value], before: Sequence[Value | None]) -> list[Value]:
        """What the body yields at a point."""
        block = self.block
        whole = [indices[dim] for dim in range(self.maps[0].n_dims)]
        made: dict[Value, Value] = {}
        for place, argument in enumerate(block.arguments):
            if place >= self.input_count:
                held = before[place - self.input_count]
                if held is not None:
                    made[argument] = held
            elif next(iter(argument.uses), None) is not None:
                made[argument] = self._load(self.operation.operands[place], self.maps[place], whole)
        for op in operations_of(block)[:-1]:
            if op.name == "linalg.index":
                made[op.results[0]] = whole[op.attributes["dim"].value]
            else:
                _copy(op, made)
        return [made.get(value, value) for value in last_of(block).operands]

    def _load(self, operand: Value, map_: object, indices: Indices) -> Number:
        if not isinstance(operand.type, ir.MemRefType):
            return Number(operand)
        return load(operand, *(affine_value(expr, indices.__getitem__) for expr in map_.results))  # type: ignore[attr-defined]


def _copy(op: Operation, made: dict[Value, Value]) -> None:
    for operand in op.operands:
        made.setdefault(operand, operand)
    copy_operation(op, made)
