# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of normalizations."""

from __future__ import annotations

from ..prelude import Outputs, Tensor, TorchNode, cast, const, register_rows, register_torch, relax, sizes


def _wide(node: TorchNode) -> str:
    """Return the type for sums: f64, or f32 for narrower types."""
    return "f64" if node.value(0).dtype == "f64" else "f32"


def _one_or(node: TorchNode, key: str, count: sizes.Size, dtype: str, neutral: float) -> Tensor:
    """Return a parameter of channels, or its neutral value if it is absent."""
    return node.tensor(key, dtype) if node.has(key) else sizes.full([count], const(neutral, dtype))


@register_torch("aten::layer_norm", "aten::native_layer_norm")
def layer_norm(node: TorchNode) -> Outputs:
    count, rank, wide = len(node.sizes("normalized_shape")), node.rank(0), _wide(node)
    axes, x = list(range(rank - count, rank)), node.tensor(0, wide)
    shape = node.sizes("normalized_shape")
    gamma = node.tensor("weight", wide) if node.has("weight") else sizes.full(shape, const(1, wide))
    beta = node.tensor("bias", wide) if node.has("bias") else sizes.full(shape, const(0, wide))
    epsilon = node.float("eps")
    made = relax.nn.layer_norm(
        x, gamma, beta, axes=axes, epsilon=epsilon, center=node.has("bias"), scale=node.has("weight")
    )
    result = cast(made, node.value(0).dtype)
    if node.op.startswith("aten::layer_norm"):
        return result
    mean = relax.mean(x, axis=axes, keepdims=True)
    inverse = relax.rsqrt(relax.add(relax.variance(x, axis=axes, keepdims=True), const(epsilon, wide)))
    return [result, cast(mean, node.dtype_of_result(1)), cast(inverse, node.dtype_of_result(2))]


@register_torch("aten::rms_norm", "aten::_fused_rms_norm")
def rms_norm(node: TorchNode) -> Outputs:
    count, rank, wide = len(node.sizes("normalized_shape")), node.rank(0), _wide(node)
    axes = list(range(rank - count, rank))
    x = node.tensor(0, wide)
    shape = node.sizes("normalized_shape")
    weight = node.tensor("weight", wide) if node.has("weight") else sizes.full(shape, const(1, wide))
    if (epsilon := node.float("eps", None)) is None:
        epsilon = {"f64": 2.220446049250313e-16, "f16": 0.0009765625, "bf16": 0.0078125}.get(
            node.value(0).dtype, 1.1920928955078125e-07
        )
    result = cast(relax.nn.rms_norm(x, weight, axes=axes, epsilon=epsilon), node.dtype)
    if node.op.startswith("aten::rms_norm"):
        return result
    mean = relax.mean(relax.square(x), axis=axes, keepdims=True)
    return [result, cast(relax.rsqrt(relax.add(mean, const(epsilon, wide))), node.dtype_of_result(1))]


def channels_of(node: TorchNode) -> sizes.Size:
    own = sizes.sizes_of(node.value(0))
    return own[1] if len(own) > 1 else own[0]


def _batch_norm(node: TorchNode, is_training: bool) -> list[Tensor]:
    """Return the result and the updated running mean and variance, in the type for sums."""
    wide, count = _wide(node), channels_of(node)
    x = node.tensor(0, wide)
    is_vector = node.rank(0) == 1
    outputs = relax.dialect.ops["nn.batch_norm"](
        x,
        _one_or(node, "weight", count, wide, 1),
        _one_or(node, "bias", count, wide, 0),
        _one_or(node, "running_mean", count, wide, 0),
        _one_or(node, "running_var", count, wide, 1),
        axis=0 if is_vector else 1,
        epsilon=node.float("eps"),
        momentum=node.float("momentum", 0.1),
        training=is_training,
    )
    return list(outputs)


@register_torch("aten::batch_norm")
def batch_norm(node: TorchNode) -> Outputs:
    """Convert batch_norm. Training updates the statistics in place, which torch converts to results before."""
    is_training = node.bool("training") or not node.has("running_mean")
    return cast(_batch_norm(node, is_training)[0], node.dtype)


@register_torch("aten::_native_batch_norm_legit_no_training", "aten::cudnn_batch_norm")
def batch_norm_of_inference(node: TorchNode) -> Outputs:
    # Statistics of the batch, which nothing reads: their size depends on the device.
    unread = [sizes.zeros(node.result_sizes(index), node.dtype_of_result(index)) for index in (1, 2)]
    return [cast(_batch_norm(node, False)[0], node.dtype), *unread]


@register_torch("aten::instance_norm")
def instance_norm(node: TorchNode) -> Outputs:
    if node.has("running_mean") and not node.bool("use_input_stats", True):
        return cast(_batch_norm(node, False)[0], node.dtype)
    wide, count = _wide(node), channels_of(node)
    made = relax.nn.instance_norm(
        node.tensor(0, wide),
        _one_or(node, "weight", count, wide, 1),
        _one_or(node, "bias", count, wide, 0),
        channel_axis=1,
        axes=list(range(2, node.rank(0))),
        epsilon=node.float("eps"),
    )
    return cast(made, node.dtype)


@register_torch("aten::native_group_norm")
def native_group_norm(node: TorchNode) -> Outputs:
    """Return the result, and the mean and inverse deviation of each group."""
    wide, groups = _wide(node), node.int("group")
    shape = sizes.sizes_of(node.value(0))
    result = group_norm_of(node, groups)
    each = sizes.divided(sizes.product(shape[1:]), groups)
    by_group = sizes.reshaped(node.tensor(0, wide), [shape[0], groups, each])
    mean = relax.mean(by_group, axis=[2])
    inverse = relax.rsqrt(relax.add(relax.variance(by_group, axis=[2]), const(node.float("eps"), wide)))
    infos = node.results[1:]
    return [result, *(cast(each, info.dtype) for each, info in zip((mean, inverse), infos, strict=True) if info)]


def group_norm_of(node: TorchNode, groups: int) -> Tensor:
    wide, count = _wide(node), channels_of(node)
    made = relax.nn.group_norm(
        node.tensor(0, wide),
        _one_or(node, "weight", count, wide, 1),
        _one_or(node, "bias", count, wide, 0),
        num_groups=groups,
        channel_axis=1,
        axes=list(range(2, node.rank(0))),
        epsilon=node.float("eps"),
    )
    return cast(made, node.value(0).dtype)


register_rows({"aten::group_norm": lambda node: group_norm_of(node, node.int("num_groups"))})


@register_torch("aten::_weight_norm", "aten::_weight_norm_interface")
def weight_norm(node: TorchNode) -> Outputs:
    """Convert weight_norm: `v * g / |v|`, with the norm over all dimensions but one."""
    v, g, axis = node.tensor("v"), node.tensor("g"), node.axis("dim", node.rank("v"))
    others = [index for index in range(node.rank("v")) if index != axis]
    norm = relax.sqrt(relax.sum(relax.square(v), axis=others, keepdims=True))
    made = relax.multiply(v, relax.divide(g, norm))
    return made if node.op.startswith("aten::_weight_norm.") else [made, norm]
