# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Register tiling of sums of products: rows and columns of results grow in an array that compilers keep in registers.

Loops over rows and columns have constant bounds: compilers unroll the first and make vectors of the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ....bindings.affine import dims_in, linear_form
from .expressions import Size
from .nest import CNest
from .types import BYTES, scalar_type

#: Of results at a time. With fewer columns GCC unrolls what it would make vectors of.
_ROWS, _COLUMNS, _LEAST_COLUMNS = 8, 32, 17
#: Where there are only one or two rows.
_COLUMNS_OF_FEW = 64
#: Of an element; there are half as many rows of larger ones.
_USUAL_BYTES = 4
#: Sums of less are not worth it.
_LEAST_TERMS = 8


@dataclass(frozen=True)
class RegisterTile:
    """How many results are computed at a time, along which loops, and the order of all."""

    column: int
    columns: int
    #: None where all results of a column share nothing.
    row: int | None
    rows: int
    outer: tuple[int, ...]
    reductions: tuple[int, ...]

    def step(self, dim: int) -> int:
        return self.columns if dim == self.column else self.rows if dim == self.row else 1


def tile_of(nest: CNest) -> RegisterTile | None:
    """The tile of a sum of products, whose last loops add up; None for what is better off with plain loops."""
    if not _is_product(nest):
        return None
    free = range(len(nest.sizes) - nest.carried)
    column = next((dim for dim in reversed(free) if _is_column(nest, dim)), None)
    if column is None:
        return None
    row = next((dim for dim in reversed(free) if dim != column and _is_row(nest, dim, column)), None)
    rows = 1 if row is None else _row_count(nest.sizes[row], _most_rows(nest))
    shared, single = _split(nest, [dim for dim in free if dim not in (row, column)])
    return RegisterTile(
        column, _column_count(nest.sizes[column], rows), row, rows,
        (*shared, column, *single, *([] if row is None else [row])), _by_strides(nest, column),
    )  # fmt: skip


def _is_product(nest: CNest) -> bool:
    """Whether there is one result, made of several operands, by sums of some length."""
    terms = 1
    for size in nest.sizes[len(nest.sizes) - nest.carried :]:
        terms *= size if isinstance(size, int) else _LEAST_TERMS
    factors = [view for view in nest.views[: nest.input_count] if view is not None and len(view.sizes)]
    return len(nest.outputs) == 1 and len(factors) > 1 and terms >= _LEAST_TERMS


def _is_column(nest: CNest, dim: int) -> bool:
    """Whether the result, and what is not the same for all of a loop's points, are contiguous along the loop."""
    size = nest.sizes[dim]
    (output,) = nest.outputs
    steps = [stride_along(nest, operand, dim) for operand in range(nest.input_count)]
    is_long = isinstance(size, int) and size >= _LEAST_COLUMNS
    return is_long and stride_along(nest, output, dim) == 1 and {1} <= set(steps) <= {0, 1}


def _is_row(nest: CNest, dim: int, column: int) -> bool:
    """Whether something that differs along the columns is the same for all results along this loop."""
    across = [operand for operand in range(nest.input_count) if stride_along(nest, operand, column) == 1]
    return nest.sizes[dim] != 1 and any(dim not in dims_in(*nest.maps[operand].results) for operand in across)


def stride_along(nest: CNest, operand: int, dim: int) -> int | None:
    """An operand's stride along a loop; None where dynamic."""
    view = nest.views[operand]
    total = 0
    for result, stride in zip(nest.maps[operand].results, view.strides if view is not None else (), strict=False):
        if dim not in dims_in(result):
            continue
        form = linear_form(result)
        if form is None or not isinstance(stride, int):
            return None
        total += form.factor(dim) * stride
    return total


def _most_rows(nest: CNest) -> int:
    """The most rows for which all sums have place in registers."""
    argument = nest.block.arguments[nest.input_count]
    return _ROWS if BYTES[scalar_type(argument.type)] <= _USUAL_BYTES else _ROWS // 2


def _row_count(size: Size, most: int) -> int:
    if not isinstance(size, int):
        return most
    return size if size < most else next((each for each in range(most, most // 2, -1) if size % each == 0), most)


def _column_count(size: Size, rows: int) -> int:
    assert isinstance(size, int)
    if rows < 3 and size % _COLUMNS_OF_FEW == 0:
        return _COLUMNS_OF_FEW
    if size < _COLUMNS:
        return size
    return next((count for count in (32, 48, 40, 24) if size % count == 0), _COLUMNS)


def _split(nest: CNest, dims: Sequence[int]) -> tuple[list[int], list[int]]:
    """Those that all operands follow, which come first, and those that leave one as it is: it is used again sooner."""
    shared = [dim for dim in dims if all(dim in dims_in(*map_.results) for map_ in nest.maps)]
    return shared, [dim for dim in dims if dim not in shared]


def _by_strides(nest: CNest, column: int) -> tuple[int, ...]:
    """The loops that add up: what is contiguous along the columns is gone through from first to last."""
    dims = range(len(nest.sizes) - nest.carried, len(nest.sizes))
    across = next(operand for operand in range(nest.input_count) if stride_along(nest, operand, column) == 1)
    strides = {dim: stride_along(nest, across, dim) for dim in dims}
    return tuple(sorted(dims, key=lambda dim: -(math.inf if strides[dim] is None else strides[dim] or 0)))
