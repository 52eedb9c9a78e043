# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Determinants, by elimination."""

from __future__ import annotations

from typing import Any

from ..prelude import Node, Outputs, Tensor, const, register_onnx, relax

# Each row is a step of its own in the program.
_MOST_ROWS = 16


@register_onnx("", "Det")
def determinant(node: Node) -> Outputs:
    shape, dtype = node.value(0).shape, node.value(0).dtype
    if node.rank(0) < 2:
        raise node.fail(f"a matrix has 2 dimensions or more, not {node.rank(0)}")
    rows = None if shape is None else shape[-2] if isinstance(shape[-2], int) else shape[-1]
    if not isinstance(rows, int) or not 0 < rows <= _MOST_ROWS:
        raise node.fail(f"matrices must have a known size of at most {_MOST_ROWS}, got {rows}")
    matrix, factors = node.tensor(0), []
    for left in range(rows, 1, -1):
        factor, matrix = _eliminated(matrix, left, dtype)
        factors.append(factor)
    result = relax["squeeze"](matrix, axis=[-2, -1])
    for factor in factors:
        result = relax["multiply"](result, factor)
    return result


def _eliminated(matrix: Tensor, rows: int, dtype: str) -> tuple[Any, Any]:
    """A factor of the determinant, and the matrix that is left: without the row of the first column's largest element.

    The first row takes that row's place.
    """
    place = relax["argmax"](relax["abs"](_column(matrix, 0)), axis=-1, keepdims=True)
    is_pivot = relax["equal"](const(list(range(rows)), "i64"), place)
    is_pivot_row = relax["expand_dims"](is_pivot, axis=[-1])
    zero, one = const(0, dtype), const(1, dtype)
    pivot_row = relax["sum"](relax["where"](is_pivot_row, matrix, zero), axis=[-2], keepdims=True)
    pivot = _column(relax["squeeze"](pivot_row, axis=[-2]), 0, axis=-1)
    first = relax["strided_slice"](matrix, axes=[-2], begin=[0], end=[1])
    others = relax["strided_slice"](relax["where"](is_pivot_row, first, matrix), axes=[-2], begin=[1], end=[rows])
    # A column of zeros makes the determinant 0, whatever is subtracted.
    divisor = relax["where"](relax["equal"](pivot, zero), one, pivot)
    shares = relax["divide"](_column(others, 0), relax["expand_dims"](divisor, axis=[-1]))
    left = relax["subtract"](others, relax["multiply"](relax["expand_dims"](shares, axis=[-1]), pivot_row))
    sign = relax["where"](relax["equal"](relax["squeeze"](place, axis=[-1]), const(0, "i64")), one, const(-1, dtype))
    return relax["multiply"](sign, pivot), relax["strided_slice"](left, axes=[-1], begin=[1], end=[rows])


def _column(x: Tensor, index: int, axis: int = -1) -> Tensor:
    return relax["squeeze"](relax["strided_slice"](x, axes=[axis], begin=[index], end=[index + 1]), axis=[axis])
