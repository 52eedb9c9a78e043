# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights, and rows of an embedding, in the encoding of the model's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy
from relax_mlir import relax
from relax_mlir.rewriting import Value

from .gguf_weights import is_quantized, nbits_operands
from .weights import Weight, joined

#: Attributes of relax.matmul_nbits. The other entries are arrays with a row for each row of a weight.
_ATTRIBUTES = ("bits", "block_size")
#: Bits of a code of 6 bits in the first bytes of a block, and in the bytes behind them.
_LOW_BITS, _HIGH_BITS = 4, 2


def multiply(x: Value, weight: Weight, bias: numpy.ndarray | None = None) -> Value:
    """Return x @ weight^T + bias."""
    if is_quantized(weight.type):
        arrays, bits, block_size = _parts(weight)
        if bias is not None:
            arrays = {**arrays, "bias": bias}
        constants = {name: relax.const(each) for name, each in arrays.items()}
        return relax.matmul_nbits(x, **constants, bits=bits, block_size=block_size)
    product = relax.matmul(x, _elements(weight, transposed=True), out_dtype="float32")
    return product if bias is None else relax.add(product, relax.const(bias))


def _elements(weight: Weight, *, transposed: bool = False) -> Value:
    """Return a constant of a weight without blocks. F16 and BF16 stay as they are, other types become f32."""
    if weight.type not in ("F16", "BF16"):
        array = weight.floats()
    elif weight.type == "F16":
        array = weight.data
    else:
        array = numpy.ascontiguousarray(weight.data).view(numpy.uint16)
    value = relax.const(numpy.ascontiguousarray(array.T) if transposed else array)
    return relax.bitcast(value, dtype="bfloat16") if weight.type == "BF16" else value


def multiply_all(x: Value, weights: Sequence[Weight], biases: Sequence[numpy.ndarray] | None = None) -> list[Value]:
    """Return the product with each weight. Weights of one type are multiplied at once: x is read once."""
    if len({each.type for each in weights}) > 1:
        return [multiply(x, each, None if biases is None else biases[number]) for number, each in enumerate(weights)]
    bias = None if biases is None else numpy.concatenate(list(biases))
    product = multiply(x, joined(weights), bias)
    if len(weights) == 1:
        return [product]
    starts = list(accumulate(each.shape[0] for each in weights))[:-1]
    return list(relax.split(product, indices_or_sections=starts, axis=1))


def take(weight: Weight, tokens: Value) -> Value:
    """Return the rows of an embedding as f32."""
    if not is_quantized(weight.type):
        return relax.astype(relax.take(_elements(weight), tokens, axis=0), dtype="float32")
    arrays, bits, block_size = _parts(weight)
    rows = {name: relax.take(relax.const(each), tokens, axis=0) for name, each in arrays.items()}
    blocks = weight.shape[1] // block_size
    scale = _factor(rows, "scale", blocks)
    numbers = _unpacked(rows["codes"], bits, (blocks, block_size))
    if "offset" in rows:
        found = numbers * scale + _factor(rows, "offset", blocks)
    else:
        found = (numbers - relax.const(float(1 << bits - 1), "float32")) * scale
    return relax.reshape(found, relax.shape_expr(dims=("tokens", weight.shape[1])))


def _parts(weight: Weight) -> tuple[dict[str, numpy.ndarray], int, int]:
    """Return the arrays of relax.matmul_nbits, and its attributes bits and block_size."""
    found = nbits_operands(weight.type, weight.data, *weight.shape)
    arrays = {name: each for name, each in found.items() if isinstance(each, numpy.ndarray)}
    bits, block_size = (found[name] for name in _ATTRIBUTES)
    assert isinstance(bits, int) and isinstance(block_size, int)
    return arrays, bits, block_size


def _factor(rows: Mapping[str, Value], name: str, blocks: int) -> Value:
    """Return scales or offsets [tokens, blocks, 1] of rows, times the factors of several blocks."""
    found = relax.astype(rows[name], dtype="float32")
    outer = rows.get(f"outer_{name}")
    if outer is not None:
        parts = outer.shape[1]
        split = relax.reshape(found, relax.shape_expr(dims=("tokens", parts, blocks // parts)))
        found = split * relax.expand_dims(relax.astype(outer, dtype="float32"), axis=[2])
    return relax.reshape(found, relax.shape_expr(dims=("tokens", blocks, 1)))


def _unpacked(codes: Value, bits: int, shape: tuple[int, int]) -> Value:
    """Return the codes [tokens, blocks, block size] of rows as f32. The first code of a byte is in its lowest bits."""
    blocks, size = shape
    if bits == _LOW_BITS + _HIGH_BITS:
        cut = size * _LOW_BITS // 8
        low, high = relax.split(codes, indices_or_sections=[cut], axis=2)
        factor = relax.const(float(1 << _LOW_BITS), "float32")
        return _unpacked(low, _LOW_BITS, shape) + _unpacked(high, _HIGH_BITS, shape) * factor
    count = 8 // bits
    if count > 1:
        mask = relax.const((1 << bits) - 1, "uint8")
        places = [relax.const(bits * number, "uint8") for number in range(count)]
        parts = [relax.bitwise_and(relax.right_shift(codes, place), mask) for place in places]
        codes = relax.reshape(relax.stack(*parts, axis=3), relax.shape_expr(dims=("tokens", blocks, size)))
    return relax.astype(codes, dtype="float32")
