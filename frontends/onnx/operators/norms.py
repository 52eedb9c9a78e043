# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of normalizations. Narrow floats are normalized in f32, regardless of 'stash_type'."""

from __future__ import annotations

from typing import Any

from ....dialects.core.symbols import Dim, equal
from ....support.errors import ModelError
from ...core import sizes
from ..prelude import OnnxNode, Outputs, Tensor, Value, cast, const, register_onnx, register_rows, relax

_WIDTH = {"f64": 3, "f32": 2, "f16": 1, "bf16": 1}


def common_dtype(node: OnnxNode, *indices: int) -> str:
    """Return a type that represents the numbers of several inputs: their own, or f32 for two narrow types."""
    dtypes = {node.value(index).dtype for index in indices if node.has(index)}
    if len(dtypes) == 1:
        return dtypes.pop()
    return max({*dtypes, "f32"}, key=lambda dtype: _WIDTH.get(dtype, 0))


# ---- over batches ----
@register_onnx("", "BatchNormalization")
def old_batch_norm(node: OnnxNode) -> Outputs:
    """Convert BatchNormalization of the first versions.

    Nodes with more than one output are in training, unless an attribute of the first versions says otherwise. Further
    outputs are the batch's own mean and variance. Parameters may have more dimensions than the channels.
    """
    is_training = node.output_count > 1 and not (node.version < 7 and node.int("is_test", 0))
    if not node.int("spatial", 1):
        return _norm_of_places(node, is_training)
    outputs = _batch_norm(node, is_training)
    if node.output_count <= 3:
        return outputs[: node.output_count]
    x, others = node.tensor(0), [axis for axis in range(node.rank(0)) if axis != 1]
    return [*outputs, relax.mean(x, axis=others), relax.variance(x, axis=others)][: node.output_count]


def _norm_of_places(node: OnnxNode, is_training: bool) -> Tensor:
    """Normalize with a mean and variance for each position of a sample."""
    if is_training:
        raise node.fail("training with spatial=0 is not supported: export the model for inference", "spatial")
    x, scale, bias, mean, variance = node.tensors(5)
    epsilon = const(node.float("epsilon", 1e-5), node.value(0).dtype)
    factor = relax.multiply(scale, relax.rsqrt(relax.add(variance, epsilon)))
    return relax.add(relax.multiply(relax.subtract(x, mean), factor), bias)


@register_onnx("", "BatchNormalization", since=14)
def batch_norm(node: OnnxNode) -> Outputs:
    return _batch_norm(node, bool(node.int("training_mode", 0)))[: node.output_count]


def _batch_norm(node: OnnxNode, is_training: bool) -> list[Tensor]:
    """Return the result and the updated mean and variance. ONNX's momentum is the weight of the old values."""
    wide = common_dtype(node, 0, 1, 2, 3, 4)
    data, *parameters = (cast(node.tensor(index), wide) for index in range(5))
    is_vector = node.rank(0) == 1
    outputs = relax.dialect.ops["nn.batch_norm"](
        relax.expand_dims(data, axis=[1]) if is_vector else data,
        *parameters,
        axis=1,
        epsilon=node.float("epsilon", 1e-5),
        momentum=1 - node.float("momentum", 0.9),
        training=is_training,
    )
    result = relax.squeeze(outputs[0], axis=[1]) if is_vector else outputs[0]
    moved = [cast(output, node.value(3 + index).dtype) for index, output in enumerate(outputs[1:3])]
    return [cast(result, node.value(0).dtype), *moved]


# ---- per sample ----
def per_channel(node: OnnxNode) -> dict[str, Any]:
    """Return the common arguments of norms per sample: channels are the second dimension."""
    return {"channel_axis": 1, "axes": list(range(2, node.rank(0))), "epsilon": node.float("epsilon", 1e-5)}


@register_onnx("", "InstanceNormalization")
def instance_norm(node: OnnxNode) -> Outputs:
    return relax.dialect.ops["nn.instance_norm"](*node.tensors(3), **per_channel(node))


@register_onnx("", "GroupNormalization", since=18)
def group_norm_by_group(node: OnnxNode) -> Outputs:
    """Convert GroupNormalization of the first version, which has scales and biases per group."""
    groups = _groups(node)
    channels = sizes.sizes_of(node.value(0))[1] if node.rank(0) > 1 else groups
    each = sizes.divided(channels, groups)
    scale, bias = (
        sizes.reshaped(sizes.broadcast(relax.expand_dims(node.tensor(index), axis=[1]), [groups, each]), [channels])
        for index in (1, 2)
    )
    return _group_norm(node, scale, bias)


register_rows("", {"GroupNormalization": lambda node: _group_norm(node, node.tensor(1), node.tensor(2))}, since=21)


def _groups(node: OnnxNode) -> int:
    groups: int = node.int("num_groups", 0)
    if groups < 1:
        raise node.fail(f"attribute 'num_groups' must be 1 or more, got {groups}", "num_groups")
    return groups


def _group_norm(node: OnnxNode, scale: Tensor, bias: Tensor) -> Tensor:
    return relax.nn.group_norm(node.tensor(0), scale, bias, num_groups=_groups(node), **per_channel(node))


@register_onnx("", "LayerNormalization")
def layer_norm(node: OnnxNode) -> Outputs:
    axis, epsilon = node.int("axis", -1), node.float("epsilon", 1e-5)
    return normalized_layers(node, node.tensor(0), 1, 2, axis, epsilon)[: node.output_count]


def normalized_layers(node: OnnxNode, x: Tensor, scale: int, bias: int, axis: int, epsilon: float) -> list[Tensor]:
    """Normalize x over the dimensions from an axis on. Return mean and inverse deviation if they are used.

    The result has the type of the scale. Mean and inverse deviation have the type of 'stash_type'.
    """
    axes, wide = _axes_from(node, x, axis), common_dtype(node, 0, scale, bias)
    data = cast(x, wide)
    gamma = _broadcast_along(cast(node.tensor(scale), wide), data, axes)
    beta = _broadcast_along(cast(node.tensor(bias), wide), data, axes) if node.has(bias) else relax.zeros_like(gamma)
    result = relax.nn.layer_norm(data, gamma, beta, axes=axes, epsilon=epsilon, center=node.has(bias))
    outputs = [cast(result, node.value(scale).dtype)]
    if wanted(node, 1) or wanted(node, 2):
        stash = node.dtype("stash_type", "f32")
        statistics = cast(x, stash if _WIDTH.get(stash, 0) > 1 else "f32")
        variance = relax.variance(statistics, axis=axes, keepdims=True)
        inverse = relax.rsqrt(relax.add(variance, const(epsilon, Value(ssa=variance).dtype)))
        outputs += [cast(relax.mean(statistics, axis=axes, keepdims=True), stash), cast(inverse, stash)]
    return outputs


def wanted(node: OnnxNode, output: int) -> bool:
    return output < node.output_count and bool(node.proto.output[output])


def _axes_from(node: OnnxNode, x: Tensor, axis: int) -> list[int]:
    if (rank := Value(ssa=x).rank) is None:
        raise ModelError("the rank of the normalized tensor is not known")
    return list(range(node.axis_of(axis, rank), rank))


def _broadcast_along(parameter: Tensor, data: Tensor, axes: list[int]) -> Tensor:
    """Broadcast a parameter to the data's sizes along the axes. It may have fewer dimensions, or sizes of 1."""
    shape, own = Value(ssa=data).shape, Value(ssa=parameter).shape
    if own is None or shape is None:
        return parameter
    wanted = [shape[axis] for axis in axes]
    if len(own) == len(wanted) and not any(map(_is_broadcast, own, wanted)):
        return parameter
    return sizes.broadcast(parameter, [sizes.size_of(data, axis) for axis in axes])


def _is_broadcast(size: Dim, dim: Dim) -> bool:
    """Check whether a size must be broadcast. Dynamic sizes are compared at run time."""
    return equal(size, dim) is False or (size == 1 and equal(size, dim) is not True)


@register_onnx("", ["RMSNormalization", "SimplifiedLayerNormalization"])
def rms_norm(node: OnnxNode) -> Outputs:
    axis, epsilon = node.int("axis", -1), node.float("epsilon", 1e-5)
    return normalized_by_squares(node, node.tensor(0), 1, axis, epsilon, inverse=1)


def normalized_by_squares(
    node: OnnxNode, x: Tensor, scale: int, axis: int, epsilon: float, inverse: int
) -> list[Tensor]:
    """Divide x by the root of its mean square. If output `inverse` is used, also return the root's reciprocal.

    The result has the type of the scale.
    """
    axes, wide = _axes_from(node, x, axis), common_dtype(node, 0, scale)
    data = cast(x, wide)
    weight = _broadcast_along(cast(node.tensor(scale), wide), data, axes)
    outputs = [cast(relax.nn.rms_norm(data, weight, axes=axes, epsilon=epsilon), node.value(scale).dtype)]
    if wanted(node, inverse):
        mean = relax.mean(relax.square(cast(x, "f32" if wide != "f64" else "f64")), axis=axes, keepdims=True)
        root = relax.rsqrt(relax.add(mean, const(epsilon, Value(ssa=mean).dtype)))
        outputs.append(cast(root, node.dtype("stash_type", "f32")))
    return outputs


# ---- others ----
@register_onnx("", "LpNormalization")
def lp_norm(node: OnnxNode) -> Outputs:
    """Divide by the L1 or L2 norm. Vectors of norm 0 stay unchanged."""
    x, axis, p, dtype = node.tensor(0), node.int("axis", -1), node.int("p", 2), node.value(0).dtype
    if p not in (1, 2):
        raise node.fail(f"attribute 'p' must be 1 or 2, got {p}", "p")
    total = relax.sum(relax.dialect.ops["abs" if p == 1 else "square"](x), axis=[axis], keepdims=True)
    norm = total if p == 1 else relax.sqrt(total)
    is_zero = relax.equal(norm, const(0, dtype))
    return relax.divide(x, relax.where(is_zero, const(1, dtype), norm))


@register_onnx("", "MeanVarianceNormalization")
def mean_variance_norm(node: OnnxNode) -> Outputs:
    x, axes = node.tensor(0), node.ints("axes", [0, 2, 3])
    centered = relax.subtract(x, relax.mean(x, axis=axes, keepdims=True))
    deviation = relax.std(x, axis=axes, keepdims=True)
    return relax.divide(centered, relax.add(deviation, const(1e-9, node.value(0).dtype)))


@register_onnx("", "LRN")
def local_response_norm(node: OnnxNode) -> Outputs:
    """Divide by a power of the mean square over adjacent channels, computed by pooling over channels."""
    size, dtype, rank = node.int("size", 1), node.value(0).dtype, node.rank(0)
    x = node.tensor(0)
    squares = relax.square(x)
    if rank != 3:
        squares = relax.expand_dims(squares, axis=[2]) if rank == 2 else relax.reshape(squares, (0, 0, -1))
    means = relax.nn.avg_pool2d(
        relax.expand_dims(squares, axis=[1]),
        pool_size=(size, 1),
        padding=((size - 1) // 2, 0, size // 2, 0),
        count_include_pad=True,
    )
    means = relax.squeeze(means, axis=[1])
    if rank != 3:
        means = relax.squeeze(means, axis=[2]) if rank == 2 else sizes.reshaped(means, sizes.sizes_of(node.value(0)))
    scaled = relax.multiply(means, const(node.float("alpha", 1e-4), dtype))
    base = relax.add(scaled, const(node.float("bias", 1.0), dtype))
    return relax.divide(x, relax.power(base, const(node.float("beta", 0.75), dtype)))
