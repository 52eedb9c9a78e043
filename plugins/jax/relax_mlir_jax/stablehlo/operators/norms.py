# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch normalization: each feature by its mean and variance. Narrow floats are computed in f32."""

from __future__ import annotations

from collections.abc import Sequence

from ..prelude import HloNode, Outputs, Tensor, cast, const, register_stablehlo, relax, sizes, wide_float


def _others(node: HloNode) -> list[int]:
    """Return all dimensions except the feature dimension."""
    return [axis for axis in range(node.rank(0)) if axis != node.attr("feature_index")]


def _wide(node: HloNode) -> str:
    return wide_float(node.value(0).dtype)


def _tensors(node: HloNode) -> list[Tensor]:
    return [cast(tensor, _wide(node)) for tensor in node.tensors()]


def _expand_feature(node: HloNode, x: Tensor) -> Tensor:
    """Expand a tensor of one number per feature for broadcasting."""
    return relax.expand_dims(x, axis=_others(node)) if node.rank(0) > 1 else x


def _normalize(node: HloNode, tensors: Sequence[Tensor]) -> Tensor:
    x, scale, offset, mean, variance = tensors
    made = relax.nn.batch_norm(
        x, scale, offset, mean, variance, axis=node.attr("feature_index"), epsilon=node.attr("epsilon"), training=False
    )
    return made[0]


@register_stablehlo("stablehlo.batch_norm_inference")
def batch_norm_inference(node: HloNode) -> Outputs:
    return cast(_normalize(node, _tensors(node)), node.dtype)


@register_stablehlo("stablehlo.batch_norm_training")
def batch_norm_training(node: HloNode) -> Outputs:
    """Normalize with the mean and the variance of the batch, and return both as well."""
    x, scale, offset = _tensors(node)
    mean, variance = (reduce(x, axis=_others(node)) for reduce in (relax.mean, relax.variance))
    made = _normalize(node, [x, scale, offset, mean, variance])
    return [cast(each, node.dtype) for each in (made, mean, variance)]


@register_stablehlo("stablehlo.batch_norm_grad")
def batch_norm_grad(node: HloNode) -> Outputs:
    """Return the gradients of the operand, the scale and the offset."""
    x, scale, mean, variance, gradient = _tensors(node)
    axes, wide = _others(node), _wide(node)
    shape = node.sizes_of_operand(0)
    count = sizes.as_scalar(sizes.product([shape[axis] for axis in axes]), wide)
    deviation = relax.sqrt(relax.add(variance, const(node.attr("epsilon"), wide)))
    centered = relax.subtract(x, _expand_feature(node, mean))
    of_scale = relax.divide(relax.sum(relax.multiply(gradient, centered), axis=axes), deviation)
    of_offset = relax.sum(gradient, axis=axes)
    # Contribution of the mean and the variance, which depend on the whole batch.
    along = relax.multiply(centered, _expand_feature(node, relax.divide(of_scale, deviation)))
    rest = relax.divide(relax.add(along, _expand_feature(node, of_offset)), count)
    of_x = relax.multiply(relax.subtract(gradient, rest), _expand_feature(node, relax.divide(scale, deviation)))
    return [cast(each, node.dtype) for each in (of_x, of_scale, of_offset)]
