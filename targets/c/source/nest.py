# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A linalg.generic as a loop nest: its operands in memory, the loops' extents, where elements are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ....bindings.affine import ADD, CEILDIV, FLOORDIV, MUL, by_operators, dims_in, identity, plain_dim, value_of
from ....bindings.ir import AffineExpr, AffineMap, Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of
from ....emit.generic import GenericOp
from ....support.errors import RefusalError
from .expressions import Expression, Size, of_size, product, quotient, remainder
from .memref_views import MemrefView
from .memrefs import dense_row
from .writer import FunctionWriter


@dataclass(frozen=True)
class CNest:
    """An operation, its operands in memory (None: a scalar), and its loops' extents."""

    op: Operation
    maps: tuple[AffineMap, ...]
    views: tuple[MemrefView | None, ...]
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
        chosen = {dim for output in self.outputs for dim in dims_in(*self.maps[output].results)}
        count = 0
        for dim in reversed(range(len(self.sizes))):
            if dim not in self.reductions or dim in chosen:
                break
            count += 1
        return count


def nest_of(writer: FunctionWriter, op: Operation) -> CNest:
    generic = GenericOp(op)
    views = tuple(_view(writer, value) for value in generic.operands)
    sizes = tuple(_size(dim, generic.maps, views) for dim in range(len(generic.kinds)))
    return CNest(op, generic.maps, views, generic.input_count, sizes, frozenset(generic.reductions))


def _view(writer: FunctionWriter, value: Value) -> MemrefView | None:
    return writer.view(value) if isinstance(value.type, ir.MemRefType) else None


def _size(dim: int, maps: Sequence[AffineMap], views: Sequence[MemrefView | None]) -> Size:
    found: list[Size] = [
        view.sizes[axis]
        for map_, view in zip(maps, views, strict=True)
        if view is not None
        for axis, result in enumerate(map_.results)
        if plain_dim(result) == dim
    ]
    if not found:
        raise RefusalError(f"no operand says how far loop {dim} goes")
    return next((size for size in found if isinstance(size, int)), found[0])


def joined(nest: CNest) -> CNest:
    """With one loop where each operand's elements are gone through one after the other."""
    rank = len(nest.sizes)
    if rank < 2 or nest.reductions or GenericOp(nest.op).has_index:
        return nest
    whole = identity(rank, nest.op.context)
    for map_, view in zip(nest.maps, nest.views, strict=True):
        is_row = map_ == whole and view is not None and view.is_dense and view.sizes == nest.sizes
        if not is_row and (view is not None and len(view.sizes)):
            return nest
    count = product(nest.sizes)
    one = identity(1, nest.op.context)
    none = ir.AffineMap.get(1, 0, [], nest.op.context)
    views = tuple(dense_row(view, count) if view is not None and len(view.sizes) else view for view in nest.views)
    maps = tuple(one if view is not None and len(view.sizes) else none for view in views)
    return CNest(nest.op, maps, views, nest.input_count, (count,), nest.reductions)


def place_of(nest: CNest, operand: int, places: Sequence[Expression]) -> Expression:
    view = nest.views[operand]
    assert view is not None, operand
    return view.place([_index(result, places) for result in nest.maps[operand].results])


class _Index(NamedTuple):
    value: Size
    #: Whether it is seen to be at least 0, as loops count from 0.
    is_natural: bool


def _index(expression: AffineExpr, places: Sequence[Expression]) -> Expression:
    def dim(position: int) -> _Index:
        place = places[position]
        return _Index(place if place.number is None else place.number, True)

    index = value_of(expression, dim, _joined_index, lambda value: _Index(value, value >= 0))
    if index is None:
        raise RefusalError(f"the index {expression} has symbols, or rounds up")
    return of_size(index.value)


def _joined_index(sign: str, left: _Index | None, right: _Index | None) -> _Index | None:
    if left is None or right is None or sign == CEILDIV:
        return None
    is_natural = left.is_natural and right.is_natural
    if sign in (ADD, MUL):
        return _Index(by_operators(sign, left.value, right.value), is_natural)
    rounded = quotient if sign == FLOORDIV else remainder
    return _Index(rounded(left.value, right.value, is_natural=left.is_natural), is_natural)
