# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of reductions over axes."""

from __future__ import annotations

from typing import Any

from ..registry import GradientCall, register_gradient
from ..tensors import count_over, reduced_axes, relax, spread


@register_gradient("relax.sum")
def sum(call: GradientCall) -> Any:
    return spread(call.gradient, call.x, reduced_axes(call, call.x), call.keepdims)


@register_gradient("relax.mean")
def mean(call: GradientCall) -> Any:
    axes = reduced_axes(call, call.x)
    total = spread(call.gradient, call.x, axes, call.keepdims)
    return relax["divide"](total, count_over(call.x, axes))


@register_gradient("relax.variance")
def variance(call: GradientCall) -> Any:
    return _with_distances(call, call.gradient)


@register_gradient("relax.std")
def std(call: GradientCall) -> Any:
    # The root of the variance: half of its derivative, divided by the root.
    halved = relax["divide"](call.gradient, relax["add"](call.result, call.result))
    return _with_distances(call, halved)


def _with_distances(call: GradientCall, gradient: Any) -> Any:
    """A gradient of the variance, for each element times twice its distance to the mean, divided by the count."""
    axes = reduced_axes(call, call.x)
    distance = relax["subtract"](call.x, relax["mean"](call.x, axis=axes, keepdims=True))
    scaled = relax["multiply"](spread(gradient, call.x, axes, call.keepdims), relax["add"](distance, distance))
    return relax["divide"](scaled, count_over(call.x, axes))


@register_gradient(["relax.max", "relax.min"])
def extreme(call: GradientCall) -> Any:
    """Goes to the elements that are the largest (smallest), in equal shares where several are."""
    axes = reduced_axes(call, call.x)
    dtype = str(call.x.type.element_type)
    chosen = relax["equal"](call.x, spread(call.result, call.x, axes, call.keepdims))
    weights = relax["astype"](chosen, dtype=dtype)
    shares = relax["divide"](weights, relax["sum"](weights, axis=axes, keepdims=True))
    return relax["multiply"](shares, spread(call.gradient, call.x, axes, call.keepdims))


@register_gradient("relax.prod")
def prod(call: GradientCall) -> Any:
    """The product of the others: of those in front and those behind, so that no element is divided by."""
    axes = reduced_axes(call, call.x)
    if len(axes) != 1:
        raise call.fail("only along one axis")
    (axis,) = axes
    in_front = relax["cumprod"](call.x, axis=axis, exclusive=True)
    turned = relax["cumprod"](relax["flip"](call.x, axis=axis), axis=axis, exclusive=True)
    others = relax["multiply"](in_front, relax["flip"](turned, axis=axis))
    return relax["multiply"](others, spread(call.gradient, call.x, axes, call.keepdims))


@register_gradient("relax.cumsum")
def cumsum(call: GradientCall) -> Any:
    """Each element is in its own sum and in all behind it."""
    dtype = str(call.data.type.element_type)
    if call.axis is None or str(call.result.type.element_type) != dtype:
        raise call.fail("only along an axis, in the element type of its operand")
    turned = relax["flip"](call.gradient, axis=call.axis)
    return relax["flip"](relax["cumsum"](turned, axis=call.axis, exclusive=call.exclusive), axis=call.axis)
