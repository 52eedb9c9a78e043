# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators that change shapes, move elements, or select some."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.symbols import Dim, dim_add
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.infer.sizes import at_least
from relax_mlir.dialects.relax.values import is_known, shape_of
from relax_mlir.passes.graph.decompose.tensor_formulas import relax, shape_operand
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..gradient_call import Gradient, GradientCall, Gradients
from ..positions import moved_by_itself
from ..requirements import known_shape, rank_of


@register_gradient(
    ["relax.reshape", "relax.flatten", "relax.squeeze", "relax.expand_dims", "relax.nn.batch_flatten"], by_types=True
)
def reshape(call: GradientCall) -> Gradients:
    """Reshape the gradient to the operand's shape."""
    return relax.reshape(call.gradient, shape_operand(call.operands[0]))


@register_gradient("relax.broadcast_to", by_types=True)
def broadcast_to(call: GradientCall) -> Gradients:
    return relax.collapse_sum_like(call.gradient, call.x)


@register_gradient(["relax.collapse_sum_like", "relax.collapse_sum_to"], by_types=True)
def collapse_sum(call: GradientCall) -> Gradients:
    return relax.broadcast_to(call.gradient, shape_operand(call.data))


@register_gradient("relax.match_cast", by_types=True)
def match_cast(call: GradientCall) -> Gradients:
    """Cast back. The sizes have been checked in the forward pass, so only the type changes."""
    return relax.match_cast(call.gradient, ty=call.operands[0].type)


@register_gradient("relax.permute_dims", by_types=True)
def permute_dims(call: GradientCall) -> Gradients:
    if call.axes is None:
        return relax.permute_dims(call.gradient)
    rank = len(call.axes)
    places = {axis % rank: place for place, axis in enumerate(call.axes)}
    return relax.permute_dims(call.gradient, axes=[places[axis] for axis in range(rank)])


@register_gradient("relax.flip", by_types=True)
def flip(call: GradientCall) -> Gradients:
    return relax.flip(call.gradient, axis=call.axis)


@register_gradient("relax.concat", by_types=True)
def concat(call: GradientCall) -> Sequence[Gradient]:
    """Return for each tensor its slice of the gradient."""
    axis = call.axis % rank_of(call, call.tensors[0], "an operand")
    shapes = [shape_of(tensor) or () for tensor in call.tensors]
    is_number = all(isinstance(shape[axis], int) for shape in shapes)
    if not is_number and not all(map(is_known, shapes)):
        return _parts_of_unknown_sizes(call, axis)
    begins: list[Dim] = [0]
    for shape in shapes:
        begins.append(dim_add(begins[-1], shape[axis]))
    return [partial(_part, call.gradient, axis, *ends) for ends in pairwise(begins)]


def _parts_of_unknown_sizes(call: GradientCall, axis: int) -> Sequence[Gradient]:
    """Slice the gradient at offsets that are computed at run time from the tensors' sizes."""
    sizes = [relax.shape_to_tensor(shape_operand(tensor)) for tensor in call.tensors]
    rank = rank_of(call, call.tensors[0])
    along, ones = const([int(place == axis) for place in range(rank)], "i64"), const([1] * rank, "i64")
    begins = [const([0] * rank, "i64")]
    for size in sizes:
        begins.append(relax.add(begins[-1], relax.multiply(size, along)))

    def part(at: int) -> Value:
        return relax.dynamic_strided_slice(call.gradient, begins[at], relax.add(begins[at], sizes[at]), ones)

    return [partial(part, at) for at in range(len(sizes))]


def _part(x: Value, axis: int, begin: Dim, end: Dim) -> Value:
    """Return x[begin:end] along an axis, with sizes that may be expressions."""
    if isinstance(begin, int) and isinstance(end, int):
        return relax.strided_slice(x, axes=[axis], begin=[begin], end=[end], assume_inbound=True)
    shape = shape_of(x)
    assert shape is not None
    first = [begin if index == axis else 0 for index in range(len(shape))]
    last = [end if position == axis else size for position, size in enumerate(shape)]
    ones = [1] * len(shape)
    bounds = [relax.shape_to_tensor(relax.shape_expr(dims=tuple(dims))) for dims in (first, last, ones)]
    return relax.dynamic_strided_slice(x, *bounds)


@register_gradient("relax.stack", by_types=True)
def stack(call: GradientCall) -> Sequence[Gradient]:
    shape = shape_of(call.gradient)
    axis = call.axis % len(shape) if shape else 0

    def part(at: int) -> Value:
        return relax.squeeze(_part(call.gradient, axis, at, at + 1), axis=[axis])

    return [partial(part, at) for at in range(len(call.tensors))]


@register_gradient("relax.split", by_types=True)
def split(call: GradientCall) -> Gradients:
    return relax.concat(call.gradients, axis=call.axis)


@register_gradient("relax.strided_slice", by_types=True)
def strided_slice(call: GradientCall) -> Gradients:
    """Write the gradient into zeros where the slice was taken, axis by axis, the last one first."""
    strides = call.strides or [1] * len(call.axes)
    if any(stride < 1 for stride in strides) or not all(at_least(bound, 0) for bound in call.begin):
        return moved_by_itself(call)
    cuts = list(zip(call.axes, call.begin, call.end, strides, strict=True))
    whole = [call.x]
    for axis, begin, end, stride in cuts[:-1]:
        whole.append(relax.strided_slice(whole[-1], axes=[axis], begin=[begin], end=[end], strides=[stride]))
    gradient = call.gradient
    for tensor, (axis, begin, end, stride) in zip(reversed(whole), reversed(cuts), strict=True):
        zeros = relax.zeros_like(tensor)
        gradient = relax.slice_scatter(zeros, gradient, begin, end, stride, axis=axis)
    return gradient


@register_gradient("relax.nn.pad", by_types=True)
def pad(call: GradientCall) -> Gradients:
    """Remove the padding from the gradient, and pad the elements that were removed with zeros."""
    if call.pad_mode != "constant":
        return moved_by_itself(call)
    return relax.nn.pad(call.gradient, pad_width=[-width for width in call.pad_width])


@register_gradient("relax.tile", by_types=True)
def tile(call: GradientCall) -> Gradients:
    """Sum over the copies: repeats and sizes become separate dimensions."""
    shape = known_shape(call, call.data)
    rank = max(len(shape), len(call.repeats))
    sizes = [1] * (rank - len(shape)) + list(shape)
    repeats = [1] * (rank - len(call.repeats)) + list(call.repeats)
    apart = tuple(each for pair in zip(repeats, sizes, strict=True) for each in pair)
    copies = relax.reshape(call.gradient, relax.shape_expr(dims=apart))
    total = relax.sum(copies, axis=list(range(0, 2 * rank, 2)))
    return relax.reshape(total, shape_operand(call.data))


@register_gradient("relax.repeat", by_types=True)
def repeat(call: GradientCall) -> Gradients:
    if call.axis is None:
        return moved_by_itself(call)
    shape = known_shape(call, call.data)
    axis = call.axis % len(shape)
    apart = (*shape[: axis + 1], call.repeats, *shape[axis + 1 :])
    return relax.sum(relax.reshape(call.gradient, relax.shape_expr(dims=apart)), axis=[axis + 1])
