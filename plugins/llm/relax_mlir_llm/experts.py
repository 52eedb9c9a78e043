# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures of experts: feed-forward blocks of which a router selects some for each token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from relax_mlir import relax
from relax_mlir.rewriting import Value

from .blocks import ACTIVATIONS, DecoderLayer, mlp, scaled
from .config import Config
from .weights import Weight

if TYPE_CHECKING:
    from numpy import ndarray

#: Weight of the router in a layer with experts.
ROUTER = "ffn_gate_inp.weight"
#: Matrices of an expert.
_NAMES = ("ffn_gate", "ffn_up", "ffn_down")


class _Routing(NamedTuple):
    """Experts of each token, in the order of falling probability. Experts of equal probability are in their order."""

    #: f32 [tokens, used]: factors of the experts' results.
    factors: Value
    #: i32 [tokens * used]: numbers of the experts.
    numbers: Value


def feed_forward(layer: DecoderLayer, x: Value) -> Value:
    """Return the feed-forward block of a layer, which may be a mixture of experts."""
    has_experts = layer.decoder.source.shape(f"blk.{layer.number}.{ROUTER}") is not None
    return _mixture(layer, x) if layer.config.experts and has_experts else mlp(layer, x)


def _mixture(layer: DecoderLayer, x: Value) -> Value:
    """Return the sum of each token's experts, times their factors.

    An expert multiplies the rows of its tokens only, so a call reads the weights of used experts only. The sum of a
    token has the order of its experts, whatever the other tokens are.
    """
    config = layer.config
    used, routing = config.used_experts, _route(layer, x)
    weights = zip(*(_weights(layer, name) for name in _NAMES), strict=True)
    biases = list(zip(*(_biases(layer, name) for name in _NAMES), strict=True)) if config.has_expert_bias else None
    places, results = [], []
    for number, own in enumerate(weights):
        is_own = relax.equal(routing.numbers, relax.const(number, "int32"))
        places.append(relax.squeeze(relax.nonzero(is_own), axis=[0]))
        rows = relax.take(x, relax.floor_divide(places[-1], relax.const(used, "int64")), axis=0)
        results.append(_expert(layer, rows, own, None if biases is None else biases[number]))
    # The places of all experts are a permutation, which the inverse puts in the order of tokens.
    inverse = relax.argsort(relax.concat(places, axis=0))
    ordered = relax.take(relax.concat(results, axis=0), inverse, axis=0)
    ordered = relax.reshape(ordered, relax.shape_expr(dims=("tokens", used, config.width)))
    return relax.sum(relax.multiply(ordered, relax.expand_dims(routing.factors, axis=[2])), axis=[1])


def _route(layer: DecoderLayer, x: Value) -> _Routing:
    """Return the most likely experts of each token."""
    config = layer.config
    used = config.used_experts
    bias = layer.floats("ffn_gate_inp.bias", config.experts) if config.has_expert_bias else None
    scores = layer.multiply(x, ROUTER, (config.experts, config.width), bias)
    factors, numbers = relax.topk(relax.nn.softmax(scores, axis=-1), k=used, axis=-1)
    if config.has_normalized_experts:
        factors = relax.divide(factors, relax.sum(factors, axis=[1], keepdims=True))
    return _Routing(factors, relax.reshape(numbers, relax.shape_expr(dims=(f"tokens * {used}",))))


def _expert(layer: DecoderLayer, x: Value, weights: Sequence[Weight], biases: Sequence[ndarray] | None) -> Value:
    """Return the result of one expert, of the matrices and biases in the order of `_NAMES`."""
    products = layer.decoder.products
    gate, up = products.multiply_all(x, weights[:2], None if biases is None else biases[:2])
    return products.multiply(_apply_gate(layer.config, gate, up), weights[2], None if biases is None else biases[2])


def _apply_gate(config: Config, gate: Value, up: Value) -> Value:
    if (limit := config.expert_limit) is None:
        return relax.multiply(ACTIVATIONS[config.activation](gate), up)
    gate = relax.minimum(gate, relax.const(limit, "float32"))
    up = relax.clip(up, -limit, limit)
    shaped = relax.multiply(gate, relax.sigmoid(scaled(gate, config.expert_steepness)))
    return relax.multiply(relax.add(up, relax.const(1.0, "float32")), shaped)


def _weights(layer: DecoderLayer, name: str) -> list[Weight]:
    """Return a matrix of each expert, from one weight of all experts or from a weight of each."""
    config, stacked = layer.config, f"{name}_exps.weight"
    sizes = (config.expert_inner, config.width)
    shape = sizes[::-1] if name == "ffn_down" else sizes
    if layer.decoder.source.shape(f"blk.{layer.number}.{stacked}") is None:
        return [layer.read(f"{name}.{number}.weight", *shape) for number in range(config.experts)]
    whole = layer.read(stacked, config.experts, *shape)
    return [whole.part(number) for number in range(config.experts)]


def _biases(layer: DecoderLayer, name: str) -> list[ndarray]:
    """Return a bias of each expert, from one bias of all experts or from a bias of each."""
    config, stacked = layer.config, f"{name}_exps.bias"
    size = config.width if name == "ffn_down" else config.expert_inner
    if layer.decoder.source.shape(f"blk.{layer.number}.{stacked}") is None:
        return [layer.floats(f"{name}.{number}.bias", size) for number in range(config.experts)]
    return list(layer.floats(stacked, config.experts, size))
