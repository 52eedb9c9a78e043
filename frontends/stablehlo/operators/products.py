# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of tensors: dimensions that are a batch, and dimensions that are summed over."""

from __future__ import annotations

from ...core.complex_numbers import Pair, multiplied
from ..hlo_types import is_complex
from ..prelude import Node, Outputs, Tensor, Value, cast, info_of, register_stablehlo, relax, sizes


@register_stablehlo("stablehlo.dot")
def dot(node: Node) -> Outputs:
    """Of vectors and matrices: the last dimension with the first."""
    dims = {"lhs_contracting_dimensions": [len(node.sizes_of_operand(0)) - 1], "rhs_contracting_dimensions": [0]}
    return _product(node, dims)


@register_stablehlo("stablehlo.dot_general")
def dot_general(node: Node) -> Outputs:
    return _product(node, node.attr("dot_dimension_numbers"))


def _product(node: Node, dims: dict[str, list[int]]) -> Outputs:
    """As a product of matrices where each operand has the batch in front, and one dimension of each other kind; of one
    matrix on the right and no batch as it is.
    """
    batch = (dims.get("lhs_batching_dimensions", []), dims.get("rhs_batching_dimensions", []))
    summed = (dims.get("lhs_contracting_dimensions", []), dims.get("rhs_contracting_dimensions", []))
    shapes = [node.sizes_of_operand(index) for index in (0, 1)]
    free = [
        [axis for axis in range(len(shape)) if axis not in (*batch[side], *summed[side])]
        for side, shape in enumerate(shapes)
    ]
    rows, columns = ([shapes[side][axis] for axis in free[side]] for side in (0, 1))
    count = [shapes[0][axis] for axis in batch[0]]
    depth = sizes.product([shapes[0][axis] for axis in summed[0]])
    is_by_rows = not count and len(columns) == len(summed[0]) == 1
    left = rows if is_by_rows and rows else [sizes.product(rows)]
    orders = ([*batch[0], *free[0], *summed[0]], [*batch[1], *summed[1], *free[1]])
    wanted = ([*count, *left, depth], [*count, depth, sizes.product(columns)])

    def as_matrices(x: Tensor, side: int) -> Tensor:
        moved = x if orders[side] == sorted(orders[side]) else relax.permute_dims(x, axes=orders[side])
        own = [shapes[side][axis] for axis in orders[side]]
        return moved if own == wanted[side] else sizes.reshaped(moved, wanted[side])

    def multiply(left: Tensor, right: Tensor) -> Tensor:
        made = _matmul(as_matrices(left, 0), as_matrices(right, 1), node.dtype)
        shape = [*count, *rows, *columns]
        return made if list(Value(ssa=made).shape or ()) == shape else sizes.reshaped(made, shape)

    if not is_complex(node.result_types[0]):
        return multiply(node.tensor(0), node.tensor(1))
    return multiplied(Pair(*node.pair(0)), Pair(*node.pair(1)), multiply).value()


def _matmul(left: Tensor, right: Tensor, dtype: str) -> Tensor:
    """Elements of a narrower type are widened by the product itself where both have the same."""
    one, other = info_of(left).dtype, info_of(right).dtype
    if dtype == "i1":
        made = relax.matmul(cast(left, "i32"), cast(right, "i32"))
        return cast(made, "i1")
    if one == other == dtype:
        return relax.matmul(left, right)
    if one == other:
        return relax.matmul(left, right, out_dtype=dtype)
    return relax.matmul(cast(left, dtype), cast(right, dtype))
