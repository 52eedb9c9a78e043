# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformers: attention and the layers around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from relax_mlir.bindings.ir import Value
from relax_mlir.dialects import relax

from ..core.networks import Weights, model

_BATCH, _LENGTH, _WIDTH, _HEADS = "batch", "length", 16, 2


def linear(w: Weights, x: Value, width: int, outputs: int) -> Value:
    return relax.add(relax.matmul(x, w(width, outputs)), w(outputs))


def layer_normed(w: Weights, x: Value, width: int = _WIDTH) -> Value:
    return relax.nn.layer_norm(x, w.positive(width), w(width), axes=[-1])


def heads_of(x: Value, sizes: Sequence[Any], heads: int = _HEADS, width: int = _WIDTH) -> Value:
    return relax.reshape(x, (*sizes, heads, width // heads))


def attended(
    w: Weights,
    x: Value,
    sizes: Sequence[Any],
    memory: Value | None = None,
    memory_sizes: Sequence[Any] = (),
    **how: Any,
) -> Value:
    """Apply attention of x to itself, or to the output of another network."""
    read, read_sizes = (x, sizes) if memory is None else (memory, memory_sizes)
    query = heads_of(linear(w, x, _WIDTH, _WIDTH), sizes)
    key, value = (heads_of(linear(w, read, _WIDTH, _WIDTH), read_sizes) for _ in range(2))
    seen = relax.nn.attention(query, key, value, **how)
    return linear(w, relax.reshape(seen, (*sizes, _WIDTH)), _WIDTH, _WIDTH)


def fed_forward(w: Weights, x: Value) -> Value:
    return linear(w, relax.nn.gelu(linear(w, x, _WIDTH, 32)), 32, _WIDTH)


@model("vit", "batch,3,12,12:f32", batch=(1, 3))
def vit(w: Weights, x: Value) -> Value:
    """Vision transformer: patches, a class token, a layer."""
    patches = relax.nn.conv2d(x, w(_WIDTH, 3, 4, 4), strides=4)
    patches = relax.permute_dims(relax.reshape(patches, (_BATCH, _WIDTH, 9)), (0, 2, 1))
    token = relax.broadcast_to(w(1, 1, _WIDTH), (_BATCH, 1, _WIDTH))
    x = relax.add(relax.concat([token, patches], axis=1), w(10, _WIDTH))
    x = relax.add(x, attended(w, layer_normed(w, x), (_BATCH, 10)))
    x = relax.add(x, fed_forward(w, layer_normed(w, x)))
    first = relax.reshape(relax.strided_slice(x, axes=[1], begin=[0], end=[1]), (_BATCH, _WIDTH))
    return linear(w, layer_normed(w, first), _WIDTH, 5)


@model("bert", "batch,length:i64[0,20] batch,length:i64[0,2]", batch=(2, 1), length=(7, 12))
def bert(w: Weights, ids: Value, mask: Value) -> tuple[Value, Value]:
    """Encoder layer over words, with a mask."""
    positions = relax.strided_slice(w(16, _WIDTH), axes=[0], begin=[0], end=[_LENGTH])
    x = layer_normed(w, relax.add(relax.take(w(20, _WIDTH), ids, axis=0), positions))
    hidden = relax.where(relax.equal(mask, relax.const(0)), relax.const(-1e4), relax.const(0.0))
    x = layer_normed(w, relax.add(x, attended(w, x, (_BATCH, _LENGTH), bias=relax.expand_dims(hidden, [1, 2]))))
    x = layer_normed(w, relax.add(x, fed_forward(w, x)))
    return x, relax.tanh(linear(w, relax.take(x, relax.const(0), axis=1), _WIDTH, _WIDTH))


@model("gpt", "1,length:i64[0,20] 1,past,2,8:f32 1,past,2,8:f32", length=(1, 4), past=(5, 0))
def gpt(w: Weights, ids: Value, keys: Value, values: Value) -> tuple[Value, ...]:
    """Decoder that reads keys and values of earlier words, and returns all of them."""
    sizes = (1, _LENGTH)
    x = relax.take(w(20, _WIDTH), ids, axis=0)
    y = layer_normed(w, x)
    query, key, value = (heads_of(word, sizes) for word in relax.split(linear(w, y, _WIDTH, 48), 3, axis=2))
    keys, values = relax.concat([keys, key], axis=1), relax.concat([values, value], axis=1)
    seen = relax.nn.attention(query, keys, values, causal_mask="BottomRight")
    x = relax.add(x, linear(w, relax.reshape(seen, (*sizes, _WIDTH)), _WIDTH, _WIDTH))
    x = relax.add(x, fed_forward(w, layer_normed(w, x)))
    return relax.matmul(layer_normed(w, x), w(_WIDTH, 20)), keys, values


def rotated(x: Value, positions: Value, half: int) -> Value:
    """Apply a rotary embedding, which rotates the halves of each head by an angle proportional to the position."""
    rates = (100.0 ** -(numpy.arange(half) / half)).astype("float32")
    angles = relax.multiply(relax.expand_dims(relax.astype(positions, "float32"), [1, 2]), relax.const(rates))
    cos, sin = relax.cos(angles), relax.sin(angles)
    left, right = relax.split(x, 2, axis=3)
    turned = (
        relax.subtract(relax.multiply(left, cos), relax.multiply(right, sin)),
        relax.add(relax.multiply(right, cos), relax.multiply(left, sin)),
    )
    return relax.concat(list(turned), axis=3)


@model("llama", "batch,length:i64[0,20] length:i64[0,9]^", batch=(2, 1), length=(6, 1))
def llama(w: Weights, ids: Value, positions: Value) -> Value:
    """RMS norm, rotary embedding, four query heads on two key heads, and a gated layer."""
    sizes = (_BATCH, _LENGTH)
    x = relax.take(w(20, _WIDTH), ids, axis=0)
    y = relax.nn.rms_norm(x, w.positive(_WIDTH))
    query = rotated(heads_of(relax.matmul(y, w(_WIDTH, _WIDTH)), sizes, 4), positions, 2)
    key = rotated(heads_of(relax.matmul(y, w(_WIDTH, 8)), sizes, 2, 8), positions, 2)
    value = heads_of(relax.matmul(y, w(_WIDTH, 8)), sizes, 2, 8)
    seen = relax.nn.attention(query, key, value, causal_mask="TopLeft")
    x = relax.add(x, relax.matmul(relax.reshape(seen, (*sizes, _WIDTH)), w(_WIDTH, _WIDTH)))
    y = relax.nn.rms_norm(x, w.positive(_WIDTH))
    gated = relax.multiply(relax.nn.silu(relax.matmul(y, w(_WIDTH, 24))), relax.matmul(y, w(_WIDTH, 24)))
    x = relax.add(x, relax.matmul(gated, w(24, _WIDTH)))
    return relax.matmul(relax.nn.rms_norm(x, w.positive(_WIDTH)), w(_WIDTH, 20))


@model("t5", "batch,length,16:f32 batch,words,16:f32", batch=(2, 1), length=(3, 1), words=(5, 8))
def t5(w: Weights, x: Value, memory: Value) -> Value:
    """Decoder layer with cross-attention to an encoder's output."""
    sizes = (_BATCH, _LENGTH)
    y = relax.nn.rms_norm(x, w.positive(_WIDTH))
    x = relax.add(x, attended(w, y, sizes, scale=1.0, causal_mask="TopLeft"))
    y = relax.nn.rms_norm(x, w.positive(_WIDTH))
    x = relax.add(x, attended(w, y, sizes, memory, (_BATCH, "words"), scale=1.0))
    y = relax.nn.rms_norm(x, w.positive(_WIDTH))
    return relax.add(x, relax.matmul(relax.nn.relu(relax.matmul(y, w(_WIDTH, 32))), w(32, _WIDTH)))


@model("attention_by_products", "batch,heads,length,8:f32", batch=(2, 1), heads=(3, 1), length=(5, 9))
def attention_by_products(w: Weights, x: Value) -> Value:
    """Attention as exporters write it: products, a softmax, a mask."""
    query, key, value = (relax.matmul(x, w(8, 8)) for _ in range(3))
    scores = relax.multiply(relax.matmul(query, relax.permute_dims(key, (0, 1, 3, 2))), relax.const(8**-0.5))
    hidden = relax.equal(relax.tril(relax.ones((_LENGTH, _LENGTH), "float32")), relax.const(0.0))
    scores = relax.where(hidden, relax.const(-1e9), scores)
    return relax.matmul(relax.nn.softmax(scores), value)


@model("mixture_of_experts", "length,8:f32", length=(6, 1))
def mixture_of_experts(w: Weights, x: Value) -> Value:
    """Each word is routed to two of four experts, and their matrices are gathered."""
    shares, chosen = relax.topk(relax.matmul(x, w(8, 4)), k=2, axis=-1, dtype="int64")
    shares = relax.nn.softmax(shares)
    into, out = (relax.take(w(4, *shape), chosen, axis=0) for shape in ((8, 12), (12, 8)))
    y = relax.matmul(relax.nn.gelu_tanh(relax.matmul(relax.expand_dims(x, [1, 2]), into)), out)
    y = relax.multiply(relax.squeeze(y, axis=[2]), relax.expand_dims(shares, [2]))
    return relax.sum(y, axis=[1])


@model("sentence", "batch,length:i64[0,30]", batch=(3, 1), length=(6, 2))
def sentence(w: Weights, ids: Value) -> tuple[Value, Value]:
    """Mean over the words that are no padding."""
    is_word = relax.astype(relax.not_equal(ids, relax.const(0)), "float32")
    words = relax.multiply(relax.take(w(30, 12), ids, axis=0), relax.expand_dims(is_word, [2]))
    count = relax.maximum(relax.sum(is_word, axis=[1], keepdims=True), relax.const(1.0))
    scores = linear(w, relax.tanh(linear(w, relax.divide(relax.sum(words, axis=[1]), count), 12, 8)), 8, 4)
    return scores, relax.argmax(scores, axis=-1)
