# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that read elements at indices, or find indices. Operators that write are in scatters.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..prelude import (
    Outputs,
    Tensor,
    TorchNode,
    Value,
    cast,
    const,
    like,
    part,
    register_rows,
    register_torch,
    relax,
    sizes,
)
from .reductions import norm

# ---- lists of index tensors ----


class Indexed(NamedTuple):
    """Tensor with its indexed dimensions first, and the indices."""

    x: Tensor
    indices: list[Tensor]
    #: The dimensions of the original tensor in their new order.
    order: list[int]
    #: Position of the indices' dimensions among the other dimensions of the result.
    place: int


def indexed(node: TorchNode, x: Tensor) -> Indexed:
    """Prepare `x[indices]`. A mask becomes the indices of its true elements; None takes all of a dimension."""
    tensors: list[Tensor | None] = []
    for value in node.optional_values("indices"):
        if value is None:
            tensors.append(None)
        elif value.dtype not in ("i1", "ui8"):
            tensors.append(value.ssa)
        elif value.rank == 0:
            raise node.fail("a 0-D mask is not supported: use torch.where instead", "indices")
        else:
            tensors += coordinates(value.ssa)
    axes = [axis for axis, tensor in enumerate(tensors) if tensor is not None]
    order = axes + [axis for axis in range(x.type.rank) if axis not in axes]
    is_adjacent = axes == list(range(axes[0], axes[0] + len(axes))) if axes else True
    place = axes[0] if axes and is_adjacent else 0
    return Indexed(ordered(x, order), [tensor for tensor in tensors if tensor is not None], order, place)


def coordinates(mask: Tensor) -> list[Tensor]:
    """Return the indices of nonzero elements along each dimension."""
    found = relax.nonzero(mask)
    return [part(found, 0, axis, axis + 1, drop=True) for axis in range(mask.type.rank)]


def ordered(x: Tensor, order: Sequence[int]) -> Tensor:
    return x if list(order) == list(range(len(order))) else relax.permute_dims(x, axes=list(order))


def common_rank(tensors: Sequence[Tensor]) -> int:
    return max(tensor.type.rank for tensor in tensors)


@register_torch("aten::index.Tensor", "aten::_unsafe_index")
def index(node: TorchNode) -> Outputs:
    x = node.tensor("self")
    optional_values = node.optional_values("indices")
    if not (axes := [axis for axis, value in enumerate(optional_values) if value is not None]):
        return x
    if len(axes) == 1 and (only := optional_values[axes[0]]) is not None and only.dtype not in ("i1", "ui8"):
        return relax.take(x, only.ssa, axis=axes[0])
    found = indexed(node, x)
    taken = relax.index_tensor(found.x, found.indices)
    count, place = common_rank(found.indices), found.place
    kept = list(range(count, taken.type.rank))
    return ordered(taken, [*kept[:place], *range(count), *kept[place:]])


# ---- indexing along a dimension ----


def at_least_1d(x: Tensor) -> Tensor:
    return relax.reshape(x, (1,)) if x.type.rank == 0 else x


@register_torch("aten::gather")
def gather(node: TorchNode) -> Outputs:
    rank, x, places = node.rank("index"), node.tensor("self"), node.tensor("index")
    axis = node.axis("dim", node.rank("self"))
    if max(rank, 1) != max(node.rank("self"), 1):  # An empty index may have another rank.
        return sizes.zeros(node.sizes_of_result, node.dtype)
    made = relax.gather_elements(at_least_1d(x), at_least_1d(places), axis=axis)
    return made if rank else relax.reshape(made, ())


@register_torch("aten::take_along_dim")
def take_along_dim(node: TorchNode) -> Outputs:
    """Convert take_along_dim.

    Operands are broadcast outside of the dimension; without a dimension, they are flattened.
    """
    if not node.has("dim"):
        return relax.take(relax.flatten(node.tensor("self")), relax.flatten(node.tensor("indices")), axis=0)
    axis, x, places = node.axis("dim", node.rank("self")), node.value("self"), node.value("indices")
    result, own = node.sizes_of_result, sizes.sizes_of(x)
    data = sizes.broadcast(x.ssa, [*result[:axis], own[axis], *result[axis + 1 :]])
    return relax.gather_elements(data, sizes.broadcast(places.ssa, result), axis=axis)


@register_torch("aten::index_select", "aten::index_select.default")
def index_select(node: TorchNode) -> Outputs:
    x, rank = node.tensor("self"), node.rank("self")
    if rank == 0:
        return relax.reshape(relax.take(at_least_1d(x), at_least_1d(node.tensor("index")), axis=0), ())
    return relax.take(x, at_least_1d(node.tensor("index")), axis=node.axis("dim", rank))


register_rows(
    {
        "aten::embedding": lambda node: relax.take(node.tensor("weight"), node.tensor("indices"), axis=0),
        "aten::take": lambda node: relax.take(relax.flatten(node.tensor("self")), node.tensor("index"), axis=0),
        "aten::nonzero aten::argwhere": lambda node: _nonzero(node),
        "aten::masked_select": lambda node: _masked_select(node),
    }
)


# ---- nonzero elements and masks ----


def _nonzero(node: TorchNode) -> Tensor:
    """Return a row of indices for each nonzero element. Rows of a 0-D tensor are empty."""
    rows = relax.permute_dims(relax.nonzero(node.tensor("self")), axes=[1, 0])
    return rows if node.rank("self") else part(rows, 1, 0, 0)


@register_torch("aten::nonzero_static")
def nonzero_of_size(node: TorchNode) -> Outputs:
    """Convert nonzero_static: the first `size` rows. Missing rows are filled."""
    size, rank = node.size("size"), node.rank("self")
    rows = _nonzero(node)
    enough = relax.concat([rows, sizes.full([size, rank], const(node.int("fill_value", -1), "i64"))], axis=0)
    return sizes.sliced(Value(ssa=enough), {0: (0, size, 1)}, {0: size})


def _masked_select(node: TorchNode) -> Tensor:
    x, mask = node.value("self"), node.value("mask")
    shape = _broadcast_shape(sizes.sizes_of(x), sizes.sizes_of(mask))
    flat = relax.flatten(sizes.broadcast(x.ssa, shape))
    found = relax.nonzero(relax.flatten(sizes.broadcast(mask.ssa, shape)))
    return relax.take(flat, relax.squeeze(found, axis=[0]), axis=0)


def _broadcast_shape(*shapes: Sequence[sizes.Size]) -> list[sizes.Size]:
    rank = max(map(len, shapes))
    padded = [[1] * (rank - len(shape)) + list(shape) for shape in shapes]
    return [next((size for size in column if size != 1), 1) for column in zip(*padded, strict=True)]


# ---- embeddings ----


@register_torch("aten::one_hot")
def one_hot(node: TorchNode) -> Outputs:
    places, classes = node.tensor("self", "i64"), sizes.count_up(node.size("num_classes"))
    return cast(relax.equal(relax.expand_dims(places, axis=[-1]), classes), "i64")


@register_torch("aten::embedding_renorm")
def embedding_renorm(node: TorchNode) -> Outputs:
    """Convert embedding_renorm: scale rows that are read down to a maximum norm."""
    weight, limit = node.tensor("self"), like(node.tensor("self"), node.float("max_norm"))
    lengths = norm(relax.abs(weight), node.float("norm_type"), axes=[1], keepdims=True)
    is_read = relax.zeros((sizes.sizes_of(node.value("self"))[0],), "i1")
    places = relax.flatten(node.tensor("indices"))
    is_read = relax.scatter_elements(is_read, places, relax.ones_like(places, dtype="i1"), axis=0)
    is_scaled = relax.logical_and(relax.expand_dims(is_read, axis=[1]), relax.greater(lengths, limit))
    scale = relax.divide(limit, relax.add(lengths, like(lengths, 1e-7)))
    return relax.where(is_scaled, relax.multiply(weight, scale), weight)


@register_torch("aten::embedding_bag", "aten::_embedding_bag", "aten::_embedding_bag_forward_only")
def embedding_bag(node: TorchNode) -> Outputs:
    """Convert embedding_bag: sum, mean or maximum of the rows of each bag. A bag begins at the end of the last one.

    The other results are for the gradient, which needs only the indices of maxima.
    """
    others = [
        sizes.zeros(node.result_sizes(index), node.dtype_of_result(index)) if is_wanted else None
        for index, is_wanted in enumerate(node.is_wanted[1:], 1)
    ]
    weight, places, offsets = node.value("weight"), node.value("indices"), node.tensor("offsets", "i64")
    if node.bool("include_last_offset"):
        offsets = sizes.sliced(Value(ssa=offsets), {0: (0, -1, 1)})
    count, width = sizes.sizes_of(places)[0], sizes.sizes_of(weight)[1]
    bags = sizes.size_of(offsets, 0)
    own = relax.subtract(relax.bucketize(sizes.count_up(count), offsets, right=True), const(1, "i64"))
    rows = relax.take(weight.ssa, places.ssa, axis=0)
    if node.has("per_sample_weights"):
        rows = relax.multiply(rows, relax.expand_dims(node.tensor("per_sample_weights"), axis=[1]))
    mode = ("sum", "mean", "max")[node.int("mode", 0)]
    is_counted = relax.greater_equal(cast(places.ssa, "i64"), const(0, "i64"))
    if node.int("padding_idx", -1) >= 0:
        is_counted = relax.not_equal(cast(places.ssa, "i64"), const(node.int("padding_idx"), "i64"))
    # Rows that are not counted go to an extra bag behind the last one.
    own = relax.where(is_counted, own, relax.reshape(sizes.as_tensor([bags]), ()))
    target = sizes.broadcast(relax.expand_dims(own, axis=[1]), [count, width])
    start = sizes.full([sizes.plus(bags, 1), width], const(-float("inf") if mode == "max" else 0, weight.dtype))
    joined = relax.scatter_elements(start, target, rows, axis=0, reduction="max" if mode == "max" else "add")
    made = sizes.sliced(Value(ssa=joined), {0: (0, bags, 1)}, {0: bags})
    if mode == "sum":
        return [made, *others]
    ones = relax.scatter_elements(
        sizes.full([sizes.plus(bags, 1)], const(0, weight.dtype)),
        own, relax.ones_like(own, dtype=weight.dtype), axis=0, reduction="add",
    )  # fmt: skip
    counts = relax.expand_dims(sizes.sliced(Value(ssa=ones), {0: (0, bags, 1)}, {0: bags}), axis=[1])
    if mode == "mean":
        return [relax.divide(made, relax.maximum(counts, like(counts, 1))), *others]
    is_empty = relax.equal(counts, like(counts, 0))
    if others and others[-1] is not None:
        is_most = relax.equal(rows, relax.gather_elements(joined, target, axis=0))
        found = relax.where(is_empty, const(-1, "i64"), _first_maxima(is_most, target, cast(places.ssa, "i64"), bags))
        others[-1] = cast(found, node.dtype_of_result(3))
    return [relax.where(is_empty, like(made, 0), made), *others]


def _first_maxima(is_most: Tensor, target: Tensor, places: Tensor, bags: sizes.Size) -> Tensor:
    """Return the index of the first row with the maximum, for each bag and column."""
    count, width = sizes.sizes_of(Value(ssa=target))
    last = relax.reshape(sizes.as_tensor([sizes.minus(count, 1)]), ())
    numbers = relax.where(is_most, relax.expand_dims(sizes.count_up(count), axis=[1]), last)
    start = sizes.full([sizes.plus(bags, 1), width], last)
    firsts = relax.scatter_elements(start, target, numbers, axis=0, reduction="min")
    return relax.take(places, sizes.sliced(Value(ssa=firsts), {0: (0, bags, 1)}, {0: bags}), axis=0)
