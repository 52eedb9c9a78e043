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
    residual_scale: float = 1.0
    logit_divisor: float = 1.0
    norm_offset: float = 0.0
    activation: str = "silu"
    #: Experts of a token, in layers with a router, and True if their factors have the sum 1.
    used_experts: int = 0
    normalizes_experts: bool = True
    #: Bound of the experts' gates, and the factor in their sigmoid.
    expert_limit: float | None = None
    expert_steepness: float = 1.702
    #: Attention and feed-forward blocks have the same input.
    is_parallel: bool = False


def logits(variant: Variant, weights: Mapping[str, ndarray], tokens: Sequence[int]) -> ndarray:
    """Return the logits f64 [tokens, vocabulary] of a sequence. Names of weights are GGUF's."""
    head = weights.get("output.weight", weights["token_embd.weight"])
    found = hidden_states(variant, weights, tokens) @ head.T.astype(numpy.float64) / variant.logit_divisor
    found = found + weights.get("output.bias", 0.0)
    return found if variant.logit_cap is None else variant.logit_cap * numpy.tanh(found / variant.logit_cap)


def hidden_states(variant: Variant, weights: Mapping[str, ndarray], tokens: Sequence[int]) -> ndarray:
    """Return the normalized hidden states f64 [tokens, width] in front of the head."""
    x = weights["token_embd.weight"][list(tokens)].astype(numpy.float64) * variant.embedding_scale
    for n in range(variant.layers):
        names = [name for name in weights if name.startswith(f"blk.{n}.")]
        own = {name.removeprefix(f"blk.{n}."): weights[name].astype(numpy.float64) for name in names}
        if variant.expert_limit is not None:  # files of gpt-oss have another name
            own["ffn_norm.weight"] = own.pop("post_attention_norm.weight")
        if variant.is_parallel:
            inner = _if_present(variant, own, "attn_norm", x)
            x = x + _attention(variant, own, n, inner) + _mlp(variant, own, inner)
            continue
        mixed = _attention(variant, own, n, _if_present(variant, own, "attn_norm", x))
        x = x + _if_present(variant, own, "post_attention_norm", mixed) * variant.residual_scale
        mixed = _mlp(variant, own, _if_present(variant, own, "ffn_norm", x))
        x = x + _if_present(variant, own, "post_ffw_norm", mixed) * variant.residual_scale
    return _if_present(variant, weights, "output_norm", x)


def _if_present(variant: Variant, w: Mapping[str, ndarray], name: str, x: ndarray) -> ndarray:
    if f"{name}.weight" not in w:
        return x
    weight = w[f"{name}.weight"].astype(numpy.float64)
    if f"{name}.bias" not in w:
        return _norm(variant, x, weight)
    return _norm(variant, x - x.mean(-1, keepdims=True), weight) + w[f"{name}.bias"]


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
    is_wide = "attn_q_norm.weight" in w and w["attn_q_norm.weight"].size == q.shape[1]
    if is_wide:
        q, k = _norm(variant, q, w["attn_q_norm.weight"]), _norm(variant, k, w["attn_k_norm.weight"])
    q, k, v = (each.reshape(count, -1, size) for each in (q, k, v))
    if "attn_q_norm.weight" in w and not is_wide:
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
            most = max(scores.max(), w["attn_sinks.weight"][head]) if "attn_sinks.weight" in w else scores.max()
            shares = numpy.exp(scores - most)
            sink = numpy.exp(w["attn_sinks.weight"][head] - most) if "attn_sinks.weight" in w else 0.0
            out[row, head] = shares / (shares.sum() + sink) @ v[first : row + 1, group]
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
    if "ffn_gate_inp.weight" in w:
        return numpy.stack([_mixture(variant, w, row) for row in x])
    if w["ffn_down.weight"].shape[1] == w["ffn_up.weight"].shape[0] and "ffn_gate.weight" not in w:
        return _linear(w, "ffn_down", ACTIVATIONS[variant.activation](_linear(w, "ffn_up", x)))
    if "ffn_gate.weight" in w:
        gate, up = _linear(w, "ffn_gate", x), _linear(w, "ffn_up", x)
    else:
        gate, up = numpy.split(_linear(w, "ffn_up", x), 2, axis=1)
    return _linear(w, "ffn_down", ACTIVATIONS[variant.activation](gate) * up)


def _mixture(variant: Variant, w: Mapping[str, ndarray], x: ndarray) -> ndarray:
    """Return the sum of a token's experts: the most likely ones, of equal ones the first."""
    scores = w["ffn_gate_inp.weight"] @ x + w.get("ffn_gate_inp.bias", 0.0)
    shares = numpy.exp(scores - scores.max())
    shares /= shares.sum()
    chosen = sorted(range(len(shares)), key=lambda expert: (-shares[expert], expert))[: variant.used_experts]
    total = shares[chosen].sum() if variant.normalizes_experts else 1.0
    found = numpy.zeros_like(x)
    for expert in chosen:
        gate, up = (_of_expert(w, part, expert, x) for part in ("gate", "up"))
        if variant.expert_limit is None:
            mixed = ACTIVATIONS[variant.activation](gate) * up
        else:
            gate, up = (
                numpy.minimum(gate, variant.expert_limit),
                numpy.clip(up, -variant.expert_limit, variant.expert_limit),
            )
            mixed = (up + 1) * gate / (1 + numpy.exp(-variant.expert_steepness * gate))
        found += shares[expert] / total * _of_expert(w, "down", expert, mixed)
    return found


def _of_expert(w: Mapping[str, ndarray], part: str, expert: int, x: ndarray) -> ndarray:
    product: ndarray = w[f"ffn_{part}_exps.weight"][expert] @ x
    return product + w[f"ffn_{part}_exps.bias"][expert] if f"ffn_{part}_exps.bias" in w else product


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


def yarn_frequencies(
    base: float, size: int, factor: float, original: int, *, truncates: bool = True
) -> tuple[ndarray, float]:
    """Return YaRN's frequencies with alpha = 1 and beta = 32, and the factor of elements.

    With `truncates`, the bounds of the change are rounded to whole pairs.
    """
    found = plain_frequencies(base, size)

    def pair(turns: float) -> float:
        return size / 2 * math.log(original / (2 * math.pi * turns), base)

    low, high = (math.floor(pair(32)), math.ceil(pair(1))) if truncates else (pair(32), pair(1))
    low, high = max(low, 0), min(high, size - 1)
    ramp = numpy.clip((numpy.arange(size // 2) - low) / max(high - low, 1e-3), 0, 1)
    return found / factor * ramp + found * (1 - ramp), 0.1 * math.log(factor) + 1
