# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A linalg.generic as a nest of loops: its operands as they lie in memory, how far loops go, where elements are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....bindings.ir import AffineExpr, AffineMap, Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_in
from ....support.errors import RelaxError
from .expressions import Expression, Size, of_size, plus, quotient, remainder, times
from .memory import dense_row
from .views import View
from .writer import FunctionWriter


@dataclass(frozen=True)
class Nest:
    """An operation, its operands as they lie in memory (None: a scalar), and how far its loops go."""

    op: Operation
    maps: tuple[AffineMap, ...]
    views: tuple[View | None, ...]
    input_count: int
    sizes: tuple[Size, ...]
    reductions: frozenset[int]

    @property
    def block(self) -> Block:
        return body_of(self.op)

    @property
    def outputs(self) -> range:
        """The numbers of the outputs among the operands."""
        return range(self.input_count, len(self.views))

    @property
    def carried(self) -> int:
        """How many of the last loops only add to elements that they do not choose."""
        chosen = {dim for output in self.outputs for dim in dims_of(self.maps[output])}
        count = 0
        for dim in reversed(range(len(self.sizes))):
            if dim not in self.reductions or dim in chosen:
                break
            count += 1
        return count


def dims_of(map_: AffineMap) -> set[int]:
    return {dim for result in map_.results for dim in dims_in(result)}


def dims_in(expression: AffineExpr) -> set[int]:
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position}
    if isinstance(expression, ir.AffineBinaryExpr):
        return dims_in(expression.lhs) | dims_in(expression.rhs)
    return set()


def nest_of(writer: FunctionWriter, op: Operation) -> Nest:
    maps = tuple(attribute.value for attribute in op.attributes["indexing_maps"])
    iterators = [str(attribute) for attribute in op.attributes["iterator_types"]]
    views = tuple(_view(writer, value) for value in op.operands)
    sizes = tuple(_size(dim, maps, views) for dim in range(len(iterators)))
    reductions = frozenset(dim for dim, iterator in enumerate(iterators) if "reduction" in iterator)
    return Nest(op, maps, views, next(iter(op.attributes["operandSegmentSizes"])), sizes, reductions)


def _view(writer: FunctionWriter, value: Value) -> View | None:
    return writer.view(value) if isinstance(value.type, ir.MemRefType) else None


def _size(dim: int, maps: Sequence[AffineMap], views: Sequence[View | None]) -> Size:
    found: list[Size] = [
        view.sizes[axis]
        for map_, view in zip(maps, views, strict=True)
        if view is not None
        for axis, result in enumerate(map_.results)
        if isinstance(result, ir.AffineDimExpr) and result.position == dim
    ]
    if not found:
        raise RelaxError(f"no operand says how far loop {dim} goes")
    return next((size for size in found if isinstance(size, int)), found[0])


def joined(nest: Nest) -> Nest:
    """With one loop where each operand's elements are gone through one after the other."""
    rank = len(nest.sizes)
    names = {op.name for op in operations_in(nest.op)}
    if rank < 2 or nest.reductions or "linalg.index" in names:
        return nest
    identity = ir.AffineMap.get_identity(rank, nest.op.context)
    for map_, view in zip(nest.maps, nest.views, strict=True):
        is_row = map_ == identity and view is not None and view.is_dense and view.sizes == nest.sizes
        if not is_row and (view is not None and len(view.sizes)):
            return nest
    count: Size = 1
    for size in nest.sizes:
        count = times(count, size)
    one = ir.AffineMap.get_identity(1, nest.op.context)
    none = ir.AffineMap.get(1, 0, [], nest.op.context)
    views = tuple(dense_row(view, count) if view is not None and len(view.sizes) else view for view in nest.views)
    maps = tuple(one if view is not None and len(view.sizes) else none for view in views)
    return Nest(nest.op, maps, views, nest.input_count, (count,), nest.reductions)


def place_of(nest: Nest, operand: int, places: Sequence[Expression]) -> Expression:
    view = nest.views[operand]
    assert view is not None, operand
    return view.place([_index(result, places) for result in nest.maps[operand].results])


def _index(expression: AffineExpr, places: Sequence[Expression]) -> Expression:
    return of_size(_affine(expression, places))


def _affine(expression: AffineExpr, places: Sequence[Expression]) -> Size:
    if isinstance(expression, ir.AffineDimExpr):
        place = places[expression.position]
        return place if place.number is None else place.number
    if isinstance(expression, ir.AffineConstantExpr):
        return int(expression.value)
    if not isinstance(expression, ir.AffineBinaryExpr):
        raise RelaxError(f"the index {expression} is no formula of its loops")
    left, right = _affine(expression.lhs, places), _affine(expression.rhs, places)
    if isinstance(expression, ir.AffineAddExpr):
        return plus(left, right)
    if isinstance(expression, ir.AffineMulExpr):
        return times(left, right)
    rounded = {ir.AffineFloorDivExpr: quotient, ir.AffineModExpr: remainder}.get(type(expression))
    if rounded is None:
        raise RelaxError(f"the index {expression} rounds up")
    return rounded(left, right, is_natural=_is_natural(expression.lhs))


def _is_natural(expression: AffineExpr) -> bool:
    """Whether it is seen to be at least 0, as loops count from 0."""
    if isinstance(expression, ir.AffineConstantExpr):
        return bool(expression.value >= 0)
    if isinstance(expression, ir.AffineBinaryExpr):
        return _is_natural(expression.lhs) and _is_natural(expression.rhs)
    return isinstance(expression, ir.AffineDimExpr)
