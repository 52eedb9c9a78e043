# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that reshape, reorder or repeat elements, or return a shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....dialects.core.symbols import Dim, equal
from ....passes.evaluate.elements import objects
from ....support.suggest import counted
from ...core import sizes
from ...core.control.run_time_items import require
from ...core.sizes import Size
from ..input_sizes import input_length, input_size, input_sizes, integers
from ..prelude import OnnxNode, Outputs, Tensor, const, known, register_onnx, register_rows, relax

# ---- reshape ----


@register_onnx("", "Reshape", since=5)
def reshape(node: OnnxNode) -> Outputs:
    """Convert Reshape. -1 is the remaining size, and 0 copies a size unless an attribute disables this."""
    wanted = node.sizes(1)
    return _reshape_at_run_time(node) if wanted is None else _reshape(node, wanted)


def _reshape(node: OnnxNode, dims: Sequence[Dim]) -> Tensor:
    copies = not node.int("allowzero", 0)
    if 0 in dims[node.rank(0) :] and copies:
        raise node.fail("the shape copies a size that the data does not have", "allowzero")
    # If all sizes are known, relax.reshape has the shortest form.
    shape = node.value(0).shape
    assert shape is not None
    if None not in shape and (copies or 0 not in dims):
        return relax.dialect.ops["reshape"](node.tensor(0), tuple(dims))
    own = sizes.sizes_of(node.value(0))
    result = [own[axis] if size == 0 and copies else size for axis, size in enumerate(dims)]
    if -1 in result:
        place = result.index(-1)
        rest = sizes.product([*result[:place], *result[place + 1 :]])
        result[place] = sizes.divided(sizes.product(own), rest)
    return sizes.reshaped(node.tensor(0), result)


def _reshape_at_run_time(node: OnnxNode) -> Tensor:
    wanted = integers(node, 1)
    length = input_length(node, 1)
    own = sizes.sizes_of(node.value(0))
    if not node.int("allowzero", 0):
        copied = sizes.as_tensor([*own, *[0] * length][:length])
        wanted = relax.where(relax.equal(wanted, const(0, "i64")), copied, wanted)
    # The single -1 makes the product negative. Without -1, the quotient is not used.
    rest = relax.maximum(relax.negative(relax.prod(wanted)), const(1, "i64"))
    left = relax.floor_divide(sizes.as_tensor([sizes.product(own)]), rest)
    wanted = relax.where(relax.less(wanted, const(0, "i64")), left, wanted)
    return relax.reshape(node.tensor(0), relax.tensor_to_shape(wanted))


@register_onnx("", "Flatten")
def flatten(node: OnnxNode) -> Outputs:
    axis, rank = node.int("axis", 1), node.rank(0)
    if not -rank <= axis <= rank:
        raise node.fail(f"axis {axis} is out of range for {counted(rank, 'dimension')}", "axis")
    axis = axis + rank if axis < 0 else axis
    own = sizes.sizes_of(node.value(0))
    return sizes.reshaped(node.tensor(0), [sizes.product(own[:axis]), sizes.product(own[axis:])])


# ---- dimensions of size 1 ----


def axes_of(node: OnnxNode) -> tuple[int, ...] | None:
    """Return the axes: before version 13 an attribute, since then an input. None means absent or dynamic axes."""
    if node.version >= 13:
        return node.numbers(1) if node.has(1) else None
    axes = node.ints("axes")
    return None if axes is None else tuple(axes)


@register_onnx("", "Squeeze")
def squeeze(node: OnnxNode) -> Outputs:
    if (axes := axes_of(node)) is None and node.has(1):
        return _squeeze_at_run_time(node)
    return relax.squeeze(node.tensor(0), axis=_single_dimensions(node) if axes is None else axes)


def _single_dimensions(node: OnnxNode) -> list[int]:
    """Return the dimensions of size 1. Dynamic sizes must differ from 1, because the rank is static."""
    rank, shape = node.rank(0), node.value(0).shape
    assert shape is not None
    is_single = [equal(size, 1) for size in shape]
    if unsure := [axis for axis in range(rank) if is_single[axis] is None]:
        own = relax.take(sizes.as_tensor(sizes.sizes_of(node.value(0))), const(unsure, "i64"), axis=0)
        fewest = relax.min(relax.abs(relax.subtract(own, const(1, "i64"))))
        places = ", ".join(map(str, unsure))
        text = f"without axes it keeps dimensions of unknown size (here {places}), but one of them is 1: state the axes"
        require(node, relax.greater(fewest, const(0, "i64")), text)
    return [axis for axis in range(rank) if is_single[axis]]


def _squeeze_at_run_time(node: OnnxNode) -> Tensor:
    """Squeeze by dynamic axes. The number of remaining axes is known."""
    rank, count = node.rank(0), input_length(node, 1)
    others = relax.nonzero(relax.equal(_mark_axes(node, rank, count), const(0, "i64")))
    others = relax.squeeze(sizes.stated(others, [1, rank - count]), axis=[0])
    left = relax.take(sizes.as_tensor(sizes.sizes_of(node.value(0))), others, axis=0)
    return relax.reshape(node.tensor(0), relax.tensor_to_shape(left))


@register_onnx("", "Unsqueeze")
def unsqueeze(node: OnnxNode) -> Outputs:
    if (axes := axes_of(node)) is not None:
        return relax.expand_dims(node.tensor(0), axis=axes)
    if not node.has(1):
        raise node.fail("has no axes", "axes")
    return _unsqueeze_at_run_time(node)


def _unsqueeze_at_run_time(node: OnnxNode) -> Tensor:
    """Unsqueeze by dynamic axes. Each size of the result is 1, or the next size of the operand."""
    count = input_length(node, 1)
    rank = node.rank(0) + count
    new = _mark_axes(node, rank, count)
    old = relax.subtract(const(list(range(rank)), "i64"), relax.cumsum(new, axis=0))
    # A 1 in front is the size at position -1, which leading new dimensions have.
    own = sizes.as_tensor([1, *sizes.sizes_of(node.value(0))])
    kept = relax.take(own, relax.add(old, const(1, "i64")), axis=0)
    result = relax.where(relax.equal(new, const(1, "i64")), const(1, "i64"), kept)
    return relax.reshape(node.tensor(0), relax.tensor_to_shape(result))


def _mark_axes(node: OnnxNode, rank: int, count: int) -> Tensor:
    """Return a vector with 1 at each of the axes in input #1, else 0."""
    zeros, ones = const([0] * rank, "i64"), const([1] * count, "i64")
    return relax.scatter_elements(zeros, integers(node, 1), ones, axis=0)


def _size(node: OnnxNode) -> Outputs:
    shape = node.value(0).shape
    return relax.size(node.tensor(0)) if shape is None or None in shape else known(math.prod(shape))


# ---- order ----


register_rows(
    "",
    {
        "Reshape": lambda node: _reshape(node, node.ints("shape", [])),
        "Size": _size,
        "Transpose": lambda node: relax.permute_dims(node.tensor(0), axes=node.ints("perm")),
    },
)


@register_onnx("", "DepthToSpace")
def depth_to_space(node: OnnxNode) -> Outputs:
    """Convert DepthToSpace. In mode DCR, blocks precede channels in the depth; in CRD, they follow."""
    block, (batch, depth, height, width) = _blocks(node)
    channels = sizes.divided(depth, block * block)
    is_crd = _mode(node) == "CRD"
    split = [channels, block, block] if is_crd else [block, block, channels]
    order = [0, 1, 4, 2, 5, 3] if is_crd else [0, 3, 4, 1, 5, 2]
    moved = relax.permute_dims(sizes.reshaped(node.tensor(0), [batch, *split, height, width]), axes=order)
    return sizes.reshaped(moved, [batch, channels, sizes.times(height, block), sizes.times(width, block)])


@register_onnx("", "SpaceToDepth")
def space_to_depth(node: OnnxNode) -> Outputs:
    block, (batch, channels, height, width) = _blocks(node)
    rows, columns = sizes.divided(height, block), sizes.divided(width, block)
    order = [0, 1, 3, 5, 2, 4] if _mode(node) == "CRD" else [0, 3, 5, 1, 2, 4]
    taken_apart = sizes.reshaped(node.tensor(0), [batch, channels, rows, block, columns, block])
    moved = relax.permute_dims(taken_apart, axes=order)
    return sizes.reshaped(moved, [batch, sizes.times(channels, block * block), rows, columns])


def _blocks(node: OnnxNode) -> tuple[int, list[Size]]:
    if (block := node.int("blocksize", 0)) < 1:
        raise node.fail(f"attribute 'blocksize' must be positive, got {block}", "blocksize")
    if node.rank(0) != 4:
        raise node.fail(f"the data must be 4-D, but is {node.rank(0)}-D")
    return block, sizes.sizes_of(node.value(0))


def _mode(node: OnnxNode) -> str:
    return node.choice("mode", "DCR", ("DCR", "CRD"))


# ---- copies ----


@register_onnx("", "Expand")
def expand(node: OnnxNode) -> Outputs:
    """Convert Expand, in which both the data and the shape are broadcast."""
    own, wanted = sizes.sizes_of(node.value(0)), input_sizes(node, 1)
    rank = max(len(own), len(wanted))
    pairs = zip([1] * (rank - len(own)) + own, [1] * (rank - len(wanted)) + wanted, strict=True)
    return sizes.broadcast(node.tensor(0), [_common(node, *pair) for pair in pairs])


def _common(node: OnnxNode, one: Size, other: Size) -> Size:
    """Return the broadcast size of two sizes."""
    if isinstance(one, int) and isinstance(other, int) and one != other and 1 not in (one, other):
        raise node.fail(f"a size of {one} cannot be broadcast with one of {other}")
    for size, rest in ((one, other), (other, one)):
        if not sizes.is_known(size):
            continue
        if equal(size, 1):
            return rest
        if equal(size, 1) is False or (sizes.is_known(rest) and equal(size, rest)):
            return size
    if sizes.is_known(one, other):
        return sizes.larger(one, other)
    # The larger size would be wrong for 0.
    first, second = sizes.as_tensor([one]), sizes.as_tensor([other])
    return relax.where(relax.equal(first, const(1, "i64")), second, first)


@register_onnx("", "Tile")
def tile_along_axis(node: OnnxNode) -> Outputs:
    """Convert Tile of the first version, with scalar repeats and axis."""
    if (axis := node.number(2)) is None:
        raise node.fail("the axis is only known when the model runs")
    repeats: list[Size] = [1] * node.rank(0)
    repeats[node.axis_of(axis, node.rank(0))] = input_size(node, 1)
    return _tile(node, repeats)


register_rows("", {"Tile": lambda node: _tile(node, input_sizes(node, 1))}, since=6)


def _tile(node: OnnxNode, repeats: Sequence[Size]) -> Tensor:
    if len(repeats) != node.rank(0):
        raise node.fail(f"there are {len(repeats)} repeats for {node.rank(0)} dimensions")
    return sizes.tiled(node.value(0), repeats)


# ---- shapes as tensors ----


@register_onnx("", "Shape")
def shape(node: OnnxNode) -> Outputs:
    rank, own = node.rank(0), node.value(0).shape or ()
    start, end = node.int("start", 0), node.int("end", rank)
    if None not in own:
        return known(objects(own[start:end]))
    whole = sizes.shape_tensor(node.tensor(0))
    if (start, end) == (0, rank):
        return whole
    return relax.strided_slice(whole, axes=[0], begin=[start], end=[end])
