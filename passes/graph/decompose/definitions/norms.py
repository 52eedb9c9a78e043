# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of norms: deviations from the mean divided by their root mean square, then a scale and a shift."""

from __future__ import annotations

from collections.abc import Sequence

from .....bindings.ir import OpView
from .....dialects.core.symbols import dim_floordiv
from .....dialects.relax.values import is_known, normal_axis
from ..registry import register_decomposition
from ..tensor_formulas import Tensor, apply, shape_operand
from ..wide import Decline, along, computed_wide, known_shape, rank_of, relax


@register_decomposition("relax.nn.layer_norm", by_types=True)
@computed_wide
def layer_norm(op: OpView, data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    result = _divide_by_deviation(op, _center(data, op.axes), op.axes)
    return _affine(op, result, along(gamma, op.axes, data.value), along(beta, op.axes, data.value))


@register_decomposition("relax.nn.rms_norm", by_types=True)
@computed_wide
def rms_norm(op: OpView, data: Tensor, weight: Tensor) -> Tensor:
    return _divide_by_deviation(op, data, op.axes) * along(weight, op.axes, data.value)


@register_decomposition("relax.nn.instance_norm", by_types=True)
@computed_wide
def instance_norm(op: OpView, data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    result = _divide_by_deviation(op, _center(data, op.axes), op.axes)
    return _affine(op, result, *(along(tensor, [op.channel_axis], data.value) for tensor in (gamma, beta)))


@register_decomposition("relax.nn.group_norm", by_types=True)
@computed_wide
def group_norm(op: OpView, data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """Decompose a group norm. The channels are split into groups and channels within a group."""
    shape = known_shape(data.value)
    if not is_known(shape):
        raise Decline("a size of the data is not known")
    axis = normal_axis(op.channel_axis, len(shape))
    apart = (*shape[:axis], op.num_groups, dim_floordiv(shape[axis], op.num_groups), *shape[axis + 1 :])
    given = [normal_axis(each, len(shape)) for each in op.axes]
    axes = [axis + 1, *(number + 1 if number > axis else number for number in given)]
    groups = Tensor(relax.reshape(data.value, relax.shape_expr(dims=apart)))
    result = _divide_by_deviation(op, _center(groups, axes), axes)
    whole = Tensor(relax.reshape(result.value, shape_operand(data.value)))
    return _affine(op, whole, *(along(tensor, [axis], data.value) for tensor in (gamma, beta)))


@register_decomposition("relax.nn.batch_norm", by_types=True)
@computed_wide
def batch_norm(op: OpView, data: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor) -> list[Tensor]:
    channel = [op.axis]
    scale, shift = (along(tensor, channel, data.value) for tensor in (gamma, beta))
    if not op.training:
        centered = data - along(mean, channel, data.value)
        factor = apply("rsqrt", along(variance, channel, data.value) + op.epsilon)
        return [_affine(op, centered * factor, scale, shift), mean, variance]
    axes = [axis for axis in range(rank_of(data.value)) if axis != normal_axis(op.axis, rank_of(data.value))]
    batch_mean = apply("mean", data, axis=axes)
    centered = data - along(batch_mean, channel, data.value)
    batch_variance = apply("mean", centered * centered, axis=axes)
    factor = apply("rsqrt", along(batch_variance, channel, data.value) + op.epsilon)
    moved = (
        old * (1 - op.momentum) + new * op.momentum for old, new in ((mean, batch_mean), (variance, batch_variance))
    )
    return [_affine(op, centered * factor, scale, shift), *moved]


def _center(data: Tensor, axes: Sequence[int]) -> Tensor:
    return data - apply("mean", data, axis=list(axes), keepdims=True)


def _divide_by_deviation(op: OpView, data: Tensor, axes: Sequence[int]) -> Tensor:
    """Divide by the root mean square."""
    return data * apply("rsqrt", apply("mean", data * data, axis=list(axes), keepdims=True) + op.epsilon)


def _affine(op: OpView, result: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    result = result * scale if op.scale else result
    return result + shift if op.center else result
