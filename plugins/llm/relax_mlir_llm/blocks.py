# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of decoders: norms, attention with rope, feed-forward blocks, embedding and head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.rewriting import Value

from .adapters import Changes
from .config import Config
from .pages import Pages
from .products import Embedding, Products
from .rope import Rope
from .weights import Source, Weight

#: Positions that one table of rotations covers. Another table has every 256th position.
_ROPE_TABLE = 256
#: Windows above every context, which are 32-bit integers in a program.
_MOST_WINDOW = 1 << 30
#: Name of a variant of GELU or SiLU in config.json -> operator.
ACTIVATIONS = {
    "silu": relax.nn.silu,
    "gelu": relax.nn.gelu,
    "gelu_pytorch_tanh": relax.nn.gelu_tanh,
    "gelu_new": relax.nn.gelu_tanh,
}


@dataclass
class Decoder:
    """Decoder under construction: configuration, weights, and the values that all layers use."""

    config: Config
    source: Source
    products: Products
    positions: Value
    sequences: Value
    slots: Value
    table: Value
    pages: Pages
    #: Changes by adapters, or None in a function without adapters.
    changes: Changes | None = None
    _rotations: dict[Rope, tuple[Value, Value]] = field(default_factory=dict)

    @cached_property
    def lengths(self) -> Value:
        """Return the keys that each token may see: up to its own, or all of its text in an encoder."""
        ends = relax.add(self.positions, relax.const(1, "int32"))
        if not self.config.is_encoder:
            return ends
        empty = relax.zeros(relax.shape_expr(dims=("sequences",)), dtype="int32")
        return relax.take(relax.scatter_elements(empty, self.sequences, ends, reduction="max"), self.sequences, axis=0)

    @cached_property
    def embedding(self) -> Embedding:
        config = self.config
        return Embedding(self.products, self.source.read("token_embd.weight", (config.vocabulary, config.width)))

    def rotations(self, rope: Rope) -> tuple[Value, Value]:
        """Return cosines and sines [tokens, 1, pairs] of the angles by which a rope turns."""
        if rope not in self._rotations:
            self._rotations[rope] = _rotations(rope, self.positions, self.config.context)
        return self._rotations[rope]


@dataclass(frozen=True)
class DecoderLayer:
    """Layer of a decoder under construction."""

    decoder: Decoder
    number: int

    @property
    def config(self) -> Config:
        return self.decoder.config

    def read(self, name: str, *shape: int) -> Weight:
        """Return a weight of the layer, such as `attn_q.weight`."""
        return self.decoder.source.read(f"blk.{self.number}.{name}", shape)

    def floats(self, name: str, *shape: int) -> numpy.ndarray:
        return self.read(name, *shape).floats()

    def multiply(self, x: Value, name: str, shape: tuple[int, int], bias: numpy.ndarray | None = None) -> Value:
        """Return x @ weight^T + bias, with the change by each token's adapter."""
        return self.changed(self.decoder.products.multiply(x, self.read(name, *shape), bias), x, name, shape)

    def changed(self, product: Value, x: Value, name: str, shape: tuple[int, int]) -> Value:
        """Return the product of x and a weight, with the change by each token's adapter."""
        changes = self.decoder.changes
        return product if changes is None else changes.add(product, x, f"blk.{self.number}.{name}", shape)


def embed(decoder: Decoder, tokens: Value) -> Value:
    """Return the embedding [tokens, width] of tokens."""
    found = scaled(decoder.embedding.take(tokens), decoder.config.embedding_scale)
    return _encode(decoder, found) if decoder.config.is_encoder else found


def _encode(decoder: Decoder, x: Value) -> Value:
    """Return embeddings of an encoder: with the vectors of a first text and of the positions, and normalized."""
    config, source = decoder.config, decoder.source
    types, places = "token_types.weight", "position_embd.weight"
    if (shape := source.shape(types)) is not None:
        x = relax.add(x, relax.const(source.read(types, (shape[0], config.width)).floats()[0]))
    if not config.has_rope:
        vectors = relax.const(source.read(places, (source.facts.count("context"), config.width)).floats())
        x = relax.add(x, relax.take(vectors, decoder.positions, axis=0))
    return _normalize(decoder, x, "token_embd_norm")


def hidden(decoder: Decoder, x: Value, selected: Value) -> Value:
    """Return the normalized hidden states [selected, width] after the last layer, which the head multiplies."""
    rows = relax.take(x, selected, axis=0)
    return rows if decoder.config.is_encoder else _normalize(decoder, rows, "output_norm")


def logits(decoder: Decoder, x: Value, selected: Value) -> Value:
    """Return the logits [selected, vocabulary] after the last layer."""
    config = decoder.config
    x = hidden(decoder, x, selected)
    shape = (config.vocabulary, config.width)
    if config.is_tied:
        found = decoder.embedding.multiply(x)
    else:
        bias = decoder.source.read("output.bias", shape[:1]).floats() if config.has_head_bias else None
        found = decoder.products.multiply(x, decoder.source.read("output.weight", shape), bias)
    if decoder.changes is not None:
        found = decoder.changes.take(selected).add(found, x, "output.weight", shape)
    found = scaled(found, 1 / config.logit_divisor)
    cap = config.logit_softcap
    return found if cap is None else scaled(relax.tanh(scaled(found, 1 / cap)), cap)


def scaled(x: Value, factor: float) -> Value:
    """Return x times a factor."""
    return x if factor == 1 else relax.multiply(x, relax.const(factor, "float32"))


def norm(layer: DecoderLayer, x: Value, name: str) -> Value:
    """Return x, normalized by the root of its mean square, or by mean and variance."""
    return _normalize(layer.decoder, x, f"blk.{layer.number}.{name}")


def _normalize(decoder: Decoder, x: Value, name: str) -> Value:
    config, source = decoder.config, decoder.source
    weight = source.read(f"{name}.weight", (config.width,)).floats()
    if not config.has_layer_norm:
        return _rms_norm(config, x, weight)
    bias = source.read(f"{name}.bias", (config.width,)).floats()
    return relax.nn.layer_norm(x, relax.const(weight), relax.const(bias), axes=[-1], epsilon=config.epsilon)


def _rms_norm(config: Config, x: Value, weight: numpy.ndarray) -> Value:
    shifted = weight + numpy.float32(config.norm_offset)
    return relax.nn.rms_norm(x, relax.const(shifted), axes=[-1], epsilon=config.epsilon)


def attention(layer: DecoderLayer, x: Value) -> Value:
    """Return causal attention of grouped heads over the pages of each token's sequence."""
    config, decoder, number = layer.config, layer.decoder, layer.number
    q, k, v = _projections(layer, x)
    q, k = _apply_positions(layer, q, "attn_q_norm"), _apply_positions(layer, k, "attn_k_norm")
    decoder.pages.append(number, k, v, decoder.slots)
    mixed = decoder.pages.attend(
        number,
        q,
        decoder.table,
        decoder.sequences,
        decoder.lengths,
        scale=config.attention_scale,
        window=config.window_of(number),
        softcap=config.attention_softcap,
        sinks=relax.const(layer.floats("attn_sinks.weight", config.heads)) if config.has_sinks else None,
    )
    width = config.heads * config.head_size
    flat = relax.reshape(mixed, relax.shape_expr(dims=("tokens", width)))
    bias = layer.floats("attn_output.bias", config.width) if config.has_output_bias else None
    return layer.multiply(flat, "attn_output.weight", (config.width, width), bias)


def _projections(layer: DecoderLayer, x: Value) -> list[Value]:
    """Return queries, keys and values [tokens, heads, size]."""
    config, source = layer.config, layer.decoder.source
    heads = (config.heads, config.kv_heads, config.kv_heads)
    rows = [head * config.head_size for head in heads]
    if source.shape(f"blk.{layer.number}.attn_qkv.weight") is not None:
        bias = layer.floats("attn_qkv.bias", sum(rows)) if config.has_qkv_bias else None
        product = layer.multiply(x, "attn_qkv.weight", (sum(rows), config.width), bias)
        found = list(relax.split(product, indices_or_sections=[rows[0], rows[0] + rows[1]], axis=1))
    else:
        names = ("attn_q", "attn_k", "attn_v")
        shapes = {f"{name}.weight": (count, config.width) for name, count in zip(names, rows, strict=True)}
        weights = [layer.read(name, *shape) for name, shape in shapes.items()]
        biases = None
        if config.has_qkv_bias:
            biases = [layer.floats(f"{name}.bias", count) for name, count in zip(names, rows, strict=True)]
        if config.is_interleaved:
            orders = [_halves(config, heads[0]), _halves(config, heads[1]), numpy.arange(rows[2])]
            weights = [weight.take_rows(order) for weight, order in zip(weights, orders, strict=True)]
            biases = biases and [each[order] for each, order in zip(biases, orders, strict=True)]
        # Adapters have their rows in the order of Hugging Face, as the weights now have.
        found = _change(layer, x, layer.decoder.products.multiply_all(x, weights, biases), shapes)
    if config.has_wide_qk_norm:
        for index, name in enumerate(("attn_q_norm.weight", "attn_k_norm.weight")):
            found[index] = _rms_norm(config, found[index], layer.floats(name, rows[index]))
    dims = (relax.shape_expr(dims=("tokens", head, config.head_size)) for head in heads)
    return [relax.reshape(each, shape) for each, shape in zip(found, dims, strict=True)]


def _change(layer: DecoderLayer, x: Value, products: list[Value], shapes: Mapping[str, tuple[int, int]]) -> list[Value]:
    """Return the products of x and weights, with the changes by each token's adapter."""
    pairs = zip(products, shapes.items(), strict=True)
    return [layer.changed(product, x, name, shape) for product, (name, shape) in pairs]


def _halves(config: Config, heads: int) -> numpy.ndarray:
    """Return the order of rows that moves the pairs (2i, 2i + 1) of each head to (i, i + size / 2).

    llama.cpp's converter has permuted them for a rope of adjacent pairs.
    """
    turned = config.rope.size
    order = [*range(0, turned, 2), *range(1, turned, 2), *range(turned, config.head_size)]
    return ((numpy.arange(heads)[:, None] * config.head_size) + numpy.array(order)).reshape(-1)


def _apply_positions(layer: DecoderLayer, x: Value, norm_name: str) -> Value:
    """Return queries or keys, normalized if the model does so, and turned by their positions."""
    config = layer.config
    if config.has_qk_norm:
        x = _rms_norm(config, x, layer.floats(f"{norm_name}.weight", config.head_size))
    if not config.has_rope:
        return x
    rope = config.rope_of(layer.number)
    cosine, sine = layer.decoder.rotations(rope)
    half = len(rope.frequencies)
    ends = [half, rope.size, *([rope.size] if rope.size < config.head_size else [])]
    first, second, *rest = relax.split(x, indices_or_sections=sorted({half, *ends} - {config.head_size}), axis=2)
    return relax.concat([*_rotate_pair((first, second), (cosine, sine)), *rest], axis=2)


def _rotate_pair(pair: tuple[Value, Value], angle: tuple[Value, Value]) -> tuple[Value, Value]:
    """Return cosines and sines, times any radius, after a turn by an angle: the product of complex numbers."""
    (x, y), (cosine, sine) = pair, angle
    return (
        relax.subtract(relax.multiply(x, cosine), relax.multiply(y, sine)),
        relax.add(relax.multiply(y, cosine), relax.multiply(x, sine)),
    )


def _rotations(rope: Rope, positions: Value, context: int) -> tuple[Value, Value]:
    """Return cosines and sines by the addition theorem, from two short tables.

    Tables in f64, rounded once, are exact for long contexts, where f32 products of positions and frequencies are not.
    """
    step = relax.const(_ROPE_TABLE, "int32")
    coarse, fine = relax.floor_divide(positions, step), relax.floor_mod(positions, step)
    frequencies = numpy.array(rope.frequencies)
    starts = numpy.arange(-(-context // _ROPE_TABLE)) * _ROPE_TABLE
    first = _take(numpy.outer(starts, frequencies), coarse, rope.magnitude)
    second = _take(numpy.outer(numpy.arange(_ROPE_TABLE), frequencies), fine, 1.0)
    cosine, sine = (relax.expand_dims(each, axis=[1]) for each in _rotate_pair(first, second))
    return cosine, sine


def _take(angles: numpy.ndarray, rows: Value, magnitude: float) -> tuple[Value, Value]:
    tables = (numpy.cos(angles) * magnitude, numpy.sin(angles) * magnitude)
    cosine, sine = (relax.take(relax.const(table.astype(numpy.float32)), rows, axis=0) for table in tables)
    return cosine, sine


def mlp(layer: DecoderLayer, x: Value) -> Value:
    """Return the feed-forward block down(activation(gate(x)) * up(x)), or down(activation(up(x))) without a gate."""
    config = layer.config
    width, inner = config.width, config.inner
    if not config.has_gate:
        bias = layer.floats("ffn_up.bias", inner) if config.has_mlp_bias else None
        return _down(layer, ACTIVATIONS[config.activation](layer.multiply(x, "ffn_up.weight", (inner, width), bias)))
    if layer.decoder.source.shape(f"blk.{layer.number}.ffn_gate.weight") is None:
        # Phi has both matrices in one: first the gate, then the other.
        both = layer.multiply(x, "ffn_up.weight", (2 * inner, width))
        gate, up = relax.split(both, indices_or_sections=2, axis=1)
    else:
        names = ("ffn_gate", "ffn_up")
        biases = [layer.floats(f"{name}.bias", inner) for name in names] if config.has_mlp_bias else None
        shapes = {f"{name}.weight": (inner, width) for name in names}
        weights = [layer.read(name, *shape) for name, shape in shapes.items()]
        gate, up = _change(layer, x, layer.decoder.products.multiply_all(x, weights, biases), shapes)
    return _down(layer, relax.multiply(ACTIVATIONS[config.activation](gate), up))


def _down(layer: DecoderLayer, mixed: Value) -> Value:
    config = layer.config
    bias = layer.floats("ffn_down.bias", config.width) if config.has_mlp_bias else None
    return layer.multiply(mixed, "ffn_down.weight", (config.width, config.inner), bias)


def activation_of(source: Source, default: str) -> str:
    """Return the activation that a configuration names."""
    facts = source.facts
    if (name := facts.text("hidden_activation", facts.text("hidden_act", default))) not in ACTIVATIONS:
        raise rx.RefusalError(
            f"{source.path}: the activation '{name}' is not supported (supported: {', '.join(ACTIVATIONS)})"
        )
    return name


def windows_of(source: Source, layers: int, is_local: Sequence[bool]) -> tuple[int | None, ...]:
    """Return the windows of layers, of which some see their last tokens only. `layer_types` names them, if present."""
    window = source.facts.count("window") if source.facts.optional("window") else None
    if (kinds := source.facts.texts("layer_types")) is not None:
        is_local = [kind == "sliding_attention" for kind in kinds]
    if len(is_local) != layers:
        raise source.facts.error("layer_types", f"has {len(is_local)} entries, expected {layers}")
    return tuple(min(window, _MOST_WINDOW) if window and each else None for each in is_local)
