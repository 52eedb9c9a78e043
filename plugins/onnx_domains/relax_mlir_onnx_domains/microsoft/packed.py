# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of com.microsoft operators with weights in blocks of few bits, which the program unpacks at run time.

Codes of less than a byte are packed in bytes, the first in the lowest bits.
"""

from __future__ import annotations

import math

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.frontends.core.sizes import sizes_of, stated
from relax_mlir.frontends.onnx.prelude import OnnxNode, Outputs, Tensor, Value, cast, const, register_onnx, relax
from relax_mlir.support.suggest import counted

_DOMAIN = "com.microsoft"
_WIDTHS = (2, 4, 8)
_SMALLEST_BLOCK = 16


def _bits(node: OnnxNode) -> int:
    if (bits := int(node.int("bits", 4))) not in _WIDTHS:
        raise node.fail(f"must be one of {', '.join(map(str, _WIDTHS))}, got {bits}", "bits")
    return bits


def _block_size(node: OnnxNode, default: int) -> int:
    if (size := int(node.int("block_size", default))) < _SMALLEST_BLOCK or size & (size - 1):
        raise node.fail(f"must be a power of two from {_SMALLEST_BLOCK} on, got {size}", "block_size")
    return size


def _codes(packed: Tensor, bits: int, axis: int) -> Tensor:
    """Unpack each byte to codes along a new axis, from the lowest bits on."""
    import numpy

    behind = packed.type.rank - axis
    shifts = const((numpy.arange(8 // bits, dtype="uint8") * bits).reshape(-1, *[1] * behind))
    spread = relax.right_shift(relax.expand_dims(packed, axis=[axis]), shifts)
    return relax.bitwise_and(spread, const(2**bits - 1, "ui8"))


def _unpack(packed: Tensor, bits: int) -> Tensor:
    """Unpack bytes to codes. The last dimension becomes longer."""
    if bits == 8:
        return packed
    shape = Value(ssa=packed).shape or ()
    return relax.reshape(_codes(packed, bits, len(shape)), (*shape[:-1], shape[-1] * 8 // bits))


def _first(tensor: Tensor, size: int, axis: int) -> Tensor:
    """Return the first `size` elements of an axis."""
    shape = Value(ssa=tensor).shape or ()
    return tensor if shape[axis] == size else relax.strided_slice(tensor, axes=[axis], begin=[0], end=[size])


# ---- MatMulNBits ----


@register_onnx(_DOMAIN, "MatMulNBits")
def matmul_of_blocks(node: OnnxNode) -> Outputs:
    """Multiply a matrix by a matrix of codes, with one row per column of the result.

    `accuracy_level` only permits less accuracy.
    """
    if node.int("weight_prepacked", 0):
        raise node.fail("weights in the order of a certain GPU are not supported: export with 0", "weight_prepacked")
    bits, block = _bits(node), _block_size(node, 0)
    columns, depth = _positive(node, "N"), _positive(node, "K")
    blocks = -(-depth // block)
    packed = _reshape_input(node, 1, (columns, blocks, block * bits // 8))
    scale = _reshape_input(node, 2, (columns, blocks))
    zero_point = _zero_points(node, bits, (columns, blocks))
    data = stated(node.tensor(0), [*sizes_of(node.value(0))[:-1], depth])
    bias = _reshape_input(node, 5, (columns,)) if node.has(5) else None
    if not node.has(4):
        return relax.matmul_nbits(data, packed, scale, zero_point, bias, bits=bits, block_size=block)
    offset = const(2 ** (bits - 1), Value(ssa=scale).dtype) if zero_point is None else zero_point
    weights = _unpack_groups(node, packed, scale, offset, bits, depth)
    letters = "abcdefgh"[: node.rank(0) - 1]
    result = relax.einsum([data, weights], subscripts=f"{letters}k,nk->{letters}n")
    return result if bias is None else relax.add(result, bias)


def _unpack_groups(node: OnnxNode, packed: Tensor, scale: Tensor, zero_point: Tensor, bits: int, depth: int) -> Tensor:
    """Dequantize weights. 'g_idx' gives the block with each column's scale and zero point."""
    rows, blocks, width = Value(ssa=packed).shape or ()
    codes = relax.reshape(_unpack(packed, bits), (rows, blocks * width * 8 // bits))
    numbers = relax.astype(_first(codes, depth, 1), dtype=Value(ssa=scale).dtype)
    offset, factor = (
        relax.take(cast(tensor, Value(ssa=scale).dtype), node.tensor(4), axis=1) if Value(ssa=tensor).rank else tensor
        for tensor in (zero_point, scale)
    )
    return relax.multiply(relax.subtract(numbers, offset), factor)


def _positive(node: OnnxNode, name: str) -> int:
    if (number := int(node.int(name, 0))) < 1:
        raise node.fail("must be 1 or more", name)
    return number


def _reshape_input(node: OnnxNode, index: int, shape: tuple[int, ...]) -> Tensor:
    """Return an input reshaped to this shape. It may have fewer dimensions."""
    own = node.value(index).shape or ()
    if own == shape:
        return node.tensor(index)
    sizes = [size for size in own if isinstance(size, int)]
    if len(sizes) != len(own) or math.prod(sizes) != math.prod(shape):
        raise node.fail(f"input #{index} has the shape ({', '.join(map(str, own))}), not {shape}")
    return relax.reshape(node.tensor(index), shape)


def _zero_points(node: OnnxNode, bits: int, shape: tuple[int, int]) -> Tensor | None:
    """Return the zero points: packed like the codes, one per byte, or floats."""
    if not node.has(3):
        return None
    if is_float(node.value(3).dtype):
        return _reshape_input(node, 3, shape)
    columns, blocks = shape
    return _first(_unpack(_reshape_input(node, 3, (columns, -(-blocks * bits // 8))), bits), blocks, 1)


# ---- GatherBlockQuantized ----


@register_onnx(_DOMAIN, "GatherBlockQuantized")
def gather_blocks(node: OnnxNode) -> Outputs:
    """Gather codes, scales and zero points, and dequantize only the gathered ones."""
    rank = node.rank(0)
    along, blocked = (node.axis(rank, default, name) for name, default in (("gather_axis", 0), ("quantize_axis", 1)))
    block, dtype = _block_size(node, 128), node.value(2).dtype
    if along == blocked:
        raise node.fail("must be another axis than 'gather_axis'", "quantize_axis")
    for index in (2, 3):
        if node.has(index) and node.rank(index) != rank:
            raise node.fail(f"input #{index} has {counted(node.rank(index), 'dimension')}, the data {rank}")
    is_packed = node.value(0).dtype == "ui8"
    bits = _bits(node) if is_packed else 8
    after = blocked if blocked < along else blocked + node.rank(1) - 1
    taken = [relax.take(node.tensor(index), node.tensor(1), axis=along) for index in (0, 2)]
    codes = relax.astype(_unpack(taken[0], bits), dtype=dtype)
    if not isinstance(size := (Value(ssa=codes).shape or ())[after], int):
        raise node.fail("the size along 'quantize_axis' must be known", "quantize_axis")
    if node.has(3):
        zeros = _unpack(relax.take(node.tensor(3), node.tensor(1), axis=along), bits)
        count = (node.value(2).shape or ())[-1]
        zeros = _first(zeros, count, zeros.type.rank - 1)  # Packed numbers fill the last byte.
        codes = relax.subtract(codes, _broadcast_parameter(relax.astype(zeros, dtype=dtype), block, after, size))
    elif is_packed:
        codes = relax.subtract(codes, const(2 ** (bits - 1), dtype))
    return relax.multiply(codes, _broadcast_parameter(taken[1], block, after, size))


def _broadcast_parameter(tensor: Tensor, block: int, axis: int, size: int) -> Tensor:
    """Repeat a block's number for each element of the block."""
    return _first(relax.repeat(tensor, repeats=block, axis=axis), size, axis)


# ---- MatMulBnb4 ----

#: Values of the codes of bitsandbytes: FP4, and NF4, quantiles of the normal distribution.
_FP4 = (0.0, 1 / 192, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25)
_NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip


@register_onnx(_DOMAIN, "MatMulBnb4")
def matmul_of_bnb4(node: OnnxNode) -> Outputs:
    """Multiply by the transpose of a matrix [N, K] of 4-bit codes. Blocks continue from row to row."""
    if not node.int("transB", 1):
        raise node.fail("weights that are not transposed are for training: export with 1", "transB")
    kind, block = node.int("quant_type", -1), _block_size(node, 0)
    if kind not in (0, 1):
        raise node.fail(f"must be 0 (FP4) or 1 (NF4), got {kind}", "quant_type")
    columns, depth = _positive(node, "N"), _positive(node, "K")
    count, dtype = columns * depth, node.value(0).dtype
    packed, scale = _reshape_input(node, 1, ((count + 1) // 2,)), _reshape_input(node, 2, (-(-count // block),))
    values = _NF4 if kind else (*_FP4, *(-each for each in _FP4))
    # The first code of a byte is in the highest bits.
    codes = [relax.right_shift(packed, const(4, "ui8")), relax.bitwise_and(packed, const(15, "ui8"))]
    spread = _first(relax.reshape(relax.stack(codes, axis=1), (-1,)), count, 0)
    numbers = relax.take(const(values, dtype), cast(spread, "i64"), axis=0)
    weights = relax.reshape(relax.multiply(numbers, _broadcast_parameter(scale, block, 0, count)), (columns, depth))
    letters = "abcdefgh"[: node.rank(0) - 1]
    return relax.einsum([node.tensor(0), weights], subscripts=f"{letters}k,nk->{letters}n")
