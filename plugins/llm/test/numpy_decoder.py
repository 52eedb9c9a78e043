# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoder in NumPy and f64, written from the papers: the expected logits and hidden states of tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy
from numpy import ndarray


@dataclass(frozen=True)
class Variant:
    """Sizes and variants of a decoder."""

    layers: int
    heads: int
    kv_heads: int
    head_size: int
    #: Frequencies of the rope in each layer, and the factor of rotated elements.
    frequencies: tuple[ndarray, ...]
    magnitude: float = 1.0
    #: Rope of pairs (2i, 2i + 1) instead of (i, i + size / 2).
    adjacent: bool = False
    #: Keys that a token sees in each layer, the own key included; None: all.
    windows: tuple[int | None, ...] = (None, None)
    epsilon: float = 1e-5
    scale: float | None = None
    score_cap: float | None = None
    logit_cap: float | None = None
    embedding_scale: float = 1.0
    norm_offset: float = 0.0
    activation: str = "silu"


def logits(variant: Variant, weights: Mapping[str, ndarray], tokens: Sequence[int]) -> ndarray:
    """Return the logits f64 [tokens, vocabulary] of a sequence. Names of weights are GGUF's."""
    head = weights.get("output.weight", weights["token_embd.weight"])
    found = hidden_states(variant, weights, tokens) @ head.T.astype(numpy.float64)
    return found if variant.logit_cap is None else variant.logit_cap * numpy.tanh(found / variant.logit_cap)


def hidden_states(variant: Variant, weights: Mapping[str, ndarray], tokens: Sequence[int]) -> ndarray:
    """Return the normalized hidden states f64 [tokens, width] in front of the head."""
    x = weights["token_embd.weight"][list(tokens)].astype(numpy.float64) * variant.embedding_scale
    for n in range(variant.layers):
        names = [name for name in weights if name.startswith(f"blk.{n}.")]
        own = {name.removeprefix(f"blk.{n}."): weights[name].astype(numpy.float64) for name in names}
        x = x + _after(
            variant, own, "post_attention_norm", _attention(variant, own, n, _norm(variant, x, own["attn_norm.weight"]))
        )
        x = x + _after(variant, own, "post_ffw_norm", _mlp(variant, own, _norm(variant, x, own["ffn_norm.weight"])))
    return _norm(variant, x, weights["output_norm.weight"].astype(numpy.float64))


def _after(variant: Variant, w: Mapping[str, ndarray], name: str, x: ndarray) -> ndarray:
    return _norm(variant, x, w[f"{name}.weight"]) if f"{name}.weight" in w else x


def _norm(variant: Variant, x: ndarray, weight: ndarray) -> ndarray:
    mean = (x * x).mean(-1, keepdims=True)
    return x / numpy.sqrt(mean + variant.epsilon) * (weight + variant.norm_offset)


def _linear(w: Mapping[str, ndarray], name: str, x: ndarray) -> ndarray:
    return x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0.0)


def _attention(variant: Variant, w: Mapping[str, ndarray], layer: int, x: ndarray) -> ndarray:
    count, size = len(x), variant.head_size
    if "attn_qkv.weight" in w:
        cuts = [variant.heads * size, (variant.heads + variant.kv_heads) * size]
        q, k, v = numpy.split(_linear(w, "attn_qkv", x), cuts, axis=1)
    else:
        q, k, v = (_linear(w, f"attn_{each}", x) for each in "qkv")
    q, k, v = (each.reshape(count, -1, size) for each in (q, k, v))
    if "attn_q_norm.weight" in w:
        q, k = _norm(variant, q, w["attn_q_norm.weight"]), _norm(variant, k, w["attn_k_norm.weight"])
    q, k = (_turned(variant, each, variant.frequencies[layer]) for each in (q, k))
    scale = size**-0.5 if variant.scale is None else variant.scale
    out = numpy.empty((count, variant.heads, size))
    for head in range(variant.heads):
        group = head * variant.kv_heads // variant.heads
        for row in range(count):
            window = variant.windows[layer]
            first = 0 if window is None else max(0, row + 1 - window)
            scores = k[first : row + 1, group] @ q[row, head] * scale
            if variant.score_cap is not None:
                scores = variant.score_cap * numpy.tanh(scores / variant.score_cap)
            shares = numpy.exp(scores - scores.max())
            out[row, head] = shares / shares.sum() @ v[first : row + 1, group]
    return _linear(w, "attn_output", out.reshape(count, -1))


def _turned(variant: Variant, x: ndarray, frequencies: ndarray) -> ndarray:
    """Multiply pairs, as complex numbers, by exp(i * position * frequency)."""
    half = len(frequencies)
    turn = variant.magnitude * numpy.exp(1j * numpy.outer(numpy.arange(len(x)), frequencies))[:, None]
    out = x.copy()
    if variant.adjacent:
        turned = (x[..., 0 : 2 * half : 2] + 1j * x[..., 1 : 2 * half : 2]) * turn
        out[..., 0 : 2 * half : 2], out[..., 1 : 2 * half : 2] = turned.real, turned.imag
    else:
        turned = (x[..., :half] + 1j * x[..., half : 2 * half]) * turn
        out[..., :half], out[..., half : 2 * half] = turned.real, turned.imag
    return out


def _mlp(variant: Variant, w: Mapping[str, ndarray], x: ndarray) -> ndarray:
    if "ffn_gate.weight" in w:
        gate, up = _linear(w, "ffn_gate", x), _linear(w, "ffn_up", x)
    else:
        gate, up = numpy.split(_linear(w, "ffn_up", x), 2, axis=1)
    return _linear(w, "ffn_down", ACTIVATIONS[variant.activation](gate) * up)


def _silu(x: ndarray) -> ndarray:
    return x / (1 + numpy.exp(-x))


def _gelu_tanh(x: ndarray) -> ndarray:
    return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {"silu": _silu, "gelu_tanh": _gelu_tanh}


def plain_frequencies(base: float, size: int) -> ndarray:
    return 1.0 / base ** (numpy.arange(0, size, 2) / size)


def llama3_frequencies(base: float, size: int, factor: float, low: float, high: float, original: int) -> ndarray:
    """Return frequencies by wavelength: short ones stay, long ones are divided, those between are mixed."""
    found = plain_frequencies(base, size)
    for n, frequency in enumerate(found):
        wavelength = 2 * math.pi / frequency
        if wavelength > original / low:
            found[n] = frequency / factor
        elif wavelength >= original / high:
            smooth = (original / wavelength - low) / (high - low)
            found[n] = (1 - smooth) * frequency / factor + smooth * frequency
    return found


def yarn_frequencies(base: float, size: int, factor: float, original: int) -> tuple[ndarray, float]:
    """Return YaRN's frequencies with alpha = 1 and beta = 32, rounded to whole pairs, and the factor of elements."""
    found = plain_frequencies(base, size)

    def pair(turns: float) -> float:
        return size / 2 * math.log(original / (2 * math.pi * turns), base)

    low, high = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), size - 1)
    ramp = numpy.clip((numpy.arange(size // 2) - low) / max(high - low, 1e-3), 0, 1)
    return found / factor * ramp + found * (1 - ramp), 0.1 * math.log(factor) + 1
