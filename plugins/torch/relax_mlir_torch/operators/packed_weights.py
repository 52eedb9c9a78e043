# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of products with packed weights of four or eight bits."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..prelude import Outputs, Tensor, TorchNode, Value, cast, const, part, register_torch, relax, sizes

if TYPE_CHECKING:
    import numpy

    import torch

_PRODUCT = "_weight_int4pack_mm_for_cpu"


@register_torch("aten::_weight_int8pack_mm")
def weight_int8pack_mm(node: TorchNode) -> Outputs:
    """Convert a product with the transposed weight, which has a scale per row."""
    scales = node.tensor("scales", "f32")
    weight = relax.dequantize(node.tensor("mat2"), scales, const(0, "i8"), axis=0, out_dtype="f32")
    made = relax.matmul(node.tensor("self", "f32"), relax.permute_dims(weight, axes=[1, 0]))
    return cast(made, node.dtype)


# ---- four bits ----


@register_torch("aten::_convert_weight_to_int4pack_for_cpu")
def pack_int4(node: TorchNode) -> Outputs:
    """Pack two adjacent elements of a row in a byte, the first in the low bits.

    torch's own order depends on the machine.
    """
    if any(_PRODUCT not in str(user.target) for user in node.fx.users):
        raise node.fail(f"its result can only be an argument of {_PRODUCT}")
    codes = node.tensor(0, "ui8")
    own = sizes.sizes_of(node.value(0))
    pairs = sizes.reshaped(codes, [own[0], sizes.divided(own[1], 2), 2])
    low, high = (part(pairs, 2, place, place + 1, drop=True) for place in range(2))
    return relax.bitwise_or(low, relax.left_shift(high, const(4, "ui8")))


@register_torch(f"aten::{_PRODUCT}")
def weight_int4pack_mm(node: TorchNode) -> Outputs:
    """Convert a product with a transposed 4-bit weight: (code - 8) * scale + zero in groups of a row.

    The zeros are multiplied by the sums of groups, so that nothing is divided by a scale.
    """
    x, group, around = node.tensor("self", "f32"), node.int("qGroupSize"), node.tensor("qScaleAndZeros", "f32")
    scale, zero = (part(around, 2, place, place + 1, drop=True) for place in range(2))
    codes = _pairs(node)
    rows, bytes_ = sizes.sizes_of(Value(ssa=codes))
    blocks = sizes.divided(sizes.times(bytes_, 2), group)
    x, lead = _fit_depth(x, sizes.times(blocks, group))
    codes = sizes.reshaped(codes, [rows, blocks, group // 2])
    made = relax.matmul_nbits(x, codes, relax.permute_dims(scale, axes=[1, 0]), bits=4, block_size=group)
    sums = relax.sum(sizes.reshaped(x, [*lead, blocks, group]), axis=[-1])
    return cast(relax.add(made, relax.matmul(sums, zero)), node.dtype)


def _fit_depth(x: Tensor, depth: sizes.Size) -> tuple[Tensor, list[sizes.Size]]:
    """Return x with rows as long as the weight's, and the leading sizes. torch does not compare the lengths."""
    lead = sizes.sizes_of(Value(ssa=x))[:-1]
    return sizes.reshaped(x, [*lead, depth]), lead


def _pairs(node: TorchNode) -> Tensor:
    """Return the codes in the order of `pack_int4`."""
    packed = node.value("mat2")
    if packed.array is not None:
        return const(_unpack(packed.array))
    if str(node.fx.args[1].target) != "aten._convert_weight_to_int4pack_for_cpu.default":
        raise node.fail("its weight must be a constant, or packed in the program: torch's order depends on the machine")
    return packed.ssa


def _unpack(packed: numpy.ndarray) -> numpy.ndarray:
    import numpy

    rows, depth = packed.shape[0], 2 * packed.shape[1]
    codes, stream, start = numpy.empty((rows, depth), "uint8"), _halves(packed), 0
    for order in _orders(rows):
        end = start + order.size * depth
        codes[order] = stream[start:end].reshape(depth, order.size).T
        start = end
    return codes[:, 0::2] | (codes[:, 1::2] << 4)


def _halves(packed: numpy.ndarray) -> numpy.ndarray:
    import numpy

    return numpy.stack([packed & 15, packed >> 4], axis=-1).ravel()


@lru_cache(maxsize=16)
def _orders(rows: int) -> list[numpy.ndarray]:
    """Return torch's order of packed rows, block by block.

    The order is computed on this machine, where the weight was packed.
    """
    import numpy

    import torch

    number = torch.arange(rows)[:, None].expand(rows, 2)
    column = _as_packed(torch.arange(2).expand(rows, 2))
    digits = [_as_packed((number >> shift) & 15).astype("int64") << shift for shift in range(0, 32, 4)]
    place = numpy.sum(digits, axis=0)
    width = int(column.argmax()) or rows
    return [place[2 * start : 2 * start + min(width, rows - start)] for start in range(0, rows, width)]


def _as_packed(codes: torch.Tensor) -> numpy.ndarray:
    import torch

    return _halves(torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes.int().contiguous(), 1).numpy())


# ---- four bits, with run-time quantization of the other operand ----


@register_torch("aten::_dyn_quant_pack_4bit_weight")
def pack_with_scales(node: TorchNode) -> Outputs:
    """Return all bytes, then all scales, as floats: torch's order without a packing library of the processor."""
    if node.has("bias"):
        raise node.fail("a bias is not packed: add it to the product", "bias")
    return relax.concat([relax.flatten(node.tensor(key, "f32")) for key in ("weights", "scales_zeros")], axis=0)


@register_torch("aten::_dyn_quant_matmul_4bit")
def dynamically_quantized_product(node: TorchNode) -> Outputs:
    group, depth, columns = (node.int(key) for key in ("block_size", "in_features", "out_features"))
    packed, count, blocks = node.tensor("packed_weights"), columns * depth // 2, depth // group
    if Value(ssa=packed).shape != (count + columns * blocks,):
        raise node.fail("its weight is packed for a library of another processor", "packed_weights")
    codes = relax.reshape(cast(part(packed, 0, 0, count), "ui8"), (columns, blocks, group // 2))
    scale = relax.reshape(part(packed, 0, count, count + columns * blocks), (columns, blocks))
    x = _round_to_bytes(_fit_depth(node.tensor("inp", "f32"), depth)[0])
    return cast(relax.matmul_nbits(x, codes, scale, bits=4, block_size=group), node.dtype)


def _round_to_bytes(x: Tensor) -> Tensor:
    """Round rows to 256 steps between their extremes, including 0."""
    zero = const(0, "f32")
    least = relax.minimum(relax.min(x, axis=[-1], keepdims=True), zero)
    width = relax.subtract(relax.maximum(relax.max(x, axis=[-1], keepdims=True), zero), least)
    inverse = relax.where(relax.equal(width, zero), const(1, "f32"), relax.divide(const(255, "f32"), width))
    start = relax.round(relax.subtract(const(-128, "f32"), relax.multiply(least, inverse)))
    code = relax.clip(relax.add(relax.round(relax.multiply(x, inverse)), start), -128, 127)
    return relax.divide(relax.subtract(code, start), inverse)
