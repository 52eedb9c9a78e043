# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights, and rows of an embedding, in the encoding of the model's file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy
from relax_mlir import relax
from relax_mlir.rewriting import Value

from .gguf_weights import Matrix, is_quantized, nbits_operands
from .weights import Weight, joined

#: Attributes of relax.matmul_nbits. The other entries are arrays with a row for each row of a weight.
_ATTRIBUTES = ("bits", "block_size")


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


class Embedding:
    """Rows of an embedding, and the product with it. The program has the blocks of a shared matrix once."""

    def __init__(self, weight: Weight) -> None:
        self._weight = weight
        self._matrix = None
        if is_quantized(weight.type):
            self._matrix = Matrix(nbits_operands(weight.type, weight.data, *weight.shape))

    def take(self, tokens: Value) -> Value:
        """Return the rows of tokens as f32."""
        if self._matrix is not None:
            return self._matrix.rows(tokens)
        return relax.astype(relax.take(_elements(self._weight), tokens, axis=0), dtype="float32")

    def multiply(self, x: Value) -> Value:
        """Return the product of x and the transposed matrix."""
        return multiply(x, self._weight) if self._matrix is None else self._matrix.product(x)


def _parts(weight: Weight) -> tuple[dict[str, numpy.ndarray], int, int]:
    """Return the arrays of relax.matmul_nbits, and its attributes bits and block_size."""
    found = nbits_operands(weight.type, weight.data, *weight.shape)
    arrays = {name: each for name, each in found.items() if isinstance(each, numpy.ndarray)}
    bits, block_size = (found[name] for name in _ATTRIBUTES)
    assert isinstance(bits, int) and isinstance(block_size, int)
    return arrays, bits, block_size
