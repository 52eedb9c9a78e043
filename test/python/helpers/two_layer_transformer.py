# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A transformer of two layers with constant weights, and ids for it."""

from __future__ import annotations

from typing import Any

import numpy

import relax_mlir as rx
from relax_mlir import relax

WORDS = 11
_WIDTH, _HEADS, _HIDDEN = 16, 2, 24


def transformer(*sizes: int | str, masked: bool = False) -> rx.Module:
    """Return a transformer from ids of (batch, sequence) to words of `WORDS`, with constant weights in each layer."""
    random = numpy.random.default_rng(5)

    def weight(*shape: int, around: float = 0.0) -> Any:
        return relax.const((around + random.normal(size=shape) / numpy.sqrt(shape[0])).astype("float32"))

    def normed(x: Any) -> Any:
        return relax.nn.layer_norm(x, weight(_WIDTH, around=1.0), weight(_WIDTH), axes=[-1], epsilon=1e-5)

    def linear(x: Any, inputs: int, outputs: int) -> Any:
        return relax.add(relax.matmul(x, weight(inputs, outputs)), weight(outputs))

    batch, length = sizes
    module = rx.Module()
    with module.function("main", [rx.tensor((batch, length), "int64")]) as f:
        (ids,) = f
        heads = (batch, length, _HEADS, _WIDTH // _HEADS)
        x = relax.take(weight(WORDS, _WIDTH), ids, axis=0)
        for _ in range(2):
            before = normed(x)
            query, key, value = (relax.reshape(linear(before, _WIDTH, _WIDTH), heads) for _ in range(3))
            attended = relax.nn.attention(query, key, value, causal_mask="TopLeft" if masked else None)
            x = relax.add(x, linear(relax.reshape(attended, (batch, length, _WIDTH)), _WIDTH, _WIDTH))
            x = relax.add(x, linear(relax.nn.gelu(linear(normed(x), _WIDTH, _HIDDEN)), _HIDDEN, _WIDTH))
        f.returns(linear(normed(x), _WIDTH, WORDS))
    return module


def words(*shape: int) -> Any:
    return numpy.random.default_rng(shape).integers(0, WORDS, shape)
