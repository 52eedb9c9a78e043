# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama: https://arxiv.org/abs/2302.13971."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir import relax
from relax_mlir.rewriting import Value

from ..blocks import Layer, activation_of, attention, mlp, norm
from ..config import Config, read_config
from ..weights import Source


def configure(source: Source, context: int | None) -> Config:
    facts = source.facts
    has_bias = facts.flag("attention_bias")
    return replace(
        read_config(source, context),
        activation=activation_of(source, "silu"),
        has_qkv_bias=has_bias,
        has_output_bias=has_bias,
        has_mlp_bias=facts.flag("mlp_bias"),
        is_interleaved=facts.is_gguf,
    )


def layer(at: Layer, x: Value) -> Value:
    """Return x after one layer: attention and feed-forward, each after a norm."""
    x = relax.add(x, attention(at, norm(at, x, "attn_norm")))
    return relax.add(x, mlp(at, norm(at, x, "ffn_norm")))
