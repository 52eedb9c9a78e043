# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OLMo 2 (https://arxiv.org/abs/2501.00656): norms behind attention and feed-forward, and of whole queries and keys."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir import relax
from relax_mlir.rewriting import Value

from ..blocks import DecoderLayer, activation_of, attention, mlp, norm
from ..config import Config, read_config
from ..weights import Source


def configure(source: Source, context: int | None) -> Config:
    has_bias = source.facts.flag("attention_bias")
    return replace(
        read_config(source, context),
        activation=activation_of(source, "silu"),
        has_wide_qk_norm=True,
        has_qkv_bias=has_bias,
        has_output_bias=has_bias,
    )


def layer(at: DecoderLayer, x: Value) -> Value:
    """Return x after one layer: attention and feed-forward, each before a norm."""
    x = relax.add(x, norm(at, attention(at, x), "post_attention_norm"))
    return relax.add(x, norm(at, mlp(at, x), "post_ffw_norm"))
