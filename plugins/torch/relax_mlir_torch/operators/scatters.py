# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that write elements at indices into a copy of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.emit.axis_reduction import highest, lowest

from ..prelude import (
    Outputs,
    Tensor,
    TorchNode,
    Value,
    along_axis,
    cast,
    const,
    info_of,
    like,
    register_torch,
    relax,
    sizes,
    wide_float,
)  # fmt: skip
from .indexing import at_least_1d, common_rank, indexed, ordered

Reduction = Literal["update", "add", "mul", "max", "min"]
#: relax's names of torch's reductions.
_REDUCTIONS: dict[str, Reduction] = {
    "sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min", "mean": "add",
}  # fmt: skip


# ---- lists of index tensors ----


@register_torch("aten::index_put", "aten::index_put_", "aten::_unsafe_index_put", "aten::_index_put_impl")
def index_put(node: TorchNode) -> Outputs:
    """Convert index_put: `x[indices] = values`, or += with `accumulate`."""
    x, values, given = node.value("self"), node.value("values"), node.optional_values("indices")
    if all(each is None for each in given):
        return _put_everywhere(node, x)
    mask = given[0]
    if mask is not None and mask.dtype == "i1" and len(given) == 1 and values.rank == 0:
        spread = along_axis(mask.ssa, (mask.rank or 0) - 1, x.rank or 0)
        added = relax.add(x.ssa, values.ssa) if node.bool("accumulate") else values.ssa
        return relax.where(spread, added, x.ssa)
    found = indexed(node, x.ssa)
    count, place = common_rank(found.indices), found.place
    kept = found.x.type.rank - len(found.indices)
    source = values.ssa
    if place and source.type.rank:
        # In the result of reading, other dimensions precede the indices' dimensions from `place` on. Move the latter in
        # front.
        rank = count + kept
        missing = list(range(rank - source.type.rank))
        source = relax.expand_dims(source, axis=missing) if missing else source
        behind = [axis for axis in range(rank) if not place <= axis < place + count]
        source = ordered(source, [*range(place, place + count), *behind])
    made = relax.index_put(found.x, found.indices, values=source, accumulate=node.bool("accumulate"))
    return ordered(made, [found.order.index(axis) for axis in range(len(found.order))])


def _put_everywhere(node: TorchNode, x: Value) -> Tensor:
    values = sizes.broadcast(node.tensor("values"), sizes.sizes_of(x))
    return relax.add(x.ssa, values) if node.bool("accumulate") else values


# ---- an index for each element ----


def _source(node: TorchNode) -> Tensor:
    """Return the values to write: a number, or the part of a tensor that has indices."""
    places = sizes.sizes_of(node.value("index"))
    if "value" in node.arguments:
        return sizes.full(places or [1], node.operand("value", node.dtype))
    source = node.value("src")
    if not places:
        return at_least_1d(source.ssa)
    own = sizes.sizes_of(source)
    bounds = {axis: (0, place, 1) for axis, place in enumerate(places) if place is not own[axis] and place != own[axis]}
    return sizes.sliced(source, bounds, {axis: places[axis] for axis in bounds}) if bounds else source.ssa


def _scatter(node: TorchNode, x: Tensor, source: Tensor, reduction: Reduction) -> Tensor:
    index, axis = at_least_1d(node.tensor("index")), node.axis("dim", node.rank("self"))
    if index.type.rank != max(x.type.rank, 1):
        return x  # An empty index of another rank writes nothing.
    made = relax.scatter_elements(at_least_1d(x), index, source, axis=axis, reduction=reduction)
    return made if x.type.rank else relax.reshape(made, ())


@register_torch("aten::scatter")
def scatter(node: TorchNode) -> Outputs:
    reduction = node.string("reduce")
    return _scatter(node, node.tensor("self"), _source(node), _REDUCTIONS[reduction] if reduction else "update")


@register_torch("aten::scatter_add")
def scatter_add(node: TorchNode) -> Outputs:
    return _scatter(node, node.tensor("self"), _source(node), "add")


@register_torch("aten::scatter_reduce")
def scatter_reduce(node: TorchNode) -> Outputs:
    return _reduce_updates(node, node.string("reduce"), _source(node), at_least_1d(node.tensor("index")))


def _reduce_updates(node: TorchNode, way: str, source: Tensor, index: Tensor) -> Tensor:
    """Reduce updates of equal indices, together with the existing element unless `include_self` is False."""
    x, rank = node.tensor("self"), node.rank("self")
    axis, dtype = node.axis("dim", rank), node.dtype
    wide = wide_float(dtype) if is_float(dtype) else dtype
    start, source = cast(at_least_1d(x), wide), cast(source, wide)
    if not node.bool("include_self", True):
        neutral = {"prod": 1, "amax": lowest(wide), "amin": highest(wide)}.get(way, 0)
        filler = relax.full_like(index, const(neutral, info_of(start).dtype), dtype=info_of(start).dtype)
        start = relax.scatter_elements(start, index, filler, axis=axis)
    made = relax.scatter_elements(start, index, source, axis=axis, reduction=_REDUCTIONS[way])
    if way == "mean":
        counts = _counts(node, start, index, axis)
        join = relax.divide if is_float(wide) else relax.floor_divide
        made = join(made, cast(counts, wide))
    made = cast(made, dtype)
    return made if rank else relax.reshape(made, ())


def _counts(node: TorchNode, start: Tensor, index: Tensor, axis: int) -> Tensor:
    """Return the number of values that each element combines."""
    counts = relax.full_like(start, const(int(node.bool("include_self", True)), "i64"), dtype="i64")
    counts = relax.scatter_elements(counts, index, relax.ones_like(index, dtype="i64"), axis=axis, reduction="add")
    return relax.maximum(counts, const(1, "i64"))


# ---- an index for each slice ----


def _spread_index(node: TorchNode, source: Sequence[sizes.Size], axis: int) -> Tensor:
    """Return the index of a slice for each of its elements."""
    return sizes.broadcast(along_axis(at_least_1d(node.tensor("index")), axis, len(source)), source)


def _slices(node: TorchNode) -> tuple[Tensor, Tensor, int]:
    """Return the slices to write, an index for each element, and the dimension."""
    axis, source = node.axis("dim", node.rank("self")), Value(ssa=at_least_1d(node.tensor("source")))
    shape = sizes.sizes_of(source)
    own = sizes.sizes_of(node.value("self"))
    if own and len(shape) != len(own):  # One number for a whole slice.
        count = sizes.size_of(at_least_1d(node.tensor("index")), 0)
        shape = [*own[:axis], count, *own[axis + 1 :]]
        source = Value(ssa=sizes.broadcast(source.ssa, shape))
    return source.ssa, _spread_index(node, shape, axis), axis


def _index_write(node: TorchNode, source: Tensor, index: Tensor, axis: int, reduction: Reduction) -> Tensor:
    x = node.tensor("self")
    made = relax.scatter_elements(at_least_1d(x), index, source, axis=axis, reduction=reduction)
    return made if x.type.rank else relax.reshape(made, ())


@register_torch("aten::index_add")
def index_add(node: TorchNode) -> Outputs:
    source, index, axis = _slices(node)
    if node.get("alpha", 1) != 1:
        times = relax.logical_and if node.dtype == "i1" else relax.multiply
        source = times(source, node.operand("alpha", node.dtype))
    return _index_write(node, source, index, axis, "add")


@register_torch("aten::index_copy")
def index_copy(node: TorchNode) -> Outputs:
    return _index_write(node, *_slices(node), "update")


@register_torch("aten::index_fill")
def index_fill(node: TorchNode) -> Outputs:
    axis, own = node.axis("dim", node.rank("self")), sizes.sizes_of(node.value("self")) or [1]
    count = sizes.size_of(at_least_1d(node.tensor("index")), 0)
    shape = [*own[:axis], count, *own[axis + 1 :]]
    value = sizes.full(shape, relax.reshape(node.operand("value", node.dtype), ()))
    return _index_write(node, value, _spread_index(node, shape, axis), axis, "update")


@register_torch("aten::index_reduce")
def index_reduce(node: TorchNode) -> Outputs:
    source, index, _ = _slices(node)
    return _reduce_updates(node, node.string("reduce"), source, index)


# ---- flattened tensors, masks, parts ----


@register_torch("aten::put")
def put(node: TorchNode) -> Outputs:
    x = node.value("self")
    flat, index, source = (relax.flatten(node.tensor(key)) for key in ("self", "index", "source"))
    reduction: Reduction = "add" if node.bool("accumulate") else "update"
    return sizes.reshaped(relax.scatter_elements(flat, index, source, axis=0, reduction=reduction), sizes.sizes_of(x))


@register_torch("aten::masked_scatter")
def masked_scatter(node: TorchNode) -> Outputs:
    """Convert masked_scatter. The n-th masked element gets the n-th element of the source."""
    shape = node.sizes_of_result
    x, mask = (sizes.broadcast(node.tensor(key), shape) for key in ("self", "mask"))
    count = relax.cumsum(cast(relax.flatten(mask), "i64"), axis=0)
    places = relax.maximum(relax.subtract(count, like(count, 1)), like(count, 0))
    taken = relax.take(relax.flatten(node.tensor("source")), places, axis=0, mode="clip")
    return relax.where(mask, sizes.reshaped(taken, shape), x)


@register_torch("aten::slice_scatter")
def slice_scatter(node: TorchNode) -> Outputs:
    axis, x = node.axis("dim", node.rank("self"), 0), node.value("self")
    size = sizes.sizes_of(x)[axis]
    start = node.size("start") if node.has("start") else 0
    end, step, source = node.size("end") if node.has("end") else size, node.int("step", 1), node.value("src")
    if sizes.is_known(start, end):
        return relax.slice_scatter(x.ssa, source.ssa, start, end, step, axis=axis)
    own = sizes.sizes_of(source)
    places = sizes.sliced(Value(ssa=sizes.count_up(size)), {0: (start, end, step)}, {0: own[axis]})
    index = sizes.broadcast(along_axis(places, axis, len(own)), own)
    return relax.scatter_elements(x.ssa, index, source.ssa, axis=axis)


@register_torch("aten::diagonal_scatter")
def diagonal_scatter(node: TorchNode) -> Outputs:
    """Convert diagonal_scatter. The last dimension of the source is the diagonal of two dimensions."""
    rank, offset, source = node.rank("self"), node.int("offset", 0), node.value("src")
    first, second = node.axis("dim1", rank, 0), node.axis("dim2", rank, 1)
    order = [first, second, *(axis for axis in range(rank) if axis not in (first, second))]
    places = sizes.count_up(sizes.sizes_of(source)[-1])
    rows, columns = (relax.add(places, const(max(each, 0), "i64")) for each in (-offset, offset))
    updates = ordered(source.ssa, [rank - 2, *range(rank - 2)])
    made = relax.index_put(ordered(node.tensor("self"), order), [rows, columns], values=updates)
    return ordered(made, [order.index(axis) for axis in range(rank)])
