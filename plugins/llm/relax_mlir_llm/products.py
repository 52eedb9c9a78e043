# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights, and rows of an embedding, in the encoding of the model's file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy
from relax_mlir import relax
from relax_mlir.rewriting import Value

from .weights import Weight, joined


def multiply(x: Value, weight: Weight, bias: numpy.ndarray | None = None) -> Value:
    """Return x @ weight^T + bias."""
    product = relax.matmul(x, relax.const(numpy.ascontiguousarray(weight.floats().T)))
    return product if bias is None else relax.add(product, relax.const(bias))


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
    """Return the rows of an embedding."""
    return relax.take(relax.const(weight.floats()), tokens, axis=0)
