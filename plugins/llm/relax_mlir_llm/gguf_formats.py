# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of blocks in GGUF files as codes, scales and offsets of `relax.matmul_nbits`.

Each weight is exactly the number that `gguf.dequantize` computes. Formats: https://github.com/ggml-org/ggml.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy

if TYPE_CHECKING:
    from numpy import ndarray

#: Operands of `relax.matmul_nbits` by their names, and its attributes `bits` and `block_size`.
Operands = dict[str, "ndarray | int"]
#: Codes of a block, and of a block of the types that end in K.
_BLOCK, _SUPERBLOCK = 32, 256
#: Numbers of the codes 0 to 15 in IQ4_NL and IQ4_XS.
_NONLINEAR = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
#: Numbers of the codes 0 to 15 in MXFP4.
_MXFP4 = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)

#: Attributes of blocks of 32 codes of 6 bits, which types of 5 bits become.
_SIX_BITS = {"bits": 6, "block_size": _BLOCK}


class _BlockLayout(NamedTuple):
    """Layout of a type: numbers in a block, bytes of a block, and the reader of blocks [columns, blocks, bytes]."""

    numbers: int
    nbytes: int
    read: Callable[[ndarray], Operands]


def _floats(dtype: str) -> Callable[[ndarray], Operands]:
    def read(blocks: ndarray) -> Operands:
        import ml_dtypes

        element = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
        return {"weights": blocks.reshape(len(blocks), -1).view(element)}

    return read


def _q4_0(blocks: ndarray) -> Operands:
    scale, codes = _parts(blocks, 2, 16)
    return {"codes": _halves_joined(codes), "scale": _half(scale), "bits": 4, "block_size": _BLOCK}


def _q4_1(blocks: ndarray) -> Operands:
    scale, offset, codes = _parts(blocks, 2, 2, 16)
    numbers = {"scale": _half(scale), "offset": _half(offset)}
    return {"codes": _halves_joined(codes), **numbers, "bits": 4, "block_size": _BLOCK}


def _q8_0(blocks: ndarray) -> Operands:
    # The signed numbers -128..127 are the codes 0..255, with a zero point of 128.
    scale, numbers = _parts(blocks, 2, 32)
    return {"codes": numbers ^ numpy.uint8(128), "scale": _half(scale), "bits": 8, "block_size": _BLOCK}


def _q5_0(blocks: ndarray) -> Operands:
    # The signed numbers -16..15 are codes of 6 bits with a zero point of 32.
    scale, high, low = _parts(blocks, 2, 4, 16)
    return {"codes": _packed_6(_fives(low, high) + numpy.uint8(16)), "scale": _half(scale), **_SIX_BITS}


def _q5_1(blocks: ndarray) -> Operands:
    scale, offset, high, low = _parts(blocks, 2, 2, 4, 16)
    numbers = {"scale": _half(scale), "offset": _half(offset)}
    return {"codes": _packed_6(_fives(low, high)), **numbers, **_SIX_BITS}


def _fives(low: ndarray, high: ndarray) -> ndarray:
    """Return codes of 5 bits: 4 in the halves of a block, and the highest ones together."""
    joined = numpy.concatenate([low & 15, low >> 4], axis=-1)
    return joined | numpy.unpackbits(high, axis=-1, bitorder="little") << 4


def _iq4_nl(blocks: ndarray) -> Operands:
    scale, codes = _parts(blocks, 2, 16)
    joined = numpy.concatenate([codes & 15, codes >> 4], axis=-1)
    return {"codes": _nonlinear(joined), "scale": _half(scale), "bits": 8, "block_size": _BLOCK}


def _mxfp4(blocks: ndarray) -> Operands:
    exponents, codes = _parts(blocks, 1, 16)
    joined = numpy.concatenate([codes & 15, codes >> 4], axis=-1)
    # The numbers are twice as large as in the format, and the scales half as large. The zero point is 32.
    scale = numpy.exp2(exponents[..., 0].astype(numpy.float64) - 128).astype(numpy.float32)
    numbers = (numpy.array(_MXFP4) + 32).astype(numpy.uint8)[joined]
    return {"codes": _packed_6(numbers), "scale": scale, **_SIX_BITS}


def _iq4_xs(blocks: ndarray) -> Operands:
    columns, count, _ = blocks.shape
    outer_scale, high, low, codes = _parts(blocks, 2, 2, 4, 128)
    # 8 scales of 6 bits: the low 4 bits in order, and the high 2 bits together.
    highest = high[..., None] >> numpy.array([0, 2, 4, 6], "uint8") & 3
    scale = _nibbles(low) | highest.reshape(columns, count, 8) << 4
    halves = codes.reshape(columns, count, 8, 1, 16) >> numpy.array([[0], [4]], "uint8") & 15
    return {
        "codes": _nonlinear(halves.reshape(columns, -1, _BLOCK)),
        "scale": (scale.view(numpy.int8) - numpy.int8(32)).reshape(columns, -1),
        "outer_scale": _half(outer_scale),
        "bits": 8,
        "block_size": _BLOCK,
    }


def _nonlinear(codes: ndarray) -> ndarray:
    """Return the numbers of IQ4's codes as codes of 8 bits with a zero point of 128."""
    return (numpy.array(_NONLINEAR) + 128).astype(numpy.uint8)[codes]


def _q2_k(blocks: ndarray) -> Operands:
    columns = len(blocks)
    numbers, codes, outer_scale, outer_offset = _parts(blocks, 16, 64, 2, 2)
    return {
        "codes": _pack(_twos(codes).reshape(columns, -1, 16), 2),
        "scale": (numbers & 15).reshape(columns, -1),
        "offset": (numbers >> 4).reshape(columns, -1),
        "outer_scale": _half(outer_scale),
        "outer_offset": -_half(outer_offset),
        "bits": 2,
        "block_size": 16,
    }


def _q3_k(blocks: ndarray) -> Operands:
    columns, count, _ = blocks.shape
    mask, codes, packed, outer_scale = _parts(blocks, 32, 64, 12, 2)
    # 16 scales of 6 bits: the low 4 bits in halves of 8 bytes, the high 2 bits in quarters of 4 bytes.
    low = packed[..., None, :8] >> numpy.array([[0], [4]], "uint8") & 15
    high = packed[..., None, 8:] >> numpy.array([[0], [2], [4], [6]], "uint8") & 3
    scale = low.reshape(columns, count, 16) | high.reshape(columns, count, 16) << 4
    third = mask[..., None, :] >> numpy.arange(8, dtype=numpy.uint8)[:, None] & 1
    # The numbers -4..3 are codes of 4 bits with a zero point of 8. The third bit is missing in the numbers below 0.
    found = _twos(codes) + (third.reshape(columns, count, -1) << 2) + numpy.uint8(4)
    return {
        "codes": _pack(found.reshape(columns, -1, 16), 4),
        "scale": (scale.view(numpy.int8) - numpy.int8(32)).reshape(columns, -1),
        "outer_scale": _half(outer_scale),
        "bits": 4,
        "block_size": 16,
    }


def _twos(codes: ndarray) -> ndarray:
    """Return 256 codes of 2 bits. 32 bytes have the lowest bits of 32 codes, then the next bits of others."""
    columns, count, _ = codes.shape
    split = codes.reshape(columns, count, 2, 1, 32) >> numpy.array([[0], [2], [4], [6]], "uint8") & 3
    return split.reshape(columns, count, _SUPERBLOCK)


def _q4_k(blocks: ndarray) -> Operands:
    columns = len(blocks)
    outer_scale, outer_offset, packed, codes = _parts(blocks, 2, 2, 12, 128)
    return {
        "codes": _pack(_fours(codes).reshape(columns, -1, _BLOCK), 4),
        **_scales_and_offsets(packed),
        "outer_scale": _half(outer_scale),
        "outer_offset": -_half(outer_offset),
        "bits": 4,
        "block_size": _BLOCK,
    }


def _q5_k(blocks: ndarray) -> Operands:
    columns, count, _ = blocks.shape
    outer_scale, outer_offset, packed, high, low = _parts(blocks, 2, 2, 12, 32, 128)
    fifth = high[..., None, :] >> numpy.arange(8, dtype=numpy.uint8)[:, None] & 1
    codes = _fours(low) | fifth.reshape(columns, count, _SUPERBLOCK) << 4
    return {
        "codes": _packed_6(codes.reshape(columns, -1, _BLOCK)),
        **_scales_and_offsets(packed),
        "outer_scale": _half(outer_scale),
        "outer_offset": -_half(outer_offset),
        **_SIX_BITS,
    }


def _fours(codes: ndarray) -> ndarray:
    """Return 256 codes of 4 bits. 32 bytes have the low bits of one block and the high bits of the next one."""
    columns, count, _ = codes.shape
    split = codes.reshape(columns, count, 4, 1, 32) >> numpy.array([[0], [4]], "uint8") & 15
    return split.reshape(columns, count, _SUPERBLOCK)


def _scales_and_offsets(packed: ndarray) -> dict[str, ndarray]:
    """Return 8 scales and 8 offsets of 6 bits. The high 2 bits of the last 4 are in the bytes of the first 4."""
    columns = len(packed)
    first, second, third = numpy.split(packed, 3, axis=-1)
    scale = numpy.concatenate([first & 63, third & 15 | first >> 2 & 48], axis=-1)
    offset = numpy.concatenate([second & 63, third >> 4 | second >> 2 & 48], axis=-1)
    return {"scale": scale.reshape(columns, -1), "offset": offset.reshape(columns, -1)}


def _q6_k(blocks: ndarray) -> Operands:
    columns, count, _ = blocks.shape
    low, high, scale, outer_scale = _parts(blocks, 128, 64, 16, 2)
    low = low.reshape(columns, count, 2, 1, 64) >> numpy.array([[0], [4]], "uint8") & 15
    high = high.reshape(columns, count, 2, 1, 32) >> numpy.array([[0], [2], [4], [6]], "uint8") & 3
    shape = columns, -1, 16
    return {
        "codes": _packed_6(low.reshape(shape) | high.reshape(shape) << 4),
        "scale": scale.view(numpy.int8).reshape(columns, -1),
        "outer_scale": _half(outer_scale),
        "bits": 6,
        "block_size": 16,
    }


FORMATS = {
    "F32": _BlockLayout(1, 4, _floats("float32")),
    "F16": _BlockLayout(1, 2, _floats("float16")),
    "BF16": _BlockLayout(1, 2, _floats("bfloat16")),
    "Q4_0": _BlockLayout(_BLOCK, 18, _q4_0),
    "Q4_1": _BlockLayout(_BLOCK, 20, _q4_1),
    "Q5_0": _BlockLayout(_BLOCK, 22, _q5_0),
    "Q5_1": _BlockLayout(_BLOCK, 24, _q5_1),
    "Q8_0": _BlockLayout(_BLOCK, 34, _q8_0),
    "MXFP4": _BlockLayout(_BLOCK, 17, _mxfp4),
    "IQ4_NL": _BlockLayout(_BLOCK, 18, _iq4_nl),
    "IQ4_XS": _BlockLayout(_SUPERBLOCK, 136, _iq4_xs),
    "Q2_K": _BlockLayout(_SUPERBLOCK, 84, _q2_k),
    "Q3_K": _BlockLayout(_SUPERBLOCK, 110, _q3_k),
    "Q4_K": _BlockLayout(_SUPERBLOCK, 144, _q4_k),
    "Q5_K": _BlockLayout(_SUPERBLOCK, 176, _q5_k),
    "Q6_K": _BlockLayout(_SUPERBLOCK, 210, _q6_k),
}


def _parts(blocks: ndarray, *sizes: int) -> list[ndarray]:
    """Split the bytes of blocks into contiguous parts of these sizes."""
    ends = numpy.cumsum(sizes)
    return [numpy.ascontiguousarray(blocks[..., end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def _half(nbytes: ndarray) -> ndarray:
    """Return the f16 number of each block."""
    return nbytes.view(numpy.float16)[..., 0]


def _packed_6(codes: ndarray) -> ndarray:
    """Pack codes of 6 bits: the low 4 bits of a block, then the high 2 bits."""
    return numpy.concatenate([_pack(codes & 15, 4), _pack(codes >> 4, 2)], axis=-1)


def _nibbles(codes: ndarray) -> ndarray:
    """Return the low and the high 4 bits of each byte, in this order."""
    return (codes[..., None] >> numpy.array([0, 4], "uint8") & 15).reshape(*codes.shape[:-1], -1)


def _halves_joined(codes: ndarray) -> ndarray:
    """Pack adjacent codes. In the file, a byte has a code of the first half of a block and one of the second half."""
    return _pack(numpy.concatenate([codes & 15, codes >> 4], axis=-1), 4)


def _pack(codes: ndarray, bits: int) -> ndarray:
    """Pack codes along the last axis, the first code in the lowest bits."""
    count = 8 // bits
    parts = codes.reshape(*codes.shape[:-1], -1, count)
    return numpy.bitwise_or.reduce(parts << numpy.arange(0, 8, bits, dtype=numpy.uint8), axis=-1)
