# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of quantization-aware training: scales that are learned, and scales of observed ranges."""

from __future__ import annotations

from ..prelude import Outputs, Tensor, TorchNode, cast, const, register_torch, relax, sizes
from .quantization import Scales, as_torch_results, fake_quantized, limits_of, single, under, unlimited


def _learned_scales(node: TorchNode) -> Scales:
    """Return scales that are trained. Zero points are floats, which torch rounds and clamps."""
    low, high = limits_of(node)
    zero_point = cast(relax.clip(relax.round(node.tensor("zero_point", "f32")), low, high), "i32")
    if "channel" in node.op:
        return Scales(node.tensor("scale"), zero_point, node.axis("axis", len(sizes.sizes_of(node.value("self")))))
    return Scales(relax.reshape(node.tensor("scale"), ()), relax.reshape(zero_point, ()))


@register_torch("aten::_fake_quantize_learnable_per_tensor_affine", "aten::_fake_quantize_learnable_per_channel_affine")
def fake_quantize_learned(node: TorchNode) -> Outputs:
    return fake_quantized(node, _learned_scales(node))


@register_torch(
    "aten::_fake_quantize_learnable_per_tensor_affine_backward",
    "aten::_fake_quantize_learnable_per_channel_affine_backward",
)
def fake_quantize_learned_backward(node: TorchNode) -> Outputs:
    """Convert the gradients by the data, the scales and the zero points."""
    scales, data, gradient = _learned_scales(node), node.tensor("self", "f32"), node.tensor("grad", "f32")
    low, high = (const(limit, "f32") for limit in limits_of(node))
    zero = const(0.0, "f32")
    total = unlimited(data, scales, "f32", is_rounded=True)
    inside = relax.logical_and(relax.less_equal(low, total), relax.less_equal(total, high))
    assert scales.zero_point is not None
    scale, zero_point = (cast(under(each, scales, data), "f32") for each in (scales.scale, scales.zero_point))
    steps = relax.subtract(relax.clip(total, *limits_of(node)), zero_point)
    by_scale = relax.subtract(steps, relax.where(inside, relax.divide(data, scale), zero))
    by_zero_point = relax.where(inside, zero, relax.negative(scale))
    axes = [index for index in range(data.type.rank) if "channel" not in node.op or index != scales.axis]
    factor = const(node.float("grad_factor"), "f32")
    found = [relax.where(inside, gradient, zero)]
    for slope in (by_scale, by_zero_point):
        found.append(relax.multiply(relax.sum(relax.multiply(gradient, slope), axis=axes), factor))
    return as_torch_results(node, found)


@register_torch("aten::_fused_moving_avg_obs_fq_helper_functional")
def observe_and_fake_quantize(node: TorchNode) -> Outputs:
    """Convert moving averages of the range, the scales for them, and fake quantization by these scales."""
    data, is_by_row = node.tensor("self", "f32"), node.bool("per_row_fake_quant")
    low, high = limits_of(node)
    is_observed, is_quantized = (single(node, key, "i1") for key in ("observer_on", "fake_quant_on"))
    axes = list(range(1, data.type.rank)) if is_by_row else None
    count = [sizes.sizes_of(node.value("self"))[0]] if is_by_row else [1]
    ranges = []
    for key, operator in (("running_min", "min"), ("running_max", "max")):
        found = sizes.reshaped(relax.dialect.ops[operator](data, axis=axes), count)
        before = sizes.reshaped(node.tensor(key, "f32"), count)
        share = const(node.float("averaging_const"), "f32")
        moved = relax.add(before, relax.multiply(share, relax.subtract(found, before)))
        moved = relax.where(relax.isinf(before), found, moved)
        ranges.append(relax.where(is_observed, moved, before))
    chosen = _observed_scales(ranges[0], ranges[1], low, high, is_symmetric=node.bool("symmetric_quant"))
    given = [sizes.reshaped(node.tensor(key, "f32"), count) for key in ("scale", "zero_point")]
    scale, zero_point = (relax.where(is_quantized, *pair) for pair in zip(chosen, given, strict=True))
    shape = count if is_by_row else []
    scales = Scales(sizes.reshaped(scale, shape), cast(sizes.reshaped(zero_point, shape), "i32"))
    tensor = fake_quantized(node, scales)
    total = unlimited(data, scales, "f32", is_rounded=True)
    mask = relax.logical_and(relax.less_equal(const(low, "f32"), total), relax.less_equal(total, const(high, "f32")))
    output = relax.where(is_quantized, tensor, node.tensor("self"))
    mask = relax.logical_or(mask, relax.logical_not(is_quantized))
    return as_torch_results(node, (output, mask, *ranges, scale, zero_point))


def _observed_scales(least: Tensor, most: Tensor, low: int, high: int, *, is_symmetric: bool) -> tuple[Tensor, Tensor]:
    """Return scales and zero points for ranges, as torch's fused observers choose them."""
    zero = const(0.0, "f32")
    is_balanced = relax.logical_and(relax.less(least, zero), relax.greater(most, zero))
    if is_symmetric:
        half = (high - low) // 2
        largest = relax.maximum(
            relax.divide(relax.negative(least), const(half + 1, "f32")), relax.divide(most, const(half, "f32"))
        )
        least = relax.where(is_balanced, relax.multiply(largest, const(-half - 1, "f32")), least)
        most = relax.where(is_balanced, relax.multiply(largest, const(half, "f32")), most)
    least, most = relax.minimum(least, zero), relax.maximum(most, zero)
    scale = relax.divide(relax.subtract(most, least), const(high - low, "f32"))
    scale = relax.where(relax.equal(scale, zero), const(0.1, "f32"), scale)
    ends = [(limit, relax.divide(each, scale)) for limit, each in ((low, least), (high, most))]
    starts = [relax.subtract(const(limit, "f32"), steps) for limit, steps in ends]
    errors = [relax.add(const(abs(limit), "f32"), relax.abs(steps)) for limit, steps in ends]
    start = relax.where(relax.less(*errors), *starts)
    if is_symmetric:
        start = relax.where(is_balanced, const((low + high) / 2, "f32"), start)
    return scale, relax.clip(relax.round(start), low, high)
