# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of reductions over axes."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.symbols import product
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.decompose.tensor_formulas import Tensor, cast, count_over, relax, shape_operand, spread
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..gradient_call import GradientCall, Gradients
from ..lengths import by_length
from ..requirements import known_shape, rank_of, reduced_axes
from ..reverse import gradients_at


@register_gradient("relax.sum", by_types=True)
def sum(call: GradientCall) -> Gradients:
    return spread(call.gradient, call.x, reduced_axes(call, call.x), call.keepdims)


@register_gradient("relax.mean", by_types=True)
def mean(call: GradientCall) -> Gradients:
    axes = reduced_axes(call, call.x)
    total = spread(call.gradient, call.x, axes, call.keepdims)
    return relax.divide(total, count_over(call.x, axes))


@register_gradient("relax.variance", by_types=True)
def variance(call: GradientCall) -> Gradients:
    return _with_distances(call, call.gradient)


@register_gradient("relax.std", by_types=True)
def std(call: GradientCall) -> Gradients:
    # std is the root of the variance. If all elements are equal, both are 0, their minimum.
    return _with_distances(call, by_length(Tensor(call.gradient), Tensor(call.result)).value)


def _with_distances(call: GradientCall, gradient: Value) -> Value:
    """Return a gradient of the variance, times twice the distance of each element to the mean, divided by the count."""
    axes = reduced_axes(call, call.x)
    distance = relax.subtract(call.x, relax.mean(call.x, axis=axes, keepdims=True))
    scaled = relax.multiply(spread(gradient, call.x, axes, call.keepdims), relax.add(distance, distance))
    return relax.divide(scaled, count_over(call.x, axes))


@register_gradient(["relax.max", "relax.min", "relax.median"], by_types=True)
def chosen(call: GradientCall) -> Gradients:
    """Differentiate max, min and median: equal shares go to all elements that are equal to the result."""
    x = call.operands[0]
    axes = reduced_axes(call, x)
    is_result = relax.equal(x, spread(call.result, x, axes, call.keepdims))
    weights = relax.astype(is_result, dtype=dtype_of(x))
    shares = relax.divide(weights, relax.sum(weights, axis=axes, keepdims=True))
    return relax.multiply(shares, spread(call.gradient, x, axes, call.keepdims))


@register_gradient("relax.prod", by_types=True)
def prod(call: GradientCall) -> Gradients:
    """Differentiate prod: each element gets the product of the elements before and after it, without a division."""
    axes = reduced_axes(call, call.x)
    wide = spread(call.gradient, call.x, axes, call.keepdims)
    if len(axes) == 1:
        return relax.multiply(_others(call.x, axes[0]), wide)
    # Flatten the axes to one behind the others.
    shape, rest = known_shape(call, call.x), [axis for axis in range(rank_of(call, call.x)) if axis not in axes]
    order = [*rest, *axes]
    turned = relax.permute_dims(call.x, axes=order)
    joined = (*(shape[axis] for axis in rest), product([shape[axis] for axis in axes]))
    others = _others(relax.reshape(turned, relax.shape_expr(dims=joined)), len(rest))
    apart = relax.reshape(others, shape_operand(turned))
    back = [order.index(axis) for axis in range(len(shape))]
    return relax.multiply(relax.permute_dims(apart, axes=back), wide)


def _others(x: Value, axis: int) -> Value:
    in_front = relax.cumprod(x, axis=axis, exclusive=True)
    turned = relax.cumprod(relax.flip(x, axis=axis), axis=axis, exclusive=True)
    return relax.multiply(in_front, relax.flip(turned, axis=axis))


@register_gradient(["relax.cumsum", "relax.cumprod"], by_types=True)
def scan(call: GradientCall) -> Gradients:
    """Differentiate a scan along an axis, in the operand's element type. Casts and reshapes around it have rules."""

    def forward(data: Value) -> Value:
        wide = cast(data, dtype_of(call.result))
        return relax.flatten(wide) if call.axis is None else wide

    axis = 0 if call.axis is None else call.axis % rank_of(call, call.data)
    along = _cumsum_gradient if call.operation.name == "relax.cumsum" else _cumprod_gradient
    arriving = along(call, forward(call.data), axis)
    return gradients_at([call.data], forward, arriving)


def _cumsum_gradient(call: GradientCall, data: Value, axis: int) -> Value:
    """Differentiate cumsum: the sum of the gradients from each element on."""
    turned = relax.flip(call.gradient, axis=axis)
    return relax.flip(relax.cumsum(turned, axis=axis, exclusive=call.exclusive), axis=axis)


def _cumprod_gradient(call: GradientCall, data: Value, axis: int) -> Value:
    """Differentiate cumprod: the sum over all products that contain an element, each without it.

    A new axis `which`, in front of the scan's axis, selects the element that is left out of the products. So there is
    no division by elements, which may be 0.
    """
    shape = known_shape(call, data)
    size, behind = shape[axis], list(range(1, len(shape) - axis))

    def number(after: Sequence[int]) -> Value:
        counted = relax.arange(0, size, 1, dtype="i64")
        return relax.expand_dims(counted, axis=list(after)) if after else counted

    which, place = number(range(1, 2 + len(behind))), number(behind)
    factors = relax.where(relax.equal(which, place), const(1, dtype_of(data)), relax.expand_dims(data, axis=[axis]))
    products = relax.cumprod(factors, axis=axis + 1, exclusive=call.exclusive)
    reaches = relax.dialect.ops["less" if call.exclusive else "less_equal"](which, place)
    arriving = relax.expand_dims(call.gradient, axis=[axis])
    kept = relax.where(reaches, relax.multiply(products, arriving), const(0, dtype_of(data)))
    return relax.sum(kept, axis=[axis + 1])
