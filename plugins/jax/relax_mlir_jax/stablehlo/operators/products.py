# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of tensors with batch dimensions and contracted dimensions."""

from __future__ import annotations

from relax_mlir.frontends.core.complex_numbers import each_part, multiplied
from relax_mlir.frontends.core.grouped_products import grouped_product

from ..hlo_types import is_complex
from ..prelude import (
    HloNode,
    Outputs,
    Tensor,
    Value,
    along_axis,
    cast,
    info_of,
    like,
    part,
    register_stablehlo,
    relax,
    sizes,
)  # fmt: skip


@register_stablehlo("stablehlo.dot")
def dot(node: HloNode) -> Outputs:
    """Multiply vectors and matrices: the last dimension with the first."""
    dims = {"lhs_contracting_dimensions": [len(node.sizes_of_operand(0)) - 1], "rhs_contracting_dimensions": [0]}
    return _product(node, dims)


@register_stablehlo("stablehlo.dot_general")
def dot_general(node: HloNode) -> Outputs:
    return _product(node, node.attr("dot_dimension_numbers"))


def _product(node: HloNode, dims: dict[str, list[int]]) -> Outputs:
    def multiply(left: Tensor, right: Tensor) -> Tensor:
        return product(left, right, dims, node.dtype)

    if not is_complex(node.result_types[0]):
        return multiply(node.tensor(0), node.tensor(1))
    return multiplied(node.pair(0), node.pair(1), multiply).value()


_OTHER = {"lhs": "rhs", "rhs": "lhs"}


def _is_in_order(axes: list[int]) -> bool:
    return axes == sorted(axes)


def product(left: Tensor, right: Tensor, dims: dict[str, list[int]], dtype: str) -> Tensor:
    """Return a product as a matrix product with the batch in front and one dimension of each other kind.

    A single matrix on the right without a batch needs no reshaping. Where both operands of a batch would be transposed,
    and the right one has its rows in order, the transposed product moves less: attention's weights times its values.
    """
    batch = (dims.get("lhs_batching_dimensions", []), dims.get("rhs_batching_dimensions", []))
    summed = (dims.get("lhs_contracting_dimensions", []), dims.get("rhs_contracting_dimensions", []))
    shapes = [sizes.sizes_of(Value(ssa=tensor)) for tensor in (left, right)]
    free = [
        [axis for axis in range(len(shape)) if axis not in (*batch[side], *summed[side])]
        for side, shape in enumerate(shapes)
    ]
    rows, columns = ([shapes[side][axis] for axis in free[side]] for side in (0, 1))
    count = [shapes[0][axis] for axis in batch[0]]
    depth = sizes.product([shapes[0][axis] for axis in summed[0]])
    is_by_rows = not count and len(columns) == len(summed[0]) == 1
    height = rows if is_by_rows and rows else [sizes.product(rows)]
    orders = ([*batch[0], *free[0], *summed[0]], [*batch[1], *summed[1], *free[1]])
    if count and not any(map(_is_in_order, orders)) and _is_in_order([*batch[1], *free[1], *summed[1]]):
        turned = product(right, left, {_OTHER[name[:3]] + name[3:]: axes for name, axes in dims.items()}, dtype)
        first, end = len(count) + len(columns), len(count) + len(columns) + len(rows)
        return relax.permute_dims(turned, axes=[*range(len(count)), *range(first, end), *range(len(count), first)])
    wanted = ([*count, *height, depth], [*count, depth, sizes.product(columns)])

    def as_matrices(x: Tensor, side: int) -> Tensor:
        moved = x if _is_in_order(orders[side]) else relax.permute_dims(x, axes=orders[side])
        own = [shapes[side][axis] for axis in orders[side]]
        return moved if own == wanted[side] else sizes.reshaped(moved, wanted[side])

    made = _matmul(as_matrices(left, 0), as_matrices(right, 1), dtype)
    shape = [*count, *rows, *columns]
    return made if list(Value(ssa=made).shape or ()) == shape else sizes.reshaped(made, shape)


def _matmul(left: Tensor, right: Tensor, dtype: str) -> Tensor:
    """Multiply matrices. The product itself widens operands of one narrower type."""
    one, other = info_of(left).dtype, info_of(right).dtype
    if dtype == "i1":
        return cast(relax.matmul(cast(left, "i32"), cast(right, "i32")), "i1")
    if one == other == dtype:
        return relax.matmul(left, right)
    if one == other:
        return relax.matmul(left, right, out_dtype=dtype)
    return relax.matmul(cast(left, dtype), cast(right, dtype))


@register_stablehlo("stablehlo.einsum", "stablehlo.unary_einsum")
def einsum(node: HloNode) -> Outputs:
    labels = node.attr("einsum_config").replace(" ", "")
    if not node.is_complex:
        return relax.einsum(node.tensors(), subscripts=labels)
    if len(node.inputs) == 1:
        return each_part(node.pair(0), lambda x: relax.einsum([x], subscripts=labels)).value()
    return multiplied(node.pair(0), node.pair(1), lambda x, y: relax.einsum([x, y], subscripts=labels)).value()


# ---- products with groups: their sizes along a dimension of the left operand are data ----


@register_stablehlo("chlo.ragged_dot")
def ragged_dot(node: HloNode) -> Outputs:
    dims = node.attr("ragged_dot_dimension_numbers")
    (ragged,) = dims["lhs_ragged_dimensions"]
    groups = node.value(2)
    if node.is_complex:
        raise node.fail("it is not supported for complex numbers")
    if ragged in dims.get("lhs_batching_dimensions", []):
        return product(node.tensor(0), node.tensor(1), dims, node.dtype)
    (count,) = groups.shape if groups.rank == 1 and groups.shape else (None,)
    if not isinstance(count, int):
        raise node.fail("its groups must be as many everywhere, and of the same sizes in all of the batch")
    ends = relax.cumsum(cast(groups.ssa, "i64"), axis=0)
    if ragged in dims.get("lhs_contracting_dimensions", []):
        return _sums_of_groups(node, dims, ragged, ends, count)
    return _rows_of_groups(node, dims, ragged, ends, count)


def _is_in_group(ends: Tensor, index: int, places: Tensor) -> Tensor:
    is_before = relax.less(places, sizes.element(ends, index))
    if index == 0:
        return is_before
    return relax.logical_and(is_before, relax.greater_equal(places, sizes.element(ends, index - 1)))


def _sums_of_groups(node: HloNode, dims: dict[str, list[int]], ragged: int, ends: Tensor, count: int) -> Tensor:
    """Multiply where groups divide the contracted dimension: one product per group."""
    left, right = node.tensor(0), node.tensor(1)
    places = along_axis(sizes.count_up(node.sizes_of_operand(0)[ragged]), ragged, node.rank(0))
    parts = [
        product(relax.where(_is_in_group(ends, index, places), left, like(left, 0)), right, dims, node.dtype)
        for index in range(count)
    ]
    return relax.stack(parts, axis=0)


def _rows_of_groups(node: HloNode, dims: dict[str, list[int]], ragged: int, ends: Tensor, count: int) -> Tensor:
    """Multiply where groups divide the rows: each group has its own right operand."""
    (group,) = dims["rhs_group_dimensions"]
    summed = (dims["lhs_contracting_dimensions"], dims["rhs_contracting_dimensions"])
    left, right = node.tensor(0), node.tensor(1)
    if (node.rank(0), node.rank(1), group, *summed) == (2, 3, 0, [1], [1]) and node.dtype == node.value(0).dtype:
        size = sizes.as_scalar(node.sizes_of_operand(0)[ragged], "i64")
        return grouped_product(node.value(0), right, relax.minimum(ends, size), count)
    inner = dict(dims)
    for name in ("rhs_batching_dimensions", "rhs_contracting_dimensions"):
        inner[name] = [axis - (axis > group) for axis in dims.get(name, [])]
    batch = dims.get("lhs_batching_dimensions", [])
    free = [axis for axis in range(node.rank(0)) if axis not in (*batch, *summed[0])]
    place = len(batch) + free.index(ragged)
    places = along_axis(sizes.count_up(node.sizes_of_operand(0)[ragged]), place, len(node.info.shape or ()))
    made = sizes.zeros(list(node.info.shape or ()), node.dtype)
    for index in range(count):
        matrix = part(right, group, index, index + 1, drop=True)
        made = relax.where(_is_in_group(ends, index, places), product(left, matrix, inner, node.dtype), made)
    return made
