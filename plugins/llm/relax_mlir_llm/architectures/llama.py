# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama: https://arxiv.org/abs/2302.13971."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir import relax
from relax_mlir.rewriting import Value

from ..blocks import DecoderLayer, activation_of, attention, norm
from ..config import Config, read_config, with_experts
from ..experts import feed_forward
from ..weights import Source


def configure(source: Source, context: int | None) -> Config:
    facts = source.facts
    has_bias = facts.flag("attention_bias")
    config = read_config(source, context)
    if facts.is_gguf:  # Mixtral is a llama with experts there
        config = with_experts(config, source, is_normalized=True)
    return replace(
        config,
        activation=activation_of(source, "silu"),
        has_qkv_bias=has_bias,
        has_output_bias=has_bias,
        has_mlp_bias=facts.flag("mlp_bias"),
        is_interleaved=facts.is_gguf,
    )


def layer(at: DecoderLayer, x: Value) -> Value:
    """Return x after one layer: attention and feed-forward, each after a norm."""
    x = relax.add(x, attention(at, norm(at, x, "attn_norm")))
    return relax.add(x, feed_forward(at, norm(at, x, "ffn_norm")))
