# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of quantized models: pt2e's `quantized_decomposed` operators and torchao's primitives.

With a single scale, or one per slice along an axis, they become relax.quantize and relax.dequantize, from which passes
make integer arithmetic. Other cases become arithmetic on floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from relax_mlir.dialects.core.infos import bit_width, is_float, is_unsigned
from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.dialects.relax.known_constants import NUMPY_NAME, elements_of

from ..prelude import Outputs, Tensor, TorchNode, Value, cast, const, info_of, register_torch, relax, sizes

_REAL = ("f16", "bf16", "f32")


class Scales(NamedTuple):
    """Scales and zero points: 0-D, along an axis, or per block. `blocks` lists the sizes of a block."""

    scale: Tensor
    zero_point: Tensor | None
    axis: int = 0
    blocks: Sequence[sizes.Size] | None = None


def _quantize(data: Tensor, scales: Scales, low: int, high: int, dtype: str) -> Tensor:
    limits = _limits(dtype)
    if _is_in_integers(scales) and not is_float(dtype) and bit_width(dtype) <= 16:
        made = relax.quantize(
            data if info_of(data).dtype in _REAL else cast(data, "f32"),
            _parameter(scales.scale, "f32"),
            _zero_point(scales, dtype),
            axis=scales.axis,
            out_dtype=dtype,
        )
        return made if (low, high) == limits else relax.clip(made, max(low, limits[0]), min(high, limits[1]))
    total = unlimited(data, scales, "f64" if bit_width(dtype) > 16 else "f32", is_rounded=not is_float(dtype))
    made = cast(relax.clip(total, low, high), dtype)
    return made if scales.blocks is None else sizes.reshaped(made, sizes.sizes_of(Value(ssa=data)))


def unlimited(data: Tensor, scales: Scales, wide: str, *, is_rounded: bool) -> Tensor:
    """Return the quantized values before clamping, as floats of the type `wide`."""
    inverse = relax.divide(const(1, wide), cast(under(scales.scale, scales, data), wide))  # As torch rounds it.
    total = relax.multiply(cast(_split(data, scales), wide), inverse)
    total = relax.round(total) if is_rounded else total
    if scales.zero_point is None:
        return total
    return relax.add(total, cast(under(scales.zero_point, scales, data), wide))


def _dequantize(data: Tensor, scales: Scales, dtype: str) -> Tensor:
    if _is_in_integers(scales) and dtype in _REAL and bit_width(info_of(data).dtype) <= 32:
        zero_point = _zero_point(scales, info_of(data).dtype)
        scale = _parameter(scales.scale, "f32")
        return relax.dequantize(data, scale, zero_point, axis=scales.axis, out_dtype=dtype)
    wide = "f64" if dtype == "f64" else "f32"
    total = cast(_split(data, scales), wide)
    if scales.zero_point is not None:
        total = relax.subtract(total, cast(under(scales.zero_point, scales, data), wide))
    made = cast(relax.multiply(total, cast(under(scales.scale, scales, data), wide)), dtype)
    return made if scales.blocks is None else sizes.reshaped(made, sizes.sizes_of(Value(ssa=data)))


def _is_in_integers(scales: Scales) -> bool:
    """Check whether relax.quantize has such scales: without blocks, and with zero points that are integers."""
    if scales.blocks is not None:
        return False
    zero_point = scales.zero_point
    if zero_point is None or info_of(zero_point).dtype != "f32":
        return True
    elements = elements_of(zero_point)
    return elements is not None and not (elements % 1).any()


def _limits(dtype: str) -> tuple[int, int]:
    bits = bit_width(dtype)
    return (0, 2**bits - 1) if is_unsigned(dtype) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _zero_point(scales: Scales, dtype: str) -> Tensor:
    if scales.zero_point is None:
        return const(0, dtype)
    own = info_of(scales.zero_point).dtype
    return scales.zero_point if is_float(own) and own != "f32" else _parameter(scales.zero_point, dtype)


def _parameter(tensor: Tensor, dtype: str) -> Tensor:
    """Convert scales or zero points. Constants stay constants, by which passes find layers of integers."""
    elements = None if info_of(tensor).dtype == dtype else elements_of(tensor)
    if elements is None or dtype not in NUMPY_NAME:
        return cast(tensor, dtype)
    return const(elements.astype(storage_dtype(dtype)), dtype)


def _split(data: Tensor, scales: Scales) -> Tensor:
    """Split each dimension into [blocks, elements of a block]."""
    if scales.blocks is None:
        return data
    shape = sizes.sizes_of(Value(ssa=data))
    pairs = [(sizes.divided(size, own), own) for size, own in zip(shape, scales.blocks, strict=True)]
    return sizes.reshaped(data, [each for pair in pairs for each in pair])


def under(tensor: Tensor, scales: Scales, data: Tensor) -> Tensor:
    """Broadcast scales or zero points to their elements."""
    rank = data.type.rank
    if scales.blocks is None:
        if tensor.type.rank == 0 or info_of(tensor).shape == (1,):
            return tensor
        return relax.expand_dims(tensor, axis=list(range(1, rank - scales.axis))) if scales.axis < rank - 1 else tensor
    shape = sizes.sizes_of(Value(ssa=data))
    counts = [sizes.divided(size, own) for size, own in zip(shape, scales.blocks, strict=True)]
    return sizes.reshaped(tensor, [number for count in counts for number in (count, 1)])


# ---- quantized_decomposed ----


def single(node: TorchNode, key: str, dtype: str) -> Tensor:
    """Return a number, or a tensor of one element, as a 0-D tensor."""
    tensor = node.operand(key, dtype)
    return tensor if tensor.type.rank == 0 else relax.reshape(tensor, ())


def _per_tensor(node: TorchNode, dtype: str) -> Scales:
    return Scales(single(node, "scale", "f32"), single(node, "zero_point", _choose_zero_type(dtype)))


def _choose_zero_type(dtype: str) -> str:
    """Return the type of zero points for elements of a type."""
    return dtype if bit_width(dtype) <= 16 else "i32"


def _per_channel(node: TorchNode) -> Scales:
    return Scales(node.tensor("scales"), node.optional("zero_points"), node.axis("axis", node.rank(0)))


def _per_group(node: TorchNode) -> Scales:
    return Scales(node.tensor("scales"), node.optional("zero_points"), 0, [1, node.int("group_size")])


def _per_token(node: TorchNode) -> Scales:
    """Return scales per token. All dimensions but the last are tokens."""
    shape = sizes.sizes_of(node.value(0))
    return Scales(node.tensor("scales"), node.optional("zero_points"), 0, [*[1] * (len(shape) - 1), shape[-1]])


def limits_of(node: TorchNode) -> tuple[int, int]:
    """Return the least and the largest quantized number."""
    return node.int("quant_min"), node.int("quant_max")


@register_torch("quantized_decomposed::quantize_per_tensor")
def quantize_per_tensor(node: TorchNode) -> Outputs:
    return _quantize(node.tensor(0), _per_tensor(node, node.dtype), *limits_of(node), node.dtype)


@register_torch("quantized_decomposed::dequantize_per_tensor")
def dequantize_per_tensor(node: TorchNode) -> Outputs:
    return _dequantize(node.tensor(0), _per_tensor(node, node.value(0).dtype), node.dtype)


def _quantizing(scales: Callable[[TorchNode], Scales]) -> Callable[[TorchNode], Tensor]:
    return lambda node: _quantize(node.tensor(0), scales(node), *limits_of(node), node.dtype)


def _dequantizing(scales: Callable[[TorchNode], Scales]) -> Callable[[TorchNode], Tensor]:
    return lambda node: _dequantize(node.tensor(0), scales(node), node.dtype)


for _words, _scales in (("channel", _per_channel), ("channel_group", _per_group), ("token", _per_token)):
    register_torch(f"quantized_decomposed::quantize_per_{_words}")(_quantizing(_scales))
    register_torch(f"quantized_decomposed::dequantize_per_{_words}")(_dequantizing(_scales))


# ---- fake quantization, for quantization-aware training ----


def fake_quantized(node: TorchNode, scales: Scales) -> Tensor:
    """Quantize and dequantize the first operand."""
    low, high = limits_of(node)
    dtype = next((name for name in ("i8", "ui8", "i16") if _limits(name)[0] <= low and high <= _limits(name)[1]), "i32")
    return _dequantize(_quantize(node.tensor(0), scales, low, high, dtype), scales, node.dtype)


def _scales_of_channels(node: TorchNode) -> Scales:
    prefix = "scale" if node.has("scale") else "scales"
    zero_point = node.optional("zero_point" if node.has("zero_point") else "zero_points")
    return Scales(node.tensor(prefix), zero_point, node.axis("axis", node.rank(0)))


@register_torch("aten::fake_quantize_per_tensor_affine")
def fake_quantize_per_tensor(node: TorchNode) -> Outputs:
    return fake_quantized(node, _per_tensor(node, "i32"))


@register_torch("aten::fake_quantize_per_channel_affine", "quantized_decomposed::fake_quant_per_channel")
def fake_quantize_per_channel(node: TorchNode) -> Outputs:
    return fake_quantized(node, _scales_of_channels(node))


@register_torch(
    "aten::fake_quantize_per_tensor_affine_cachemask",
    "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    "aten::fake_quantize_per_channel_affine_cachemask",
)
def fake_quantize_with_mask(node: TorchNode) -> Outputs:
    """Convert fake quantization with a mask of elements that were not clamped, which receive gradients.

    The flag that enables quantization may be a tensor.
    """
    scales = _scales_of_channels(node) if "channel" in node.op else _per_tensor(node, "i32")
    tensor = fake_quantized(node, scales)
    total = unlimited(node.tensor(0), scales, "f32", is_rounded=True)
    low, high = (const(limit, "f32") for limit in limits_of(node))
    mask = relax.logical_and(relax.less_equal(low, total), relax.less_equal(total, high))
    if "fake_quant_enabled" not in node.arguments:
        return [tensor, mask]
    enabled = single(node, "fake_quant_enabled", "i1")
    return [relax.where(enabled, tensor, node.tensor(0)), relax.logical_or(mask, relax.logical_not(enabled))]


@register_torch("quantized_decomposed::convert_element_type.no_fuse")
def convert_element_type(node: TorchNode) -> Outputs:
    return node.tensor(0, node.dtype)


@register_torch("quantized_decomposed::choose_qparams")
def choose_qparams(node: TorchNode) -> Outputs:
    low, high = limits_of(node)
    least, most = (relax.dialect.ops[name](node.tensor(0, "f32")) for name in ("min", "max"))
    return as_torch_results(node, _asymmetric(least, most, low, high, node.float("eps")))


@register_torch("quantized_decomposed::choose_qparams_symmetric")
def choose_qparams_symmetric(node: TorchNode) -> Outputs:
    """Convert symmetric parameters. The zero point is the middle of the range."""
    low, high = limits_of(node)
    scale = relax.divide(relax.max(relax.abs(node.tensor(0, "f32"))), const((high - low) / 2, "f32"))
    scale = relax.maximum(scale, const(node.float("eps"), "f32"))
    middle = 0 if low < 0 else (low + high + 1) // 2
    return as_torch_results(node, (scale, const(middle, "f32")))


@register_torch("quantized_decomposed::choose_qparams_per_token")
def choose_qparams_per_token(node: TorchNode) -> Outputs:
    largest = relax.max(relax.abs(node.tensor(0)), axis=[-1], keepdims=True)
    scale = relax.divide(relax.maximum(cast(largest, "f32"), const(1e-5, "f32")), const(127, "f32"))
    return as_torch_results(node, (scale, relax.zeros_like(scale)))


@register_torch(
    "quantized_decomposed::choose_qparams_per_token_asymmetric",
    "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl",
)
def choose_qparams_per_token_asymmetric(node: TorchNode) -> Outputs:
    x = node.tensor(0, "f32")
    least, most = (relax.dialect.ops[name](x, axis=[-1], keepdims=True) for name in ("min", "max"))
    return as_torch_results(node, _asymmetric(least, most, -128, 127, 1.1920928955078125e-07))


def _asymmetric(least: Tensor, most: Tensor, low: int, high: int, epsilon: float) -> tuple[Tensor, Tensor]:
    """Return scale and zero point for a range that includes 0. The zero point comes from the lower end."""
    least, most = relax.minimum(least, const(0.0, "f32")), relax.maximum(most, const(0.0, "f32"))
    scale = relax.divide(relax.subtract(most, least), const(high - low, "f32"))
    scale = relax.maximum(scale, const(epsilon, "f32"))
    start = relax.subtract(const(low, "f32"), relax.round(relax.divide(least, scale)))
    return scale, relax.clip(start, low, high)


def as_torch_results(node: TorchNode, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return results in torch's types and shapes."""
    found = []
    for tensor, info in zip(tensors, node.results, strict=True):
        assert info is not None
        each = cast(tensor, info.dtype)
        found.append(each if each.type.rank == len(info.shape or ()) else sizes.reshaped(each, list(info.shape or ())))
    return found


# ---- products of integers ----


@register_torch("aten::_int_mm")
def int_mm(node: TorchNode) -> Outputs:
    return relax.matmul(node.tensor(0), node.tensor(1), out_dtype="i32")


@register_torch("aten::_scaled_mm")
def scaled_mm(node: TorchNode) -> Outputs:
    """Convert _scaled_mm: a product of f8 times a scale of each factor, or of each row and column."""
    if node.has("scale_result"):
        raise node.fail("a scale of the result is not supported: multiply the result", "scale_result")
    product = relax.matmul(node.tensor("self"), node.tensor("mat2"), out_dtype="f32")
    scaled = relax.multiply(product, relax.multiply(node.tensor("scale_a", "f32"), node.tensor("scale_b", "f32")))
    return cast(relax.add(scaled, node.tensor("bias", "f32")) if node.has("bias") else scaled, node.dtype)


# ---- torchao ----


@register_torch("torchao::quantize_affine")
def quantize_affine(node: TorchNode) -> Outputs:
    dtype = node.dtype
    if is_float(dtype):
        raise node.fail(f"quantization to {dtype} is not supported: use integers")
    low, high = (node.get(key) for key in ("quant_min", "quant_max"))
    limits = _limits(dtype)
    low, high = limits[0] if low is None else int(low), limits[1] if high is None else int(high)
    return _quantize(node.tensor(0), _affine(node), low, high, dtype)


@register_torch("torchao::dequantize_affine")
def dequantize_affine(node: TorchNode) -> Outputs:
    return _dequantize(node.tensor(0), _affine(node), node.dtype)


def _affine(node: TorchNode) -> Scales:
    """Return scales and zero points. Blocks of whole dimensions or of slices become single or per-axis scales."""
    if (domain := node.string("zero_point_domain", "INT")) not in ("INT", "NONE"):
        raise node.fail(f"zero points of domain {domain} are not supported: use integers", "zero_point_domain")
    shape, blocks = sizes.sizes_of(node.value(0)), node.sizes("block_size")
    scale, zero_point = node.tensor("scale"), node.optional("zero_point")
    apart = [axis for axis, (size, own) in enumerate(zip(shape, blocks, strict=True)) if own != size]
    if len(apart) > 1 or (apart and blocks[apart[0]] != 1):
        return Scales(scale, zero_point, 0, blocks)
    target = [shape[apart[0]]] if apart else []
    flat = [None if each is None else sizes.reshaped(each, target) for each in (scale, zero_point)]
    assert flat[0] is not None
    return Scales(flat[0], flat[1], apart[0] if apart else 0)


@register_torch("torchao::choose_qparams_affine")
def choose_qparams_affine(node: TorchNode) -> Outputs:
    """Compute parameters of each block from its smallest and largest element."""
    kind, info = node.string("mapping_type"), node.results[0]
    shape, blocks = sizes.sizes_of(node.value(0)), node.sizes("block_size")
    apart = _split(node.tensor(0, "f32"), Scales(node.tensor(0), None, 0, blocks))
    axes = list(range(1, 2 * len(shape), 2))
    least, most = (relax.dialect.ops[name](apart, axis=axes) for name in ("min", "max"))
    low, high = node.int("quant_min", None), node.int("quant_max", None)
    if low is None or high is None:
        low, high = _limits(node.torch_dtype("target_dtype"))
    assert info is not None
    epsilon = node.float("eps", None) or {"f64": 2.220446049250313e-16, "f16": 2.0**-10, "bf16": 2.0**-7}.get(
        node.value(0).dtype, 2.0**-23
    )
    if kind == "ASYMMETRIC":
        return as_torch_results(node, _asymmetric(least, most, low, high, epsilon))
    if kind != "SYMMETRIC":
        raise node.fail(f"a mapping of type {kind} is not supported: use SYMMETRIC or ASYMMETRIC", "mapping_type")
    least, most = relax.minimum(least, const(0.0, "f32")), relax.maximum(most, const(0.0, "f32"))
    largest = relax.maximum(relax.negative(least), most)
    scale = relax.maximum(relax.divide(largest, const((high - low) / 2, "f32")), const(epsilon, "f32"))
    return as_torch_results(node, (scale, relax.full_like(scale, const(math.floor((high + low + 1) / 2), "f32"))))
