# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repeated blocks of published models, and random graphs, for tests and timings of graph passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from hypothesis import strategies as st

import relax_mlir as rx
from relax_mlir import relax


class Weights:
    """Weights as constants or as parameters of the function, in the order of their use."""

    def __init__(self, seed: int = 0):
        self._random = numpy.random.default_rng(seed)

    def __call__(self, *shape: int, scale: float | None = None) -> Any:
        spread = 1 / numpy.sqrt(max(numpy.prod(shape[1:]), 1)) if scale is None else scale
        return relax.const((self._random.standard_normal(shape) * spread).astype("float32"))

    def positive(self, *shape: int) -> Any:
        return relax.const((1 + self._random.random(shape)).astype("float32"))

    def batch_norm(self, x: Any, channels: int) -> Any:
        given = self.positive(channels), self(channels), self(channels), self.positive(channels)
        return relax.nn.batch_norm(x, *given, axis=1, training=False)[0]


def resnet_block(x: Any, weights: Weights, channels: int) -> Any:
    """Two convolutions with batch norm and relu, and the shortcut around them."""
    y = relax.nn.conv2d(x, weights(channels, channels, 3, 3), padding=(1, 1))
    y = relax.nn.relu(weights.batch_norm(y, channels))
    y = relax.nn.conv2d(y, weights(channels, channels, 3, 3), padding=(1, 1))
    return relax.nn.relu(relax.add(weights.batch_norm(y, channels), x))


def _heads(x: Any, length: Any, heads: int, width: int) -> Any:
    split = relax.reshape(x, (1, length, heads, width // heads))
    return relax.permute_dims(split, axes=(0, 2, 1, 3))


def attention(query: Any, key: Any, value: Any, mask: Any, length: Any, width: int) -> Any:
    """Build attention of [1, heads, length, size] with the products and the softmax that exporters write."""
    heads = query.type.shape[1]
    scores = relax.matmul(query, relax.permute_dims(key, axes=(0, 1, 3, 2)))
    scores = relax.multiply(scores, relax.const(numpy.float32((width // heads) ** -0.5)))
    seen = relax.matmul(relax.nn.softmax(relax.add(scores, mask), axis=-1), value)
    return relax.reshape(relax.permute_dims(seen, axes=(0, 2, 1, 3)), (1, length, width))


def transformer_block(x: Any, mask: Any, weights: Weights, length: Any, width: int, heads: int = 4) -> Any:
    """Layer norm, attention with a mask, layer norm, an MLP with gelu."""

    def dense(value: Any, inner: int, outer: int) -> Any:
        return relax.add(relax.matmul(value, weights(inner, outer, scale=inner**-0.5)), weights(outer))

    y = relax.nn.layer_norm(x, weights.positive(width), weights(width), axes=[-1])
    query, key, value = (_heads(dense(y, width, width), length, heads, width) for _ in range(3))
    x = relax.add(x, dense(attention(query, key, value, mask, length, width), width, width))
    y = relax.nn.layer_norm(x, weights.positive(width), weights(width), axes=[-1])
    return relax.add(x, dense(relax.nn.gelu(dense(y, width, 4 * width)), 4 * width, width))


def llama_block(x: Any, mask: Any, weights: Weights, length: Any, width: int, heads: int = 4) -> Any:
    """Build RMS norm, attention with rotated queries and keys, RMS norm, and a gated MLP."""
    size = width // heads

    def dense(value: Any, inner: int, outer: int) -> Any:
        return relax.matmul(value, weights(inner, outer, scale=inner**-0.5))

    def rotated(value: Any, cosine: Any, sine: Any) -> Any:
        half = size // 2
        left, right = (relax.strided_slice(value, axes=[3], begin=[begin], end=[begin + half]) for begin in (0, half))
        turned = relax.concat([relax.negative(right), left], axis=3)
        return relax.add(relax.multiply(value, cosine), relax.multiply(turned, sine))

    y = relax.nn.rms_norm(x, weights.positive(width), axes=[-1])
    query, key, value = (_heads(dense(y, width, width), length, heads, width) for _ in range(3))
    angles = weights(1, 1, 1, size), weights(1, 1, 1, size)
    query, key = rotated(query, *angles), rotated(key, *angles)
    x = relax.add(x, dense(attention(query, key, value, mask, length, width), width, width))
    y = relax.nn.rms_norm(x, weights.positive(width), axes=[-1])
    gate, up = relax.nn.silu(dense(y, width, 2 * width)), dense(y, width, 2 * width)
    return relax.add(x, dense(relax.multiply(gate, up), 2 * width, width))


# ---- whole modules ----


def resnet(blocks: int = 1, channels: int = 8, size: int = 8) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((1, channels, size, size))}) as f:
        (value,), weights = f, Weights()
        for _ in range(blocks):
            value = resnet_block(value, weights, channels)
        f.returns(value)
    return module


def _sequence_model(block: Callable[..., Any], blocks: int, width: int, length: int | str) -> rx.Module:
    module = rx.Module()
    inputs = {"x": rx.tensor((1, length, width)), "mask": rx.tensor((1, 1, length, length))}
    with module.function("main", inputs) as f:
        (value, mask), weights = f, Weights()
        for _ in range(blocks):
            value = block(value, mask, weights, length, width)
        f.returns(value)
    return module


def transformer(blocks: int = 1, width: int = 32, length: int | str = 6) -> rx.Module:
    return _sequence_model(transformer_block, blocks, width, length)


def llama(blocks: int = 1, width: int = 32, length: int | str = 6) -> rx.Module:
    return _sequence_model(llama_block, blocks, width, length)


# ---- random graphs ----

_UNARY = "nn.relu nn.gelu nn.silu tanh sigmoid exp negative abs sqrt floor".split()
_BINARY = "add subtract multiply maximum minimum".split()


@st.composite
def images(draw: Any) -> rx.Module:
    """Draw convolutions, pools, norms, activations, shortcuts, concatenations and reductions over one or two images."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2, 4, 6, 6)), "y": rx.tensor((2, 4, 6, 6))}) as f:
        values, weights = list(f), Weights(draw(st.integers(0, 99)))
        for _ in range(draw(st.integers(1, 8))):
            values.append(_image_step(draw, values, weights))
        results = draw(st.lists(st.sampled_from(values[2:]), min_size=1, max_size=3, unique_by=id))
        f.returns(*map(_bounded, results))
    return module


def _image_step(draw: Any, values: list[Any], weights: Weights) -> Any:
    x = draw(st.sampled_from(values))
    channels = x.type.shape[1]
    kind = draw(st.sampled_from("unary binary conv conv norm pool concat bias mean slice".split()))
    if kind == "unary":
        return rx.find_op(f"relax.{draw(st.sampled_from(_UNARY[:-2]))}")(x)
    if kind == "conv":
        out = draw(st.sampled_from([2, 4, 8]))
        return relax.nn.conv2d(x, weights(out, channels, 3, 3), padding=(1, 1))
    if kind == "norm":
        return weights.batch_norm(x, channels)
    if kind == "pool":
        pool = draw(st.sampled_from([relax.nn.max_pool2d, relax.nn.avg_pool2d]))
        return pool(x, (3, 3), strides=(1, 1), padding=(1, 1, 1, 1))
    if kind == "bias":
        return relax.add(x, weights(*draw(st.sampled_from([(channels, 1, 1), (1, channels, 1, 1), (1,), ()]))))
    if kind == "mean":
        axes = draw(st.sampled_from([[2, 3], [1], [1, 2]]))
        return relax.subtract(x, relax.mean(x, axis=axes, keepdims=True))
    if kind == "slice":
        return relax.strided_slice(x, axes=[1], begin=[0], end=[draw(st.integers(1, channels))])
    other = draw(st.sampled_from([each for each in values if each.type.shape == x.type.shape or kind == "concat"]))
    if kind == "concat":
        return relax.concat([x, other], axis=1)
    return rx.find_op(f"relax.{draw(st.sampled_from(_BINARY))}")(x, other)


@st.composite
def sequences(draw: Any) -> rx.Module:
    """Draw products, softmax, norms, transposes, activations and shortcuts over two sequences of known or dynamic
    length."""
    length = draw(st.sampled_from([5, "n"]))
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((length, 4)), "y": rx.tensor((length, 4))}) as f:
        values, weights = list(f), Weights(draw(st.integers(0, 99)))
        for _ in range(draw(st.integers(1, 8))):
            values.append(_sequence_step(draw, values, weights))
        results = draw(st.lists(st.sampled_from(values[2:]), min_size=1, max_size=3, unique_by=id))
        f.returns(*map(_bounded, results))
    return module


def _sequence_step(draw: Any, values: list[Any], weights: Weights) -> Any:
    x = draw(st.sampled_from(values))
    kind = draw(st.sampled_from("unary unary binary dense dense scores softmax norm turn row".split()))
    if kind == "unary":
        return rx.find_op(f"relax.{draw(st.sampled_from(_UNARY[:-2]))}")(x)
    if kind == "dense":
        return relax.add(relax.matmul(x, weights(4, 4)), weights(4))
    if kind == "scores":
        other = draw(st.sampled_from(values))
        return relax.matmul(relax.nn.softmax(relax.matmul(x, relax.permute_dims(other)), axis=-1), other)
    if kind == "softmax":
        return relax.nn.softmax(x, axis=draw(st.sampled_from([0, -1])))
    if kind == "norm":
        return relax.nn.layer_norm(x, weights.positive(4), weights(4), axes=[-1])
    if kind == "turn":
        return relax.permute_dims(relax.nn.relu(relax.permute_dims(x)))
    if kind == "row":
        return relax.multiply(x, weights(*draw(st.sampled_from([(4,), (1, 4), ()]))))
    other = draw(st.sampled_from(values))
    return rx.find_op(f"relax.{draw(st.sampled_from(_BINARY))}")(x, other)


def _bounded(x: Any) -> Any:
    """Limit values to -1 to 1, so that an absolute tolerance is meaningful."""
    return relax.tanh(x)
