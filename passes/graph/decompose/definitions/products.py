# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decomposition of products with matrices of few bits: dequantized weights, then a product."""

from __future__ import annotations

from .....bindings.ir import OpView, Value
from .....dialects.relax import const
from .....dialects.relax.values import dtype_of
from ..registry import register_decomposition
from ..wide import Decline, known_shape, relax, rounded, widened


@register_decomposition("relax.matmul_nbits")
def matmul_nbits(
    op: OpView,
    x: Value,
    codes: Value,
    scale: Value,
    zero_point: Value | None,
    bias: Value | None,
    *others: Value | None,
) -> Value:
    depth = known_shape(x, "x")[-1]
    columns, blocks, _ = known_shape(codes, "codes")
    if not isinstance(depth, int) or not isinstance(columns, int) or not isinstance(blocks, int):
        raise Decline("a size of the matrix is not known")
    weights = _weights(op, codes, scale, zero_point, *others)
    weights = relax.reshape(weights, (columns, blocks * op.block_size))
    rows = _reorder(op, _rows(op, widened(x).value, blocks * op.block_size - depth))
    letters = "abcdefgh"[: len(known_shape(x)) - 1]
    result = relax.einsum([rows, weights], subscripts=f"{letters}k,nk->{letters}n")
    if bias is not None:
        # With an unknown size, a single column would broadcast to the bias.
        result = relax.add(result, relax.reshape(widened(bias).value, (columns,)))
    return rounded(widened(result), dtype_of(x))


def _weights(
    op: OpView,
    codes: Value,
    scale: Value,
    zero_point: Value | None,
    offset: Value | None,
    outer_scale: Value | None,
    outer_offset: Value | None,
) -> Value:
    """Dequantize blocks. A block starts with the codes from the lowest bits of all bytes, followed by the next bits.

    Adjacent numbers are then computed from adjacent bytes by the same operations.
    """
    numbers, last = _numbers(op, codes)
    factor = relax.expand_dims(_scale_blocks(scale, outer_scale), axis=last)
    if offset is not None:
        added = relax.expand_dims(_scale_blocks(offset, outer_offset), axis=last)
        return relax.add(relax.multiply(numbers, factor), added)
    if zero_point is None:
        middle = const(float(2 ** (op.bits - 1)))
    else:
        middle = relax.expand_dims(relax.astype(zero_point, dtype="f32"), axis=last)
    return relax.multiply(relax.subtract(numbers, middle), factor)


def _numbers(op: OpView, codes: Value) -> tuple[Value, list[int]]:
    """Return the codes as f32, and the axes that numbers of blocks do not have."""
    if op.bits == 8:
        return relax.astype(codes, dtype="f32"), [2]
    if op.bits < 6:
        return relax.astype(_split(codes, op.bits), dtype="f32"), [2, 3]
    # The low bits of two codes and the high bits of four codes are in one byte: both in the order of codes.
    columns, blocks, _ = known_shape(codes, "codes")
    half, shape = op.block_size // 2, relax.shape_expr(dims=(columns, blocks, op.block_size))
    low, high = (
        relax.strided_slice(codes, axes=[2], begin=[begin], end=[end])
        for begin, end in ((0, half), (half, half + half // 2))
    )
    low, high = (
        relax.reshape(relax.permute_dims(_split(each, bits), axes=[0, 1, 3, 2]), shape)
        for each, bits in ((low, 4), (high, 2))
    )
    whole = relax.add(relax.astype(low, dtype="f32"), relax.multiply(relax.astype(high, dtype="f32"), const(16.0)))
    return whole, [2]


def _split(codes: Value, bits: int) -> Value:
    """Split bytes [columns, blocks, bytes] to codes [columns, blocks, codes of a byte, bytes]."""
    import numpy

    shifts = const((numpy.arange(8 // bits, dtype="uint8") * bits).reshape(-1, 1))
    shifted = relax.right_shift(relax.expand_dims(codes, axis=[2]), shifts)
    return relax.bitwise_and(shifted, const(2**bits - 1, "ui8"))


def _scale_blocks(numbers: Value, factors: Value | None) -> Value:
    """Return the numbers of blocks as f32, times factors for several blocks each."""
    if factors is None:
        return widened(numbers).value
    shape, (_, count) = known_shape(numbers), known_shape(factors)
    columns, blocks = shape
    if not isinstance(blocks, int) or not isinstance(count, int):
        raise Decline("the number of blocks is not known")
    parts = relax.reshape(relax.astype(numbers, dtype="f32"), relax.shape_expr(dims=(columns, count, blocks // count)))
    scaled = relax.multiply(parts, relax.expand_dims(widened(factors).value, axis=[2]))
    return relax.reshape(scaled, relax.shape_expr(dims=shape))


def _rows(op: OpView, x: Value, extra: int) -> Value:
    """Return rows with zeros for the missing part of the last block, and rounded if the operation says so."""
    if extra:
        x = relax.nn.pad(x, pad_width=[0] * (2 * len(known_shape(x)) - 1) + [extra])
    if not op.activation_bits:
        return x
    from ..row_blocks import rounded_floats  # few programs round activations

    return rounded_floats(x, op.block_size)


def _reorder(op: OpView, x: Value) -> Value:
    """Reorder rows like the weights."""
    *leading, depth = shape = known_shape(x)
    # The weights of 6 bits are in the order of codes.
    rank, count = len(shape), 1 if op.bits == 6 else 8 // op.bits
    if count == 1:
        return x
    assert isinstance(depth, int)
    apart = (*leading, depth // op.block_size, op.block_size // count, count)
    split = relax.reshape(x, relax.shape_expr(dims=apart))
    turned = relax.permute_dims(split, axes=[*range(rank), rank + 1, rank])
    return relax.reshape(turned, relax.shape_expr(dims=(*leading, depth)))
