# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that reshape, reorder or repeat elements. Views become separate tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.core.infos import bit_width, is_float
from relax_mlir.dialects.core.symbols import at_most, equal

from ..dtypes import torch_dtype
from ..memory_layouts import memory_order
from ..prelude import Outputs, Tensor, TorchNode, Value, cast, const, info_of, register_torch, relax, sizes

# ---- shape ----


@register_torch(
    "aten::view.default", "aten::view_copy.default", "aten::_unsafe_view", "aten::reshape", "aten::_reshape_copy",
    "aten::_reshape_alias", "aten::flatten", "aten::unflatten", "aten::ravel", "aten::view_as", "aten::reshape_as",
)  # fmt: skip
def reshape(node: TorchNode) -> Outputs:
    """Convert a reshape. torch knows the sizes of the result, including the size for -1."""
    return _reshape_value(node.value(0), node.sizes_of_result)


def _reshape_value(value: Value, wanted: Sequence[sizes.Size]) -> Value:
    if value.shape is not None and list(value.shape) == list(wanted):
        return value
    return Value(ssa=sizes.reshaped(value.ssa, wanted))


@register_torch(
    "aten::squeeze", "aten::squeeze_copy", "aten::unsqueeze", "aten::unsqueeze_copy", "aten::atleast_1d",
    "aten::atleast_2d", "aten::atleast_3d",
)  # fmt: skip
def squeeze(node: TorchNode) -> Outputs:
    """Convert squeeze and unsqueeze. For dimensions of unknown size, torch has decided: the result has its rank."""
    x, name = node.value(0), node.op.partition("::")[2].partition(".")[0]
    if name.startswith("unsqueeze"):
        return relax.expand_dims(x.ssa, axis=[node.axis("dim", node.rank(0) + 1)])
    return _reshape_value(x, node.sizes_of_result)


@register_torch("aten::atleast_1d.Sequence", "aten::atleast_2d.Sequence", "aten::atleast_3d.Sequence")
def each_with_dimensions(node: TorchNode) -> Outputs:
    return [_reshape_value(each, node.result_sizes(index)) for index, each in enumerate(node.values(0))]


# ---- order ----


def _permute(value: Value, order: Sequence[int]) -> Value:
    if list(order) == sorted(order):
        return value
    return Value(ssa=relax.permute_dims(value.ssa, axes=list(order)))


@register_torch("aten::permute", "aten::permute_copy")
def permute(node: TorchNode) -> Outputs:
    rank = node.rank(0)
    return _permute(node.value(0), [node.axis_of(axis, rank) for axis in node.ints("dims")])


@register_torch("aten::transpose", "aten::transpose_copy", "aten::swapaxes", "aten::swapdims")
def transpose(node: TorchNode) -> Outputs:
    first, second = (node.axis(place, node.rank(0)) for place in (1, 2))
    if order := list(range(node.rank(0))):
        order[first], order[second] = second, first
    return _permute(node.value(0), order)


@register_torch("aten::t", "aten::t_copy", "aten::mT", "aten::mH", "aten::adjoint")
def transpose_matrix(node: TorchNode) -> Outputs:
    """Convert a transposition of the last two dimensions. Tensors with fewer dimensions are unchanged."""
    *front, first, second = [-1, -1, *range(node.rank(0))]
    return node.value(0) if first < 0 else _permute(node.value(0), [*front[2:], second, first])


@register_torch("aten::numpy_T", "aten::matrix_H")
def reverse_dimensions(node: TorchNode) -> Outputs:
    return _permute(node.value(0), range(node.rank(0))[::-1])


@register_torch("aten::movedim", "aten::moveaxis")
def movedim(node: TorchNode) -> Outputs:
    rank = node.rank(0)
    sources, places = ([node.axis_of(axis, max(rank, 1)) for axis in node.ints(key)] for key in (1, 2))
    rest = iter([axis for axis in range(rank) if axis not in sources])
    moved = dict(zip(places, sources, strict=True))
    return _permute(node.value(0), [moved[place] if place in moved else next(rest) for place in range(rank)])


@register_torch("aten::flip")
def flip(node: TorchNode) -> Outputs:
    x = node.tensor(0)
    for axis in node.ints("dims"):
        x = relax.flip(x, axis=node.axis_of(axis, max(node.rank(0), 1))) if node.rank(0) else x
    return x


# ---- copies ----


@register_torch("aten::expand", "aten::expand_copy", "aten::expand_as", "aten::broadcast_to")
def expand(node: TorchNode) -> Outputs:
    x, wanted = node.value(0), node.sizes_of_result
    return x if list(x.shape or ()) == wanted and x.rank == len(wanted) else sizes.broadcast(x.ssa, wanted)


@register_torch("aten::repeat", "aten::tile")
def repeat(node: TorchNode) -> Outputs:
    """Convert repeat and tile. New dimensions come in front; `tile` may list fewer repeats than dimensions."""
    counts = node.sizes(1)
    rank = max(len(counts), node.rank(0))
    own = [*[1] * (rank - node.rank(0)), *sizes.sizes_of(node.value(0))]
    return sizes.tiled(_reshape_value(node.value(0), own), [*[1] * (rank - len(counts)), *counts])


@register_torch("aten::repeat_interleave.self_int")
def repeat_each(node: TorchNode) -> Outputs:
    x, count = node.value(0), node.size("repeats")
    axis = node.axis("dim", node.rank(0)) if node.has("dim") else None
    if isinstance(count, int):
        return relax.repeat(x.ssa, count, axis=axis)
    own = sizes.sizes_of(x) if axis is not None else [sizes.product(sizes.sizes_of(x))]
    front = own[: (axis or 0) + 1]
    apart = sizes.reshaped(x.ssa, [*front, 1, *own[len(front) :]])
    return sizes.reshaped(sizes.broadcast(apart, [*front, count, *own[len(front) :]]), node.sizes_of_result)


@register_torch("aten::repeat_interleave.Tensor")
def repeat_places(node: TorchNode) -> Outputs:
    """Convert repeat_interleave: repeat each index as often as its element says."""
    return _places(node.tensor("repeats"))


@register_torch("aten::repeat_interleave.self_Tensor")
def repeat_each_by_tensor(node: TorchNode) -> Outputs:
    x, counts = node.value(0), node.tensor("repeats")
    if not node.has("dim"):
        x = Value(ssa=sizes.reshaped(x.ssa, [sizes.product(sizes.sizes_of(x))]))
    axis = node.axis("dim", x.rank or 0, 0)
    counts = sizes.broadcast(counts, [sizes.sizes_of(x)[axis]])
    return relax.take(x.ssa, _places(counts), axis=axis)


def _places(counts: Tensor) -> Tensor:
    """Return the source index of the n-th copy: the number of ends of runs up to it."""
    ends = relax.cumsum(counts, axis=0, dtype="i64")
    total = relax.reshape(relax.sum(counts, axis=[0]), (1,))
    return cast(relax.bucketize(sizes.count_up(cast(total, "i64")), ends, right=True), info_of(counts).dtype)


# ---- elements at computed indices ----


@register_torch("aten::roll")
def roll(node: TorchNode) -> Outputs:
    """Convert roll. Without dimensions, all elements roll as one row."""
    shifts, axes = node.sizes("shifts"), node.ints("dims", ())
    x, own = node.value(0), sizes.sizes_of(node.value(0))
    if not axes:
        row = Value(ssa=sizes.reshaped(x.ssa, [sizes.product(own)]))
        return _reshape_value(Value(ssa=_roll(row, shifts[0], 0)), own)
    for shift, axis in zip(shifts, axes, strict=True):
        x = Value(ssa=_roll(x, shift, node.axis_of(axis, x.rank or 0)))
    return x


def _roll(x: Value, shift: sizes.Size, axis: int) -> Tensor:
    size = sizes.sizes_of(x)[axis]
    moved = relax.subtract(sizes.count_up(size), sizes.as_tensor([shift]))
    return relax.take(x.ssa, relax.floor_mod(moved, sizes.as_tensor([size])), axis=axis)


@register_torch("aten::unfold", "aten::unfold_copy")
def windows(node: TorchNode) -> Outputs:
    """Convert unfold: windows along a dimension, with their elements in a new last dimension."""
    rank, size = node.rank(0), node.int("size")
    if rank == 0:
        return relax.reshape(node.tensor(0), tuple(node.sizes_of_result))
    axis = node.axis("dimension", rank)
    starts = relax.multiply(sizes.count_up(node.sizes_of_result[axis]), const(node.int("step"), "i64"))
    places = relax.add(relax.expand_dims(starts, axis=[1]), sizes.count_up(size))
    order = [index for index in range(rank + 1) if index != axis + 1]
    return _permute(Value(ssa=relax.take(node.tensor(0), places, axis=axis)), [*order, axis + 1])


@register_torch("aten::as_strided", "aten::as_strided_copy")
def as_strided(node: TorchNode) -> Outputs:
    """Convert as_strided: read elements at computed positions of the memory that torch would use."""
    row, _ = _flatten(node)
    sizes_of_result = node.sizes_of_result
    return sizes.reshaped(relax.take(row, _places_in_row(node, sizes_of_result), axis=0), sizes_of_result)


@register_torch("aten::as_strided_scatter")
def as_strided_scatter(node: TorchNode) -> Outputs:
    """Convert as_strided_scatter: replace the elements at these positions."""
    row, order = _flatten(node)
    wanted, own = sizes.sizes_of(node.value("src")), node.sizes_of_result
    elements = sizes.reshaped(node.tensor("src", node.dtype), [sizes.product(wanted)])
    places = sizes.reshaped(_places_in_row(node, wanted), [sizes.product(wanted)])
    made = relax.scatter_elements(row, places, elements, axis=0)
    in_order = Value(ssa=sizes.reshaped(made, [own[axis] for axis in order]))
    return _permute(in_order, [order.index(axis) for axis in range(len(order))])


def _flatten(node: TorchNode) -> tuple[Tensor, list[int]]:
    """Return the elements in the order of torch's memory, and the dimensions from the outermost one there."""
    meta: Any = node.metas["self"]
    shape, strides = ([node.expressions.size(each) for each in held] for held in (meta.shape, meta.stride()))
    if (order := _order_dims(shape, strides)) is None:
        raise node.fail("the tensor's elements are not adjacent in memory: call contiguous() on it first")
    return sizes.reshaped(_permute(node.value(0), order).ssa, [sizes.product(shape)]), order


def _places_in_row(node: TorchNode, wanted: Sequence[sizes.Size]) -> Tensor:
    """Return the positions of a result of these sizes in the row. The positions in torch's own views are in bounds."""
    meta: Any = node.metas["self"]
    base, count = node.expressions.size(meta.storage_offset()), sizes.product(sizes.sizes_of(node.value(0)))
    first = last = sizes.minus(node.size("storage_offset"), base) if node.has("storage_offset") else 0
    places = sizes.as_tensor([first])
    for axis, (size, stride) in enumerate(zip(wanted, node.sizes("stride"), strict=True)):
        places = relax.add(places, relax.multiply(sizes.positions(wanted, axis), sizes.as_tensor([stride])))
        last = sizes.plus(last, sizes.times(sizes.minus(size, 1), stride))
    if (
        not node.has("is_inside")
        and 0 not in wanted
        and not (_is_at_most(0, first) and _is_at_most(sizes.plus(last, 1), count))
    ):
        raise node.fail("it may read memory around the tensor's own: index the larger tensor instead")
    return places


def _order_dims(shape: Sequence[sizes.Size], strides: Sequence[sizes.Size]) -> list[int] | None:
    """Return the dimensions from the outermost in memory, or None if the memory has gaps or the order is unknown."""
    order = list(range(len(shape)))
    if all(isinstance(stride, int) for stride in strides):
        order.sort(key=lambda axis: (-strides[axis], axis))
    step: sizes.Size = 1
    for axis in reversed(order):
        if not _is_equal(shape[axis], 1) and not _is_equal(strides[axis], step):
            return None
        step = sizes.times(step, shape[axis])
    return order


def _is_equal(one: sizes.Size, other: sizes.Size) -> bool:
    """Check whether sizes are known to be equal."""
    return sizes.is_known(one, other) and equal(one, other) is True


def _is_at_most(one: sizes.Size, other: sizes.Size) -> bool:
    return sizes.is_known(one, other) and at_most(one, other)


# ---- rearrangement between dimensions ----


@register_torch("aten::pixel_shuffle")
def pixel_shuffle(node: TorchNode) -> Outputs:
    return relax.nn.pixel_shuffle(node.tensor(0), upscale_factor=node.int("upscale_factor"))


@register_torch("aten::pixel_unshuffle")
def pixel_unshuffle(node: TorchNode) -> Outputs:
    factor = node.int("downscale_factor")
    *front, channels, height, width = sizes.sizes_of(node.value(0))
    apart = [*front, channels, sizes.divided(height, factor), factor, sizes.divided(width, factor), factor]
    return _move(node, apart, [0, 2, 4, 1, 3])


@register_torch("aten::channel_shuffle", "aten::native_channel_shuffle")
def channel_shuffle(node: TorchNode) -> Outputs:
    groups = node.int("groups")
    batch, channels, *rest = sizes.sizes_of(node.value(0))
    return _move(node, [batch, groups, sizes.divided(channels, groups), *rest], [1, 0, *range(2, 2 + len(rest))])


def _move(node: TorchNode, apart: Sequence[sizes.Size], order: Sequence[int]) -> Tensor:
    """Split the dimensions into a shape, permute its last dimensions, and reshape to the result."""
    front = len(apart) - len(order)
    split = sizes.reshaped(node.tensor(0), apart)
    moved = relax.permute_dims(split, axes=[*range(front), *(front + number for number in order)])
    return sizes.reshaped(moved, node.sizes_of_result)


@register_torch("aten::view.dtype", "aten::view_copy.dtype")
def view_bits(node: TorchNode) -> Outputs:
    """Convert view.dtype: the same bits as elements of another type, of equal, smaller or larger width."""
    x, dtype = node.value(0), node.dtype
    own, wanted = (max(bit_width(each), 8) for each in (x.dtype, dtype))
    if own == wanted:
        return relax.bitcast(x.ssa, dtype=dtype)
    if own > wanted:
        return sizes.reshaped(relax.bitcast(_apart(x, own, wanted), dtype=dtype), node.sizes_of_result)
    shape = sizes.sizes_of(x)
    split = sizes.reshaped(x.ssa, [*shape[:-1], sizes.divided(shape[-1], wanted // own), wanted // own])
    words = cast(relax.bitcast(split, dtype=f"ui{own}"), f"ui{wanted}")
    shifts = const(list(range(0, wanted, own)), f"ui{wanted}")
    return relax.bitcast(relax.sum(relax.left_shift(words, shifts), axis=[-1]), dtype=dtype)


def _apart(x: Value, own: int, wanted: int) -> Tensor:
    """Split each element, with its low bits first, along a new last dimension."""
    word = relax.expand_dims(relax.bitcast(x.ssa, dtype=f"ui{own}"), axis=[-1])
    return cast(relax.right_shift(word, const(list(range(0, own, wanted)), f"ui{own}")), f"ui{wanted}")


@register_torch("aten::resize", "aten::resize_as")
def resize(node: TorchNode) -> Outputs:
    """Fill the result's memory with the operand's memory. Elements that torch leaves uninitialized are zeros."""
    given, made = memory_order(node.metas["self"]), memory_order(node.fx.meta["val"])
    if given is None or made is None:
        raise node.fail("the tensor's elements are not adjacent in memory")
    flat, shape = relax.flatten(_permute(node.value("self"), given).ssa), node.sizes_of_result
    count, own = sizes.product(shape), sizes.size_of(flat, 0)
    more = sizes.larger(sizes.minus(count, own), 0)
    whole = flat if more == 0 else relax.concat([flat, _create_uninitialized(more, node.dtype)], axis=0)
    filled = sizes.sliced(Value(ssa=whole), {0: (0, count, 1)}, {0: count})
    in_order = Value(ssa=sizes.reshaped(filled, [shape[dim] for dim in made]))
    return _permute(in_order, sorted(range(len(made)), key=made.__getitem__))


def _create_uninitialized(size: sizes.Size, dtype: str) -> Tensor:
    """Return zeros, or the fill of torch's deterministic mode."""
    import torch

    if not (torch.are_deterministic_algorithms_enabled() and torch.utils.deterministic.fill_uninitialized_memory):
        return sizes.zeros([size], dtype)
    largest_or_nan = math.nan if is_float(dtype) else torch.iinfo(torch_dtype(dtype)).max
    return sizes.full([size], const(largest_or_nan, dtype))
