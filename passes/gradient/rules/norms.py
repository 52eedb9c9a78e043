# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of norms: they are functions of operators that have rules, and so are their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....bindings.ir import Value
from ....dialects.core.symbols import dim_floordiv
from ....dialects.relax import const
from ...canonicalize.support import dtype_of
from ..registry import GradientCall, register_gradient
from ..reverse import gradients_at
from ..tensors import known_shape, rank_of, relax, shape_operand


@register_gradient("relax.nn.layer_norm")
def layer_norm(call: GradientCall) -> list[Any]:
    def forward(data: Any, gamma: Any, beta: Any) -> Any:
        result = _divided_by_root(call, _centered(data, call.axes), call.axes)
        return _scaled(call, result, gamma, beta, lambda weight: _along(call, weight))

    return gradients_at(call.operands, forward, call.gradient)


@register_gradient("relax.nn.rms_norm")
def rms_norm(call: GradientCall) -> list[Any]:
    def forward(data: Value, weight: Value) -> Value:
        return relax["multiply"](_divided_by_root(call, data, call.axes), _along(call, weight))

    return gradients_at(call.operands, forward, call.gradient)


@register_gradient("relax.nn.instance_norm")
def instance_norm(call: GradientCall) -> list[Any]:
    def forward(data: Any, gamma: Any, beta: Any) -> Any:
        result = _divided_by_root(call, _centered(data, call.axes), call.axes)
        return _scaled(call, result, gamma, beta, lambda weight: _of_channels(call, weight, call.channel_axis))

    return gradients_at(call.operands, forward, call.gradient)


@register_gradient("relax.nn.group_norm")
def group_norm(call: GradientCall) -> list[Any]:
    axis, shape = call.channel_axis % _rank(call), known_shape(call, call.data, "its data")
    in_group = dim_floordiv(shape[axis], call.num_groups)
    apart = (*shape[:axis], call.num_groups, in_group, *shape[axis + 1 :])
    given = [each % _rank(call) for each in call.axes]
    axes = [axis + 1, *(each + 1 if each > axis else each for each in given)]

    def forward(data: Any, gamma: Any, beta: Any) -> Any:
        groups = relax["reshape"](data, relax["shape_expr"](dims=apart))
        result = relax["reshape"](_divided_by_root(call, _centered(groups, axes), axes), shape_operand(data))
        return _scaled(call, result, gamma, beta, lambda weight: _of_channels(call, weight, axis))

    return gradients_at(call.operands, forward, call.gradient)


@register_gradient("relax.nn.batch_norm")
def batch_norm(call: GradientCall) -> list[Any]:
    if call.arrives_at(1) or call.arrives_at(2):
        raise call.fail("only its result has derivatives, not the moving mean and variance")
    axes = [axis for axis in range(_rank(call)) if axis != call.axis % _rank(call)]

    def forward(data: Any, gamma: Any, beta: Any, mean: Any, variance: Any) -> Any:
        center, spread = _of_channels(call, mean, call.axis), _of_channels(call, variance, call.axis)
        if call.training:
            center = relax["mean"](data, axis=axes, keepdims=True)
            spread = relax["variance"](data, axis=axes, keepdims=True)
        scale = relax["rsqrt"](relax["add"](spread, const(call.epsilon, dtype_of(data))))
        result = relax["multiply"](relax["subtract"](data, center), scale)
        return _scaled(call, result, gamma, beta, lambda weight: _of_channels(call, weight, call.axis))

    return gradients_at(call.operands, forward, call.gradient)


def _of_channels(call: GradientCall, weight: Any, axis: int) -> Any:
    """A weight for each channel, so that it broadcasts with the data."""
    behind = _rank(call) - axis % _rank(call) - 1
    return relax["expand_dims"](weight, axis=list(range(1, 1 + behind))) if behind else weight


def _rank(call: GradientCall) -> int:
    return rank_of(call, call.data)


def _scaled(call: GradientCall, result: Any, gamma: Any, beta: Any, fitted: Callable[[Any], Any]) -> Any:
    """Times gamma, plus beta, where the operator has them; `fitted` makes them broadcast with the data."""
    result = relax["multiply"](result, fitted(gamma)) if call.scale else result
    return relax["add"](result, fitted(beta)) if call.center else result


def _centered(x: Any, axes: Sequence[int]) -> Any:
    return relax["subtract"](x, relax["mean"](x, axis=axes, keepdims=True))


def _divided_by_root(call: GradientCall, x: Value, axes: Sequence[int]) -> Value:
    """Divided by the root of the mean of its squares."""
    mean = relax["mean"](relax["square"](x), axis=list(axes), keepdims=True)
    return relax["multiply"](x, relax["rsqrt"](relax["add"](mean, const(call.epsilon, dtype_of(x)))))


def _along(call: GradientCall, weight: Value) -> Value:
    """A weight with the sizes of the normalized axes, so that it broadcasts with the data."""
    rank = _rank(call)
    axes = [axis % rank for axis in call.axes]
    if axes != sorted(axes):
        raise call.fail("its axes are not in ascending order")
    others = [axis for axis in range(axes[0], rank) if axis not in axes]
    return relax["expand_dims"](weight, axis=[axis - axes[0] for axis in others]) if others else weight
