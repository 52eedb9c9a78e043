# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decomposition of products with matrices of few bits: dequantized weights, then a product."""

from __future__ import annotations

from ....bindings.ir import OpView, Value
from ....dialects.relax import const
from ....dialects.relax.values import dtype_of
from ..registry import register_decomposition
from ..wide import Decline, known_shape, relax, rounded, widened


@register_decomposition("relax.matmul_nbits")
def matmul_nbits(
    op: OpView, x: Value, codes: Value, scale: Value, zero_point: Value | None, bias: Value | None
) -> Value:
    depth = known_shape(x, "x")[-1]
    sizes = known_shape(codes, "codes")
    columns, blocks, _ = sizes
    if not isinstance(depth, int) or not isinstance(columns, int) or not isinstance(blocks, int):
        raise Decline("a size of the matrix is not known")
    weights = _weights(op, codes, scale, zero_point, (columns, blocks * op.block_size))
    rows = _reordered(op, widened(x).value, blocks * op.block_size - depth)
    letters = "abcdefgh"[: len(known_shape(x)) - 1]
    result = relax.einsum([rows, weights], subscripts=f"{letters}k,nk->{letters}n")
    if bias is not None:
        # With an unknown size, a single column would broadcast to the bias.
        result = relax.add(result, relax.reshape(widened(bias).value, (columns,)))
    return rounded(widened(result), dtype_of(x))


def _weights(op: OpView, codes: Value, scale: Value, zero_point: Value | None, shape: tuple[int, int]) -> Value:
    """Dequantize blocks. A block starts with the codes from the lowest bits of all bytes, followed by the next bits.

    Adjacent numbers are then computed from adjacent bytes by the same operations.
    """
    import numpy

    bits, last = op.bits, [2]
    if bits < 8:
        shifts = const((numpy.arange(8 // bits, dtype="uint8") * bits).reshape(-1, 1))
        shifted = relax.right_shift(relax.expand_dims(codes, axis=last), shifts)
        codes, last = relax.bitwise_and(shifted, const(2**bits - 1, "ui8")), [2, 3]
    numbers = relax.astype(codes, dtype="f32")
    if zero_point is None:
        offset = const(float(2 ** (bits - 1)))
    else:
        offset = relax.expand_dims(relax.astype(zero_point, dtype="f32"), axis=last)
    factor = relax.expand_dims(widened(scale).value, axis=last)
    return relax.reshape(relax.multiply(relax.subtract(numbers, offset), factor), shape)


def _reordered(op: OpView, x: Value, extra: int) -> Value:
    """Reorder rows like the weights, with zeros for the missing part of the last block."""
    *leading, _ = shape = known_shape(x)
    rank, count = len(shape), 8 // op.bits
    if extra:
        x = relax.nn.pad(x, pad_width=[0] * (2 * rank - 1) + [extra])
    if count == 1:
        return x
    depth = known_shape(x)[-1]
    assert isinstance(depth, int)
    apart = (*leading, depth // op.block_size, op.block_size // count, count)
    split = relax.reshape(x, relax.shape_expr(dims=apart))
    turned = relax.permute_dims(split, axes=[*range(rank), rank + 1, rank])
    return relax.reshape(turned, relax.shape_expr(dims=(*leading, depth)))
