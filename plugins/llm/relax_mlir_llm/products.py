# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights, and rows of an embedding, in the encoding of the model's file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy
from relax_mlir import relax
from relax_mlir.rewriting import Value

from .gguf_weights import Matrix, is_quantized, nbits_operands
from .weights import Weight, check_finite, joined

#: Attributes of relax.matmul_nbits. The other entries are arrays with a row for each row of a weight.
_ATTRIBUTES = ("bits", "block_size")


class _Codes(NamedTuple):
    """Arrays of a quantized weight, and attributes of relax.matmul_nbits."""

    arrays: dict[str, numpy.ndarray]
    bits: int
    block_size: int


class Products:
    """Products with the weights of a module. Functions share the arrays of a weight, which need memory once."""

    def __init__(self, activation_bits: int = 0, *, joins: bool = True) -> None:
        """`activation_bits` is the attribute of relax.matmul_nbits: 8 to round x, 0 for x as it is.

        `joins`: multiply several weights at once. Ranks divide the columns of each weight.
        """
        self.activation_bits = activation_bits
        self._joins = joins
        self._codes: dict[str, _Codes] = {}
        self._elements: dict[tuple[str, bool], numpy.ndarray] = {}

    def multiply(self, x: Value, weight: Weight, bias: numpy.ndarray | None = None) -> Value:
        """Return x @ weight^T + bias."""
        if is_quantized(weight.type):
            codes = self.codes(weight)
            arrays = codes.arrays if bias is None else {**codes.arrays, "bias": bias}
            constants = {name: relax.const(array) for name, array in arrays.items()}
            return relax.matmul_nbits(
                x, **constants, bits=codes.bits, block_size=codes.block_size, activation_bits=self.activation_bits
            )
        product = relax.matmul(x, self.elements(weight, transposed=True), out_dtype="float32")
        return product if bias is None else relax.add(product, relax.const(bias))

    def multiply_all(
        self, x: Value, weights: Sequence[Weight], biases: Sequence[numpy.ndarray] | None = None
    ) -> list[Value]:
        """Return the product with each weight. Weights of one type are multiplied at once: x is read once."""
        if not self._joins or len({weight.type for weight in weights}) > 1:
            own = [None] * len(weights) if biases is None else biases
            return [self.multiply(x, weight, bias) for weight, bias in zip(weights, own, strict=True)]
        bias = None if biases is None else numpy.concatenate(list(biases))
        product = self.multiply(x, joined(weights), bias)
        starts = list(accumulate(weight.shape[0] for weight in weights))[:-1]
        return list(relax.split(product, indices_or_sections=starts, axis=1))

    def codes(self, weight: Weight) -> _Codes:
        """Return the arrays and attributes of a quantized weight."""
        if weight.name not in self._codes:
            operands = nbits_operands(weight.type, weight.data, *weight.shape)
            arrays = {name: frozen(value) for name, value in operands.items() if isinstance(value, numpy.ndarray)}
            for array in arrays.values():
                if array.dtype.kind == "f":  # scales and offsets
                    check_finite(weight.name, array)
            bits, block_size = (operands[name] for name in _ATTRIBUTES)
            assert isinstance(bits, int) and isinstance(block_size, int)
            self._codes[weight.name] = _Codes(arrays, bits, block_size)
        return self._codes[weight.name]

    def elements(self, weight: Weight, *, transposed: bool = False) -> Value:
        """Return a constant of a weight without blocks. F16 and BF16 stay as they are, other types become f32."""
        key = (weight.name, transposed)
        if key not in self._elements:
            array = _elements(weight)
            check_finite(weight.name, array)
            self._elements[key] = frozen(numpy.ascontiguousarray(array.T) if transposed else array)
        value = relax.const(self._elements[key])
        return relax.bitcast(value, dtype="bfloat16") if weight.type == "BF16" else value


def _elements(weight: Weight) -> numpy.ndarray:
    if weight.type == "F16":
        return weight.data
    if weight.type == "BF16":
        return numpy.ascontiguousarray(weight.data).view(numpy.uint16)
    return weight.floats()


def frozen(array: numpy.ndarray) -> numpy.ndarray:
    """Return a read-only view, which constants do not copy. Nobody writes to the arrays of weights."""
    found = array.view()
    found.flags.writeable = False
    return found


class Embedding:
    """Rows of an embedding, and the product with it. A function has the blocks of a shared matrix once."""

    def __init__(self, products: Products, weight: Weight) -> None:
        self._products = products
        self._weight = weight
        self._matrix = None
        if is_quantized(weight.type):
            codes = products.codes(weight)
            self._matrix = Matrix({**codes.arrays, "bits": codes.bits, "block_size": codes.block_size})

    def take(self, tokens: Value) -> Value:
        """Return the rows of tokens as f32."""
        if self._matrix is not None:
            return self._matrix.rows(tokens)
        return relax.astype(relax.take(self._products.elements(self._weight), tokens, axis=0), dtype="float32")

    def multiply(self, x: Value) -> Value:
        """Return the product of x and the transposed matrix."""
        if self._matrix is None:
            return self._products.multiply(x, self._weight)
        return self._matrix.product(x, self._products.activation_bits)
