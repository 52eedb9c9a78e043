# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized models: as pt2e's `quantized_decomposed` operators and torchao's primitives say them.

They become relax.quantize and relax.dequantize, of which passes make integer arithmetic, where there is one scale for
all or one for each slice along an axis; else arithmetic on floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....dialects.core.infos import bit_width, is_float, is_unsigned
from ..prelude import Node, Outputs, Tensor, Value, cast, const, info_of, register_torch, relax, sizes

_REAL = ("f16", "bf16", "f32")


class Scales(NamedTuple):
    """Scales and zero points, 0-D or along an axis; or of the data's shape with blocks, which `blocks` lists."""

    scale: Tensor
    zero_point: Tensor | None
    axis: int = 0
    blocks: Sequence[sizes.Size] | None = None


def _quantized(data: Tensor, scales: Scales, low: int, high: int, dtype: str) -> Tensor:
    limits = _limits(dtype)
    if scales.blocks is None and not is_float(dtype) and bit_width(dtype) <= 16:
        made = relax.quantize(
            data if info_of(data).dtype in _REAL else cast(data, "f32"),
            cast(scales.scale, "f32"),
            _zero_point(scales, dtype),
            axis=scales.axis,
            out_dtype=dtype,
        )
        return made if (low, high) == limits else relax.clip(made, max(low, limits[0]), min(high, limits[1]))
    total = _unlimited(data, scales, "f64" if bit_width(dtype) > 16 else "f32", is_rounded=not is_float(dtype))
    made = cast(relax.clip(total, low, high), dtype)
    return made if scales.blocks is None else sizes.reshaped(made, sizes.sizes_of(Value(ssa=data)))


def _unlimited(data: Tensor, scales: Scales, wide: str, *, is_rounded: bool) -> Tensor:
    """What is limited then, as floats of the type `wide`."""
    inverse = relax.divide(const(1, wide), cast(_under(scales.scale, scales, data), wide))  # as torch rounds it
    total = relax.multiply(cast(_in_blocks(data, scales), wide), inverse)
    total = relax.round(total) if is_rounded else total
    if scales.zero_point is None:
        return total
    return relax.add(total, cast(_under(scales.zero_point, scales, data), wide))


def _dequantized(data: Tensor, scales: Scales, dtype: str) -> Tensor:
    if scales.blocks is None and dtype in _REAL and bit_width(info_of(data).dtype) <= 32:
        zero_point = _zero_point(scales, info_of(data).dtype)
        return relax.dequantize(data, cast(scales.scale, "f32"), zero_point, axis=scales.axis, out_dtype=dtype)
    wide = "f64" if dtype == "f64" else "f32"
    total = cast(_in_blocks(data, scales), wide)
    if scales.zero_point is not None:
        total = relax.subtract(total, cast(_under(scales.zero_point, scales, data), wide))
    made = cast(relax.multiply(total, cast(_under(scales.scale, scales, data), wide)), dtype)
    return made if scales.blocks is None else sizes.reshaped(made, sizes.sizes_of(Value(ssa=data)))


def _limits(dtype: str) -> tuple[int, int]:
    bits = bit_width(dtype)
    return (0, 2**bits - 1) if is_unsigned(dtype) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _zero_point(scales: Scales, dtype: str) -> Tensor:
    if scales.zero_point is None:
        return const(0, dtype)
    return scales.zero_point if is_float(info_of(scales.zero_point).dtype) else cast(scales.zero_point, dtype)


def _in_blocks(data: Tensor, scales: Scales) -> Tensor:
    """Each dimension as [blocks, elements of a block]."""
    if scales.blocks is None:
        return data
    shape = sizes.sizes_of(Value(ssa=data))
    pairs = [(sizes.divided(size, own), own) for size, own in zip(shape, scales.blocks, strict=True)]
    return sizes.reshaped(data, [each for pair in pairs for each in pair])


def _under(tensor: Tensor, scales: Scales, data: Tensor) -> Tensor:
    """Scales or zero points under the elements that they are for."""
    rank = data.type.rank
    if scales.blocks is None:
        if tensor.type.rank == 0 or info_of(tensor).shape == (1,):
            return tensor
        return relax.expand_dims(tensor, axis=list(range(1, rank - scales.axis))) if scales.axis < rank - 1 else tensor
    shape = sizes.sizes_of(Value(ssa=data))
    counts = [sizes.divided(size, own) for size, own in zip(shape, scales.blocks, strict=True)]
    return sizes.reshaped(tensor, [each for count in counts for each in (count, 1)])


# ---- quantized_decomposed ----


def _single(node: Node, key: str, dtype: str) -> Tensor:
    """A number, or a tensor of one."""
    tensor = node.operand(key, dtype)
    return tensor if tensor.type.rank == 0 else relax.reshape(tensor, ())


def _per_tensor(node: Node, dtype: str) -> Scales:
    return Scales(_single(node, "scale", "f32"), _single(node, "zero_point", _kept(dtype)))


def _kept(dtype: str) -> str:
    """The type of zero points for elements of a type."""
    return dtype if bit_width(dtype) <= 16 else "i32"


def _per_channel(node: Node) -> Scales:
    return Scales(node.tensor("scales"), node.optional("zero_points"), node.axis("axis", node.rank(0)))


def _per_group(node: Node) -> Scales:
    return Scales(node.tensor("scales"), node.optional("zero_points"), 0, [1, node.int("group_size")])


def _per_token(node: Node) -> Scales:
    """All but the last dimension are tokens."""
    shape = sizes.sizes_of(node.value(0))
    return Scales(node.tensor("scales"), node.optional("zero_points"), 0, [*[1] * (len(shape) - 1), shape[-1]])


def _range(node: Node) -> tuple[int, int]:
    return node.int("quant_min"), node.int("quant_max")


@register_torch("quantized_decomposed::quantize_per_tensor")
def quantize_per_tensor(node: Node) -> Outputs:
    return _quantized(node.tensor(0), _per_tensor(node, node.dtype), *_range(node), node.dtype)


@register_torch("quantized_decomposed::dequantize_per_tensor")
def dequantize_per_tensor(node: Node) -> Outputs:
    return _dequantized(node.tensor(0), _per_tensor(node, node.value(0).dtype), node.dtype)


def _quantizing(scales: Callable[[Node], Scales]) -> Callable[[Node], Tensor]:
    return lambda node: _quantized(node.tensor(0), scales(node), *_range(node), node.dtype)


def _dequantizing(scales: Callable[[Node], Scales]) -> Callable[[Node], Tensor]:
    return lambda node: _dequantized(node.tensor(0), scales(node), node.dtype)


for _words, _scales in (("channel", _per_channel), ("channel_group", _per_group), ("token", _per_token)):
    register_torch(f"quantized_decomposed::quantize_per_{_words}")(_quantizing(_scales))
    register_torch(f"quantized_decomposed::dequantize_per_{_words}")(_dequantizing(_scales))


# ---- quantized and back, as models are trained for it ----


def _fake(node: Node, scales: Scales) -> Tensor:
    low, high = _range(node)
    dtype = next((each for each in ("i8", "ui8", "i16") if _limits(each)[0] <= low and high <= _limits(each)[1]), "i32")
    return _dequantized(_quantized(node.tensor(0), scales, low, high, dtype), scales, node.dtype)


def _scales_of_channels(node: Node) -> Scales:
    prefix = "scale" if node.has("scale") else "scales"
    zero_point = node.optional("zero_point" if node.has("zero_point") else "zero_points")
    return Scales(node.tensor(prefix), zero_point, node.axis("axis", node.rank(0)))


@register_torch("aten::fake_quantize_per_tensor_affine")
def fake_quantize_per_tensor(node: Node) -> Outputs:
    return _fake(node, _per_tensor(node, "i32"))


@register_torch("aten::fake_quantize_per_channel_affine", "quantized_decomposed::fake_quant_per_channel")
def fake_quantize_per_channel(node: Node) -> Outputs:
    return _fake(node, _scales_of_channels(node))


@register_torch(
    "aten::fake_quantize_per_tensor_affine_cachemask",
    "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    "aten::fake_quantize_per_channel_affine_cachemask",
)
def fake_quantize_with_mask(node: Node) -> Outputs:
    """The mask says what has not been limited: the gradient goes there. Whether it quantizes may be a tensor."""
    scales = _scales_of_channels(node) if "channel" in node.op else _per_tensor(node, "i32")
    made = _fake(node, scales)
    total = _unlimited(node.tensor(0), scales, "f32", is_rounded=True)
    low, high = (const(limit, "f32") for limit in _range(node))
    mask = relax.logical_and(relax.less_equal(low, total), relax.less_equal(total, high))
    if "fake_quant_enabled" not in node.arguments:
        return [made, mask]
    enabled = _single(node, "fake_quant_enabled", "i1")
    return [relax.where(enabled, made, node.tensor(0)), relax.logical_or(mask, relax.logical_not(enabled))]


@register_torch("quantized_decomposed::convert_element_type.no_fuse")
def convert_element_type(node: Node) -> Outputs:
    return node.tensor(0, node.dtype)


@register_torch("quantized_decomposed::choose_qparams")
def choose_qparams(node: Node) -> Outputs:
    low, high = _range(node)
    least, most = (relax.dialect.ops[name](node.tensor(0, "f32")) for name in ("min", "max"))
    return _shaped(node, _asymmetric(least, most, low, high, node.float("eps")))


@register_torch("quantized_decomposed::choose_qparams_symmetric")
def choose_qparams_symmetric(node: Node) -> Outputs:
    """The zero point is the middle of the range."""
    low, high = _range(node)
    largest = relax.max(relax.abs(node.tensor(0, "f32")))
    scale = relax.divide(largest, const((high - low) / 2, "f32"))
    scale = relax.maximum(scale, const(node.float("eps"), "f32"))
    middle = 0 if low < 0 else (low + high + 1) // 2
    return _shaped(node, (scale, const(middle, "f32")))


@register_torch("quantized_decomposed::choose_qparams_per_token")
def choose_qparams_per_token(node: Node) -> Outputs:
    largest = relax.max(relax.abs(node.tensor(0)), axis=[-1], keepdims=True)
    scale = relax.divide(relax.maximum(cast(largest, "f32"), const(1e-5, "f32")), const(127, "f32"))
    return _shaped(node, (scale, relax.zeros_like(scale)))


@register_torch(
    "quantized_decomposed::choose_qparams_per_token_asymmetric",
    "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl",
)
def choose_qparams_per_token_asymmetric(node: Node) -> Outputs:
    x = node.tensor(0, "f32")
    least, most = (relax.dialect.ops[name](x, axis=[-1], keepdims=True) for name in ("min", "max"))
    return _shaped(node, _asymmetric(least, most, -128, 127, 1.1920928955078125e-07))


def _asymmetric(least: Tensor, most: Tensor, low: int, high: int, epsilon: float) -> tuple[Tensor, Tensor]:
    """A range with 0 in it; the zero point is the end that 0 is found from with the smaller error."""
    least, most = relax.minimum(least, const(0.0, "f32")), relax.maximum(most, const(0.0, "f32"))
    scale = relax.divide(relax.subtract(most, least), const(high - low, "f32"))
    scale = relax.maximum(scale, const(epsilon, "f32"))
    start = relax.subtract(const(low, "f32"), relax.round(relax.divide(least, scale)))
    return scale, relax.clip(start, low, high)


def _shaped(node: Node, made: tuple[Tensor, Tensor]) -> list[Tensor]:
    """As torch has the results: of its types and shapes."""
    found = []
    for tensor, info in zip(made, node.results, strict=True):
        assert info is not None
        each = cast(tensor, info.dtype)
        found.append(each if each.type.rank == len(info.shape or ()) else sizes.reshaped(each, list(info.shape or ())))
    return found


# ---- products of integers ----


@register_torch("aten::_int_mm")
def int_mm(node: Node) -> Outputs:
    return relax.matmul(node.tensor(0), node.tensor(1), out_dtype="i32")


# ---- torchao ----


@register_torch("torchao::quantize_affine")
def quantize_affine(node: Node) -> Outputs:
    dtype = node.dtype
    if is_float(dtype):
        raise node.fail("there is quantization to integers")
    low, high = (node.get(key) for key in ("quant_min", "quant_max"))
    limits = _limits(dtype)
    low, high = limits[0] if low is None else int(low), limits[1] if high is None else int(high)
    return _quantized(node.tensor(0), _affine(node), low, high, dtype)


@register_torch("torchao::dequantize_affine")
def dequantize_affine(node: Node) -> Outputs:
    return _dequantized(node.tensor(0), _affine(node), node.dtype)


def _affine(node: Node) -> Scales:
    """Blocks as scales for all, or along an axis, where they are such."""
    domain = node.string("zero_point_domain", "INT")
    if domain not in ("INT", "NONE"):
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
def choose_qparams_affine(node: Node) -> Outputs:
    """Of each block, from its least and largest element."""
    kind, info = node.string("mapping_type"), node.results[0]
    shape, blocks = sizes.sizes_of(node.value(0)), node.sizes("block_size")
    apart = _in_blocks(node.tensor(0, "f32"), Scales(node.tensor(0), None, 0, blocks))
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
        return _shaped(node, _asymmetric(least, most, low, high, epsilon))
    if kind != "SYMMETRIC":
        raise node.fail(f"a mapping of type {kind} is not supported: use SYMMETRIC or ASYMMETRIC", "mapping_type")
    least, most = relax.minimum(least, const(0.0, "f32")), relax.maximum(most, const(0.0, "f32"))
    largest = relax.maximum(relax.negative(least), most)
    scale = relax.maximum(relax.divide(largest, const((high - low) / 2, "f32")), const(epsilon, "f32"))
    return _shaped(node, (scale, relax.full_like(scale, const(math.floor((high + low + 1) / 2), "f32"))))
