# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices of GGUF files as operands of `relax.matmul_nbits`, in about as many bytes as in the file.

Each weight is exactly the number that `gguf.dequantize` computes. Formats: https://github.com/ggml-org/ggml.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy
from relax_mlir import RelaxError, relax
from relax_mlir.dialects.relax.values import shape_of

from .gguf_formats import FORMATS, Operands

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.rewriting import Value


def nbits_operands(type_name: str, data: ndarray, columns: int, depth: int) -> Operands:
    """Return operands and attributes of `relax.matmul_nbits` for a GGUF tensor of `columns` rows of `depth` numbers.

    `data` has the bytes of the tensor. The product of x and the result is `x @ gguf.dequantize(data, type).T`. The
    types F32, F16 and BF16 have no codes: their result has one entry, `weights` [columns, depth].
    """
    if (format_ := FORMATS.get(type_name)) is None:
        raise RelaxError(
            f"tensors of the GGUF type {type_name} are not supported, only {', '.join(FORMATS)}. "
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
    return type_name in FORMATS and FORMATS[type_name].numbers > 1


class Matrix:
    """Matrix as constants of the function that is built, from the result of `nbits_operands`.

    Use one object for all products and rows: the constants are then in the program once.
    """

    def __init__(self, operands: Operands):
        self._values = {
            name: relax.const(operand) for name, operand in operands.items() if not isinstance(operand, int)
        }
        self._attributes = {name: operand for name, operand in operands.items() if isinstance(operand, int)}

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
        taken = {name: relax.take(value, indices, axis=0) for name, value in self._values.items()}
        if "weights" in taken:
            return relax.astype(taken["weights"], dtype="float32")
        bits, block = self._attributes["bits"], self._attributes["block_size"]
        count, blocks, _ = _sizes(taken["codes"])
        numbers = relax.astype(_unpack_codes(taken["codes"], bits, block), dtype="float32")
        scale = _read_block_factors(taken, "scale")
        if "offset" in taken:
            made = relax.add(relax.multiply(numbers, scale), _read_block_factors(taken, "offset"))
        else:
            made = relax.multiply(relax.subtract(numbers, relax.const(float(1 << (bits - 1)))), scale)
        return relax.reshape(made, relax.shape_expr(dims=(count, blocks * block)))


def _sizes(value: Value) -> tuple[Any, ...]:
    shape = shape_of(value)
    assert shape is not None
    return tuple(shape)


def _unpack_codes(codes: Value, bits: int, block: int) -> Value:
    """Return codes [rows, blocks, block] of bytes [rows, blocks, bytes]."""
    count, blocks, _ = _sizes(codes)
    if bits == 8:
        return codes
    if bits == 6:
        low = relax.strided_slice(codes, axes=[2], begin=[0], end=[block // 2])
        high = relax.strided_slice(codes, axes=[2], begin=[block // 2], end=[block // 4 * 3])
        moved = relax.left_shift(_unpack_codes(high, 2, block), relax.const(4, "uint8"))
        return relax.bitwise_or(_unpack_codes(low, 4, block), moved)
    shifts = relax.const(numpy.arange(0, 8, bits, dtype=numpy.uint8))
    shifted = relax.right_shift(relax.expand_dims(codes, axis=[3]), shifts)
    split = relax.bitwise_and(shifted, relax.const((1 << bits) - 1, "uint8"))
    return relax.reshape(split, relax.shape_expr(dims=(count, blocks, block)))


def _read_block_factors(taken: Mapping[str, Value], name: str) -> Value:
    """Return the scales or offsets [rows, blocks, 1] as f32."""
    numbers = relax.astype(taken[name], dtype="float32")
    if (outer := taken.get(f"outer_{name}")) is not None:
        (count, blocks), (_, parts) = _sizes(numbers), _sizes(outer)
        apart = relax.reshape(numbers, relax.shape_expr(dims=(count, parts, blocks // parts)))
        factors = relax.expand_dims(relax.astype(outer, dtype="float32"), axis=[2])
        numbers = relax.reshape(relax.multiply(apart, factors), relax.shape_expr(dims=(count, blocks)))
    return relax.expand_dims(numbers, axis=[2])
