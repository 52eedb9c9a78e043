# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rescaling of integers from one scale to another, and blocks of numbers with a common scale."""

from __future__ import annotations

from relax_mlir.dialects.core.infos import bit_width
from relax_mlir.emit.numbers import select

from ..prelude import Number, Outputs, Tensor, TosaNode, along_axis, cast, elementwise, register_tosa, relax, sizes
from .elementwise import clipped


@register_tosa("tosa.rescale")
def rescale(node: TosaNode) -> Outputs:
    """Return (x - zero point) * multiplier / 2^shift + zero point, rounded and clipped to the range of the result."""
    x = node.tensor(0)
    per_channel = node.attr("per_channel")
    rank = x.type.rank
    scales = [along_axis(node.tensor(index), rank - 1 if per_channel else 0, rank) if rank else node.tensor(index)
              for index in (1, 2)]  # fmt: skip
    if not rank:
        scales = [relax.reshape(scale, ()) for scale in scales]
    zero_points = [relax.reshape(node.tensor(index), ()) for index in (3, 4)]
    parameters = (
        node.attr("scale32"),
        node.attr("rounding_mode") == "DOUBLE_ROUND",
        node.attr("input_unsigned"),
        node.attr("output_unsigned"),
        node.dtype,
    )
    return elementwise(node, _rescale, [x, *scales, *zero_points], *parameters, dtype=node.dtype)


def _rescale(
    x: Number,
    multiplier: Number,
    shift: Number,
    zero: Number,
    made_zero: Number,
    is_wide: bool,
    rounds_twice: bool,
    from_unsigned: bool,
    to_unsigned: bool,
    dtype: str,
) -> Number:
    value = _as_read(x, from_unsigned) - _as_read(zero, from_unsigned)
    scaled = apply_scale(value, multiplier.to("i64"), shift.to("i64"), is_wide and rounds_twice)
    return clipped(scaled + _as_read(made_zero, to_unsigned), dtype, to_unsigned)


def _as_read(x: Number, unsigned: bool) -> Number:
    """Return a stored number as a wide integer. Its bits may be interpreted as unsigned."""
    wide = x.to("i64")
    return wide & ((1 << x.bits) - 1) if unsigned and x.bits < 64 else wide


def apply_scale(value: Number, multiplier: Number, shift: Number, rounds_twice: bool) -> Number:
    """Return value * multiplier / 2^shift with halves rounded up.

    With `rounds_twice`, large shifts first round away from zero.
    """
    half = value.constant(1) << (shift - 1)
    if rounds_twice:
        first = select(value >= 0, value.constant(1 << 30), value.constant(-(1 << 30)))
        half = half + select(shift > 31, first, 0)
    return (value * multiplier + half) >> shift


@register_tosa("tosa.apply_scale")
def apply_scale_of_tensors(node: TosaNode) -> Outputs:
    rounds_twice = node.attr("rounding_mode") == "DOUBLE_ROUND"
    return elementwise(node, _scale, node.tensors(3), rounds_twice, node.dtype, dtype=node.dtype)


def _scale(value: Number, multiplier: Number, shift: Number, rounds_twice: bool, dtype: str) -> Number:
    return apply_scale(value.to("i64"), multiplier.to("i64"), shift.to("i64"), rounds_twice).to(dtype)


def centered(x: Tensor, node: TosaNode, index: int, dtype: str) -> Tensor:
    """Return data minus its zero point, operand #index, in a type wide enough for the difference."""
    if (zero := node.constant(index)) is not None and not zero.any():
        return x
    return relax.subtract(cast(x, dtype), cast(node.tensor(index), dtype))


def difference_type(dtype: str) -> str:
    """Return a type that holds the difference of two integers of a type."""
    return "i16" if bit_width(dtype) <= 8 else "i32"


# ---- blocks ----


def unblocked(node: TosaNode, data: int, scale: int, block: int) -> Tensor:
    """Return numbers times the scale of their block along the last dimension, in f32."""
    values, scales = cast(node.tensor(data), "f32"), cast(node.tensor(scale), "f32")
    *lead, length = node.sizes_of_operand(data)
    apart = sizes.reshaped(values, [*lead, sizes.divided(length, block), block])
    return sizes.reshaped(relax.multiply(apart, relax.expand_dims(scales, axis=[-1])), [*lead, length])


def block_size(node: TosaNode) -> int:
    return int(str(node.attr("block_size")).rpartition("_")[2])


@register_tosa("tosa.cast_from_block_scaled")
def cast_from_block_scaled(node: TosaNode) -> Outputs:
    return cast(unblocked(node, 0, 1, block_size(node)), node.dtype)


@register_tosa("tosa.matmul_t_block_scaled")
def matmul_t_block_scaled(node: TosaNode) -> Outputs:
    """Multiply [batch, rows, depth] by [batch, columns, depth]."""
    block = block_size(node)
    a, b = unblocked(node, 0, 1, block), unblocked(node, 2, 3, block)
    return cast(relax.matmul(a, relax.permute_dims(b, axes=[0, 2, 1])), node.dtype)
