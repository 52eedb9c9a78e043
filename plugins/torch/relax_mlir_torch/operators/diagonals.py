# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of diagonals and triangles of matrices, which are by default the last two dimensions."""

from __future__ import annotations

from ..prelude import Outputs, Tensor, TorchNode, Value, cast, const, register_torch, relax, sizes


@register_torch("aten::diagonal", "aten::diagonal_copy", "aten::linalg_diagonal")
def diagonal(node: TorchNode) -> Outputs:
    """Return a diagonal as a new last dimension."""
    rank = node.rank(0)
    first, second = (node.axis(name, rank, default) for name, default in (("dim1", 0), ("dim2", 1)))
    order = [axis for axis in range(rank) if axis not in (first, second)]
    x = Value(ssa=relax.permute_dims(node.tensor(0), axes=[*order, first, second]))
    return _diagonal(x, node.int("offset", 0), node.sizes_of_result[-1])


def _diagonal(x: Value, offset: int, length: sizes.Size) -> Tensor:
    """Gather a diagonal from the flattened matrix."""
    *front, rows, columns = sizes.sizes_of(x)
    row = sizes.reshaped(x.ssa, [*front, sizes.times(rows, columns)])
    first = offset if offset >= 0 else sizes.times(columns, -offset)
    steps = relax.multiply(sizes.count_up(length), sizes.as_tensor([sizes.plus(columns, 1)]))
    return relax.take(row, relax.add(steps, sizes.as_tensor([first])), axis=len(front))


@register_torch("aten::trace")
def trace(node: TorchNode) -> Outputs:
    x = node.value(0)
    rows, columns = sizes.sizes_of(x)
    return relax.sum(cast(_diagonal(x, 0, sizes.smaller(rows, columns)), node.dtype))


@register_torch("aten::diag")
def diag(node: TorchNode) -> Outputs:
    """Convert diag: a matrix with this diagonal, or the diagonal of a matrix."""
    offset = node.int("diagonal", 0)
    if node.rank(0) == 1:
        return _with_diagonal(node, offset)
    return _diagonal(node.value(0), offset, node.sizes_of_result[0])


@register_torch("aten::diag_embed")
def diag_embed(node: TorchNode) -> Outputs:
    rank = node.rank(0) + 1
    first, second = (node.axis(name, rank, default) for name, default in (("dim1", -2), ("dim2", -1)))
    tensor = _with_diagonal(node, node.int("offset", 0))
    rest = iter(range(rank - 2))
    places = {first: rank - 2, second: rank - 1}
    return relax.permute_dims(tensor, axes=[places[axis] if axis in places else next(rest) for axis in range(rank)])


def _with_diagonal(node: TorchNode, offset: int) -> Tensor:
    """Return matrices with the last dimension's elements where column minus row is `offset`."""
    x = node.tensor(0)
    rank = node.rank(0)
    length = sizes.plus(sizes.sizes_of(node.value(0))[-1], abs(offset))
    if offset:
        # Padding behind the elements. Positions outside of the diagonal are masked below.
        x = relax.nn.pad(x, pad_width=[*[0] * (2 * rank - 1), abs(offset)])
    along = relax.expand_dims(x, axis=[rank if offset >= 0 else rank - 1])
    rows, columns = (sizes.positions([length, length], axis) for axis in (0, 1))
    is_there = relax.equal(relax.subtract(columns, rows), const(offset, "i64"))
    return relax.where(is_there, along, const(0, node.dtype))


@register_torch("aten::tril", "aten::triu")
def triangle(node: TorchNode) -> Outputs:
    kept = node.op.partition("::")[2][:4]
    return relax.dialect.ops[kept](node.tensor(0), node.get("diagonal", 0))


@register_torch("aten::tril_indices", "aten::triu_indices")
def triangle_indices(node: TorchNode) -> Outputs:
    import numpy

    rows, columns, offset = (node.int(name, 0) for name in ("row", "col", "offset"))
    node.take_table("the indices of its elements", 2, rows, columns)
    find = numpy.tril_indices if "tril" in node.op else numpy.triu_indices
    found = numpy.stack(find(rows, offset, columns))
    return Value(array=found.astype("int32" if node.dtype == "i32" else "int64"))
