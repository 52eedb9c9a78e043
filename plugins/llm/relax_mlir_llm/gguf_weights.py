# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices of GGUF files as operands of `relax.matmul_nbits`, in about as many bytes as in the file.

Each weight is exactly the number that `gguf.dequantize` computes. Formats: https://github.com/ggml-org/ggml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from relax_mlir import RelaxError, relax
from relax_mlir.facts import shape_of

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.rewriting import Value

#: Operands of `relax.matmul_nbits` by their names, and its attributes `bits` and `block_size`.
Operands = dict[str, "ndarray | int"]
#: Codes of a block, and of a block of the types that end in K.
_BLOCK, _SUPERBLOCK = 32, 256


class _Format(NamedTuple):
    """Layout of a type: numbers in a block, bytes of a block, and the reader of blocks [columns, blocks, bytes]."""

    numbers: int
    nbytes: int
    read: Callable[[ndarray], Operands]


def nbits_operands(type_name: str, data: ndarray, columns: int, depth: int) -> Operands:
    """Return operands and attributes of `relax.matmul_nbits` for a GGUF tensor of `columns` rows of `depth` numbers.

    `data` has the bytes of the tensor. The product of x and the result is `x @ gguf.dequantize(data, type).T`. The
    types F32, F16 and BF16 have no codes: their result has one entry, `weights` [columns, depth].
    """
    format_ = _FORMATS.get(type_name)
    if format_ is None:
        raise RelaxError(
            f"tensors of the GGUF type {type_name} are not supported, only {', '.join(_FORMATS)}. "
            "llama-quantize of llama.cpp converts a file to one of these types."
        )
    if depth % format_.numbers:
        raise RelaxError(
            f"a {type_name} tensor of {columns} rows of {depth} numbers: rows must have whole blocks of "
            f"{format_.numbers} numbers"
        )
    wanted = columns * (depth // format_.numbers) * format_.nbytes
    if data.nbytes != wanted:
        raise RelaxError(
            f"a {type_name} tensor of {columns} rows of {depth} numbers has {wanted} bytes, got {data.nbytes}. Is the "
            "file truncated?"
        )
    blocks = numpy.ascontiguousarray(data).view(numpy.uint8)
    return format_.read(blocks.reshape(columns, depth // format_.numbers, format_.nbytes))


def is_quantized(type_name: str) -> bool:
    """Check whether tensors of a GGUF type have codes, not floats."""
    return type_name in _FORMATS and _FORMATS[type_name].numbers > 1


class Matrix:
    """Matrix as constants of the function that is built, from the result of `nbits_operands`.

    Use one object for all products and rows: the constants are then in the program once.
    """

    def __init__(self, operands: Operands):
        self._values = {name: relax.const(each) for name, each in operands.items() if not isinstance(each, int)}
        self._attributes = {name: each for name, each in operands.items() if isinstance(each, int)}

    def product(self, x: Value, activation_bits: int = 0) -> Value:
        """Return x times the transposed matrix. Codes multiply x rounded to `activation_bits`, or as it is with 0."""
        if "weights" in self._values:
            weights = relax.astype(self._values["weights"], dtype="float32")
            return relax.matmul(x, relax.permute_dims(weights, axes=[1, 0]))
        bits, block = self._attributes["bits"], self._attributes["block_size"]
        return relax.matmul_nbits(x, **self._values, bits=bits, block_size=block, activation_bits=activation_bits)

    def rows(self, indices: Value) -> Value:
        """Return rows of the matrix as f32 [indices, depth]: the embeddings of tokens.

        Only the codes of these rows are read. The target llvm reads them from the packed matrix of a product.
        """
        taken = {name: relax.take(each, indices, axis=0) for name, each in self._values.items()}
        if "weights" in taken:
            return relax.astype(taken["weights"], dtype="float32")
        bits, block = self._attributes["bits"], self._attributes["block_size"]
        count, blocks, _ = _sizes(taken["codes"])
        numbers = relax.astype(_unpacked(taken["codes"], bits, block), dtype="float32")
        scale = _of_blocks(taken, "scale")
        if "offset" in taken:
            made = relax.add(relax.multiply(numbers, scale), _of_blocks(taken, "offset"))
        else:
            made = relax.multiply(relax.subtract(numbers, relax.const(float(1 << (bits - 1)))), scale)
        return relax.reshape(made, relax.shape_expr(dims=(count, blocks * block)))


def _sizes(value: Value) -> tuple[Any, ...]:
    shape = shape_of(value)
    assert shape is not None
    return tuple(shape)


def _unpacked(codes: Value, bits: int, block: int) -> Value:
    """Return codes [rows, blocks, block] of bytes [rows, blocks, bytes]."""
    count, blocks, _ = _sizes(codes)
    if bits == 8:
        return codes
    if bits == 6:
        low = relax.strided_slice(codes, axes=[2], begin=[0], end=[block // 2])
        high = relax.strided_slice(codes, axes=[2], begin=[block // 2], end=[block // 4 * 3])
        moved = relax.left_shift(_unpacked(high, 2, block), relax.const(4, "uint8"))
        return relax.bitwise_or(_unpacked(low, 4, block), moved)
    shifts = relax.const(numpy.arange(0, 8, bits, dtype=numpy.uint8))
    shifted = relax.right_shift(relax.expand_dims(codes, axis=[3]), shifts)
    split = relax.bitwise_and(shifted, relax.const((1 << bits) - 1, "uint8"))
    return relax.reshape(split, relax.shape_expr(dims=(count, blocks, block)))


def _of_blocks(taken: Mapping[str, Value], name: str) -> Value:
    """Return the scales or offsets [rows, blocks, 1] as f32."""
    numbers = relax.astype(taken[name], dtype="float32")
    if (outer := taken.get(f"outer_{name}")) is not None:
        (count, blocks), (_, parts) = _sizes(numbers), _sizes(outer)
        apart = relax.reshape(numbers, relax.shape_expr(dims=(count, parts, blocks // parts)))
        factors = relax.expand_dims(relax.astype(outer, dtype="float32"), axis=[2])
        numbers = relax.reshape(relax.multiply(apart, factors), relax.shape_expr(dims=(count, blocks)))
    return relax.expand_dims(numbers, axis=[2])


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


def _q4_k(blocks: ndarray) -> Operands:
    columns, count, _ = blocks.shape
    outer_scale, outer_offset, packed, codes = _parts(blocks, 2, 2, 12, 128)
    # 8 scales and 8 offsets of 6 bits: the high 2 bits of the last 4 are in the bytes of the first 4.
    first, second, third = numpy.split(packed, 3, axis=-1)
    scale = numpy.concatenate([first & 63, third & 15 | first >> 2 & 48], axis=-1)
    offset = numpy.concatenate([second & 63, third >> 4 | second >> 2 & 48], axis=-1)
    # 32 bytes have the low bits of one block and the high bits of the next one.
    split = codes.reshape(columns, count, 4, 1, 32) >> numpy.array([[0], [4]], "uint8") & 15
    return {
        "codes": _packed(split.reshape(columns, -1, _BLOCK), 4),
        "scale": scale.reshape(columns, -1),
        "offset": offset.reshape(columns, -1),
        "outer_scale": _half(outer_scale),
        "outer_offset": -_half(outer_offset),
        "bits": 4,
        "block_size": _BLOCK,
    }


def _q6_k(blocks: ndarray) -> Operands:
    columns, count, _ = blocks.shape
    low, high, scale, outer_scale = _parts(blocks, 128, 64, 16, 2)
    low = low.reshape(columns, count, 2, 1, 64) >> numpy.array([[0], [4]], "uint8") & 15
    high = high.reshape(columns, count, 2, 1, 32) >> numpy.array([[0], [2], [4], [6]], "uint8") & 3
    shape = columns, -1, 16
    return {
        "codes": numpy.concatenate([_packed(low.reshape(shape), 4), _packed(high.reshape(shape), 2)], axis=-1),
        "scale": scale.view(numpy.int8).reshape(columns, -1),
        "outer_scale": _half(outer_scale),
        "bits": 6,
        "block_size": 16,
    }


_FORMATS = {
    "F32": _Format(1, 4, _floats("float32")),
    "F16": _Format(1, 2, _floats("float16")),
    "BF16": _Format(1, 2, _floats("bfloat16")),
    "Q4_0": _Format(_BLOCK, 18, _q4_0),
    "Q4_1": _Format(_BLOCK, 20, _q4_1),
    "Q8_0": _Format(_BLOCK, 34, _q8_0),
    "Q4_K": _Format(_SUPERBLOCK, 144, _q4_k),
    "Q6_K": _Format(_SUPERBLOCK, 210, _q6_k),
}


def _parts(blocks: ndarray, *sizes: int) -> list[ndarray]:
    """Split the bytes of blocks into contiguous parts of these sizes."""
    ends = numpy.cumsum(sizes)
    return [numpy.ascontiguousarray(blocks[..., end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def _half(nbytes: ndarray) -> ndarray:
    """Return the f16 number of each block."""
    return nbytes.view(numpy.float16)[..., 0]


def _halves_joined(codes: ndarray) -> ndarray:
    """Pack adjacent codes. In the file, a byte has a code of the first half of a block and one of the second half."""
    return _packed(numpy.concatenate([codes & 15, codes >> 4], axis=-1), 4)


def _packed(codes: ndarray, bits: int) -> ndarray:
    """Pack codes along the last axis, the first code in the lowest bits."""
    count = 8 // bits
    parts = codes.reshape(*codes.shape[:-1], -1, count)
    shifts = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    return numpy.bitwise_or.reduce(parts << shifts, axis=-1)
