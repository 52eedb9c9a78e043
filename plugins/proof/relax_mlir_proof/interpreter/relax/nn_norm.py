# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations: (data - mean) / sqrt(variance + epsilon) * gamma + beta."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..steps import require_same
from .parameters import along_axes

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_reference("relax.nn.batch_norm")
def batch_norm(
    call: EvaluationCall, data: ndarray, gamma: ndarray, beta: ndarray, moving_mean: ndarray, moving_var: ndarray
) -> list[ndarray]:
    """Normalize by the moving statistics, or in training by the batch's, which then update the moving ones."""
    channels = [call.axis]
    if not call.training:
        mean, variance = (
            along_axes(each, channels, data, name)
            for each, name in ((moving_mean, "moving_mean"), (moving_var, "moving_var"))
        )
        return [_affine(call, (data - mean) / numpy.sqrt(variance + call.epsilon), gamma, beta, channels),
                moving_mean, moving_var]  # fmt: skip
    others = [axis for axis in range(data.ndim) if axis != call.axis % data.ndim]
    new_mean, new_var = (
        (1 - call.momentum) * moving + call.momentum * own.reshape(moving.shape)
        for moving, own in zip((moving_mean, moving_var), _moments(data, others), strict=True)
    )
    return [_affine(call, _normalize(call, data, others), gamma, beta, channels), new_mean, new_var]


@register_reference("relax.nn.layer_norm")
def layer_norm(call: EvaluationCall, data: ndarray, gamma: ndarray, beta: ndarray) -> ndarray:
    return _affine(call, _normalize(call, data, call.axes), gamma, beta, call.axes)


@register_reference("relax.nn.instance_norm")
def instance_norm(call: EvaluationCall, data: ndarray, gamma: ndarray, beta: ndarray) -> ndarray:
    return _affine(call, _normalize(call, data, call.axes), gamma, beta, [call.channel_axis])


@register_reference("relax.nn.group_norm")
def group_norm(call: EvaluationCall, data: ndarray, gamma: ndarray, beta: ndarray) -> ndarray:
    """Normalize over the axes and the channels of a group."""
    channel = call.channel_axis % data.ndim
    by_channel = numpy.moveaxis(data, channel, 0)
    count, *others = by_channel.shape
    require_same(count // call.num_groups * call.num_groups, count, f"{call.num_groups} groups of channels")
    groups = by_channel.reshape(call.num_groups, count // call.num_groups, *others)
    # The channels are in front now, as two axes.
    axes = [axis % data.ndim for axis in call.axes]
    normalized = _normalize(call, groups, [1, *(axis + 1 + (axis < channel) for axis in axes)])
    normalized = numpy.moveaxis(normalized.reshape(by_channel.shape), 0, channel)
    return _affine(call, normalized, gamma, beta, [channel])


@register_reference("relax.nn.rms_norm")
def rms_norm(call: EvaluationCall, data: ndarray, weight: ndarray) -> ndarray:
    mean_square = _mean(data * data, call.axes)
    return data / numpy.sqrt(mean_square + call.epsilon) * along_axes(weight, call.axes, data, "weight")


def _normalize(call: EvaluationCall, data: ndarray, axes: Sequence[int]) -> ndarray:
    mean, variance = _moments(data, axes)
    return (data - mean) / numpy.sqrt(variance + call.epsilon)


def _moments(data: ndarray, axes: Sequence[int]) -> tuple[ndarray, ndarray]:
    """Return the mean and the mean squared deviation."""
    mean = _mean(data, axes)
    return mean, _mean((data - mean) ** 2, axes)


def _mean(data: ndarray, axes: Sequence[int]) -> ndarray:
    return data.sum(axis=tuple(axes), keepdims=True) / math.prod(data.shape[axis] for axis in axes)


def _affine(call: EvaluationCall, normalized: ndarray, gamma: ndarray, beta: ndarray, axes: Sequence[int]) -> ndarray:
    gamma = along_axes(gamma, axes, normalized, "gamma")
    beta = along_axes(beta, axes, normalized, "beta")
    scaled = normalized * gamma if call.scale else normalized
    return scaled + beta if call.center else scaled
