# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that move elements: shapes, transpositions, broadcasts, slices, padding, joining."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.frontends.core.complex_numbers import each_part
from relax_mlir.frontends.core.padding import padded
from relax_mlir.frontends.core.values import Array

from ..prelude import (
    ComplexValue,
    Convert,
    HloNode,
    Outputs,
    Pair,
    Tensor,
    Value,
    const,
    info_of,
    joined,
    register_rows,
    register_stablehlo,
    relax,
    sizes,
)


def on_parts(function: Callable[[HloNode, Tensor], Tensor]) -> Convert:
    """Return a converter that applies a function to the first operand, or to both parts of complex numbers."""

    def convert(node: HloNode) -> Outputs:
        if _changes_nothing(node):
            return node.held(0)
        if isinstance(node.held(0), ComplexValue):
            return each_part(node.pair(0), lambda part: function(node, part)).value()
        return function(node, node.tensor(0))

    return convert


def _changes_nothing(node: HloNode) -> bool:
    """Check whether the result equals the operand, which then stays a constant if it is one."""
    if node.operation.operands[0].type != node.result_types[0] or None in (node.info.shape or ()):
        return False
    places = node.attr("broadcast_dimensions", [])
    return node.op in _SHAPES and list(places) == sorted(places)


#: Operations that have no effect if the type stays the same.
_SHAPES = ("stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.slice")


def _convert_reshape(node: HloNode, x: Tensor) -> Tensor:
    return sizes.reshaped(x, node.static_shape())


def _dynamic_reshaped(node: HloNode, x: Tensor) -> Tensor:
    return sizes.reshaped(x, node.known_sizes(1))


def _broadcast(node: HloNode, x: Tensor, shape: Sequence[sizes.Size]) -> Tensor:
    """Broadcast. Each dimension of the operand maps to a dimension of the result."""
    places = node.attr("broadcast_dimensions")
    own = sizes.sizes_of(Value(ssa=x))
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = x if order == list(range(len(order))) else relax.permute_dims(x, axes=order)
    by_place = {places[axis]: own[axis] for axis in order}
    wide = [by_place.get(axis, 1) for axis in range(len(shape))]
    placed = moved if len(wide) == len(own) else sizes.reshaped(moved, wide)
    return placed if wide == list(shape) else sizes.broadcast(placed, shape)


def _convert_reverse(node: HloNode, x: Tensor) -> Tensor:
    for axis in node.attr("dimensions"):
        x = relax.flip(x, axis=axis)
    return x


def _convert_slice(node: HloNode, x: Tensor) -> Tensor:
    axes = list(range(x.type.rank))
    begin, end, steps = (node.attr(name) for name in ("start_indices", "limit_indices", "strides"))
    return relax.strided_slice(x, axes=axes, begin=begin, end=end, strides=steps) if axes else x


register_rows(
    {
        "stablehlo.reshape": on_parts(_convert_reshape),
        "stablehlo.dynamic_reshape": on_parts(_dynamic_reshaped),
        "stablehlo.transpose": on_parts(lambda node, x: relax.permute_dims(x, axes=node.attr("permutation"))),
        "stablehlo.broadcast_in_dim": on_parts(lambda node, x: _broadcast(node, x, node.static_shape())),
        "stablehlo.dynamic_broadcast_in_dim": on_parts(lambda node, x: _broadcast(node, x, node.known_sizes(1))),
        "stablehlo.reverse": on_parts(_convert_reverse),
        "stablehlo.slice": on_parts(_convert_slice),
    }
)


@register_stablehlo("stablehlo.broadcast")
def broadcast(node: HloNode) -> Outputs:
    """Add new dimensions in front of all others."""
    shape = [*node.attr("broadcast_sizes"), *node.sizes_of_operand(0)]
    return on_parts(lambda _, x: sizes.broadcast(x, shape))(node)


@register_stablehlo("stablehlo.set_dimension_size")
def set_dimension_size(node: HloNode) -> Outputs:
    """Return the first elements along a dimension."""
    axis = node.attr("dimension")
    (size,) = node.known_sizes(1) if node.rank(1) else [sizes.of_scalar(node.value(1))]
    return on_parts(lambda _, x: sizes.sliced(Value(ssa=x), {axis: (0, size, 1)}))(node)


@register_stablehlo("stablehlo.concatenate")
def concatenate(node: HloNode) -> Outputs:
    axis = node.attr("dimension")
    if not node.is_complex:
        return joined(node.tensors(), axis)
    parts = [node.pair(index) for index in range(len(node.inputs))]
    return Pair(joined([part.real for part in parts], axis), joined([part.whole_imag for part in parts], axis)).value()


# ---- slices with dynamic starts ----


def starts(node: HloNode, first: int, limits: Sequence[sizes.Size]) -> list[sizes.Size]:
    """Return the starts of a slice along each dimension, from operand `first` on, clamped to the bounds."""
    found = []
    for place, limit in enumerate(limits):
        found.append(sizes.larger(sizes.smaller(sizes.of_scalar(node.value(first + place)), limit), 0))
    return found


@register_stablehlo("stablehlo.dynamic_slice")
def dynamic_slice(node: HloNode) -> Outputs:
    """Slice with static sizes and dynamic starts, as rows counted from the start."""
    lengths, own = node.attr("slice_sizes"), node.sizes_of_operand(0)
    limits = [sizes.minus(size, length) for size, length in zip(own, lengths, strict=True)]
    begins = starts(node, 1, limits)
    cut = [axis for axis, (size, length) in enumerate(zip(own, lengths, strict=True)) if size != length]
    known = {axis: (begins[axis], begins[axis] + lengths[axis], 1) for axis in cut if isinstance(begins[axis], int)}
    rows = {
        axis: relax.add(relax.arange(0, lengths[axis], 1, dtype="i64"), sizes.as_tensor([begins[axis]]))
        if lengths[axis] != 1
        else sizes.as_tensor([begins[axis]])
        for axis in cut
        if axis not in known
    }

    def sliced(_: HloNode, x: Tensor) -> Tensor:
        x = sizes.sliced(Value(ssa=x), known) if known else x
        for axis, places in rows.items():
            x = relax.take(x, places, axis=axis)
        return x

    return on_parts(sliced)(node)


@register_stablehlo("stablehlo.real_dynamic_slice")
def real_dynamic_slice(node: HloNode) -> Outputs:
    begins, ends, steps = (node.known_sizes(index) for index in (1, 2, 3))
    if not all(isinstance(step, int) for step in steps):
        raise node.fail("strides must be known while the module is imported")
    bounds = dict(enumerate(zip(begins, ends, steps, strict=True)))
    return on_parts(lambda _, x: sizes.sliced(Value(ssa=x), bounds) if bounds else x)(node)


@register_stablehlo("stablehlo.dynamic_update_slice")
def dynamic_update_slice(node: HloNode) -> Outputs:
    """Replace a slice of the operand: the update is padded to the operand's shape."""
    own, lengths = node.sizes_of_operand(0), node.sizes_of_operand(1)
    begins = starts(node, 2, list(map(sizes.minus, own, lengths)))
    if not node.is_complex:
        return _update(node.tensor(0), node.tensor(1), begins, lengths)
    x, update = node.pair(0), node.pair(1)
    return Pair(
        _update(x.real, update.real, begins, lengths), _update(x.whole_imag, update.whole_imag, begins, lengths)
    ).value()


def _update(x: Tensor, update: Tensor, begins: Sequence[sizes.Size], lengths: Sequence[sizes.Size]) -> Tensor:
    if (rank := len(lengths)) == 0:
        return update
    places = [
        relax.add(sizes.positions(lengths, axis), sizes.reshaped(sizes.as_tensor([begin]), [1] * rank))
        for axis, begin in enumerate(begins)
    ]
    return relax.index_put(x, places, values=update)


# ---- padding ----


@register_stablehlo("stablehlo.pad")
def pad(node: HloNode) -> Outputs:
    low, high, interior = (
        node.attr(f"edge_padding_{side}") if side != "interior" else node.attr("interior_padding")
        for side in ("low", "high", "interior")
    )
    return _convert_pad(node, low, high, interior)


@register_stablehlo("stablehlo.dynamic_pad")
def dynamic_pad(node: HloNode) -> Outputs:
    return _convert_pad(node, *(node.known_sizes(index) for index in (2, 3, 4)))


def _convert_pad(
    node: HloNode, low: Sequence[sizes.Size], high: Sequence[sizes.Size], interior: Sequence[sizes.Size]
) -> Outputs:
    held, fill = node.held(0), node.held(1)
    if not isinstance(held, ComplexValue) or not isinstance(fill, ComplexValue):
        return with_padding(node.tensor(0), node.value(1), low, high, interior)
    halves = ((held.real, fill.real), (held.imag, fill.imag))
    return Pair(*(with_padding(x.ssa, number, low, high, interior) for x, number in halves)).value()


def with_padding(
    x: Tensor, fill: Value, low: Sequence[sizes.Size], high: Sequence[sizes.Size], interior: Sequence[sizes.Size]
) -> Tensor:
    """Insert elements between the tensor's elements, then around them. Negative counts remove elements."""
    number = fill.ssa if fill.array is None else _number(fill.array)
    filling = const(number, info_of(x).dtype) if isinstance(number, (int, float)) else number
    for axis, count in enumerate(interior):
        if count != 0:
            x = _apart(x, filling, axis, count)
    around = {axis: pair for axis, pair in enumerate(zip(low, high, strict=True)) if pair != (0, 0)}
    tensor = padded(Value(ssa=x), around, "constant", number) if around else x
    return tensor.ssa if isinstance(tensor, Value) else tensor


def _number(array: Array) -> float | int:
    number = array.ravel()[0]
    return int(number) if array.dtype.kind in "iub" else float(number)


def _apart(x: Tensor, fill: Tensor, axis: int, count: sizes.Size) -> Tensor:
    """Insert a number of elements between neighbors along an axis: after each, and then without those after the
    last."""
    own = sizes.sizes_of(Value(ssa=x))
    step = sizes.plus(count, 1)
    rows = relax.expand_dims(x, axis=[axis + 1])
    both = joined([rows, sizes.full([*own[: axis + 1], count, *own[axis + 1 :]], fill)], axis + 1)
    flat = sizes.reshaped(both, [*own[:axis], sizes.times(own[axis], step), *own[axis + 1 :]])
    length = sizes.larger(sizes.minus(sizes.times(own[axis], step), count), 0)
    return sizes.sliced(Value(ssa=flat), {axis: (0, length, 1)}, {axis: length})
