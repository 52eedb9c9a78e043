# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of sorting, and of operators that use the order of elements.

NaN is the largest in torch, the last in relax.
"""

from __future__ import annotations

from relax_mlir.dialects.core.infos import bit_width, is_float

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
)  # fmt: skip
from .indexing import at_least_1d
from .scans import cumulated


def key_of(x: Tensor) -> Tensor:
    """Return integers in the order of floats, with NaN as the largest."""
    bits = bit_width(info_of(x).dtype)
    most = (1 << (bits - 1)) - 1
    raw = relax.bitcast(x, dtype=f"i{bits}")
    key = relax.where(relax.less(raw, like(raw, 0)), relax.bitwise_xor(raw, like(raw, most)), raw)
    key = relax.where(relax.equal(x, like(x, 0)), like(raw, 0), key)
    return relax.where(relax.isnan(x), like(raw, most), key)


def order_of(x: Tensor, axis: int, descending: bool = False) -> Tensor:
    """Return the indices that sort the elements. The sort is stable."""
    key = key_of(x) if descending and is_float(info_of(x).dtype) else x
    return relax.argsort(key, axis=axis, descending=descending, dtype="i64")


@register_torch("aten::sort")
def sort(node: TorchNode) -> Outputs:
    x, rank, descending = node.tensor("self"), node.rank("self"), node.bool("descending")
    if rank == 0:
        return [x, relax.zeros((), "i64")]
    axis = node.axis("dim", rank)
    if not node.is_wanted[1]:
        made = relax.sort(x, axis=axis)
        return [relax.flip(made, axis=axis) if descending else made]
    order = order_of(x, axis, descending)
    return [relax.gather_elements(x, order, axis=axis), order]


@register_torch("aten::topk")
def top_k(node: TorchNode) -> Outputs:
    rank, axis, k = node.rank("self"), node.axis("dim", node.rank("self")), node.size("k")
    x, is_largest = at_least_1d(node.tensor("self")), node.bool("largest", True)
    is_known = isinstance(k, int) and k > 0
    key = key_of(x) if is_largest and is_float(node.dtype) else x
    places = relax.topk(key, k=k if is_known else 0, axis=axis, ret_type="indices", largest=is_largest, dtype="i64")
    if not is_known:
        places = sizes.sliced(Value(ssa=places), {axis: (0, k, 1)}, {axis: k})
    made = [relax.gather_elements(x, places, axis=axis), places]
    return made if rank else [relax.reshape(each, ()) if k == 1 else each for each in made]


@register_torch("aten::kthvalue")
def kth_value(node: TorchNode) -> Outputs:
    rank, axis, k = node.rank("self"), node.axis("dim", node.rank("self")), node.size("k")
    x = at_least_1d(node.tensor("self"))
    place = sizes.sliced(Value(ssa=order_of(x, axis)), {axis: (sizes.minus(k, 1), k, 1)}, {axis: 1})
    return _pick(node, x, place, axis, rank)


def _pick(node: TorchNode, x: Tensor, place: Tensor, axis: int, rank: int) -> list[Tensor]:
    """Return an element of each row, and its index."""
    tensors = [relax.gather_elements(x, place, axis=axis), place]
    if rank == 0:
        return [relax.reshape(tensor, ()) for tensor in tensors]
    return tensors if node.bool("keepdim") else [relax.squeeze(tensor, axis=[axis]) for tensor in tensors]


# ---- medians and modes ----


@register_torch("aten::median")
def median(node: TorchNode) -> Outputs:
    """Convert median: the lower of two middle elements, along a dimension with its index."""
    x, rank = at_least_1d(node.tensor("self")), node.rank("self")
    if not node.has("dim"):
        return relax.median(x)
    made = relax.median(x, axis=[node.axis("dim", rank)], keepdims=node.bool("keepdim") and rank > 0)
    return list(made)


@register_torch("aten::nanmedian")
def median_without_nan(node: TorchNode) -> Outputs:
    """Convert nanmedian: the median of elements other than NaN, or NaN if there are none."""
    rank, has_axis = node.rank("self"), node.has("dim")
    x = at_least_1d(node.tensor("self")) if has_axis else relax.flatten(at_least_1d(node.tensor("self")))
    axis = node.axis("dim", rank) if has_axis else 0
    is_number = relax.equal(x, x)
    count = relax.sum(cast(is_number, "i64"), axis=[axis], keepdims=True)
    one = const(1, "i64")
    middle = relax.maximum(relax.right_shift(relax.subtract(count, one), one), const(0, "i64"))
    place = relax.gather_elements(order_of(x, axis), middle, axis=axis)
    if has_axis:
        return _pick(node, x, place, axis, rank)
    return relax.reshape(relax.gather_elements(x, place, axis=axis), ())


@register_torch("aten::mode")
def mode(node: TorchNode) -> Outputs:
    """Convert mode: the smallest of the most frequent elements, at its last index."""
    rank, axis = node.rank("self"), node.axis("dim", node.rank("self"))
    x = at_least_1d(node.tensor("self"))
    order = order_of(x, axis)
    ordered = relax.gather_elements(x, order, axis=axis)
    shape = sizes.sizes_of(Value(ssa=ordered))
    places = sizes.broadcast(sizes.positions(shape, axis), shape)
    first = relax.where(_starts(ordered, axis), places, like(places, 0))
    lengths = relax.subtract(places, cumulated(node, "cummax", first, axis)[0])
    end = relax.argmax(lengths, axis=axis, keepdims=True)
    return _pick(node, x, relax.gather_elements(order, end, axis=axis), axis, rank)


def _starts(x: Tensor, axis: int) -> Tensor:
    """Return True where an element differs from the one before."""
    places = sizes.count_up(sizes.size_of(x, axis))
    zero, one = const(0, "i64"), const(1, "i64")
    before = relax.take(x, relax.maximum(relax.subtract(places, one), zero), axis=axis)
    is_first = along_axis(relax.equal(places, zero), axis, x.type.rank)
    return relax.logical_or(relax.not_equal(x, before), is_first)


# ---- unique elements ----


@register_torch("aten::_unique2", "aten::_unique", "aten::unique_dim")
def unique(node: TorchNode) -> Outputs:
    """Return distinct values in order, the value's index for each element, and the count of each value."""
    x, axis = _unique_of(node)
    if is_float(node.dtype) and not node.has("dim"):  # Each NaN is distinct.
        order = order_of(x, 0)
        values, inverse, counts = consecutive(relax.take(x, order, axis=0), 0)
        return _requested_results(
            node, values, relax.scatter_elements(relax.zeros_like(inverse), order, inverse, axis=0), counts
        )
    flags = [node.bool("return_inverse"), node.bool("return_counts")]
    found = relax.unique(x, True, False, flags[0], flags[1], axis=axis if node.has("dim") else None)
    values, *others = found if isinstance(found, tuple) else (found,)
    rest = iter(others)
    return _requested_results(node, values, *(next(rest) if each else None for each in flags))


@register_torch("aten::unique_consecutive", "aten::unique_dim_consecutive")
def unique_consecutive(node: TorchNode) -> Outputs:
    return _requested_results(node, *consecutive(*_unique_of(node)))


def _unique_of(node: TorchNode) -> tuple[Tensor, int]:
    """Return the tensor and the axis of its slices. Without a dimension, the slices are elements."""
    if node.has("dim"):
        if node.info.rank != node.rank("self"):
            raise node.fail("torch infers a wrong shape of its result: count the dimension from the front", "dim")
        return node.tensor("self"), node.axis("dim", node.rank("self"))
    return relax.flatten(at_least_1d(node.tensor("self"))), 0


def _requested_results(node: TorchNode, values: Tensor, inverse: Tensor | None, counts: Tensor | None) -> list[Tensor]:
    """Return the results of a node. The contents of results that are not requested do not matter."""
    if inverse is not None and not node.has("dim"):
        inverse = sizes.reshaped(inverse, sizes.sizes_of(node.value("self")))
    outputs = [values]
    for key, each, info in zip(("return_inverse", "return_counts"), (inverse, counts), node.results[1:], strict=False):
        if not node.bool(key) or each is None:
            known = info.shape if info else None
            each = sizes.zeros([0] if known is None or None in known else known, "i64")
        outputs.append(each)
    return outputs


def consecutive(x: Tensor, axis: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return one of each run of equal slices, the run of each slice, and the lengths of the runs."""
    rank, is_start = x.type.rank, _starts(x, axis)
    if rank > 1:
        is_start = relax.sum(is_start, axis=[index for index in range(rank) if index != axis])
    starts = relax.squeeze(relax.nonzero(is_start), axis=[0])
    inverse = relax.subtract(relax.cumsum(cast(is_start, "i64"), axis=0), const(1, "i64"))
    counts = relax.scatter_elements(
        relax.zeros_like(starts), inverse, relax.ones_like(inverse), axis=0, reduction="add"
    )
    return relax.take(x, starts, axis=axis), inverse, counts


# ---- search in sorted sequences ----


@register_torch("aten::bucketize")
def bucketize(node: TorchNode) -> Outputs:
    return _bucketize(node, node.tensor("boundaries"), node.bool("right"))


@register_torch("aten::searchsorted")
def search_sorted(node: TorchNode) -> Outputs:
    ordered, is_right = node.tensor("sorted_sequence"), node.bool("right") or node.string("side") == "right"
    rank = node.rank("sorted_sequence")
    if node.has("sorter"):
        ordered = relax.gather_elements(ordered, node.tensor("sorter"), axis=rank - 1)
    return _bucketize(node, ordered, is_right)


def _bucketize(node: TorchNode, ordered: Tensor, is_right: bool) -> Tensor:
    key = "self"
    dtype = _wider(info_of(ordered).dtype, node.value(key).dtype)
    wanted, ordered = node.operand(key, dtype), cast(ordered, dtype)
    if ordered.type.rank == 1:
        return relax.bucketize(wanted, ordered, out_int32=node.dtype == "i32", right=is_right)
    rows, numbers = relax.expand_dims(ordered, axis=[-2]), relax.expand_dims(wanted, axis=[-1])
    join = relax.greater if is_right else relax.greater_equal
    is_before = relax.logical_not(join(rows, numbers))
    return relax.sum(cast(is_before, node.dtype), axis=[-1])


def _wider(one: str, other: str) -> str:
    """Return the type of both in which their elements are compared."""
    if is_float(one) == is_float(other):
        return one if bit_width(one) >= bit_width(other) else other
    return one if is_float(one) else other
